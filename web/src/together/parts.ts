// What the mean shift of each node is made of: the parts one after another, which end at the mean, each with its error. Pure but for
// drawing.

import { linearTicks } from "../bins.ts";
import { shortened } from "../campaign.ts";
import type { ShiftPairView } from "../generated/view.d.ts";
import { drawShape, drawText, type Box } from "../marks.ts";
import { begin, line, tick } from "../sync_axes.ts";
import type { Theme } from "../theme.ts";
import { signed } from "./shift.ts";

const HEAD = 26;
const STACK = 26;
const ROW = 40;
const GAP = 18;
const FOOT = 26;
const SIDE = 12;

/** A part between where the ones before it end and where it ends (ns), with what it can be at least and at most, drawn from there. */
export interface Step {
  words: string;
  from: number;
  to: number;
  lower: number;
  upper: number;
}

/** The parts of a pair as steps from none to its mean. */
export function stepsOf({ parts }: ShiftPairView): Step[] {
  let from = 0;
  return parts.map(({ words, likely_ns: likely, lower_ns: lower, upper_ns: upper }) => {
    const step = { words, from, to: from + likely, lower: from + lower, upper: from + upper };
    from += likely;
    return step;
  });
}

/** A part in the stack: what is later to the right of none, what is earlier to its left, so that no part covers another. */
export interface Piece {
  place: number;
  from: number;
  to: number;
}

export function stackOf({ parts }: ShiftPairView): Piece[] {
  let [left, right] = [0, 0];
  return parts.map(({ likely_ns: ns }, place) => {
    if (ns < 0) {
      left += ns;
      return { place, from: left, to: left - ns };
    }
    right += ns;
    return { place, from: right - ns, to: right };
  });
}

/** The axis of all pairs (ns). */
export function partsRange(pairs: ShiftPairView[]): [number, number] {
  let [low, high] = [0, 0];
  for (const pair of pairs) {
    for (const { from, to, lower, upper } of stepsOf(pair)) [low, high] = [Math.min(low, from, to, lower), Math.max(high, from, to, upper)];
    for (const { from, to } of stackOf(pair)) [low, high] = [Math.min(low, from), Math.max(high, to)];
  }
  const room = Math.max(2, (high - low) * 0.05);
  return [low - room, high + room];
}

const heightOfPair = (pair: ShiftPairView) => HEAD + STACK + pair.parts.length * ROW + GAP;

export function partsHeight(pairs: ShiftPairView[]): number {
  return pairs.reduce((sum, pair) => sum + heightOfPair(pair), 0) + FOOT;
}

/** Fills a bar with the pattern of its part: no two need color to be told apart. */
function fill(ctx: CanvasRenderingContext2D, theme: Theme, place: number, box: Box, invalid: boolean): void {
  const color = invalid ? theme.muted : theme.series[place % theme.series.length]!;
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, Math.max(1, box.width), box.height);
  ctx.clip();
  ctx.fillStyle = color;
  ctx.globalAlpha = place % 4 === 0 ? 0.85 : 0.3;
  ctx.fillRect(box.left, box.top, Math.max(1, box.width), box.height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  const right = box.left + box.width;
  if (place % 4 === 1) for (let x = box.left - box.height; x < right; x += 7) { ctx.moveTo(x, box.top + box.height); ctx.lineTo(x + box.height, box.top); }
  if (place % 4 === 2) for (let x = box.left + 3; x < right; x += 6) { ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); }
  ctx.stroke();
  ctx.restore();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(box.left, box.top, Math.max(1, box.width), box.height);
}

export function drawParts(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, pairs: ShiftPairView[], invalid: boolean): void {
  const range = partsRange(pairs);
  const box: Box = { left: SIDE, top: 0, width: width - 2 * SIDE, height: height - FOOT };
  const toX = (ns: number) => box.left + ((ns - range[0]) / (range[1] - range[0])) * box.width;
  begin(ctx, theme);
  ctx.textAlign = "center";
  for (const ns of linearTicks(range[0], range[1], box.width / 90)) {
    const x = Math.round(toX(ns)) + 0.5;
    line(ctx, x, HEAD - 4, x, box.height, ns === 0 ? theme.muted : theme.line);
    ctx.fillStyle = theme.muted;
    const half = ctx.measureText(tick(ns)).width / 2;
    ctx.fillText(tick(ns), Math.min(Math.max(x, half), width - half), height - FOOT / 2);
  }
  let top = 0;
  for (const pair of pairs) {
    drawPairParts(ctx, theme, pair, top, { toX, width, invalid });
    top += heightOfPair(pair);
  }
}

interface Place {
  toX: (ns: number) => number;
  width: number;
  invalid: boolean;
}

function drawPairParts(ctx: CanvasRenderingContext2D, theme: Theme, pair: ShiftPairView, top: number, { toX, width, invalid }: Place): void {
  const mean = pair.figures?.mean_ns ?? 0;
  ctx.textAlign = "left";
  drawText(ctx, `${pair.second} against ${pair.first}: ${signed(mean)} in the mean`, SIDE, top + HEAD / 2, theme.text, theme.background);
  const stack: Box = { left: 0, top: top + HEAD, width: 0, height: STACK - 8 };
  for (const { place, from, to } of stackOf(pair)) fill(ctx, theme, place, { ...stack, left: toX(from), width: toX(to) - toX(from) }, invalid);
  // Where all of them together lie.
  drawShape(ctx, "down", toX(mean), stack.top - 3, 9, true, theme.text, theme.background);
  stepsOf(pair).forEach(({ words, from, to, lower, upper }, place) => {
    const at = top + HEAD + STACK + place * ROW;
    const bar: Box = { left: Math.min(toX(from), toX(to)), top: at + 18, width: Math.abs(toX(to) - toX(from)), height: 12 };
    fill(ctx, theme, place, bar, invalid);
    const y = bar.top + bar.height / 2;
    for (const color of [theme.background, theme.text]) {
      const wide = color === theme.background ? 4 : 1.5;
      line(ctx, toX(lower), y, toX(upper), y, color, wide);
      for (const end of [lower, upper]) line(ctx, toX(end), y - 5, toX(end), y + 5, color, wide);
    }
    // A phone has no room for all; the stroke shows it, and the table says it.
    const text = `${words} ${signed(to - from)}${width < 500 ? "" : `, ${signed(lower - from)} to ${signed(upper - from)}`}`;
    ctx.textAlign = "left";
    const shown = shortened(text, width - 2 * SIDE, (some) => ctx.measureText(some).width);
    const left = Math.min(bar.left, width - SIDE - ctx.measureText(shown).width);
    drawText(ctx, shown, Math.max(SIDE, left), at + 8, theme.text, theme.background);
  });
}
