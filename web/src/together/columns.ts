// Scenarios side by side in the paper's form, ours beside those that are published: maximum, mean, mean + standard deviation on a
// logarithmic axis, and the minimum where there is one. Pure but for drawing.

import { logTicks } from "../bins.ts";
import * as format from "../format.ts";
import type { ScenarioColumn } from "../generated/view.d.ts";
import { drawShape, drawText, hatch, type Box } from "../marks.ts";
import type { Cell } from "../model.ts";
import { drawName, layoutOf } from "../scenario.ts";
import { begin, line } from "../sync_axes.ts";
import type { Theme } from "../theme.ts";

const PLOT = 280;
const HEAD = 24;
/** A column has at least so much room; where there are more than fit, the picture scrolls. */
const LEAST_SLOT = 58;

const named = (columns: ScenarioColumn[]) => columns.map(({ name }) => ({ condition: name }));

export function columnsWidth(columns: ScenarioColumn[]): number {
  return columns.length * LEAST_SLOT + 66;
}

export function columnsHeight(columns: ScenarioColumn[], width: number): number {
  return HEAD + PLOT + layoutOf(named(columns), width).foot;
}

/** The column under the pointer. */
export function columnAt(columns: ScenarioColumn[], x: number, width: number): ScenarioColumn | undefined {
  const { left, slot } = layoutOf(named(columns), width);
  return x < left ? undefined : columns[Math.floor((x - left) / slot)];
}

/** A logarithmic axis has no place for a sign: which of two nodes comes first is arbitrary. */
export const size = (ns: number | null | undefined) => (ns === null || ns === undefined ? Number.NaN : Math.abs(ns));

/** The axis (ns). */
export function columnsRange(columns: ScenarioColumn[]): [number, number] {
  const all = columns.flatMap(({ min_ns: min, mean_ns: mean, max_ns: max }) => [size(min), size(mean), size(max)]).filter((ns) => ns > 0);
  if (all.length === 0) return [1, 1000];
  const low = Math.min(...all);
  return [Math.max(0.5, low * 0.6), Math.max(...all, low * 2) * 1.6];
}

export function drawColumns(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, columns: ScenarioColumn[]): void {
  const { left, slot, slanted, foot } = layoutOf(named(columns), width);
  const box: Box = { left, top: HEAD, width: width - left - 8, height: height - HEAD - foot };
  const [from, to] = columnsRange(columns);
  const toY = (ns: number) => box.top + box.height * (1 - Math.log(Math.max(from, ns) / from) / Math.log(to / from));
  begin(ctx, theme);
  ctx.textAlign = "right";
  for (const ns of logTicks(from, to, box.height / 40)) {
    const y = Math.round(toY(ns)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(ns < 1 ? "" : format.span(ns).replace(".0 ", " "), box.left - 8, y);
  }
  const firstPublished = columns.findIndex(({ published }) => published);
  if (firstPublished > 0) {
    const x = Math.round(box.left + slot * firstPublished) + 0.5;
    ctx.setLineDash([3, 3]);
    line(ctx, x, 4, x, box.top + box.height, theme.faint);
    ctx.setLineDash([]);
    ctx.textAlign = "left";
    drawText(ctx, "published", x + 5, 11, theme.muted, theme.background);
    ctx.textAlign = "right";
    if (slot * firstPublished > 90) drawText(ctx, "measured", x - 5, 11, theme.muted, theme.background);
  }
  columns.forEach((column, i) => {
    const x = box.left + slot * (i + 0.5);
    drawColumn(ctx, theme, column, x, slot, toY, box);
    drawName(ctx, theme, column.name, x, box.top + box.height, slot, slanted);
  });
}

function drawColumn(ctx: CanvasRenderingContext2D, theme: Theme, column: ScenarioColumn, x: number, slot: number, toY: (ns: number) => number, box: Box): void {
  const { published, invalid } = column;
  const color = published || invalid ? theme.muted : theme.series[0]!;
  const half = Math.min(9, slot * 0.2);
  const [min, mean, sd, max] = [size(column.min_ns), size(column.mean_ns), size(column.sd_ns), size(column.max_ns)];
  const foot = Number.isFinite(min) ? min : mean;
  ctx.fillStyle = color;
  if (Number.isFinite(max) && Number.isFinite(foot)) ctx.fillRect(x - 1, toY(max), 2, toY(foot) - toY(max));
  if (Number.isFinite(mean) && Number.isFinite(sd)) {
    const top = toY(mean + sd);
    ctx.fillRect(x - half / 2, top, half, Math.max(1, toY(mean) - top));
    ctx.fillRect(x - half, top - 1, half * 2, 2);
  }
  if (Number.isFinite(min)) ctx.fillRect(x - half, toY(min) - 1, half * 2, 2);
  if (Number.isFinite(mean)) drawShape(ctx, "circle", x, toY(mean), Math.min(9, slot * 0.3), !published, color, theme.background);
  if (Number.isFinite(max)) {
    drawShape(ctx, "diamond", x, toY(max), Math.min(9, slot * 0.32), false, color, theme.background);
    const text = format.latency(Math.round(max));
    ctx.textAlign = "center";
    if (ctx.measureText(text).width < slot - 4) drawText(ctx, text, x, toY(max) - 14, theme.text, theme.background);
  }
  if (!Number.isFinite(max) && !Number.isFinite(mean)) {
    // The text prints no more of it.
    ctx.textAlign = "center";
    const text = Number.isFinite(sd) ? `sd ${format.latency(Math.round(sd))}` : "\u2013";
    drawText(ctx, ctx.measureText(text).width < slot ? text : "sd", x, box.top + box.height - 12, theme.muted, theme.background);
  }
  if (invalid) hatch(ctx, { ...box, left: x - slot / 2 + 2, width: slot - 4 }, theme.faint, 1);
}

export const COLUMNS_HEAD = ["scenario", "of", "values", "min", "mean", "sd", "|mean| + sd", "max"];

export function columnRows(columns: ScenarioColumn[]): Cell[][] {
  const cell = (ns: number | null | undefined): Cell => (ns === null || ns === undefined ? null : format.latency(Math.round(ns)));
  return columns.map(({ name, about, samples, min_ns: min, mean_ns: mean, sd_ns: sd, max_ns: max, published, invalid }) => [
    `${name}${published ? " (published)" : invalid ? " (invalid)" : ""}`, about, samples ?? null, cell(min), cell(mean), cell(sd),
    mean == null || sd == null ? null : cell(Math.abs(mean) + sd), cell(max)]);
}

export function columnText(column: ScenarioColumn): string {
  const [, , , min, mean, sd, sum, max] = columnRows([column])[0]!;
  const known = [["min", min], ["mean", mean], ["sd", sd], ["|mean| + sd", sum], ["max", max]].filter(([, value]) => value !== null).map(([what, value]) => `${what} ${value}`);
  const ends = [column.samples ? `${column.samples} values` : "", column.published ? "published" : "", column.invalid ? "invalid: not a result" : ""].filter((one) => one !== "");
  return `${column.name}, ${column.about}: ${[...known, ...ends].join("; ")}`;
}
