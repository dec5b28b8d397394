// Small plots below each other on the same axes: latency to the right, number of samples upwards, both logarithmic.

import { logTicks, num } from "./bins.ts";
import * as format from "./format.ts";
import { colorOf, drawShape, drawText, hatch, shapeOf, type Box } from "./marks.ts";
import type { Strip, Strips } from "./overview.ts";
import type { Theme } from "./theme.ts";

/** Where the plots stand: their names are beside them where there is room, else above. */
export interface Layout {
  row: number;
  /** From the top of a row to its plot. */
  above: number;
  left: number;
  right: number;
}

export const WIDE: Layout = { row: 58, above: 6, left: 304, right: 212 };
export const NARROW: Layout = { row: 108, above: 58, left: 0, right: 0 };
/** Space for the name of the deadline above, and for the numbers of the axis below. */
export const HEAD = 20;
const FOOT = 24;
/** A column of so many pixels is seen. */
const COLUMN = 2;

export function stripsHeight(strips: Strip[], { row }: Layout): number {
  return HEAD + strips.length * row + FOOT;
}

export function columnsIn(width: number, { left, right }: Layout): number {
  return Math.max(20, Math.floor((width - left - right) / COLUMN));
}

export interface Scale {
  toX: (ns: number) => number;
  toNs: (x: number) => number;
  box: (place: number) => Box;
}

export function scaleOf(shown: Strips, width: number, layout: Layout): Scale {
  // Half of the last mark is beyond the plot.
  const [left, room] = [layout.left + 8, Math.max(40, width - layout.left - layout.right - 16)];
  const [low, high] = [Math.log(shown.from), Math.log(shown.to)];
  return {
    toX: (ns) => left + (room * (Math.log(Math.max(1, ns)) - low)) / (high - low),
    toNs: (x) => Math.exp(low + ((x - left) / room) * (high - low)),
    box: (place) => ({ left, top: HEAD + place * layout.row + layout.above, width: room, height: layout.row - layout.above - 8 }),
  };
}

/** The plot under the pointer, and its column; null outside. */
export function stripAt(shown: Strips, at: { x: number; y: number }, width: number, layout: Layout): { place: number; column: number } | null {
  const place = Math.floor((at.y - HEAD) / layout.row);
  const ns = scaleOf(shown, width, layout).toNs(at.x);
  const edges = shown.grids[place]?.edges ?? [];
  const column = edges.findIndex((edge, i) => edge <= ns && ns < (edges[i + 1] ?? -Infinity));
  return place >= 0 && place < shown.counts.length && column >= 0 ? { place, column } : null;
}

/** What stands under the pointer, in words. */
export function stripText(strips: Strip[], shown: Strips, { place, column }: { place: number; column: number }): string {
  const strip = strips[place]!;
  const { edges } = shown.grids[place]!;
  // The first column holds everything below it too.
  const from = column === 0 ? "below" : `from ${format.latency(edges[column]!)} to`;
  return `${strip.name}: ${format.count(shown.counts[place]![column]!)} ${strip.group.what} ${from} ${format.latency(edges[column + 1]!)}`;
}

export function drawStrips(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, strips: Strip[], shown: Strips, deadline: number, layout: Layout,
  cursor: { place: number; column: number } | null,
): void {
  const { toX, box } = scaleOf(shown, width, layout);
  const plot = box(0);
  const foot = height - FOOT;
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  for (const ns of logTicks(shown.from, shown.to, plot.width / 80)) {
    const x = Math.round(toX(ns)) + 0.5;
    ctx.strokeStyle = theme.line;
    ctx.lineWidth = 1;
    strips.forEach((_, place) => {
      const { top, height: tall } = box(place);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + tall);
      ctx.stroke();
    });
    ctx.fillStyle = theme.muted;
    const text = format.span(ns).replace(".0 ", " ");
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "left";
    ctx.fillText(text, Math.min(Math.max(0, x - half), width - 2 * half), foot + FOOT / 2);
  }
  strips.forEach((strip, place) => drawStrip(ctx, theme, strip, shown.grids[place]!.edges, shown.counts[place]!, shown.highest, box(place), toX, deadline));
  if (Number.isFinite(deadline)) {
    const text = `deadline ${format.span(deadline)}`;
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "left";
    ctx.fillStyle = theme.text;
    ctx.fillText(text, Math.min(Math.max(0, toX(deadline) - half), width - 2 * half), HEAD / 2);
  }
  if (cursor !== null) {
    const { edges } = shown.grids[cursor.place]!;
    const x = (toX(edges[cursor.column]!) + toX(edges[cursor.column + 1]!)) / 2;
    ctx.strokeStyle = theme.muted;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(x, HEAD);
    ctx.lineTo(x, foot);
    ctx.stroke();
  }
}

function drawStrip(
  ctx: CanvasRenderingContext2D, theme: Theme, strip: Strip, edges: number[], counts: number[], highest: number, box: Box, toX: (ns: number) => number, deadline: number,
): void {
  const slot = strip.group.slot ?? null;
  const color = colorOf(slot, theme);
  const base = box.top + box.height;
  // One sample stands clear of the base line.
  const toY = (count: number) => base - 5 - ((box.height - 5) * Math.log10(count)) / Math.max(1, Math.log10(highest));
  const unplaced = num(strip.histogram?.unplaced);
  if (unplaced > 0) {
    const [left, end] = [toX(num(strip.histogram?.unplaced_from_ns)), toX(num(strip.histogram?.max_ns))];
    hatch(ctx, { left, top: box.top, width: end - left, height: box.height }, theme.faint, 1, theme.dark ? 0.5 : 0.4);
  }
  const right = Math.min(box.left + box.width, toX(edges[edges.length - 1] ?? 1));
  ctx.beginPath();
  let before = base;
  counts.forEach((count, i) => {
    const y = count > 0 ? toY(count) : base;
    const x = Math.max(box.left, toX(edges[i]!));
    if (i === 0) ctx.moveTo(x, base);
    if (y !== before) {
      ctx.lineTo(x, before);
      ctx.lineTo(x, y);
      before = y;
    }
  });
  ctx.lineTo(right, before);
  ctx.lineTo(right, base);
  ctx.globalAlpha = theme.dark ? 0.4 : 0.3;
  ctx.fillStyle = color;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  ctx.stroke();
  ctx.strokeStyle = theme.line;
  ctx.beginPath();
  ctx.moveTo(box.left, base + 0.5);
  ctx.lineTo(box.left + box.width, base + 0.5);
  ctx.stroke();
  if (Number.isFinite(deadline) && strip.judged) {
    ctx.strokeStyle = strip.late ? theme.broken : theme.text;
    ctx.lineWidth = 1.5;
    const x = Math.round(toX(deadline));
    ctx.beginPath();
    ctx.moveTo(x, box.top - 4);
    ctx.lineTo(x, base);
    ctx.stroke();
  }
  ctx.strokeStyle = slot === null ? theme.muted : color;
  ctx.lineWidth = 1.5;
  for (const ns of strip.maxima) {
    const x = toX(ns);
    ctx.beginPath();
    ctx.moveTo(x, base - 4);
    ctx.lineTo(x, base + 4);
    ctx.stroke();
  }
  if (strip.worst == null) {
    ctx.textAlign = "left";
    drawText(ctx, strip.group.tally.invalid === strip.group.tally.runs || strip.row?.state === "invalid" ? "invalid: no result" : "no sample", box.left + 4, base - 14, theme.muted, theme.background);
    return;
  }
  drawShape(ctx, shapeOf(slot), toX(Math.abs(num(strip.worst.latency_ns))), base, 9, true, slot === null ? theme.muted : color, theme.background);
}

/** A text that ends where the room does. */
function cut(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && ctx.measureText(`${text.slice(0, length)}\u2026`).width > room) length -= 1;
  return `${text.slice(0, length)}\u2026`;
}

/** The names and the worst of all plots, which stand beside a picture on a page and have to be in one that leaves it. */
export function drawNames(ctx: CanvasRenderingContext2D, width: number, theme: Theme, strips: Strip[], layout: Layout): void {
  const { row, left, right } = layout;
  const [names, worst] = left === 0 ? [width * 0.6, width * 0.35] : [left - 12, right - 8];
  ctx.textBaseline = "middle";
  strips.forEach((strip, place) => {
    const top = HEAD + place * row + (left === 0 ? 10 : row / 2 - 9);
    const slot = strip.group.slot ?? null;
    drawShape(ctx, shapeOf(slot), 8, top, 9, true, slot === null ? theme.muted : colorOf(slot, theme), theme.background);
    ctx.textAlign = "left";
    ctx.font = `600 12px ${theme.font}`;
    drawText(ctx, cut(ctx, strip.name, names - 20), 20, top, theme.text, theme.background);
    ctx.textAlign = "right";
    if (strip.worst != null) drawText(ctx, `${format.latency(strip.worst.latency_ns)}${strip.late ? " late" : ""}`, width - 2, top, strip.late ? theme.broken : theme.text, theme.background);
    ctx.font = `12px ${theme.font}`;
    if (strip.worst != null) drawText(ctx, cut(ctx, strip.worst.place, worst), width - 2, top + 18, theme.muted, theme.background);
    ctx.textAlign = "left";
    const words = strip.row === null ? strip.group.tally_words : `${strip.row.verdict_words}; ${strip.row.validity}`;
    drawText(ctx, cut(ctx, words, names - 20), 20, top + 18, theme.muted, theme.background);
  });
}
