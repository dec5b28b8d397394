// The kinds of pages and the paths below which they are served: made from crates/report/src/page.rs, and not to be edited by hand.

import type { View } from "./view.d.ts";

export const ROUTES: Readonly<Record<View["page"]["kind"], string>> = {
  runs: "/runs",
  assessment: "/assessments",
  program: "/programs",
  comparison: "/comparisons",
  campaign: "/campaigns",
  calibration: "/calibrations",
};
