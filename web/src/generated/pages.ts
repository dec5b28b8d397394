// The kinds of pages, the paths under which they are served, and the version of their data: generated from crates/report/src/page.rs and view.rs; do not edit by hand.

import type { View } from "./view.d.ts";

export const ROUTES: Readonly<Record<View["page"]["kind"], string>> = {
  runs: "/runs",
  assessment: "/assessments",
  program: "/programs",
  together: "/together",
  comparison: "/comparisons",
  campaign: "/campaigns",
  calibration: "/calibrations",
};

/** The version of the view that this viewer draws. */
export const VERSION = 4;
