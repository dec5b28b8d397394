// Bursts of late wake-ups, and the periods that they missed, arranged for a table.

import { num } from "./bins.ts";
import * as format from "./format.ts";
import type { RunView } from "./generated/view.d.ts";

/** The bursts of all runs, worst first, those of invalid runs last. */
export function burstsOf(runs: RunView[]): { run: RunView; row: RunView["rows"][number] }[] {
  return runs.flatMap((run) => run.rows.map((row) => ({ run, row }))).sort((a, b) =>
    Number(a.run.state === "invalid") - Number(b.run.state === "invalid")
    || num(b.row.missed_periods) - num(a.row.missed_periods) || num(b.row.worst_ns) - num(a.row.worst_ns));
}

/** How long it took to be in time again; a burst in which nothing was missed has nothing to recover from. */
export function recoveryText({ recovery }: RunView["rows"][number]): string {
  return recovery ?? "\u2013";
}

/** Why there is no burst to list. */
export function noBursts(runs: RunView[]): string {
  const counters = runs.flatMap((run) => run.series.map((series) => series.missed_periods)).filter((count) => count !== null && count !== undefined);
  if (counters.length === 0) return "The source did not count missed periods.";
  const missed = counters.reduce((sum: number, count) => sum + num(count), 0);
  return missed === 0
    ? "None: every wake-up came before the next schedule."
    : `${format.count(missed)} periods were missed; the runs did not keep when.`;
}
