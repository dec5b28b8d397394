// How far clocks are apart: tracks, ranges, distributions and words of the sources of time. Pure; sync_over_time.ts and sync_spread.ts draw.

import { binWidth, niceAtLeast, num, regrid } from "./bins.ts";
import * as format from "./format.ts";
import type { HistogramView, RunView, SyncEventView, SyncSourceView, SyncStateView, SyncView } from "./generated/view.d.ts";
import type { Cell } from "./model.ts";

/** What was seen of a source over time, as numbers: seconds from the start of the run and nanoseconds; NaN where there is none. */
export interface Track {
  at: number[];
  count: number[];
  low: number[];
  high: number[];
  lower: number[];
  upper: number[];
  delay: number[];
}

export function trackOf({ track }: SyncSourceView): Track {
  return {
    at: track.offset_ns.map((ns) => num(ns) / 1e9), count: track.count.map(num), low: track.lowest_ns.map(num), high: track.highest_ns.map(num),
    lower: track.lower_bound_ns.map(num), upper: track.upper_bound_ns.map(num), delay: track.delay_ns.map(num),
  };
}

/** A stretch of the run in one state. */
export interface Stretch {
  from: number;
  to: number;
  state: SyncStateView;
}

/** The states of a source until the end of the run (s). */
export function stretchesOf({ states }: SyncSourceView, end: number): Stretch[] {
  return states.flatMap(({ at, state }, i) => {
    // The first state was seen a little after the start, and nothing else is known of the time before.
    const from = i === 0 ? Math.min(num(at.offset_ns) / 1e9, end) : num(at.offset_ns) / 1e9;
    const next = states[i + 1];
    const to = next === undefined ? end : num(next.at.offset_ns) / 1e9;
    return to > from ? [{ from: Math.max(0, from), to, state }] : [];
  });
}

export function stateAt(stretches: Stretch[], at: number): SyncStateView | undefined {
  return stretches.find(({ from, to }) => at >= from && at <= to)?.state;
}

export function lengthOf(run: RunView): number {
  return Math.max(num(run.duration_ns) / 1e9, 1e-3);
}

/** The first index whose time is not below `at`. */
function lowerIndex(times: number[], at: number): number {
  let [from, to] = [0, times.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle]! < at) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The point nearest to a time; undefined if there is none. */
export function pointAt({ at }: Track, seconds: number): number | undefined {
  if (at.length === 0) return undefined;
  const after = lowerIndex(at, seconds);
  const before = after - 1;
  if (after >= at.length) return before;
  return before < 0 || at[after]! - seconds < seconds - at[before]! ? after : before;
}

/** Everything within one column of a drawing. NaN where there is none. */
export interface Column {
  /** Number of the column. */
  x: number;
  /** Times of its first and its last point (s). */
  first: number;
  last: number;
  low: number;
  high: number;
  lower: number;
  upper: number;
  delay: number;
}

const least = (a: number, b: number) => (Number.isNaN(a) || b < a ? b : a);
const most = (a: number, b: number) => (Number.isNaN(a) || b > a ? b : a);

/** Joins the points of a range into `columns` columns: never averaged, so that no extreme is lost. Empty ones are left out. */
export function columnsOf(track: Track, [from, to]: [number, number], columns: number): Column[] {
  const found: Column[] = [];
  for (let i = lowerIndex(track.at, from); i < track.at.length && track.at[i]! <= to; i += 1) {
    const x = Math.min(columns - 1, Math.floor(((track.at[i]! - from) / (to - from)) * columns));
    let column = found[found.length - 1];
    if (!column || column.x !== x) {
      column = { x, first: track.at[i]!, last: track.at[i]!, low: NaN, high: NaN, lower: NaN, upper: NaN, delay: NaN };
      found.push(column);
    }
    column.last = track.at[i]!;
    column.low = least(column.low, track.low[i]!);
    column.high = most(column.high, track.high[i]!);
    column.lower = least(column.lower, track.lower[i]!);
    column.upper = most(column.upper, track.upper[i]!);
    column.delay = most(column.delay, track.delay[i]!);
  }
  return found;
}

/** A bound is looked at anew every second or so; a shorter silence is none (s). */
const SHORTEST_GAP = 3;

/** Whether two columns lie so far apart that nothing is known of the time between them. */
export function isGap(before: Column, after: Column, usual: number): boolean {
  return after.first - before.last > Math.max(SHORTEST_GAP, 6 * usual);
}

/** The usual time between two points (s). */
export function usualSpacing({ at }: Track): number {
  const steps = at.slice(1).map((time, i) => time - at[i]!).sort((a, b) => a - b);
  // Two points can belong to one moment: the bound before an exchange, and the exchange.
  return steps[Math.floor(steps.length * 0.9)] ?? 1;
}

function extent(low: number[], high: number[]): [number, number] {
  const lows = low.filter(Number.isFinite);
  const highs = high.filter(Number.isFinite);
  return [lows.reduce((a, b) => Math.min(a, b), Infinity), highs.reduce((a, b) => Math.max(a, b), -Infinity)];
}

/** What the vertical axis shows: as it asks for it, the offsets alone, or bound and limit wherever they lie. */
export type Reach = "first" | "offsets" | "all";

/** A bound of so many times the offsets would press them into a line. */
const NEAR_BOUND = 25;
/** A limit of so many times what is shown would do the same. */
const NEAR_LIMIT = 4;

export interface OffsetRange {
  range: [number, number];
  /** What lies beyond the view, in words; empty if nothing does. */
  beyond: string[];
}

/** The range of the vertical axis (ns). What decides about a limit is inside the first view: a bound that reaches beyond it. */
export function offsetRange(columns: Column[], limit: number, reach: Reach): OffsetRange {
  const offsets = extent(columns.map(({ low }) => low), columns.map(({ high }) => high));
  const bound = extent(columns.map(({ lower }) => lower), columns.map(({ upper }) => upper));
  const size = ([low, high]: [number, number]) => Math.max(Math.abs(low), Math.abs(high));
  const known = offsets[0] <= offsets[1];
  const bounded = bound[0] <= bound[1];
  const limited = Number.isFinite(limit);
  let [low, high] = known ? [Math.min(0, offsets[0]), Math.max(0, offsets[1])] : bounded ? bound : [-1000, 1000];
  if (high - low < 10) [low, high] = [low - 5, high + 5];
  const decides = limited && bounded && size(bound) > limit;
  const withBound = bounded && (reach === "all" || (reach === "first" && (decides || !known || bound[1] - bound[0] <= NEAR_BOUND * (high - low))));
  if (withBound) [low, high] = [Math.min(low, bound[0]), Math.max(high, bound[1])];
  const withLimit = limited && (reach === "all" || (reach === "first" && (decides || limit <= NEAR_LIMIT * size([low, high]))));
  if (withLimit) [low, high] = [Math.min(low, -limit), Math.max(high, limit)];
  const room = (high - low) * 0.08;
  const range: [number, number] = [low - room, high + room];
  const beyond: string[] = [];
  if (bounded && (bound[0] < range[0] || bound[1] > range[1])) beyond.push(`hard bound, ${format.latency(bound[0])} to ${format.latency(bound[1])}`);
  if (limited && (limit > range[1] || -limit < range[0])) beyond.push(`limit, \u00b1${format.span(limit)}`);
  return { range, beyond };
}

/** "offset -81 ns to 105 ns (8 joined), hard bound -2.4 us to 5.4 us, path delay 2.1 us". */
export function pointWords(track: Track, i: number): string {
  const [low, high, count] = [track.low[i]!, track.high[i]!, track.count[i]!];
  const parts: string[] = [];
  if (count > 0) parts.push(low === high ? `offset ${format.latency(low)}` : `offset ${format.latency(low)} to ${format.latency(high)} (${format.count(count)} joined)`);
  if (Number.isFinite(track.lower[i])) parts.push(`hard bound ${format.latency(track.lower[i]!)} to ${format.latency(track.upper[i]!)}`);
  if (Number.isFinite(track.delay[i])) parts.push(`path delay ${format.latency(track.delay[i]!)}`);
  return parts.join(", ");
}

/** "12 min 3 s (2026-03-02 08:12:03 Europe/Berlin)". */
export function timeWords(run: RunView, seconds: number): string {
  const offset = Math.round(seconds * 1e9);
  // A log without dates says only how much time passed.
  if (run.started_realtime_ns === "0") return `${format.span(offset)} into the run`;
  const wall = BigInt(run.started_realtime_ns) + BigInt(offset);
  return `${format.span(offset)} (${format.wallTime(wall.toString(), run.time_zone, 0)} ${run.time_zone ?? "UTC"})`;
}

export const TRACK_HEAD = ["from", "offsets", "lowest", "highest", "bound from", "to", "path delay"];

export function trackCells(track: Track, i: number): Cell[] {
  const latency = (ns: number) => (Number.isFinite(ns) ? format.latency(ns) : "\u2013");
  return [
    format.span(Math.round(track.at[i]! * 1e9)), format.count(track.count[i]!), latency(track.low[i]!), latency(track.high[i]!),
    latency(track.lower[i]!), latency(track.upper[i]!), latency(track.delay[i]!),
  ];
}

/** So many rows of a table are shown; the CSV file has all. */
export const MOST_ROWS = 500;

/** Rows of a table of points: where they are too many, neighbors are joined. */
export function trackRows(track: Track): Cell[][] {
  if (track.at.length <= MOST_ROWS) return track.at.map((_, i) => trackCells(track, i));
  const end = track.at[track.at.length - 1]!;
  const joined: Track = { at: [], count: [], low: [], high: [], lower: [], upper: [], delay: [] };
  const columns = columnsOf(track, [0, end], MOST_ROWS);
  for (const column of columns) {
    joined.at.push(column.first);
    for (const name of ["low", "high", "lower", "upper", "delay"] as const) joined[name].push(column[name]);
    let count = 0;
    for (let i = lowerIndex(track.at, column.first); i < track.at.length && track.at[i]! <= column.last; i += 1) count += track.count[i]!;
    joined.count.push(count);
  }
  return joined.at.map((_, i) => trackCells(joined, i));
}

// Distribution

/** Offsets by value: `edges[i]` to `edges[i + 1]` (ns). Zero is an edge. */
export interface Signed {
  edges: number[];
  counts: number[];
  below: number;
  beyond: number;
}

const EMPTY: HistogramView = { count: 0, quantiles: [], bins: { unit_ns: 1, from_ns: [], count: [] } };

/** The range of all offsets (ns), as the axis of the distribution shows it. */
export function spreadRange({ spread }: SyncSourceView): [number, number] {
  const [low, high] = [num(spread?.lowest_ns), num(spread?.highest_ns)];
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [-1000, 1000];
  const room = Math.max(2, (high - low) * 0.04);
  return [low - room, high + room];
}

/** Columns of one width, no finer than the bins are at the far end; no offset is lost. */
export function signedColumns(source: Pick<SyncSourceView, "from_zero" | "below_zero">, [from, to]: [number, number], columns: number): Signed {
  const above = source.from_zero ?? EMPTY;
  const under = source.below_zero ?? EMPTY;
  const width = niceAtLeast(Math.max((to - from) / columns, binWidth(Math.max(Math.abs(from), Math.abs(to)))));
  const first = Math.floor(from / width);
  const last = Math.max(first + 1, Math.ceil(to / width));
  const edges = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * width);
  const counts = new Array<number>(last - first).fill(0);
  let [below, beyond] = [0, 0];
  // Each side on a grid of its own, counted from zero outwards.
  const take = ({ bins }: HistogramView, isBelow: boolean) => {
    const [near, far] = isBelow ? [Math.max(0, -last), Math.max(0, -first)] : [Math.max(0, first), Math.max(0, last)];
    const inside = far > near;
    const grid = { edges: inside ? Array.from({ length: far - near + 1 }, (_, i) => (near + i) * width) : [0, 0], log: false };
    const found = inside ? regrid(bins, grid) : { counts: [], below: 0, beyond: bins.count.reduce<number>((sum, count) => sum + num(count), 0) };
    found.counts.forEach((count, i) => { counts[isBelow ? -(near + i) - 1 - first : near + i - first]! += count; });
    // What lies farther from zero than the view, and what lies nearer.
    if (isBelow) [below, beyond] = [below + found.beyond, beyond + found.below];
    else [below, beyond] = [below + found.below, beyond + found.beyond];
  };
  take(above, false);
  take(under, true);
  return { edges, counts, below, beyond };
}

export function signedRows({ edges, counts }: Signed): Cell[][] {
  return counts.flatMap((count, i) => (count === 0 ? [] : [[format.latency(edges[i]!), format.latency(edges[i + 1]!), format.count(count)]]));
}

// Offset against path delay

/** The offsets of a moment, with the longest path delay of that moment. */
export interface Dot {
  at: number;
  delay: number;
  low: number;
  high: number;
  count: number;
}

export function dotsOf(track: Track): Dot[] {
  return track.at.flatMap((at, i) => (track.count[i]! > 0 && Number.isFinite(track.delay[i])
    ? [{ at, delay: track.delay[i]!, low: track.low[i]!, high: track.high[i]!, count: track.count[i]! }] : []));
}

/** The shortest delay, and the middle of the offsets there: the point from which the wedge opens. */
export function wedgeOf(dots: Dot[], median: number): { delay: number; offset: number } | undefined {
  if (dots.length === 0) return undefined;
  return { delay: dots.reduce((shortest, { delay }) => Math.min(shortest, delay), Infinity), offset: median };
}

export function dotWords(run: RunView, { at, delay, low, high, count }: Dot): string {
  const offset = low === high ? format.latency(low) : `${format.latency(low)} to ${format.latency(high)} (${format.count(count)} joined)`;
  return `Path delay ${format.latency(delay)}: offset ${offset}, at ${timeWords(run, at)}`;
}

// Allan deviation

export interface AllanDot {
  averaging: number;
  deviation: number;
  count: number;
}

/** Fewer points show no slope. */
export const LEAST_ALLAN = 3;

export function allanOf({ allan }: SyncSourceView): AllanDot[] {
  return allan.averaging_ns.map((ns, i) => ({ averaging: num(ns), deviation: allan.deviation[i]!, count: num(allan.count[i]) }))
    // A logarithmic axis has no place for zero.
    .filter(({ averaging, deviation }) => averaging > 0 && deviation > 0);
}

/** "1.6e-5": a ratio without unit. */
export function ratio(value: number): string {
  return value.toExponential(1).replace("e+", "e").replace(/e0$/, "");
}

// Words and order

/** Sources to which a limit applies first, then those with offsets, then the rest. */
export function inOrder({ sources }: SyncView): SyncSourceView[] {
  const rank = (source: SyncSourceView) => (source.judged ? 0 : source.spread ? 1 : 2);
  return [...sources].sort((a, b) => rank(a) - rank(b));
}

export function spreadWords({ spread }: SyncSourceView): string {
  if (!spread) return "no offset was seen";
  return `median ${format.latency(spread.median_ns)}, lowest ${format.latency(spread.lowest_ns)}, highest ${format.latency(spread.highest_ns)}, standard deviation ${format.latency(spread.deviation_ns)}, of ${format.count(spread.count)} offsets`;
}

/** The events to list at once, in the order of time, and the others: where there are too many, changes of state give way to all others. */
export function foldEvents(events: SyncEventView[], most: number): [SyncEventView[], SyncEventView[]] {
  const isState = ({ what }: SyncEventView) => what === "state";
  const kept = new Set([...events.filter((event) => !isState(event)), ...events.filter(isState)].slice(0, most));
  return [events.filter((event) => kept.has(event)), events.filter((event) => !kept.has(event))];
}

/** Whether a source has part in a broken limit. The verdict decides, which knows the bound of each offset; a point can have several joined. */
export function breaksLimit(run: RunView, track: Track, limit: number): boolean {
  return run.state !== "invalid" && run.verdict?.state === "broken" && track.at.some((_, i) => track.high[i]! > limit || track.low[i]! < -limit);
}

/** A tile of the verdict. */
export interface SyncFact {
  name: string;
  value: string;
  under: string;
  invalid?: boolean;
  broken?: boolean;
}

const MOST_TILES = 4;

export function syncFacts(runs: RunView[]): SyncFact[] {
  const facts = runs.flatMap((run) => inOrder(run.sync!).filter(({ spread }) => spread).map((source): SyncFact => {
    const invalid = run.state === "invalid";
    const name = `${source.bound ? "hard bound" : "offsets"}, ${source.name}`;
    if (invalid) return { name, value: "invalid", under: "not a result", invalid };
    if (source.bound) {
      const { lowest_ns: low, highest_ns: high } = source.bound;
      return { name, value: `${format.latency(low)} to ${format.latency(high)}`, under: source.state ? `${source.state} at the end` : "" };
    }
    return { name, value: `${format.latency(source.spread!.lowest_ns)} to ${format.latency(source.spread!.highest_ns)}`, under: "no hard bound" };
  }));
  const changes = runs.reduce((sum, { sync }) => sum + sync!.events.length + num(sync!.events_left_out), 0);
  const state = runs.some((run) => run.state === "invalid") ? "invalid" : runs.some((run) => run.state === "degraded") ? "degraded" : "valid";
  const reasons = new Set(runs.flatMap((run) => run.reasons.map(({ code }) => code))).size;
  return [
    ...facts.slice(0, MOST_TILES),
    { name: "changes", value: format.count(changes), under: changes === 0 ? "of state, reference or time" : "listed under Clocks" },
    { name: "validity", value: state, invalid: state === "invalid", under: reasons === 0 ? "nothing spoilt the runs" : `${reasons} ${reasons === 1 ? "reason" : "reasons"}, under Clocks` },
  ];
}
