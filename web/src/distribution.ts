// The latency plot: options and data from histograms. Pure but for the overlay's drawing.

import type uPlot from "uplot";
import { commonUnit, linearGrid, linearTicks, logGrid, logTicks, num, regrid, type Columns, type Grid } from "./bins.ts";
import type { ChartSpec, Weight } from "./chart.tsx";
import * as format from "./format.ts";
import { colorOf, deadlineLabel, drawNotice, drawShape, drawText, hatch, placeLabels, shapeOf, type Box } from "./marks.ts";
import { invalidReason, type Lane, type Trace } from "./model.ts";
import type { Theme } from "./theme.ts";

/** A curve dips to here where there is no sample: below the axis, which ends at one sample. */
const NOTHING = 0.3;
const AXIS_FOOT = 0.7;
/** On paper, which may be without color, and where curves are of groups. */
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3], [4, 2], [12, 3], [2, 4], [6, 2, 2, 2, 2, 2]];

export interface Distribution {
  grid: Grid;
  /** The width of the bins in which the coarsest source counted (ns); 1 where all samples are known to the nanosecond. */
  unit: number;
  columns: Columns[];
  /** All samples outside the view, of valid runs. */
  beyond: number;
  below: number;
  worstBeyond: number;
  highest: number;
  /** Samples whose values a source did not keep, of valid runs, and the range in which they lie; null where there are none. */
  unplaced: Unplaced | null;
  /** Samples of invalid runs beyond the view: no result, but not to be cut silently either. */
  beyondInvalid: number;
}

export interface Unplaced {
  count: number;
  from: number;
  to: number;
}

function unplacedOf(traces: Trace[]): Unplaced | null {
  const some = traces.filter((trace) => !trace.invalid && num(trace.histogram.unplaced) > 0).map(({ histogram }) => histogram);
  if (some.length === 0) return null;
  return {
    count: some.reduce((sum, histogram) => sum + num(histogram.unplaced), 0),
    from: Math.min(...some.map((histogram) => num(histogram.unplaced_from_ns))),
    to: Math.max(...some.map((histogram) => num(histogram.max_ns))),
  };
}

/** The line about samples without values; empty where there are none. */
export function unplacedText({ unplaced }: Distribution): string {
  if (unplaced === null) return "";
  return `${format.count(unplaced.count)} samples lie somewhere from ${format.latency(unplaced.from)} to ${format.latency(unplaced.to)} (hatched): the source kept no values of them`;
}

export interface DistributionChoice {
  range: [number, number];
  log: boolean;
  deadline: number;
  /** What the deadline is called, if it is none. */
  limit?: string;
  columns: number;
}

export function distribution(traces: Trace[], { range, log, columns }: DistributionChoice): Distribution {
  const unit = commonUnit(traces.map((trace) => trace.histogram.bins));
  const grid: Grid = log
    ? { ...logGrid(lowestOf(traces, range), range[1], columns, unit), openBelow: range[0] <= 0 }
    : linearGrid(range[0], range[1], columns, unit);
  const all = traces.map((trace) => regrid(trace.histogram.bins, grid));
  const edge = grid.edges[grid.edges.length - 1]!;
  let [beyond, below, worstBeyond, highest, beyondInvalid] = [0, 0, Number.NaN, 1, 0];
  traces.forEach((trace, i) => {
    for (const count of all[i]!.counts) if (count > highest) highest = count;
    if (trace.invalid) {
      beyondInvalid += all[i]!.beyond;
      return;
    }
    beyond += all[i]!.beyond;
    below += all[i]!.below;
    const max = num(trace.histogram.max_ns);
    if (max >= edge && !(max <= worstBeyond)) worstBeyond = max;
  });
  return { grid, unit, unplaced: unplacedOf(traces), columns: all, beyond, below, worstBeyond, highest, beyondInvalid };
}

/** A logarithmic axis cannot begin at zero: it begins below the smallest sample. */
function lowestOf(traces: Trace[], range: [number, number]): number {
  if (range[0] > 0) return range[0];
  const lows = traces.map((trace) => num(trace.histogram.min_ns)).filter(Number.isFinite);
  return Math.max(1, Math.min(...lows, range[1] / 2) * 0.8);
}

/** uPlot's columns: x in us, one count for each curve and grid edge. */
export function plotData(shown: Distribution): uPlot.AlignedData {
  const x = shown.grid.edges.map((edge) => edge / 1000);
  const curves = shown.columns.map(({ counts }) => [...counts.map((count) => (count > 0 ? count : NOTHING)), NOTHING]);
  return [x, ...curves] as uPlot.AlignedData;
}

export function widthOfBins({ grid, unit }: Distribution): string {
  const { edges } = grid;
  if (!grid.log) return `of ${format.latency(edges[1]! - edges[0]!)}`;
  const last = edges.length - 1;
  const widest = `${((edges[last]! / edges[last - 1]! - 1) * 100).toFixed(1)} % wide`;
  if (unit === 1) return widest;
  const first = edges[1]! - edges[0]! < unit ? 1 : 0;
  return `of ${format.latency(edges[first + 1]! - edges[first]!)} and more`;
}

/** The line that says what lies outside the view; empty where nothing does. */
export function beyondText({ beyond, worstBeyond }: Distribution): string {
  if (beyond === 0) return "";
  return `\u25b8 ${format.count(beyond)} ${beyond === 1 ? "sample" : "samples"} beyond, worst ${format.latency(worstBeyond)}`;
}

export function distributionSpec(traces: Trace[], shown: Distribution, choice: DistributionChoice, stepped: uPlot.Series.PathBuilder): ChartSpec {
  const data = plotData(shown);
  const from = data[0][0]!;
  const to = data[0][data[0].length - 1]!;
  return {
    data,
    options: (width, theme) => ({
      // As much as half of the last label, which bears the unit, can need.
      padding: [10, 34, 0, 0],
      scales: {
        x: { time: false, distr: choice.log ? 3 : 1, range: () => [from, to] },
        y: { distr: 3, range: () => [AXIS_FOOT, shown.highest * 1.6] },
      },
      series: [{}, ...traces.map((trace): uPlot.Series => ({
        scale: "y",
        stroke: trace.invalid ? theme.faint : colorOf(trace.lane.rank, theme),
        paths: stepped,
        points: { show: false },
        ...(trace.invalid ? { dash: [3, 4] } : (theme.paper || trace.lane.dashed) && trace.lane.rank !== null ? { dash: DASHES[trace.lane.rank]! } : {}),
      }))],
      axes: [
        axis(theme, {
          splits: () => (choice.log ? logTicks(from, to, width / 70) : linearTicks(from, to, width / 90)),
          values: (_, ticks) => ticks.map((us, i) => number(us) + (i === ticks.length - 1 ? " us" : "")),
          size: 28,
        }),
        axis(theme, {
          size: width < 500 ? 44 : shown.highest >= 6e6 ? 80 : 62,
          splits: () => logTicks(1, shown.highest * 1.6, 8),
          values: (_, ticks) => ticks.map((samples) => (width < 500 ? power(samples) : format.count(samples))),
        }),
      ],
      cursor: { y: false, points: { show: false } },
    }),
    weights: (lift, theme) => traces.map((trace) => ({
      ...weightOf(trace.lane, trace.heavy, lift, theme), ...(trace.invalid ? { color: theme.faint } : {}),
    })),
    overlay: (plot, theme, lift) => drawOverlay(plot, theme, traces, shown, choice, lift),
  };
}

export function axis(theme: Theme, more: uPlot.Axis): uPlot.Axis {
  return {
    stroke: theme.muted, font: `12px ${theme.font}`, labelFont: `12px ${theme.font}`,
    // Our ticks are few already; uPlot would leave out more on logarithmic axes.
    filter: (_, ticks) => ticks,
    grid: { stroke: theme.line, width: 1 }, ticks: { show: false }, border: { show: false }, gap: 6, ...more,
  };
}

/** A tick without its unit, which stands at the last one. */
function number(us: number): string {
  return us >= 10 || us === Math.round(us) ? format.count(us) : String(Number(us.toPrecision(2)));
}

const SUPERSCRIPTS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/** "10⁶": short enough for a phone. */
export function power(samples: number): string {
  if (samples < 100) return String(samples);
  const exponent = Math.floor(Math.log10(samples) + 1e-9);
  const first = Math.round(samples / 10 ** exponent);
  // Ticks stand at 2 and 5 times powers of ten too.
  if (first !== 1 && samples < 1000) return String(samples);
  return `${first === 1 ? "" : `${first}\u00b7`}10${[...String(exponent)].map((digit) => SUPERSCRIPTS[Number(digit)]).join("")}`;
}

export function weightOf(lane: Lane, heavy: boolean, lift: string | null, theme: Theme): Weight {
  const base = heavy ? 2 : 1.2;
  const color = colorOf(lane.rank, theme);
  // A gray series that is lifted must not stay gray.
  if (lane.key === lift) return { width: base + 1, alpha: 1, color: lane.rank === null ? theme.text : color };
  if (lift !== null) return { width: 1, alpha: 0.22, color };
  if (lane.rank === null) return { width: 1, alpha: 0.55, color };
  return { width: base, alpha: heavy ? 1 : 0.75, color };
}

function drawOverlay(
  plot: uPlot, theme: Theme, traces: Trace[], shown: Distribution, choice: DistributionChoice, lift: string | null,
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const box: Box = { left: bbox.left, top: bbox.top, width: bbox.width, height: bbox.height };
  ctx.save();
  ctx.font = `${12 * ratio}px ${theme.font}`;
  ctx.textBaseline = "middle";
  // A dashed curve, drawn last, leaves its dashes.
  ctx.setLineDash([]);
  drawUnplaced(plot, theme, shown, box);
  const deadline = choice.deadline;
  const edge = shown.grid.edges[shown.grid.edges.length - 1]!;
  // Where something is written already; labels keep off it.
  const written: Box[] = [];
  if (Number.isFinite(deadline) && deadline >= shown.grid.edges[0]! && deadline <= edge) {
    const broken = traces.some((trace) => !trace.invalid && num(trace.histogram.max_ns) > deadline);
    written.push(...drawDeadline(plot, theme, deadlineLabel(deadline, broken, choice.limit), deadline, broken));
  }
  const beyond = beyondText(shown);
  if (beyond !== "") {
    ctx.textAlign = "right";
    const past = shown.worstBeyond > deadline;
    beyond.split(", ").forEach((line, i) => {
      const width = ctx.measureText(line).width;
      const y = box.top + (34 + 16 * i) * ratio;
      drawText(ctx, line, box.left + box.width - 4 * ratio, y, past ? theme.broken : theme.text, theme.background);
      written.push({ left: box.left + box.width - 4 * ratio - width, top: y - 8 * ratio, width, height: 16 * ratio });
    });
  }
  if (shown.below > 0) {
    ctx.textAlign = "left";
    const text = `\u25c2 ${format.count(shown.below)} below`;
    drawText(ctx, text, box.left + 4 * ratio, box.top + 34 * ratio, theme.text, theme.background);
    written.push({ left: box.left, top: box.top + 26 * ratio, width: ctx.measureText(text).width + 4 * ratio, height: 16 * ratio });
  }
  drawMaxima(plot, theme, traces, shown, lift, box, written);
  const invalid = traces.filter((trace) => trace.invalid);
  if (invalid.length > 0 && invalid.length === traces.length) {
    hatch(ctx, box, theme.faint, ratio);
    drawNotice(ctx, [`Invalid: not a result.`, invalidReason(invalid[0]!.run)], box, theme, ratio);
  }
  ctx.restore();
}

/** Hatches the range in which samples without values lie: nobody knows whether it is empty there. */
function drawUnplaced(plot: uPlot, theme: Theme, { unplaced, grid }: Distribution, box: Box): void {
  if (unplaced === null) return;
  const [first, last] = [grid.edges[0]!, grid.edges[grid.edges.length - 1]!];
  const [from, to] = [Math.max(first, unplaced.from), Math.min(last, unplaced.to)];
  if (!(to > from)) return;
  const left = plot.valToPos(from / 1000, "x", true);
  const right = plot.valToPos(to / 1000, "x", true);
  plot.ctx.save();
  // Under the curves, which are drawn already.
  plot.ctx.globalCompositeOperation = "destination-over";
  hatch(plot.ctx, { left, top: box.top, width: right - left, height: box.height }, theme.faint, devicePixelRatio, theme.dark ? 0.35 : 0.25);
  plot.ctx.restore();
}

/** Draws the deadline, and returns the places of its line and of its label. */
function drawDeadline(plot: uPlot, theme: Theme, text: string, deadline: number, broken: boolean): Box[] {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const x = Math.round(plot.valToPos(deadline / 1000, "x", true));
  ctx.strokeStyle = broken ? theme.broken : theme.text;
  ctx.lineWidth = 1.5 * ratio;
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  const width = ctx.measureText(text).width;
  const right = x + width + 10 * ratio > bbox.left + bbox.width;
  ctx.textAlign = right ? "right" : "left";
  drawText(ctx, text, x + (right ? -6 : 6) * ratio, bbox.top + 10 * ratio, broken ? theme.broken : theme.text, theme.background);
  const line = { left: x - ratio, top: bbox.top, width: 2 * ratio, height: bbox.height };
  return [line, { left: right ? x - 6 * ratio - width : x + 6 * ratio, top: bbox.top + 2 * ratio, width, height: 16 * ratio }];
}

const MOST_LABELS = 8;

/** A shape at each maximum, at the foot of the plot; labels for the colored and the lifted. */
function drawMaxima(
  plot: uPlot, theme: Theme, traces: Trace[], shown: Distribution, lift: string | null, box: Box, written: Box[],
): void {
  const { ctx } = plot;
  const ratio = devicePixelRatio;
  const edges = shown.grid.edges;
  const foot = plot.valToPos(1, "y", true);
  const marks = traces
    .filter((trace) => !trace.invalid)
    .map((trace) => ({ trace, max: num(trace.histogram.max_ns) }))
    .filter(({ max }) => max >= edges[0]! && max < edges[edges.length - 1]!)
    .map(({ trace, max }) => ({
      trace, x: plot.valToPos(max / 1000, "x", true),
      dim: lift !== null && lift !== trace.lane.key,
      text: trace.lane.rank === null && lift !== trace.lane.key ? "" : `${trace.lane.name} ${format.microseconds(max)}`,
      weight: (trace.lane.key === lift ? 1e12 : 0) + (trace.heavy ? 1e9 : 0) + max,
    }));
  const wanted = marks.filter(({ text, dim }) => text !== "" && !dim);
  // Where there are many, the light ones stand in the key alone.
  const labeled = wanted.length <= MOST_LABELS ? wanted : wanted.filter(({ trace }) => trace.heavy || trace.lane.key === lift);
  const ceiling = (left: number, right: number) => {
    let most = 1;
    shown.grid.edges.forEach((edge, c) => {
      if (c + 1 >= edges.length || plot.valToPos(edges[c + 1]! / 1000, "x", true) < left || plot.valToPos(edge / 1000, "x", true) > right) return;
      for (const { counts } of shown.columns) most = Math.max(most, counts[c]!);
    });
    return plot.valToPos(most, "y", true);
  };
  const places = placeLabels(
    labeled.map(({ x, text, weight }) => ({ x, y: foot, width: ctx.measureText(text).width, weight })), 13 * ratio, box, ceiling, written);
  ctx.textAlign = "left";
  labeled.forEach(({ x, trace }, i) => {
    const place = places[i];
    if (!place) return;
    ctx.strokeStyle = colorOf(trace.lane.rank, theme);
    ctx.lineWidth = ratio;
    ctx.globalAlpha = 0.6;
    ctx.beginPath();
    ctx.moveTo(x, foot - 6 * ratio);
    ctx.lineTo(x, place.top + place.height);
    ctx.stroke();
  });
  for (const { trace, x, dim } of marks) {
    ctx.globalAlpha = dim ? 0.25 : 1;
    const size = (trace.lane.rank === null ? 4 : 8) * ratio;
    drawShape(ctx, shapeOf(trace.lane.rank), x, foot, size, trace.heavy, colorOf(trace.lane.rank, theme), theme.background);
  }
  ctx.globalAlpha = 1;
  labeled.forEach(({ text, trace }, i) => {
    const place = places[i];
    if (place) drawText(ctx, text, place.left, place.top + place.height / 2, trace.heavy ? theme.text : theme.muted, theme.background);
  });
}
