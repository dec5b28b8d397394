// The shift of nodes against the first one over time: one stroke for each column of pixels, from the lowest to the highest, never
// averaged, with its error as a band. Pure but for drawing.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { ShiftPairView, ShiftView } from "../generated/view.d.ts";
import { colorOf, drawNotice, drawShape, drawText, hatch, shapeOf, type Box } from "../marks.ts";
import type { Cell } from "../model.ts";
import { begin, clipped, drawValueAxis, LEFT, line, RIGHT, tick } from "../sync_axes.ts";
import { drawCursor, drawTimeAxis, timeScale } from "../sync_over_time.ts";
import type { Theme } from "../theme.ts";

const AXIS = 24;
/** Where the nodes are named, a row for each so many that fit. */
const KEY = 22;

/** The shifts of a stretch of time that one column of pixels shows (ns; s from the first order). */
export interface ShiftColumn {
  x: number;
  at: number;
  low: number;
  high: number;
  orders: number;
}

/** The pairs of which something is known. */
export function knownPairs({ pairs }: Pick<ShiftView, "pairs">): ShiftPairView[] {
  return pairs.filter((pair) => pair.figures !== null && pair.figures !== undefined);
}

/** How long a witness saw the nodes (s). */
export function lengthOf(shift: ShiftView): number {
  const ends = knownPairs(shift).map(({ over_time: track }) => (track.from_ns.length === 0 ? 0 : num(track.from_ns.at(-1)!) + track.length_ns) / 1e9);
  return Math.max(1e-6, ...ends);
}

/** The stretches in a range (s), joined until no two share a column of pixels: the lowest of all lowest, the highest of all highest. */
export function shiftColumns({ over_time: track }: ShiftPairView, [from, to]: [number, number], width: number): ShiftColumn[] {
  const columns: ShiftColumn[] = [];
  track.from_ns.forEach((ns, i) => {
    const begin = num(ns) / 1e9;
    if (begin + track.length_ns / 1e9 < from || begin > to) return;
    const x = Math.min(width - 1, Math.max(0, Math.floor(((begin - from) / (to - from)) * width)));
    const last = columns.at(-1);
    const [low, high, orders] = [track.min_ns[i]!, track.max_ns[i]!, num(track.orders[i]!)];
    if (last && last.x === x) {
      last.low = Math.min(last.low, low);
      last.high = Math.max(last.high, high);
      last.orders += orders;
    } else columns.push({ x, at: begin, low, high, orders });
  });
  return columns;
}

export interface ShiftRange {
  range: [number, number];
  /** The limit lies beyond the view. */
  limitBeyond: boolean;
}

/** What the vertical axis spans (ns): all shifts with their error, none, and the limit where it does not hide them. */
export function shiftRange(shift: ShiftView, columns: ShiftColumn[][]): ShiftRange {
  let [low, high] = [0, 0];
  knownPairs(shift).forEach((pair, i) => {
    const error = pair.figures?.error_ns ?? 0;
    for (const column of columns[i] ?? []) [low, high] = [Math.min(low, column.low - error), Math.max(high, column.high + error)];
  });
  const limit = num(shift.limit_ns);
  const reach = Math.max(-low, high, 1);
  const shows = Number.isFinite(limit) && limit <= reach * 2.5;
  if (shows) [low, high] = [Math.min(low, -limit), Math.max(high, limit)];
  const room = Math.max(2, (high - low) * 0.1);
  return { range: [low - room, high + room], limitBeyond: Number.isFinite(limit) && !shows };
}

export function shiftBox(width: number, height: number, rows: number): Box {
  const top = 10 + KEY * rows;
  return { left: LEFT, top, width: Math.max(40, width - LEFT - RIGHT), height: height - top - AXIS };
}

/** Rows that the names of the nodes take. */
export function keyRows(shift: ShiftView, width: number): number {
  // Of a letter, on average: heights are needed before a canvas can measure.
  const widths = keyTexts(shift).map((text) => text.length * 6.8 + 34);
  let [rows, left] = [1, 0];
  for (const one of widths) {
    if (left > 0 && left + one > width - LEFT) [rows, left] = [rows + 1, 0];
    left += one;
  }
  return rows;
}

/** The node that the others are held against, then each of these. */
function keyTexts(shift: ShiftView): string[] {
  const pairs = knownPairs(shift);
  return [`${pairs[0]?.first ?? ""}: none`, ...pairs.map((pair) => pair.second)];
}

export function shiftHeight(shift: ShiftView, width: number): number {
  return (width < 500 ? 240 : 310) + AXIS + KEY * keyRows(shift, width);
}

export interface Shown {
  shift: ShiftView;
  columns: ShiftColumn[][];
  range: [number, number];
  vertical: ShiftRange;
  cursor: number | null;
}

export function drawShift(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: Shown): void {
  const { shift, columns, range, vertical } = shown;
  const pairs = knownPairs(shift);
  const invalid = shift.verdict === "invalid";
  const box = shiftBox(width, height, keyRows(shift, width));
  const { toX } = timeScale(box, range);
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, range);
  const toY = drawValueAxis(ctx, theme, box, vertical.range);
  clipped(ctx, box, () => pairs.forEach((pair, i) => drawPair(ctx, theme, box, pair, i, columns[i] ?? [], toY, invalid)));
  line(ctx, box.left, Math.round(toY(0)) + 0.5, box.left + box.width, Math.round(toY(0)) + 0.5, theme.text, 1);
  const worst = invalid ? undefined : worstOf(pairs, range);
  drawLimits(ctx, theme, box, shift, vertical, toY, worst !== undefined && toX(worst.at) > box.left + box.width / 2);
  if (worst) drawWorst(ctx, theme, box, worst, toX(worst.at), toY(worst.ns));
  drawKey(ctx, theme, width, shift, invalid);
  drawCursor(ctx, theme, box, shown.cursor, toX);
  if (invalid) {
    hatch(ctx, box, theme.faint, 1);
    drawNotice(ctx, ["Invalid: not a result.", shift.contradictions[0] ?? ""], box, theme, 1);
  }
}

/** The strokes of a node, its error on both sides, and its mark where there is room. */
function drawPair(
  ctx: CanvasRenderingContext2D, theme: Theme, box: Box, pair: ShiftPairView, place: number, columns: ShiftColumn[], toY: (ns: number) => number, invalid: boolean,
): void {
  const color = invalid ? theme.muted : colorOf(place, theme);
  const error = pair.figures?.error_ns ?? null;
  ctx.fillStyle = color;
  if (error !== null) {
    ctx.globalAlpha = 0.2;
    columns.forEach((column, i) => {
      const right = columns[i + 1]?.x ?? column.x + 1;
      // Over a gap nothing is known.
      const width = right - column.x <= 3 ? right - column.x : 2;
      const top = toY(column.high + error);
      ctx.fillRect(box.left + column.x, top, Math.max(1, width), Math.max(1, toY(column.low - error) - top));
    });
    ctx.globalAlpha = 1;
  }
  const dot = columns.length < box.width / 6 ? 4 : columns.length < box.width / 2 ? 2.5 : 1.5;
  for (const { x, low, high } of columns) {
    const [top, foot] = [toY(high), toY(low)];
    const tall = Math.max(dot, foot - top);
    ctx.fillRect(box.left + x + 0.5 - dot / 2, (top + foot) / 2 - tall / 2, dot, tall);
  }
  // Told apart without color, too.
  const every = Math.max(1, Math.floor(columns.length / 7));
  for (let i = Math.floor(every / 2) + place * 2; i < columns.length; i += every) {
    const { x, low, high } = columns[i]!;
    drawShape(ctx, shapeOf(place), box.left + x, (toY(low) + toY(high)) / 2, 8, true, color, theme.background);
  }
}

/** Whether a shift is beyond a limit whatever its error, on the side where that limit lies. */
export function isBeyond({ verdict, pairs }: Pick<ShiftView, "verdict" | "pairs">, limit: number): boolean {
  return verdict === "broken" && knownPairs({ pairs }).some(({ figures }) => {
    const { error_ns: error, min_ns: min, max_ns: max } = figures!;
    return error != null && (limit > 0 ? max - error > limit : min + error < limit);
  });
}

function drawLimits(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, shift: ShiftView, { range, limitBeyond }: ShiftRange, toY: (ns: number) => number, atLeft: boolean): void {
  const limit = num(shift.limit_ns);
  if (!Number.isFinite(limit)) return;
  if (limitBeyond) {
    ctx.textAlign = "right";
    drawText(ctx, `\u2195 limit \u00b1${tick(limit)} lies beyond`, box.left + box.width - 4, box.top + 10, theme.text, theme.background);
    return;
  }
  for (const at of [limit, -limit]) {
    const broken = isBeyond(shift, at);
    if (at < range[0] || at > range[1]) continue;
    const y = Math.round(toY(at)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, broken ? theme.broken : theme.text, 1.5);
    ctx.textAlign = atLeft ? "left" : "right";
    const text = `limit ${at < 0 ? "-" : "+"}${tick(limit)}${broken ? ", broken" : ""}`;
    // On the side where no shift within the limit is.
    drawText(ctx, text, atLeft ? box.left + 5 : box.left + box.width - 5, at > 0 ? y - 9 : y + 10, broken ? theme.broken : theme.text, theme.background);
  }
}

interface Worst {
  /** s from the first order. */
  at: number;
  ns: number;
  /** "order 17". */
  where: string;
}

/** The order that was farthest off, of all nodes; undefined if it is out of view. */
function worstOf(pairs: ShiftPairView[], range: [number, number]): Worst | undefined {
  const [found] = [...pairs].sort((a, b) => Math.abs(b.figures!.worst_ns) - Math.abs(a.figures!.worst_ns));
  const at = num(found?.figures?.worst_at_ns) / 1e9;
  return found && at >= range[0] && at <= range[1] ? { at, ns: found.figures!.worst_ns, where: worstWhere(found) } : undefined;
}

function drawWorst(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, { ns, where }: Worst, x: number, y: number): void {
  drawShape(ctx, "diamond", x, y, 9, false, theme.text, theme.background);
  const text = `${signed(ns)}, ${where}`;
  const half = ctx.measureText(text).width / 2;
  ctx.textAlign = "center";
  const middle = Math.min(Math.max(x, box.left + half + 4), box.left + box.width - half - 4);
  drawText(ctx, text, middle, y - 14 < box.top + 4 || ns < 0 ? y + 15 : y - 14, theme.text, theme.background);
}

function drawKey(ctx: CanvasRenderingContext2D, theme: Theme, width: number, shift: ShiftView, invalid: boolean): void {
  let [left, top] = [LEFT, 10];
  keyTexts(shift).forEach((text, i) => {
    const wide = text.length * 6.8 + 34;
    if (left > LEFT && left + wide > width) [left, top] = [LEFT, top + KEY];
    if (i === 0) line(ctx, left, top + 0.5, left + 12, top + 0.5, theme.text, 1);
    else drawShape(ctx, shapeOf(i - 1), left + 6, top, 9, true, invalid ? theme.muted : colorOf(i - 1, theme), theme.background);
    ctx.textAlign = "left";
    ctx.fillStyle = theme.text;
    ctx.fillText(text, left + 18, top);
    left += wide;
  });
}

/** A shift with its sign. */
export function signed(ns: number): string {
  const text = format.latency(Math.round(ns));
  return ns > 0 && Math.round(ns) !== 0 ? `+${text}` : text;
}

export const SHIFT_HEAD = ["node", "orders", "min", "median", "mean", "sd", "max", "99 % within", "worst", "at", "error of each"];

/** The figures of each node against the first. */
export function shiftRows({ pairs }: ShiftView): Cell[][] {
  return pairs.map((pair) => [pair.second, ...figuresOf(pair)]);
}

function figuresOf(pair: ShiftPairView): Cell[] {
  const { figures } = pair;
  return figures
    ? [ format.count(figures.orders), signed(figures.min_ns), figures.median_ns == null ? null : signed(num(figures.median_ns)), signed(figures.mean_ns),
        format.latency(Math.round(figures.sd_ns)), signed(figures.max_ns), figures.within_p99_ns == null ? null : format.latency(figures.within_p99_ns),
        signed(figures.worst_ns), worstWhere(pair), figures.error_ns == null ? "not known" : `\u00b1${format.latency(Math.round(figures.error_ns))}`]
    : new Array<Cell>(SHIFT_HEAD.length - 1).fill(null);
}

/** "1 order", "4 000 orders". */
export function orderCount(orders: number): string {
  return `${format.count(orders)} ${orders === 1 ? "order" : "orders"}`;
}

/** "order 17"; without marks only its place among the pulses is known: "pulse 17". */
export function worstWhere({ counted, figures }: ShiftPairView): string {
  return `${counted} ${format.count(figures!.worst_order)}`;
}

/** What stands under the pointer (s). */
export function readout(shift: ShiftView, columns: ShiftColumn[][], seconds: number): string {
  const near = columns.flatMap((own, i) => {
    const [found] = [...own].sort((a, b) => Math.abs(a.at - seconds) - Math.abs(b.at - seconds));
    return found ? [`${knownPairs(shift)[i]!.second} ${signed(found.low)} to ${signed(found.high)} (${orderCount(found.orders)})`] : [];
  });
  return `At ${format.span(Math.round(seconds * 1e9))}: ${near.join("; ")}.`;
}
