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

/** Where the bin that starts at `from` ends. */
export function binEnd(from: number): number {
  return from + 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, from))) - PLOT_BITS);
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
}

/** 1, 2 or 5 times a power of ten, at least `value`. */
export function niceAtLeast(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 5]) if (step * power >= value * 0.999999) return step * power;
  return 10 * power;
}

/** Columns of one round width, no finer than the bins at the right edge are. */
export function linearGrid(from: number, to: number, columns: number): Grid {
  const width = Math.max(1, niceAtLeast(Math.max((to - from) / columns, binEnd(to) - to)));
  const first = Math.floor(from / width);
  const last = Math.max(first + 1, Math.ceil(to / width));
  const edges = [];
  for (let i = first; i <= last; i += 1) edges.push(i * width);
  return { edges, log: false };
}

/** Columns of one ratio. */
export function logGrid(from: number, to: number, columns: number): Grid {
  const low = Math.max(1, from);
  const ratio = Math.max(1.005, (Math.max(to, low * 1.1) / low) ** (1 / columns));
  const edges = [low];
  while (edges[edges.length - 1]! < to) edges.push(edges[edges.length - 1]! * ratio);
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
  const { edges } = grid;
  const columns = edges.length - 1;
  const counts = new Array<number>(columns).fill(0);
  let below = 0;
  let beyond = 0;
  let column = 0;
  for (let i = 0; i < bins.from_ns.length; i += 1) {
    const from = num(bins.from_ns[i]);
    const to = binEnd(from);
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
    if (seen >= share * total) return binEnd(num(bins.from_ns[i]));
  }
  return Number.NaN;
}

/** How far the body reaches: the view is made for it, and what lies beyond is counted at the edge. */
const BODY = 0.9999;

/**
 * The range that shows the body and, where they are near, the deadline and every maximum.
 * A maximum far beyond the body would squeeze it into one column, hence it is counted at the edge instead.
 */
export function defaultRange(histograms: HistogramView[], deadline: number): [number, number] {
  const filled = histograms.filter((histogram) => histogram.bins.from_ns.length > 0);
  if (filled.length === 0) return [0, Number.isFinite(deadline) ? deadline * 1.25 : 100_000];
  const body = Math.max(...filled.map((histogram) => quantileOf(histogram.bins, BODY)));
  const worst = Math.max(...filled.map((histogram) => num(histogram.max_ns)));
  const wanted = Math.max(body * 1.5, Number.isFinite(deadline) ? deadline * 1.25 : 0);
  const nearly = Math.max(worst * 1.08, Number.isFinite(deadline) ? deadline * 1.25 : 0);
  return [0, nearly <= Math.max(body * 4, wanted) ? nearly : wanted];
}

/** The range that shows everything. */
export function fullRange(histograms: HistogramView[], deadline: number): [number, number] {
  const worst = histograms.map((histogram) => num(histogram.max_ns)).filter(Number.isFinite);
  const top = Math.max(...worst, Number.isFinite(deadline) ? deadline : 0, 1000);
  return [0, top * 1.06];
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
