// Whether data are those of a page that this viewer draws.

import { VERSION } from "./generated/pages.ts";
import type { View } from "./generated/view.d.ts";

/** The view, or in a sentence why there is none. */
export function read(data: unknown): { view: View; problem: "" } | { view: null; problem: string } {
  let view: Partial<View> | null;
  try {
    view = (typeof data === "string" ? JSON.parse(data) : data) as Partial<View> | null;
  } catch {
    return { view: null, problem: "The data of this page cannot be read: the file is damaged or cut short. Copy it again, or make it again with: punctual report RECORD." };
  }
  if (typeof view !== "object" || view === null || view.schema !== "punctual/view") {
    return { view: null, problem: `The data are not those of a page, but ${view?.schema ?? "of no schema"}. Make the page again with: punctual report RECORD.` };
  }
  if (view.version !== VERSION) {
    return { view: null, problem: `The data are of version ${view.version}, and this viewer draws version ${VERSION}. Load the page again; one from a file is made again with: punctual report RECORD.` };
  }
  if (typeof view.headline?.word !== "string" || !Array.isArray(view.conditions) || typeof view.page?.kind !== "string") {
    return { view: null, problem: "The data of this page are incomplete. Make the page again with: punctual report RECORD." };
  }
  return { view: view as View, problem: "" };
}
