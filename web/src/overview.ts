// Many runs arranged for a table and for small plots: pure functions over the overview of the view.

import { logGrid, num, regrid, type Grid } from "./bins.ts";
import type { GroupView, HistogramView, RunRowView, View } from "./generated/view.d.ts";
import * as format from "./format.ts";
import { resultsOf } from "./model.ts";

export type Overview = NonNullable<NonNullable<ReturnType<typeof resultsOf>>["overview"]>;

/** What a page of many runs begins with; null if it has few. */
export function overviewOf(view: View): Overview | null {
  return resultsOf(view.page)?.overview ?? null;
}

export interface Column {
  id: string;
  title: string;
  number?: boolean;
  /** What is sorted by; null stands at the end, whichever way it is sorted. */
  by: (row: RunRowView, groups: GroupView[]) => number | string | null;
  /** What the first click shows first: the largest, which is the worst. */
  fromLargest?: boolean;
  /** What all runs have in common is said once, in place of a column. */
  text?: (row: RunRowView) => string | null | undefined;
}

const STATES = { valid: 0, degraded: 1, invalid: 2 } as const;
const VERDICTS = { "holds": 1, "no-deadline": 0, "empty": 0, "cannot-tell": 2, "broken": 3 } as const;

const magnitude = (value: number) => (Number.isFinite(value) ? Math.abs(value) : null);

export const COLUMNS: Column[] = [
  { id: "group", title: "group", by: ({ group }, groups) => groups[group]!.name },
  { id: "run", title: "run", by: ({ name }) => name },
  { id: "node", title: "node", by: ({ node }) => node ?? null, text: ({ node }) => node },
  { id: "kernel", title: "kernel", by: ({ kernel }) => kernel ?? null, text: ({ kernel }) => kernel },
  { id: "start", title: "start (UTC)", by: ({ started_utc: utc, started_realtime_ns: at }) => (utc == null ? null : Number(BigInt(at) / 1_000_000n)), fromLargest: true },
  { id: "kind", title: "kind", by: ({ measurement }) => measurement, text: ({ measurement }) => measurement },
  { id: "load", title: "load", by: ({ load }) => load ?? null, text: ({ load }) => load },
  { id: "worst", title: "worst, us", number: true, by: ({ worst }) => magnitude(num(worst?.latency_ns)), fromLargest: true },
  { id: "basis", title: "p99.99, us", number: true, by: ({ basis }) => magnitude(num(basis?.value_ns)), fromLargest: true },
  { id: "missed", title: "missed", number: true, by: ({ missed_periods: missed }) => magnitude(num(missed)), fromLargest: true },
  { id: "verdict", title: "verdict", by: ({ verdict }) => VERDICTS[verdict], fromLargest: true },
  { id: "validity", title: "validity", by: ({ state }) => STATES[state], fromLargest: true },
];

export interface Sort {
  column: Column;
  descending: boolean;
}

/** The order that a choice stands for; the worst first if it is none. */
export function sortOf(choice: string | null): Sort {
  const reversed = choice?.startsWith("-") ?? false;
  const column = COLUMNS.find(({ id }) => id === choice?.replace(/^-/, "")) ?? COLUMNS.find(({ id }) => id === "worst")!;
  return { column, descending: (column.fromLargest ?? false) !== reversed };
}

/** What a click on a column's head chooses: that column, or the other way round if it is chosen already. */
export function sortChoice(choice: string | null, column: string): string | null {
  const now = sortOf(choice);
  const next = now.column.id !== column ? column : choice?.startsWith("-") ? column : `-${column}`;
  return next === "worst" ? null : next;
}

const collator = new Intl.Collator("en", { numeric: true });

/** The rows in the chosen order; those that are alike in it stay worst first. */
export function sortedRows({ rows, groups }: Overview, choice: string | null): RunRowView[] {
  const { column, descending } = sortOf(choice);
  const keyed = rows.map((row) => ({ row, by: column.by(row, groups) }));
  keyed.sort((a, b) => {
    if (a.by === null || b.by === null) return Number(a.by === null) - Number(b.by === null);
    const order = typeof a.by === "number" && typeof b.by === "number" ? a.by - b.by : collator.compare(String(a.by), String(b.by));
    return descending ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

/** The columns in which runs differ, and what all have in common in the others. */
export function columnsOf(rows: RunRowView[]): { columns: Column[]; common: string[] } {
  const common: string[] = [];
  const columns = COLUMNS.filter(({ title, text }) => {
    if (!text) return true;
    const values = new Set(rows.map((row) => text(row) ?? null));
    if (rows.length > 0 && values.size > 1) return true;
    const [value] = values;
    if (value !== null && value !== undefined) common.push(`${title} ${value}`);
    return false;
  });
  return { columns, common };
}

/** The year of all starts, which is said once; null if they differ. */
export function commonYear(rows: RunRowView[]): string | null {
  const years = new Set(rows.flatMap(({ started_utc: utc }) => (utc == null ? [] : [utc.slice(0, 4)])));
  return years.size === 1 ? [...years][0]! : null;
}

/** "24 310 us on CPU 2"; a dash without a sample. */
export function worstText(worst: RunRowView["worst"]): string {
  return worst == null ? "\u2013" : `${format.latency(worst.latency_ns)} on ${worst.place}`;
}

/** "41.8", or "p99.9: 41.8" if there are too few samples for what the column's head says. */
export function basisText(basis: RunRowView["basis"]): string {
  if (basis == null) return "\u2013";
  return basis.name === "p99.99" ? format.microseconds(basis.value_ns) : `${basis.name}: ${format.microseconds(basis.value_ns)}`;
}

/** A small plot: the samples of a group or of a run. */
export interface Strip {
  key: string;
  name: string;
  group: GroupView;
  /** Of a plot of one run. */
  row: RunRowView | null;
  worst: RunRowView["worst"];
  histogram: HistogramView | null;
  /** The worst of each of its runs (ns). */
  maxima: number[];
  /** Whether a deadline was stated for it, and whether its worst exceeds that: other kinds have limits of their own, or none. */
  judged: boolean;
  late: boolean;
}

/** One plot a run where they are few enough, else one a group; the worst first. */
export function stripsOf({ groups, rows }: Overview): Strip[] {
  const worstOf = (row: RunRowView) => num(row.worst?.latency_ns);
  if (rows.some(({ histogram }) => histogram != null)) {
    return rows.map((row) => {
      const group = groups[row.group]!;
      const name = group.tally.runs === 1 ? group.name : `${group.name}, ${row.name}`;
      const judged = row.verdict !== "no-deadline";
      return { key: row.key, name, group, row, worst: row.worst, histogram: row.histogram ?? null, maxima: [], judged, late: row.verdict === "broken" };
    });
  }
  const verdicts = new Map(rows.map(({ key, verdict }) => [key, verdict]));
  return groups.map((group, at) => ({
    judged: group.tally.not_judged < group.tally.runs, late: verdicts.get(group.worst?.run ?? "") === "broken",
    key: group.name, name: group.name, group, row: null, worst: group.worst, histogram: group.histogram ?? null,
    maxima: rows.filter((row) => row.group === at).map(worstOf).filter(Number.isFinite).map(Math.abs),
  }));
}

/** All small plots on the same axes. */
export interface Strips {
  /** The columns of each plot: no finer than the bins of its own source. */
  grids: Grid[];
  /** Samples in each column of each plot. */
  counts: number[][];
  highest: number;
  /** The lowest and the highest latency of the axis (ns). */
  from: number;
  to: number;
}

/** The axis reaches over so many times its beginning; what is below stands in the first column. */
const LONGEST_AXIS = 1e5;

/**
 * Samples in so many columns, a few pixels each, so that each column is seen. None is lost between columns. The axes are those of
 * `all`, so that plots in two places can be compared too.
 */
export function stripColumns(strips: Strip[], deadline: number, columns: number, all = strips): Strips | null {
  const drawn = all.flatMap(({ histogram }) => (histogram === null ? [] : [histogram]));
  if (drawn.length === 0) return null;
  const least = Math.min(...drawn.map(({ min_ns: min }) => num(min)).filter(Number.isFinite));
  const most = Math.max(...drawn.map(({ max_ns: max }) => num(max)).filter(Number.isFinite));
  const limit = Number.isFinite(deadline) ? deadline : most;
  const lowest = Math.max(1, Math.min(least, limit) * 0.8);
  const to = Math.max(most, limit, lowest * 10) * 1.25;
  const from = Math.max(lowest, to / LONGEST_AXIS);
  const gridOf = (histogram: HistogramView): Grid => ({ ...logGrid(from, to, columns, num(histogram.bins.unit_ns) || 1), openBelow: true });
  const grids = strips.map(({ histogram }): Grid => (histogram === null ? { edges: [], log: true } : gridOf(histogram)));
  const counts = strips.map(({ histogram }, at) => (histogram === null ? [] : regrid(histogram.bins, grids[at]!).counts));
  const highest = all.reduce((largest, { histogram }) => Math.max(largest, ...(histogram === null ? [] : regrid(histogram.bins, gridOf(histogram)).counts)), 1);
  return { grids, counts, highest, from, to };
}
