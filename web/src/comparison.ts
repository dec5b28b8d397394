// A comparison arranged for drawing: differences as bars against zero, the maxima of repetitions as points.

import { logTicks } from "./bins.ts";
import { ticksOf } from "./calibration.ts";
import type { TableData } from "./figure.tsx";
import * as format from "./format.ts";
import { KINDS } from "./generated/kinds.ts";
import type { ComparedRow, ComparedRows, Comparison } from "./generated/view.d.ts";
import { drawShape, drawText, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";

/** One difference in per cent of A. */
export interface Effect {
  name: string;
  percent: number;
  low: number | null;
  high: number | null;
  /** "+1.8 us (+14.6 %)" */
  words: string;
  verdict: string | null;
  row: ComparedRow;
}

/** Whether the rows are of how far from zero samples lie, so that "earlier" and "later" mean nothing. */
export function isDistance(document: Comparison): boolean {
  return KINDS[document.measurement]?.figure === "offsets";
}

/** The table of a comparison's rows, as a terminal has it. */
export function comparedTable({ interval, is_judged: isJudged, rows }: ComparedRows, of: string, isInvalid = false): TableData {
  const judged = (cell: string | null | undefined) => (isJudged ? [cell] : []);
  return {
    head: [of, ...(isJudged ? ["shown"] : []), "A", "B", "B \u2212 A", ...(isJudged ? ["in %"] : []), interval, "p"],
    rows: rows.map((row) => [row.name, ...judged(row.shown ?? ""), row.a, row.b, row.difference, ...judged(row.percent), row.interval, row.p]),
    words: isJudged ? 2 : 1, invalid: rows.map(() => isInvalid),
  };
}

/** A difference with its share of A. */
export function apartText({ difference, percent }: ComparedRow): string {
  return percent == null ? difference ?? "" : `${difference} (${percent})`;
}

/** The quantities that have a value in A, which their differences are parts of. */
export function effectsOf({ quantities }: Comparison, { rows }: ComparedRows): Effect[] {
  return quantities.flatMap(({ name, a_ns: a, difference_percent: percent, interval }) => {
    const row = rows.find((one) => one.name === name);
    if (!(a > 0) || row === undefined) return [];
    return [{
      name, percent: percent ?? 0, row, words: apartText(row), verdict: row.shown ?? null,
      low: interval ? (interval.low_ns / a) * 100 : null, high: interval ? (interval.high_ns / a) * 100 : null,
    }];
  });
}

/** Beyond this a bar is cut, with an arrow: one row shall not press all others flat. */
const MOST = 200;

/** The axis (per cent): all that is not beyond it, zero always. */
export function rangeOf(effects: Effect[]): [number, number] {
  const ends = effects.flatMap(({ percent, low, high }) => [percent, low ?? percent, high ?? percent]);
  const low = Math.max(-MOST, Math.min(0, ...ends));
  const high = Math.min(MOST, Math.max(0, ...ends));
  const room = Math.max(1, high - low) * 0.06;
  return [low - room, high + room];
}

const ROW = 46;
const FOOT = 42;
/** About as wide as a label is. */
const LABEL_ROOM = 230;

export function effectsHeight(effects: Effect[]): number {
  return effects.length * ROW + FOOT;
}

export function drawEffects(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, effects: Effect[], ofDistance = false,
): void {
  const box: Box = { left: 8, top: 0, width: width - 16, height: height - FOOT };
  const range = rangeOf(effects);
  const toX = (percent: number) => box.left + (box.width * (Math.min(range[1], Math.max(range[0], percent)) - range[0])) / (range[1] - range[0]);
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  // In steps of a thousandth, since the ticks are whole numbers.
  for (const at of ticksOf([range[0] * 1000, range[1] * 1000], Math.max(3, width / 110))) {
    const percent = at / 1000;
    ctx.fillStyle = percent === 0 ? theme.muted : theme.line;
    ctx.fillRect(Math.round(toX(percent)), 0, percent === 0 ? 2 : 1, box.height);
    ctx.fillStyle = theme.muted;
    const x = Math.min(box.left + box.width - 14, Math.max(box.left + 14, toX(percent)));
    ctx.fillText(`${percent > 0 ? "+" : ""}${percent} %`, x, height - FOOT + 12);
  }
  ctx.textAlign = "right";
  const [left, right] = ofDistance ? ["B nearer to zero", "B farther"] : ["B earlier", "B later"];
  ctx.fillText(`B \u2212 A in % of A; left: ${left}, right: ${right}`, box.left + box.width, height - 8);
  // Labels stand right of the line of zero where they would lie on it.
  const zero = toX(0);
  const labelsAt = zero < box.left + LABEL_ROOM && zero + LABEL_ROOM < box.left + box.width ? zero + 8 : box.left;
  effects.forEach((effect, i) => {
    const y = i * ROW + 32;
    const color = effect.verdict === "worse" ? theme.broken : theme.series[0]!;
    if (effect.low !== null && effect.high !== null) {
      ctx.globalAlpha = effect.verdict === null ? 0.3 : 0.55;
      ctx.fillStyle = color;
      ctx.fillRect(toX(effect.low), y - 5, Math.max(2, toX(effect.high) - toX(effect.low)), 10);
      ctx.globalAlpha = 1;
      arrows(ctx, effect, range, box, y, color);
    }
    // A filled mark is shown, an open one is not, or was not judged.
    drawShape(ctx, effect.verdict === "worse" ? "diamond" : "circle", toX(effect.percent), y, 10, effect.verdict !== null, color, theme.background);
    ctx.textAlign = "left";
    const verdict = effect.verdict === null ? "" : `, ${effect.verdict}`;
    drawText(ctx, `${effect.name}  ${effect.words}${verdict}`, labelsAt, i * ROW + 12, theme.text, theme.background);
  });
}

/** What lies beyond the axis points there. */
function arrows(ctx: CanvasRenderingContext2D, effect: Effect, [low, high]: [number, number], box: Box, y: number, color: string): void {
  const point = (x: number, way: number) => {
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x - way * 9, y - 7);
    ctx.lineTo(x - way * 9, y + 7);
    ctx.closePath();
    ctx.fill();
  };
  if (effect.high !== null && effect.high > high) point(box.left + box.width, 1);
  if (effect.low !== null && effect.low < low) point(box.left, -1);
}

/** The effect under the pointer. */
export function effectAt(effects: Effect[], y: number): Effect | undefined {
  return effects[Math.floor(y / ROW)];
}

const LANE = 54;
const LANE_FOOT = 26;

export const MAXIMA_HEIGHT = 2 * LANE + LANE_FOOT;

/** Maxima of A and of B as points on one logarithmic axis, their medians as strokes. */
export function drawMaxima(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, document: Comparison): void {
  const { worst } = document;
  const all = [...worst.a_maxima_ns, ...worst.b_maxima_ns].filter((ns) => ns > 0);
  if (all.length === 0) return;
  const box: Box = { left: 12, top: 0, width: width - 84, height: height - LANE_FOOT };
  const low = Math.log(Math.min(...all) * 0.85);
  const high = Math.log(Math.max(...all) * 1.18);
  const toX = (ns: number) => box.left + (box.width * (Math.log(Math.max(1, ns)) - low)) / (high - low);
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  // A logarithmic axis of less than a decade would have a tick or two.
  const [from, to] = [Math.exp(low), Math.exp(high)];
  for (const ns of to / from < 8 ? ticksOf([from, to], width / 110) : logTicks(from, to, width / 90)) {
    ctx.fillStyle = theme.line;
    ctx.fillRect(Math.round(toX(ns)), 0, 1, box.height);
    ctx.fillStyle = theme.muted;
    ctx.fillText(format.span(ns), toX(ns), height - LANE_FOOT / 2);
  }
  const lanes = [
    { name: `A: ${document.a.name}`, maxima: worst.a_maxima_ns, median: worst.a_median_ns },
    { name: `B: ${document.b.name}`, maxima: worst.b_maxima_ns, median: worst.b_median_ns },
  ];
  lanes.forEach(({ name, maxima, median }, i) => {
    const y = i * LANE + 36;
    const color = theme.series[i]!;
    ctx.fillStyle = color;
    if (typeof median === "number") ctx.fillRect(toX(median) - 1, y - 11, 2, 22);
    ctx.globalAlpha = maxima.length > 20 ? 0.6 : 1;
    for (const ns of maxima) drawShape(ctx, i === 0 ? "circle" : "square", toX(ns), y, 8, true, color, theme.background);
    ctx.globalAlpha = 1;
    ctx.textAlign = "left";
    drawText(ctx, name, box.left, i * LANE + 13, theme.text, theme.background);
    drawText(ctx, format.latency(Math.round(Math.max(...maxima))), toX(Math.max(...maxima)) + 9, y, theme.text, theme.background);
  });
}
