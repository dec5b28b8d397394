// Delays of packets over time, with the error that the clocks allow. Pure but for the drawing at its end.

import { linearTicks, logTicks, num } from "../bins.ts";
import * as format from "../format.ts";
import type { PacketFlowView, RunView } from "../generated/view.d.ts";
import { drawShape, drawText, type Box } from "../marks.ts";
import type { Cell } from "../model.ts";
import { begin, clipped, drawInvalid, line, tick } from "../sync_axes.ts";
import { drawCursor, drawTimeAxis, timeBox, timeScale } from "../sync_over_time.ts";
import type { Theme } from "../theme.ts";

/** Delays of a flow by interval: seconds from the start of the run and nanoseconds; NaN where there is none. */
export interface Delays {
  from: number[];
  to: number[];
  count: number[];
  median: number[];
  highest: number[];
  below: number[];
  above: number[];
}

export function delaysOf({ over_time: over }: PacketFlowView): Delays {
  const from = over.start_offset_ns.map((ns) => num(ns) / 1e9);
  return {
    from, to: from.map((at, i) => at + num(over.length_ns[i]) / 1e9), count: over.count.map(num),
    median: over.median_ns.map(num), highest: over.highest_ns.map(num), below: over.below_ns.map(num), above: over.above_ns.map(num),
  };
}

/** The interval that contains a time; undefined if none does. */
export function intervalAt({ from, to }: Pick<Delays, "from" | "to">, seconds: number): number | undefined {
  const found = from.findIndex((start, i) => seconds >= start && seconds < to[i]!);
  return found < 0 ? undefined : found;
}

/** "±10.9 us", or both sides where they differ; empty where the error is not known. */
export function errorWords(below: number, above: number): string {
  if (!Number.isFinite(below) || !Number.isFinite(above)) return "";
  const [low, high] = [format.latency(below), format.latency(above)];
  return low === high ? `\u00b1${low}` : `-${low} +${high}`;
}

export interface Vertical {
  range: [number, number];
  log: boolean;
  /** What lies beyond the view, in words; empty if nothing does. */
  beyond: string[];
}

/** More than this from the usual to the worst does not fit a linear axis: the usual would be a line at its foot. */
const LINEAR_RATIO = 25;
/** A limit of so many times what is shown would press it into a line. */
const NEAR_LIMIT = 30;

/** The range of the vertical axis (ns): worst and median with their errors, and a limit that is near or broken. */
export function verticalOf(delays: Delays, [from, to]: [number, number], limit: number): Vertical {
  const seen = delays.from.map((_, i) => i).filter((i) => delays.to[i]! > from && delays.from[i]! < to && Number.isFinite(delays.median[i]!));
  if (seen.length === 0) return { range: [0, 100_000], log: false, beyond: [] };
  const error = (value: number) => (Number.isFinite(value) ? value : 0);
  const medians = seen.map((i) => delays.median[i]!);
  const lows = seen.map((i) => delays.median[i]! - error(delays.below[i]!));
  const highs = seen.map((i) => delays.highest[i]! + error(delays.above[i]!));
  let [low, high] = [lows.reduce((a, b) => Math.min(a, b)), highs.reduce((a, b) => Math.max(a, b))];
  const leastMedian = medians.reduce((a, b) => Math.min(a, b));
  const limited = Number.isFinite(limit);
  const showsLimit = limited && (high > limit || limit <= high * NEAR_LIMIT);
  if (showsLimit) high = Math.max(high, limit);
  const log = leastMedian > 0 && high / leastMedian > LINEAR_RATIO;
  const beyond = limited && !showsLimit ? [`limit ${format.span(limit)}`] : [];
  if (!log) {
    const [foot, room] = [Math.min(0, low), (high - Math.min(0, low)) * 0.08];
    return { range: [foot < 0 ? foot - room : 0, high + Math.max(room, 5)], log, beyond };
  }
  // A logarithmic axis has no place for zero: a band that reaches there ends at the foot.
  const floor = Math.max(1, low > 0 ? Math.max(low, leastMedian / 30) : leastMedian / 6);
  if (low < floor) beyond.push(`the band reaches down to ${format.latency(low)}`);
  return { range: [floor * 0.8, high * 1.5], log, beyond };
}

export function toYOf(box: Box, { range: [low, high], log }: Vertical): (ns: number) => number {
  const share = log
    ? (ns: number) => Math.log(Math.max(ns, low) / low) / Math.log(high / low)
    : (ns: number) => (ns - low) / (high - low);
  return (ns) => box.top + box.height * (1 - share(ns));
}

export const DELAYS_HEAD = ["from", "packets", "median", "worst", "error"];

export function delayRows({ from, count, median, highest, below, above }: Delays): Cell[][] {
  const latency = (ns: number) => (Number.isFinite(ns) ? format.latency(ns) : "\u2013");
  return from.map((at, i) => [
    format.span(Math.round(at * 1e9)), format.count(count[i]!), latency(median[i]!), latency(highest[i]!), errorWords(below[i]!, above[i]!) || "\u2013"]);
}

/** "from 3.3 s: 330 packets, median 47.1 us, worst 512 us, both ±10.2 us". */
export function intervalWords(delays: Delays, i: number): string {
  const { from, count, median, highest, below, above } = delays;
  const start = `from ${format.span(Math.round(from[i]! * 1e9))}`;
  if (!Number.isFinite(median[i]!)) return `${start}: no packet`;
  const error = errorWords(below[i]!, above[i]!);
  return `${start}: ${format.count(count[i]!)} packets, median ${format.latency(median[i]!)}, worst ${format.latency(highest[i]!)}, ${error === "" ? "error not known" : `both ${error}`}`;
}

export interface ShownDelays {
  run: RunView;
  delays: Delays;
  range: [number, number];
  vertical: Vertical;
  /** The stated limit (ns); NaN if there is none. */
  limit: number;
  broken: boolean;
  /** Where the pointer is (s). */
  cursor: number | null;
}

/** So many intervals have their marks drawn; more would be one band of marks. */
const MOST_MARKS = 130;

export function drawDelaysOverTime(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: ShownDelays): void {
  const { run, delays, range, vertical, limit, broken } = shown;
  const box = timeBox(width, height, false);
  const { toX } = timeScale(box, range);
  const toY = toYOf(box, vertical);
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, range);
  drawAxis(ctx, theme, box, vertical, toY);
  const invalid = run.state === "invalid";
  const colors = invalid ? [theme.muted, theme.muted] : [theme.series[0]!, theme.series[1]!];
  const seen = delays.from.map((_, i) => i).filter((i) => Number.isFinite(delays.median[i]!));
  clipped(ctx, box, () => {
    ([[delays.median, colors[0]!], [delays.highest, colors[1]!]] as const).forEach(([values, color]) => drawBand(ctx, delays, seen, values, toX, toY, color));
    drawSteps(ctx, delays, seen, delays.median, toX, toY, colors[0]!, 1.5);
    drawSteps(ctx, delays, seen, delays.highest, toX, toY, colors[1]!, 2);
    const inView = seen.filter((i) => delays.to[i]! > range[0] && delays.from[i]! < range[1]);
    if (inView.length <= MOST_MARKS) {
      for (const i of inView) {
        const x = toX((delays.from[i]! + delays.to[i]!) / 2);
        drawShape(ctx, "circle", x, toY(delays.median[i]!), 5, false, colors[0]!, theme.background);
        drawShape(ctx, "diamond", x, toY(delays.highest[i]!), 7, true, colors[1]!, theme.background);
      }
    }
  });
  if (Number.isFinite(limit) && limit >= vertical.range[0] && limit <= vertical.range[1]) {
    const y = Math.round(toY(limit)) + 0.5;
    const color = broken ? theme.broken : theme.text;
    line(ctx, box.left, y, box.left + box.width, y, color, 1.5);
    ctx.textAlign = "right";
    drawText(ctx, `limit ${tick(limit)}${broken ? ", broken" : ""}`, box.left + box.width - 5, y - 9, color, theme.background);
  }
  if (!invalid && seen.length > 0) drawNames(ctx, theme, box, colors);
  drawInvalid(ctx, theme, run, box, true);
  drawCursor(ctx, theme, box, shown.cursor, toX);
}

function drawAxis(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, { range: [low, high], log }: Vertical, toY: (ns: number) => number): void {
  ctx.textAlign = "right";
  for (const ns of log ? logTicks(low, high, box.height / 20) : linearTicks(low, high, box.height / 45)) {
    const y = Math.round(toY(ns)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, ns === 0 ? theme.muted : theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(tick(ns), box.left - 6, y);
  }
}

function drawBand(
  ctx: CanvasRenderingContext2D, delays: Delays, seen: number[], values: number[], toX: (s: number) => number, toY: (ns: number) => number, color: string,
): void {
  ctx.fillStyle = color;
  for (const i of seen) {
    const [below, above] = [delays.below[i]!, delays.above[i]!];
    if (!Number.isFinite(below) || !Number.isFinite(above)) continue;
    const [top, foot] = [toY(values[i]! + above), toY(values[i]! - below)];
    const [left, right] = [toX(delays.from[i]!), toX(delays.to[i]!)];
    ctx.globalAlpha = 0.2;
    ctx.fillRect(left, top, Math.max(0.5, right - left), Math.max(1, foot - top));
    // Its edges, so that it is a band without color too.
    ctx.globalAlpha = 0.5;
    ctx.fillRect(left, top, Math.max(0.5, right - left), 1);
    ctx.fillRect(left, foot - 1, Math.max(0.5, right - left), 1);
  }
  ctx.globalAlpha = 1;
}

/** Steps through the values; intervals without a packet are gaps. */
function drawSteps(
  ctx: CanvasRenderingContext2D, delays: Delays, seen: number[], values: number[], toX: (s: number) => number, toY: (ns: number) => number, color: string, width: number,
): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.beginPath();
  seen.forEach((i, n) => {
    const y = toY(values[i]!);
    if (n > 0 && seen[n - 1] === i - 1) ctx.lineTo(toX(delays.from[i]!), y);
    else ctx.moveTo(toX(delays.from[i]!), y);
    ctx.lineTo(toX(delays.to[i]!), y);
  });
  ctx.stroke();
}

/** The names of both lines in a corner, each with its mark: where the lines end there is no room on a phone. */
function drawNames(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, colors: string[]): void {
  ctx.textAlign = "left";
  let x = box.left + 10;
  ([["diamond", "worst", colors[1]!, true], ["circle", "median", colors[0]!, false]] as const).forEach(([shape, name, color, filled]) => {
    drawShape(ctx, shape, x, box.top + 10, 8, filled, color, theme.background);
    drawText(ctx, name, x + 8, box.top + 10, theme.text, theme.background);
    x += 8 + ctx.measureText(name).width + 20;
  });
}
