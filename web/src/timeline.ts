// Worst case over time: interval maxima of the runs, one run after the other on one axis. Pure but for the overlay.

import type uPlot from "uplot";
import { linearTicks, logTicks, niceAtLeast, num } from "./bins.ts";
import type { ChartSpec } from "./chart.tsx";
import { axis, weightOf } from "./distribution.ts";
import * as format from "./format.ts";
import type { RunView } from "./generated/view.d.ts";
import { colorOf, drawDeadline, drawNotice, drawShape, drawText, hatch, shapeOf, type Box } from "./marks.ts";
import { invalidReason, type Lane } from "./model.ts";
import type { Theme } from "./theme.ts";

/** A run's place on the common axis (s). */
export interface Window {
  run: RunView;
  from: number;
  to: number;
}

export interface Timeline {
  windows: Window[];
  /** Ascending (s on the common axis). */
  x: number[];
  /** For each lane the interval maximum in us, null between runs. */
  maxima: (number | null)[][];
  /** For each lane the missed periods. */
  missed: number[][];
  lanes: Lane[];
  lowest: number;
  highest: number;
  log: boolean;
}

/** Runs stand side by side with a small gap, whatever time lay between them. */
export function windowsOf(runs: RunView[]): Window[] {
  const lengths = runs.map((run) => Math.max(num(run.duration_ns) / 1e9, ...run.series.map(endOf)));
  const gap = lengths.reduce((sum, length) => sum + length, 0) * 0.015;
  let from = 0;
  return runs.map((run, i) => {
    const window = { run, from, to: from + lengths[i]! };
    from = window.to + gap;
    return window;
  });
}

function endOf({ intervals, spoiled }: RunView["series"][number]): number {
  const ends = (starts: typeof intervals.start_offset_ns, lengths: typeof intervals.length_ns) => {
    const last = starts.length - 1;
    return last < 0 ? 0 : (num(starts[last]) + num(lengths[last])) / 1e9;
  };
  return Math.max(
    ends(intervals.start_offset_ns, intervals.length_ns),
    ends(spoiled.map((one) => one.start_offset_ns), spoiled.map((one) => one.length_ns)));
}

export function timeline(runs: RunView[], lanes: Lane[], deadline: number): Timeline {
  const windows = windowsOf(runs);
  const places = new Set<number>();
  for (const { run, from, to } of windows) {
    for (const series of run.series) {
      for (const start of series.intervals.start_offset_ns) places.add(from + num(start) / 1e9);
      // A place that the lane of a spoiled interval does not fill, so that no line goes over it.
      for (const spoiled of series.spoiled) places.add(from + num(spoiled.start_offset_ns) / 1e9);
    }
    places.add(to);
    // A place that no lane fills, so that no line joins two runs.
    places.add(to + 1e-6);
  }
  const x = [...places].sort((a, b) => a - b);
  const index = new Map(x.map((place, i) => [place, i]));
  const maxima = lanes.map(() => new Array<number | null>(x.length).fill(null));
  const missed = lanes.map(() => new Array<number>(x.length).fill(0));
  let [lowest, highest] = [Infinity, 0];
  for (const { run, from, to } of windows) {
    for (const series of run.series) {
      const lane = lanes.findIndex((one) => one.key === series.lane);
      series.intervals.start_offset_ns.forEach((start, i) => {
        const at = index.get(from + num(start) / 1e9)!;
        const max = num(series.intervals.max_ns[i]) / 1000;
        if (Number.isFinite(max)) {
          maxima[lane]![at] = max;
          lowest = Math.min(lowest, max);
          highest = Math.max(highest, max);
        }
        missed[lane]![at] = num(series.intervals.missed_periods[i]);
      });
      // The last step reaches to the end of the run, but for one that is spoiled.
      const last = series.intervals.max_ns[series.intervals.max_ns.length - 1];
      const starts = series.intervals.start_offset_ns;
      const isSpoiled = series.spoiled.some((one) => num(one.start_offset_ns) > num(starts[starts.length - 1]));
      if (!isSpoiled && last !== undefined && last !== null) maxima[lane]![index.get(to)!] = num(last) / 1000;
    }
  }
  if (Number.isFinite(deadline)) {
    highest = Math.max(highest, deadline / 1000);
    lowest = Math.min(lowest, deadline / 1000);
  }
  // More than two powers of ten do not fit a linear axis: the usual would be a flat line at its foot.
  return { windows, x, maxima, missed, lanes, lowest, highest, log: highest / lowest > 60 };
}

export function hasIntervals(runs: RunView[]): boolean {
  return runs.some((run) => run.series.some((series) => series.intervals.max_ns.length > 0));
}

/** Ticks count from the start of each run. */
export function timeTicks(windows: Window[], from: number, to: number, wanted: number): { at: number; text: string }[] {
  const step = niceTime((to - from) / Math.max(1, wanted));
  return windows.flatMap((window) => {
    const ticks = [];
    for (let offset = 0; window.from + offset < window.to - step * 0.35; offset += step) {
      const at = window.from + offset;
      if (at >= from && at <= to) ticks.push({ at, text: offset === 0 ? "0" : format.span(offset * 1e9) });
    }
    return ticks;
  });
}

export function niceTime(seconds: number): number {
  const known = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return known.find((step) => step >= seconds) ?? (seconds < 1 ? niceAtLeast(seconds) : niceAtLeast(seconds / 86400) * 86400);
}

export function timelineSpec(
  shown: Timeline, range: [number, number] | null, deadline: number, stepped: uPlot.Series.PathBuilder,
): ChartSpec {
  const end = shown.windows[shown.windows.length - 1]?.to ?? 1;
  const [from, to] = range ?? [0, end];
  const order = drawingOrder(shown.lanes);
  // The end of a run repeats its last interval, for the step's sake: it is no point of its own.
  const ends = new Set(shown.windows.map((window) => window.to));
  const points = shown.x.map((_, i) => i).filter((i) => !ends.has(shown.x[i]!));
  return {
    data: [shown.x, ...order.map((lane) => shown.maxima[lane]!)] as uPlot.AlignedData,
    options: (width, theme) => {
      const ticks = timeTicks(shown.windows, from, to, width / (width < 500 ? 65 : 100));
      return {
        padding: [10, 14, 0, 0],
        scales: {
          x: { time: false, range: () => [from, to] },
          y: {
            distr: shown.log ? 3 : 1,
            range: () => (shown.log ? [shown.lowest * 0.7, shown.highest * 5] : [0, shown.highest * 1.3]),
          },
        },
        series: [{}, ...order.map((lane): uPlot.Series => {
          const color = colorOf(shown.lanes[lane]!.rank, theme);
          const pointed = shown.lanes[lane]!.rank !== null && shown.x.length < width / 6;
          return {
            scale: "y", stroke: color, paths: stepped, spanGaps: false,
            points: { show: pointed, size: 4, fill: color, stroke: color, filter: () => (pointed ? points : null) },
          };
        })],
        axes: [
          axis(theme, {
            size: 28,
            splits: () => ticks.map(({ at }) => at),
            values: (_, places) => places.map((place) => ticks.find(({ at }) => at === place)?.text ?? ""),
          }),
          axis(theme, {
            size: width < 500 && shown.highest < 5e4 ? 46 : 62,
            splits: () => (shown.log ? logTicks(shown.lowest * 0.7, shown.highest * 2, 7) : linearTicks(0, shown.highest * 1.15, 5)),
            values: (_, us) => us.map((value) => format.count(value)),
          }),
        ],
        cursor: { y: false, points: { show: false } },
      };
    },
    weights: (lift, theme) => order.map((lane) => weightOf(shown.lanes[lane]!, false, lift, theme)),
    overlay: (plot, theme, lift) => drawOverlay(plot, theme, shown, deadline, lift),
  };
}

/** Gray lanes first, so that the colored ones lie on top. */
export function drawingOrder(lanes: Lane[]): number[] {
  return lanes.map((_, i) => i).sort((a, b) => Number(lanes[a]!.rank !== null) - Number(lanes[b]!.rank !== null));
}

/** Where a run's window lies on the canvas, cut to the plot; null where it is out of view. */
export function windowBox(window: Window, toX: (seconds: number) => number, box: Box): Box | null {
  const left = Math.max(box.left, toX(window.from));
  const right = Math.min(box.left + box.width, toX(window.to));
  return right <= left ? null : { left, top: box.top, width: right - left, height: box.height };
}

function drawOverlay(plot: uPlot, theme: Theme, shown: Timeline, deadline: number, lift: string | null): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const box: Box = { left: bbox.left, top: bbox.top, width: bbox.width, height: bbox.height };
  const toX = (seconds: number) => plot.valToPos(seconds, "x", true);
  ctx.save();
  ctx.font = `${12 * ratio}px ${theme.font}`;
  ctx.textBaseline = "middle";
  if (Number.isFinite(deadline)) {
    const y = Math.round(plot.valToPos(deadline / 1000, "y", true));
    const broken = shown.windows.some(({ run }) => run.state !== "invalid" && run.worst.some((sample) => num(sample.latency_ns) > deadline));
    drawDeadline(ctx, theme, box, y, deadline, broken, ratio);
  }
  drawMissed(plot, theme, shown, lift, box);
  for (const window of shown.windows) drawSpoiled(ctx, theme, window, toX, box, ratio);
  for (const window of shown.windows) drawWindow(ctx, theme, window, windowBox(window, toX, box), ratio, shown.windows.length > 1);
  ctx.restore();
}

/** Hatched: the time of intervals that something spoiled, of any lane. */
function drawSpoiled(
  ctx: CanvasRenderingContext2D, theme: Theme, { run, from }: Window, toX: (seconds: number) => number, box: Box, ratio: number,
): void {
  if (run.state === "invalid") return;
  for (const series of run.series) {
    for (const one of series.spoiled) {
      const start = from + num(one.start_offset_ns) / 1e9;
      const part = windowBox({ run, from: start, to: start + num(one.length_ns) / 1e9 }, toX, box);
      if (part) hatch(ctx, part, theme.faint, ratio);
    }
  }
}

export function drawWindow(
  ctx: CanvasRenderingContext2D, theme: Theme, { run }: Window, box: Box | null, ratio: number, named: boolean,
): void {
  if (!box) return;
  if (run.loaded && named) {
    ctx.save();
    ctx.globalAlpha = 0.07;
    ctx.fillStyle = theme.text;
    ctx.fillRect(box.left, box.top, box.width, box.height);
    ctx.restore();
  }
  if (run.state === "invalid") {
    // Washed out first: colors would promise a result.
    ctx.save();
    ctx.globalAlpha = 0.75;
    ctx.fillStyle = theme.background;
    // Wider by the points that stand on its edges.
    ctx.fillRect(box.left - 4 * ratio, box.top, box.width + 8 * ratio, box.height);
    ctx.restore();
    hatch(ctx, box, theme.faint, ratio);
    drawNotice(ctx, ["Invalid: not a result.", invalidReason(run)], box, theme, ratio);
  }
  if (!named) return;
  ctx.textAlign = "left";
  if (ctx.measureText(run.label).width < box.width - 8 * ratio) {
    drawText(ctx, run.label, box.left + 5 * ratio, box.top + 10 * ratio, theme.muted, theme.background);
  }
}

/** A cross with the number of missed periods over each interval that has some. */
function drawMissed(plot: uPlot, theme: Theme, shown: Timeline, lift: string | null, box: Box): void {
  const { ctx } = plot;
  const ratio = devicePixelRatio;
  let lastLabel = -Infinity;
  shown.x.forEach((place, i) => {
    const x = plot.valToPos(place, "x", true);
    if (x < box.left - 1 || x > box.left + box.width + 1) return;
    if (shown.windows.some(({ run, from, to }) => run.state === "invalid" && place >= from && place <= to)) return;
    shown.lanes.forEach((lane, l) => {
      const missed = shown.missed[l]![i]!;
      const max = shown.maxima[l]![i];
      if (!(missed > 0) || typeof max !== "number") return;
      ctx.globalAlpha = lift === null || lift === lane.key ? 1 : 0.25;
      const y = plot.valToPos(max, "y", true);
      drawShape(ctx, shapeOf(lane.rank), x, y, 8 * ratio, true, colorOf(lane.rank, theme), theme.background);
      ctx.textAlign = "left";
      const text = `${lane.name}: ${format.count(missed)} missed`;
      const width = ctx.measureText(text).width;
      const left = Math.min(x + 8 * ratio, box.left + box.width - width - 2 * ratio);
      if (x - lastLabel > 10 * ratio) drawText(ctx, text, left, y - 10 * ratio, theme.broken, theme.background);
      lastLabel = Math.max(lastLabel, left + width);
    });
  });
  ctx.globalAlpha = 1;
}
