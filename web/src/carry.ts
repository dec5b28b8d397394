// What the reader chose, once other data are shown: it stays where it still means something.

import type { View } from "./generated/view.d.ts";
import { resultsOf } from "./model.ts";
import { overviewOf } from "./overview.ts";
import type { State } from "./state.ts";

/** The ranges and picks of one picture. */
const OF_ONE_RUN = { range: null, timeRange: null, clockRange: null, sample: null, sampleRange: null, lift: null } as const;

/** What changes of the choices, and what the reader has to be told of it. */
export function carried(state: State, before: View, after: View): { change: Partial<State>; notice: string } {
  if (before.page.kind !== after.page.kind || (overviewOf(before) === null) !== (overviewOf(after) === null)) {
    return { change: { ...OF_ONE_RUN, run: null, group: null, sort: null }, notice: "" };
  }
  const change: Partial<State> = {};
  let notice = "";
  const overview = overviewOf(after);
  if (state.run !== null && overview && !overview.rows.some(({ key }) => key === state.run)) {
    const label = labelOf(before, state.run);
    Object.assign(change, OF_ONE_RUN, { run: null });
    if (label !== null) notice = `The run ${label}, which was open, is no longer among the data.`;
  }
  if (state.group !== null && overview && !overview.groups.some(({ name }) => name === state.group)) change.group = null;
  const [old, now] = [resultsOf(before.page), resultsOf(after.page)];
  if (!overview && old && now) {
    if (state.lift !== null && !now.runs.some((run) => run.series.some(({ lane }) => lane === state.lift))) change.lift = null;
    // A late sample is named by the place of its run.
    const at = Number(state.sample?.split(".")[0]);
    if (state.sample !== null && old.runs[at]?.id !== now.runs[at]?.id) Object.assign(change, { sample: null, sampleRange: null });
  }
  return { change, notice };
}

function labelOf(view: View, key: string): string | null {
  const row = overviewOf(view)?.rows.find((one) => one.key === key);
  return row ? resultsOf(view.page)?.runs[row.run]?.label ?? null : null;
}
