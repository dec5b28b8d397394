// The view arranged for drawing: which CPU has which rank, name and shape.

import { num } from "./bins.ts";
import { KINDS, type Kind } from "./generated/kinds.ts";
import type { HistogramView, RunView, SeriesView, View } from "./generated/view.d.ts";
import * as format from "./format.ts";

/** One CPU (or unpinned thread) over all runs of a measurement. */
export interface Lane {
  key: string;
  name: string;
  /** Place among the worst: 0 is the worst; null beyond the fifth, which are drawn gray. */
  rank: number | null;
  worst: number;
  /** Its curve is dashed, not on paper alone. */
  dashed?: boolean;
}

/** One curve: a lane in a run. */
export interface Trace {
  lane: Lane;
  run: RunView;
  runIndex: number;
  series: SeriesView;
  histogram: HistogramView;
  invalid: boolean;
  /** Loaded runs are drawn heavier; of two that differ in nothing else the second. */
  heavy: boolean;
}

/** As many as have a color and a shape of their own. */
export const COLORED = 5;

/** Where a single sample was taken. */
export function placeName(series: { cpu?: number | null; thread: number }): string {
  return series.cpu === null || series.cpu === undefined ? `thread ${series.thread}` : `CPU ${series.cpu}`;
}

/** What was measured and read of a machine. */
export type Results = Extract<View["page"], { kind: "runs" }>["results"];

/** The same of a page; null if the page is of another kind. */
export function resultsOf(page: View["page"]): Results | null {
  return "results" in page ? page.results : null;
}

/** The runs whose samples are drawn in such a figure: wake-ups of a test thread and of a user's own program in one. */
export function runsOf(results: Results, figure: Kind["figure"]): RunView[] {
  return results.runs.filter((run) => KINDS[run.measurement]?.figure === figure);
}

/** The same, kind by kind. */
export function kindsOf(results: Results, figure: Kind["figure"]): { name: string; title: string; samples: string; runs: RunView[] }[] {
  const runs = runsOf(results, figure);
  return Object.entries(KINDS).flatMap(([name, { about, samples }]) => {
    const ofKind = runs.filter((run) => run.measurement === name);
    return ofKind.length === 0 ? [] : [{ name, title: about, samples, runs: ofKind }];
  });
}

/** Whether its threads are those of a user's own program. */
export function isOfProgram(run: RunView): boolean {
  return KINDS[run.measurement]?.isOfProgram ?? false;
}

/** Whether one turn of a thread has several latencies, so that readers have to know which one a number is of. */
export function hasSeveralLatencies(run: RunView | undefined): boolean {
  return run !== undefined && (KINDS[run.measurement]?.predicted.length ?? 0) > 1;
}

/** What several samples of a kind are called. */
export function samplesOf(measurement: string): string {
  return KINDS[measurement]?.samples ?? "samples";
}

/**
 * Lanes in the order of CPUs, ranked by their worst sample; an invalid run ranks nobody unless all are invalid.
 * Where `ranks` are given they are taken.
 */
export function lanesOf(runs: RunView[], ranks?: Map<string, number | null>, dashed = false): Lane[] {
  const counted = runs.some((run) => run.state !== "invalid") ? runs.filter((run) => run.state !== "invalid") : runs;
  const lanes = new Map<string, Lane>();
  for (const run of runs) {
    for (const series of run.series) {
      const key = series.lane;
      const lane = lanes.get(key) ?? { key, name: key, rank: null, worst: -1 };
      const max = num(series.histogram.max_ns);
      if (counted.includes(run) && max > lane.worst) lane.worst = max;
      lanes.set(key, lane);
    }
  }
  const all = [...lanes.values()];
  if (ranks) {
    for (const lane of all) {
      lane.rank = ranks.get(lane.key) ?? null;
      lane.dashed = dashed;
    }
    return all;
  }
  const worstFirst = [...all].sort((a, b) => b.worst - a.worst);
  // Up to five keep the color of their place in the row, so that CPU 0 is the same hue in every report.
  const colored = all.length <= COLORED ? all : worstFirst.slice(0, COLORED);
  colored.forEach((lane, rank) => { lane.rank = rank; });
  return all;
}

/** Whether a run's curves are drawn heavily: those under load, or the second of two runs without that difference. */
export function isHeavy(runs: RunView[], runIndex: number): boolean {
  const alike = runs.every((run) => run.loaded === runs[0]!.loaded);
  if (alike && runs.length <= 2) return runIndex === runs.length - 1;
  return runs[runIndex]!.loaded;
}

/** What heavy and light curves are; empty where all are alike. */
export function weightsText(runs: RunView[]): string {
  const alike = runs.every((run) => run.loaded === runs[0]!.loaded);
  if (alike) return runs.length === 2 ? `heavy: ${runs[1]!.label}, light: ${runs[0]!.label}` : "";
  return "heavy: under load, light: idle";
}

export function tracesOf(runs: RunView[], lanes: Lane[], corrected: boolean): Trace[] {
  const byKey = new Map(lanes.map((lane) => [lane.key, lane]));
  const traces = runs.flatMap((run, runIndex) => run.series.map((series) => ({
    lane: byKey.get(series.lane)!,
    run, runIndex, series,
    histogram: corrected && series.corrected ? series.corrected : series.histogram,
    invalid: run.state === "invalid",
    heavy: isHeavy(runs, runIndex),
  })));
  // Gray lies under color, light under heavy.
  const depth = (trace: Trace) => (trace.lane.rank === null ? 0 : 2) + (trace.heavy ? 1 : 0);
  return traces.sort((a, b) => depth(a) - depth(b));
}

export function deadlineOf(runs: RunView[]): number {
  const stated = runs.map((run) => num(run.deadline_ns)).filter(Number.isFinite);
  return stated.length === 0 ? Number.NaN : Math.min(...stated);
}

export function hasCorrected(runs: RunView[]): boolean {
  return runs.some((run) => run.series.some((series) => series.corrected));
}

/** The name of a latency as people read it: its two points in words. */
export function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** Why a run does not mean what was asked, in one sentence. */
export function invalidReason(run: Pick<RunView, "invalid_because">): string {
  const because = run.invalid_because ?? "it is marked invalid";
  return `${because[0]!.toUpperCase()}${because.slice(1)}`;
}

/** A CSV field: quoted only where needed. */
export function csvField(value: string | number | bigint | null | undefined): string {
  let text = value === null || value === undefined ? "" : String(value);
  // A spreadsheet takes such a text for a formula; figures may be negative.
  if (typeof value === "string" && /^[=+@\-\t]/.test(text) && !/^-\d/.test(text)) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
}

export type Cell = string | number | bigint | null | undefined;

export function csv(head: string[], rows: Cell[][]): string {
  return [head, ...rows].map((row) => row.map(csvField).join(",")).join("\n") + "\n";
}

/** The figures of a trace: those of the view, or in the corrected view those of its histogram. */
function figuresOf({ histogram, series }: Trace): SeriesView["figures"] {
  return histogram === series.corrected ? figuresIn(histogram) : series.figures;
}

/** The figures that a histogram states of its samples. */
export function figuresIn({ count: samples, min_ns: lowest_ns, mean_ns, sd_ns, quantiles, max_ns: highest_ns }: HistogramView): SeriesView["figures"] {
  return { samples, lowest_ns, mean_ns, sd_ns, quantiles, highest_ns };
}

export function summaryOf(trace: Trace): string[] {
  const figures = figuresOf(trace);
  const at = (share: number) => {
    const found = figures.quantiles.find((quantile) => Math.abs(quantile.share - share) < 1e-9);
    return found ? format.microseconds(found.value_ns) : "\u2013";
  };
  const us = (value: number | string | null | undefined) =>
    value === null || value === undefined ? "\u2013" : format.microseconds(value);
  const missed = trace.series.missed_periods;
  return [
    format.count(figures.samples), us(figures.lowest_ns), us(figures.mean_ns), us(figures.sd_ns), at(0.5), at(0.99), at(0.9999), us(figures.highest_ns),
    missed === null || missed === undefined ? "\u2013" : format.count(missed),
  ];
}

export const SUMMARY_HEAD = ["samples", "min", "mean", "sd", "p50", "p99", "p99.99", "max", "missed"];

export interface Fact {
  path: string;
  value: string;
}

/** Every leaf of a JSON value with its path: "kernel.config.HZ" is "1000". */
export function leavesOf(value: unknown, path = ""): Fact[] {
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    // A list of plain values, such as a command line, is one fact.
    if (value.every((item) => typeof item !== "object" || item === null)) return [{ path, value: value.join(" ") }];
    return value.flatMap((item, i) => leavesOf(item, `${path}[${i}]`));
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, item]) => leavesOf(item, path === "" ? key : `${path}.${key}`));
  }
  return value === null || value === undefined ? [] : [{ path, value: String(value) }];
}
