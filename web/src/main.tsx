// Reads the page's data and puts the viewer in the place of the plain summary.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { App } from "./app.tsx";
import type { View } from "./generated/view.d.ts";
import { VERSION } from "./generated/pages.ts";
import { Store } from "./state.ts";
import { choose } from "./theme.ts";

function start(): void {
  const place = document.getElementById("viewer")!;
  let view: View;
  try {
    view = JSON.parse(document.getElementById("data")!.textContent ?? "") as View;
  } catch {
    fail(place, "The data inside this page cannot be read: the file is damaged or cut short. Copy it again, or make it again with: punctual report RECORD");
    return;
  }
  if (view.schema !== "punctual/view" || view.version !== VERSION) {
    fail(place, `The data inside this page are of ${view.schema} version ${view.version}; this viewer draws version ${VERSION}. Make the page again with: punctual report RECORD`);
    return;
  }
  const store = new Store(location.hash);
  choose(store.get().theme);
  place.textContent = "";
  render(<App view={view} store={store} />, place);
  document.documentElement.dataset["ready"] = "yes";
}

/** The plain summary stays; what is wrong stands above it. */
function fail(place: HTMLElement, text: string): void {
  const note = document.createElement("p");
  note.className = "page failure";
  note.setAttribute("role", "alert");
  note.textContent = text;
  place.prepend(note);
}

start();
