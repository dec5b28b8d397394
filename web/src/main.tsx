// A report: the viewer with the data inside of the page, in the place of the plain summary.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { mount, type Viewer } from "./viewer.tsx";

declare global {
  /** How a program that serves pages gives the viewer its data: `punctual.viewer.update(data)`, or one of its own by `mount`. */
  var punctual: { mount: typeof mount; viewer: Viewer | null };
}

const place = document.getElementById("viewer");
const data = document.getElementById("data");
globalThis.punctual = { mount, viewer: place && data ? mount(place, data.textContent ?? "") : null };
// Looked at by tests: from here on the page is what its scripts make of it.
document.documentElement.dataset["ready"] = "yes";
performance.mark("drawn");
