// How sure, how long: interval maxima in the order of time, and the worst case by the time to come. Pure but for drawing.

import { linearTicks, logTicks, num } from "./bins.ts";
import * as format from "./format.ts";
import type { TailView } from "./generated/view.d.ts";
import { drawDeadline, drawNotice, drawShape, drawText, hatch, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";
import { niceTime } from "./timeline.ts";

const SECOND = 1e9;
/** Times that people think in (ns), with their words. */
const TIMES: [number, string][] = [
  [1e6, "1 ms"], [1e7, "10 ms"], [1e8, "0.1 s"], [SECOND, "1 s"], [10 * SECOND, "10 s"], [60 * SECOND, "1 min"], [600 * SECOND, "10 min"],
  [3600 * SECOND, "1 h"], [6 * 3600 * SECOND, "6 h"], [86400 * SECOND, "1 d"], [7 * 86400 * SECOND, "1 week"], [30 * 86400 * SECOND, "30 d"],
  [365 * 86400 * SECOND, "1 year"], [3650 * 86400 * SECOND, "10 years"],
];

/** A vertical scale: where a latency (ns) stands, and which latencies bear a tick. */
export interface Height {
  low: number;
  high: number;
  log: boolean;
}

/** From the least to the greatest of some latencies; as a logarithm where a line would hide the small ones. */
export function heightOf(values: number[]): Height {
  const finite = values.filter((value) => Number.isFinite(value) && value > 0);
  const [low, high] = [Math.min(...finite, Infinity), Math.max(...finite, 0)];
  if (high === 0) return { low: 0, high: 1000, log: false };
  const log = high / low > 60;
  return log ? { low: low * 0.7, high: high * 2, log } : { low: 0, high: high * 1.2, log };
}

export function placeOf({ low, high, log }: Height, value: number, box: Box): number {
  const share = log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return box.top + box.height * (1 - Math.min(1, Math.max(0, share)));
}

/** Ticks of a logarithmic axis of times, at least `apart` pixels from each other. */
export function horizonTicks(from: number, to: number, width: number, apart: number): { at: number; text: string }[] {
  const ticks: { at: number; text: string }[] = [];
  let last = -Infinity;
  for (const [at, text] of TIMES) {
    if (at < from || at > to) continue;
    const x = (Math.log(at / from) / Math.log(to / from)) * width;
    if (x - last < apart) continue;
    ticks.push({ at, text });
    last = x;
  }
  return ticks;
}

/** What the picture of the time to come spans (ns). */
export function horizonRange(tail: TailView): [number, number] {
  const all = [...tail.curve.horizon_ns, ...tail.seen.horizon_ns].map(num).filter((ns) => ns > 0);
  const wanted = tail.claim ? [num(tail.claim.horizon_ns)] : [];
  const refused = tail.expectations.filter(({ high_ns: high }) => high === null || high === undefined).map(({ horizon_ns: ns }) => num(ns));
  const from = Math.min(...all, ...wanted, SECOND * 3600);
  return [from, Math.max(...all, ...wanted, ...refused, from * 10) * 1.3];
}

/** Where the answer ends and only refusals follow (ns); null where everything that was asked for is answered. */
export function refusedFrom(tail: TailView): number | null {
  const refused = tail.expectations.filter(({ high_ns: high }) => high === null || high === undefined);
  if (refused.length === 0) return null;
  return tail.curve.horizon_ns.length === 0 ? 0 : num(tail.curve.horizon_ns.at(-1)!);
}

/** Why nothing is drawn from there on. */
export function refusalOf(tail: TailView): string {
  return tail.refusals[0] ?? tail.expectations.find(({ words }) => words.refusal)?.words.refusal ?? "";
}

const LEFT = 58;
const FOOT = 26;

function frame(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, scale: Height): Box {
  const box: Box = { left: LEFT, top: 10, width: width - LEFT - 12, height: height - FOOT - 10 };
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  const us = scale.log ? logTicks(scale.low / 1000, scale.high / 1000, 6) : linearTicks(0, scale.high / 1000, 5);
  for (const value of us) {
    const y = Math.round(placeOf(scale, value * 1000, box));
    ctx.fillStyle = theme.line;
    ctx.fillRect(box.left, y, box.width, 1);
    ctx.fillStyle = theme.muted;
    ctx.textAlign = "right";
    ctx.fillText(value < 10 && value % 1 !== 0 ? String(value) : format.count(Math.round(value)), box.left - 8, y);
  }
  return box;
}

export function maximaHeight(tail: TailView, limit: number): Height {
  return heightOf([...tail.maxima.max_ns.map(num), limit]);
}

/** Each interval's maximum, the medians of equal parts, and where the process changes. */
export function drawMaxima(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, tail: TailView, limit: number, invalid: boolean): void {
  const scale = maximaHeight(tail, limit);
  const box = frame(ctx, width, height, theme, scale);
  const { maxima } = tail;
  const [dots, medians] = invalid ? [theme.muted, theme.muted] : [theme.series[0]!, theme.series[1]!];
  const starts = maxima.start_ns.map(num);
  const end = (starts.at(-1) ?? 0) + num(maxima.length_ns);
  const toX = (ns: number) => box.left + (box.width * ns) / Math.max(1, end);
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "center";
  const step = niceTime(end / SECOND / Math.max(1, width / 140));
  for (let seconds = 0; seconds * SECOND < end; seconds += step) {
    const x = toX(seconds * SECOND);
    if (x < box.left + box.width - 20) ctx.fillText(seconds === 0 ? "0" : format.span(Math.round(seconds * SECOND)), x, height - FOOT / 2);
  }
  const size = starts.length > 400 ? 2.5 : 4;
  starts.forEach((start, i) => {
    const y = placeOf(scale, num(maxima.max_ns[i]), box);
    drawShape(ctx, "circle", toX(start + num(maxima.length_ns) / 2), y, size, true, dots, theme.background);
  });
  // What the eye shall follow: the level of each part.
  ctx.strokeStyle = medians;
  ctx.lineWidth = 2.5;
  maxima.part_start_ns.forEach((start, i) => {
    const to = i + 1 < maxima.part_start_ns.length ? num(maxima.part_start_ns[i + 1]) : end;
    const y = placeOf(scale, maxima.part_median_ns[i]!, box);
    ctx.beginPath();
    ctx.moveTo(toX(num(start)), y);
    ctx.lineTo(toX(to), y);
    ctx.stroke();
  });
  if (tail.change_ns !== null && tail.change_ns !== undefined) {
    const x = Math.round(toX(num(tail.change_ns)));
    ctx.strokeStyle = theme.broken;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([5, 4]);
    ctx.beginPath();
    ctx.moveTo(x, box.top);
    ctx.lineTo(x, box.top + box.height);
    ctx.stroke();
    ctx.setLineDash([]);
    const right = x > box.left + box.width / 2;
    ctx.textAlign = right ? "right" : "left";
    drawText(ctx, "changes here", x + (right ? -6 : 6), box.top + 10, theme.broken, theme.background);
  }
  if (Number.isFinite(limit)) line(ctx, theme, box, scale, limit, !invalid && maxima.max_ns.some((max) => num(max) > limit), tail);
  if (invalid) hatch(ctx, box, theme.faint, 1);
}

/** The limit of the claim, or the deadline. */
function line(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, scale: Height, limit: number, broken: boolean, tail: TailView): void {
  const y = Math.round(placeOf(scale, limit, box));
  if (!tail.claim) {
    drawDeadline(ctx, theme, box, y, limit, broken, 1);
    return;
  }
  ctx.strokeStyle = broken ? theme.broken : theme.text;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(box.left, y);
  ctx.lineTo(box.left + box.width, y);
  ctx.stroke();
  ctx.textAlign = "left";
  drawText(ctx, `claim ${format.latency(limit)}: ${tail.claim.word}`, box.left + 5, y - 9, broken ? theme.broken : theme.text, theme.background);
}

export function returnHeight(tail: TailView, limit: number): Height {
  return heightOf([...tail.curve.high_ns, ...tail.curve.low_ns, ...tail.seen.max_ns.map(num), limit]);
}

/** The worst case by the time to come: its interval as a band, its middle as a line, what was seen as dots. */
export function drawReturns(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, tail: TailView, limit: number): void {
  const scale = returnHeight(tail, limit);
  const box = frame(ctx, width, height, theme, scale);
  const [from, to] = horizonRange(tail);
  const toX = (ns: number) => box.left + (box.width * Math.log(Math.max(ns, from) / from)) / Math.log(to / from);
  for (const { at, text } of horizonTicks(from, to, box.width, 55)) {
    const x = Math.round(toX(at));
    ctx.fillStyle = theme.line;
    ctx.fillRect(x, box.top, 1, box.height);
    ctx.fillStyle = theme.muted;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.min(x, box.left + box.width - 18), height - FOOT / 2);
  }
  const horizons = tail.curve.horizon_ns.map(num);
  if (horizons.length > 0) {
    ctx.fillStyle = theme.series[0]!;
    ctx.globalAlpha = 0.2;
    ctx.beginPath();
    horizons.forEach((ns, i) => ctx.lineTo(toX(ns), placeOf(scale, tail.curve.high_ns[i]!, box)));
    [...horizons].reverse().forEach((ns, i) => ctx.lineTo(toX(ns), placeOf(scale, tail.curve.low_ns[horizons.length - 1 - i]!, box)));
    ctx.closePath();
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = theme.series[0]!;
    ctx.lineWidth = 2;
    ctx.beginPath();
    horizons.forEach((ns, i) => ctx.lineTo(toX(ns), placeOf(scale, tail.curve.typical_ns[i]!, box)));
    ctx.stroke();
  }
  const washed = refusedFrom(tail);
  if (washed !== null) wash(ctx, theme, box, toX(Math.max(washed, from)), refusalOf(tail));
  // What was seen stands above the wash: it is no extrapolation.
  tail.seen.horizon_ns.forEach((ns, i) => {
    drawShape(ctx, "circle", toX(num(ns)), placeOf(scale, num(tail.seen.max_ns[i]), box), 5, false, theme.text, theme.background);
  });
  if (Number.isFinite(limit)) line(ctx, theme, box, scale, limit, tail.seen.max_ns.some((max) => num(max) > limit), tail);
  // Beside what was seen, not over it.
  if (washed !== null) notice(ctx, theme, box, toX(Math.max(washed, ...tail.seen.horizon_ns.map(num), from)) + 8, refusalOf(tail));
}

/** Grayed from x on. */
function wash(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, x: number, reason: string): void {
  if (reason === "") return;
  const refused: Box = { ...box, left: x, width: box.left + box.width - x };
  ctx.save();
  ctx.globalAlpha = 0.6;
  ctx.fillStyle = theme.background;
  ctx.fillRect(refused.left, refused.top, refused.width, refused.height);
  ctx.restore();
  hatch(ctx, refused, theme.faint, 1);
}

function notice(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, x: number, reason: string): void {
  if (reason === "") return;
  const room: Box = { ...box, left: x, width: box.left + box.width - x };
  // A narrow rest has no room for the reason; the table and the text give it.
  if (room.width > 200) drawNotice(ctx, ["No answer.", reason], room, theme, 1);
}
