// Histograms for drawing: pure functions over columns of bins. Latencies are nanoseconds.

import type { Bins, Exact, HistogramView } from "./generated/view.d.ts";

/** Digits of the view's bins: each octave has 2^8 of them (crates/report/src/coarse.rs). */
const PLOT_BITS = 8;
/** Digits of the heat map's bins. */
const HEAT_BITS = 4;

/** A number for drawing; exact up to 2^53. */
export function num(value: Exact | null | undefined): number {
  return value === null || value === undefined ? Number.NaN : Number(value);
}

/** How wide the view's bins are at a latency; `unit` is the width of the bins in which an import's source counted. */
export function binWidth(at: number, unit = 1): number {
  return unit * 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, at / unit))) - PLOT_BITS);
}

/** Where the bin that starts at `from` ends. */
export function binEnd(from: number, unit = 1): number {
  return from + binWidth(from, unit);
}

/** The unit in which bins of several sources begin and end together; the coarsest one if they have none in reach. */
export function commonUnit(all: Bins[]): number {
  const units = [...new Set(all.map((bins) => num(bins.unit_ns) || 1))];
  const most = Math.max(1, ...units);
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  const common = units.reduce((a, b) => (a * b) / divisor(a, b), 1);
  return common <= 64 * most ? common : most;
}

/** Lowest value of a heat map's bin. */
export function heatFrom(index: number): number {
  const octave = 2 ** HEAT_BITS;
  const shift = Math.max(0, Math.floor(index / octave) - 1);
  return (index - shift * octave) * 2 ** shift;
}

/** Columns to draw in: `edges[i]` to `edges[i + 1]`. */
export interface Grid {
  edges: number[];
  log: boolean;
  /** The first column holds everything below it too: a logarithmic axis has no place for zero. */
  openBelow?: boolean;
}

/** 1, 2 or 5 times a power of ten, at least `value`. */
export function niceAtLeast(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5]) if (step * power >= value * 0.999999) return step * power;
  return 10 * power;
}

/** Columns of one width, no finer than the bins at the right edge are; those of an import hold whole bins of its source. */
export function linearGrid(from: number, to: number, columns: number, unit = 1): Grid {
  const least = binWidth(to, unit);
  const wanted = (to - from) / columns;
  const width = unit === 1 ? niceAtLeast(Math.max(wanted, least)) : least * Math.max(1, Math.ceil(wanted / least));
  const first = Math.floor(from / width);
  const last = Math.max(first + 1, Math.ceil(to / width));
  const edges = [];
  for (let i = first; i <= last; i += 1) edges.push(i * width);
  return { edges, log: false };
}

/** So many bins of a source are drawn one by one on a logarithmic axis. */
const MOST_SINGLE_BINS = 4000;

/**
 * Columns of one ratio, as far as bins allow it: each begins and ends with a bin. The bins of an import's source are drawn one by
 * one: columns of one source bin beside columns of two would show a step that nobody measured.
 */
export function logGrid(from: number, to: number, columns: number, unit = 1): Grid {
  // The bin of zero is drawn half as wide, since it would have no left end.
  const lowest = unit === 1 ? 1 : unit / 2;
  const width = binWidth(from, unit);
  const low = Math.max(lowest, Math.floor(from / width) * width);
  const high = Math.max(to, low * 1.1);
  const singly = unit > 1 && Math.min((high - low) / unit, 2 ** (PLOT_BITS + 1)) + 2 ** PLOT_BITS * Math.max(0, Math.log2(high / unit) - PLOT_BITS - 1) <= MOST_SINGLE_BINS;
  const ratio = singly ? 1 : Math.max(1.005, (high / low) ** (1 / columns));
  const edges = [low];
  while (edges[edges.length - 1]! < high) {
    const last = edges[edges.length - 1]!;
    const least = binWidth(last, unit);
    const next = Math.ceil((last * ratio) / least - 1e-9) * least;
    edges.push(next > last ? next : (Math.floor(last / least) + 1) * least);
  }
  return { edges, log: true };
}

/** Samples of each column, and of what lies outside. */
export interface Columns {
  counts: number[];
  below: number;
  beyond: number;
}

/** Sums bins into columns. A bin on an edge is divided by width, in whole samples, and none is lost. */
export function regrid(bins: Bins, grid: Grid): Columns {
  const edges = grid.openBelow ? [0, ...grid.edges.slice(1)] : grid.edges;
  const unit = num(bins.unit_ns) || 1;
  const columns = edges.length - 1;
  const counts = new Array<number>(columns).fill(0);
  let below = 0;
  let beyond = 0;
  let column = 0;
  for (let i = 0; i < bins.from_ns.length; i += 1) {
    const from = num(bins.from_ns[i]);
    const to = binEnd(from, unit);
    const all = num(bins.count[i]);
    let given = 0;
    const upTo = (edge: number) => Math.round(all * Math.min(1, Math.max(0, (edge - from) / (to - from))));
    given = upTo(edges[0]!);
    below += given;
    while (column < columns && edges[column + 1]! <= from) column += 1;
    for (let c = column; c < columns && given < all; c += 1) {
      const part = upTo(edges[c + 1]!) - given;
      if (part > 0) {
        counts[c]! += part;
        given += part;
      }
      if (edges[c + 1]! >= to) break;
    }
    beyond += all - given;
  }
  return { counts, below, beyond };
}

/** The value that `share` of the samples does not exceed, from the bins. */
export function quantileOf(bins: Bins, share: number): number {
  const counts = bins.count.map(num);
  const total = counts.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (let i = 0; i < counts.length; i += 1) {
    seen += counts[i]!;
    if (seen >= share * total) return binEnd(num(bins.from_ns[i]), num(bins.unit_ns) || 1);
  }
  return Number.NaN;
}

/** How far the body reaches. */
const BODY = 0.9999;

/**
 * The range that shows the body and, where they are near, the deadline and every maximum.
 * A maximum far beyond the body would squeeze it into one column, hence it is counted at the edge instead.
 */
export function bodyRange(histograms: HistogramView[], deadline: number): [number, number] {
  const filled = histograms.filter((histogram) => histogram.bins.from_ns.length > 0);
  if (filled.length === 0) return [0, Number.isFinite(deadline) ? deadline * 1.25 : 100_000];
  const body = Math.max(...filled.map((histogram) => quantileOf(histogram.bins, BODY)));
  const worst = Math.max(...filled.map((histogram) => num(histogram.max_ns)));
  const limit = Number.isFinite(deadline) && deadline < body * 20 ? deadline * 1.25 : 0;
  const wanted = Math.max(body * 1.5, limit);
  const nearly = Math.max(worst * 1.08, limit);
  return [0, nearly <= Math.max(body * 4, wanted) ? nearly : wanted];
}

/** The range that shows everything. */
export function fullRange(histograms: HistogramView[], deadline: number): [number, number] {
  const worst = histograms.map((histogram) => num(histogram.max_ns)).filter(Number.isFinite);
  const top = Math.max(...worst, Number.isFinite(deadline) ? deadline : 0);
  return [0, top > 0 ? Math.max(1000, top * 1.06) : 100_000];
}

/** A range of so many times the p99.9 would press nearly all samples into a corner of a linear axis. */
const LOG_FROM = 10;
/** The same of so many times the lowest median, where curves differ much. */
const LOG_FROM_MEDIANS = 40;

/** The first view: everything, since the worst decides; logarithmic where the bulk of the samples would have no room else. */
export function firstView(histograms: HistogramView[], deadline: number): { range: [number, number]; log: boolean } {
  const range = fullRange(histograms, deadline);
  const at = (share: number) => histograms.map((histogram) => quantileOf(histogram.bins, share)).filter(Number.isFinite);
  const [bulk, lowest] = [Math.max(...at(0.999)), Math.min(...at(0.5))];
  return { range, log: bulk > 0 && (range[1] > LOG_FROM * bulk || range[1] > LOG_FROM_MEDIANS * lowest) };
}

/** Ticks at round numbers, about `wanted` of them. */
export function linearTicks(from: number, to: number, wanted: number): number[] {
  if (!(to > from)) return [];
  const step = niceAtLeast((to - from) / Math.max(1, wanted));
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to * 1.000001; i += 1) ticks.push(i * step);
  return ticks;
}

/** Ticks at 1 (and, where there is room, 2 and 5) times powers of ten. */
export function logTicks(from: number, to: number, wanted: number): number[] {
  if (!(to > from) || from <= 0) return [];
  const decades = Math.log10(to / from);
  const steps = decades * 3 <= wanted ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / Math.max(1, wanted)));
  const ticks = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power += 1) {
    if (power % every !== 0) continue;
    for (const step of steps) {
      const tick = step * 10 ** power;
      if (tick >= from && tick <= to) ticks.push(tick);
    }
  }
  return ticks;
}
