// What the drawings of offsets have in common: axes, lines, and the sign of an invalid run.

import { linearTicks } from "./bins.ts";
import * as format from "./format.ts";
import type { RunView } from "./generated/view.d.ts";
import { drawNotice, drawText, hatch, type Box } from "./marks.ts";
import { invalidReason } from "./model.ts";
import type { Theme } from "./theme.ts";

export const LEFT = 66;
export const RIGHT = 14;

/** A number with its unit, without a tail of ".0". */
export function tick(ns: number): string {
  return ns === 0 ? "0" : format.span(Math.round(ns)).replace(/\.0 /, " ");
}

export function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number, color: string, width = 1): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

export function begin(ctx: CanvasRenderingContext2D, theme: Theme): void {
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

export function clipped(ctx: CanvasRenderingContext2D, box: Box, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** What says whether something is a result. */
export type Doubted = Pick<RunView, "state" | "invalid_because">;

/** The sign of an invalid run over a plot: washed out, hatched and named so; the first plot has the reason too. */
export function drawInvalid(ctx: CanvasRenderingContext2D, theme: Theme, run: Doubted, box: Box, withReason = false): void {
  if (run.state !== "invalid") return;
  ctx.save();
  ctx.globalAlpha = 0.35;
  ctx.fillStyle = theme.background;
  ctx.fillRect(box.left, box.top, box.width, box.height);
  ctx.restore();
  hatch(ctx, box, theme.faint, 1);
  if (withReason) drawNotice(ctx, ["Invalid: not a result.", invalidReason(run)], box, theme, 1);
  else {
    ctx.textAlign = "right";
    drawText(ctx, "Invalid: not a result.", box.left + box.width - 6, box.top + 10, theme.text, theme.background);
  }
}

export function drawValueAxis(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [low, high]: [number, number]): (ns: number) => number {
  const toY = (ns: number) => box.top + box.height - ((ns - low) / (high - low)) * box.height;
  ctx.textAlign = "right";
  for (const ns of linearTicks(low, high, box.height / 45)) {
    const y = Math.round(toY(ns)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, ns === 0 ? theme.muted : theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(tick(ns), box.left - 6, y);
  }
  return toY;
}
