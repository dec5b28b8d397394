// Draws how far clocks are apart over time: states, offsets with their bound, events, path delays.

import { num } from "./bins.ts";
import * as format from "./format.ts";
import type { RunView, SyncEventView, SyncStateView } from "./generated/view.d.ts";
import { drawShape, drawText, type Box } from "./marks.ts";
import { isGap, lengthOf, usualSpacing, type Column, type OffsetRange, type Stretch, type Track } from "./sync.ts";
import { begin, clipped, drawInvalid, drawValueAxis, LEFT, line, RIGHT, tick } from "./sync_axes.ts";
import type { Theme } from "./theme.ts";
import { niceTime } from "./timeline.ts";

const AXIS = 24;
const BAND = 20;
const MARKS = 36;
/** Where the patterns of the states are explained. */
const KEY = 22;

/** Where the columns of a plot over time lie. */
export function timeBox(width: number, height: number, withBand: boolean): Box {
  const top = withBand ? BAND + MARKS : 8;
  return { left: LEFT, top, width: Math.max(40, width - LEFT - RIGHT), height: height - top - AXIS - (withBand ? KEY : 0) };
}

/** Height of the offsets over time, with the states and the marks above if there are any. */
export function offsetsHeight(narrow: boolean, withBand = true): number {
  return (narrow ? 230 : 300) + AXIS + (withBand ? BAND + MARKS + KEY : 8);
}

export const DELAY_HEIGHT = 150;
export const BAND_HEIGHT = BAND + 8 + AXIS;

export interface TimeScale {
  toX: (seconds: number) => number;
  toSeconds: (x: number) => number;
}

export function timeScale(box: Box, [from, to]: [number, number]): TimeScale {
  return {
    toX: (seconds) => box.left + ((seconds - from) / (to - from)) * box.width,
    toSeconds: (x) => from + ((Math.min(Math.max(x, box.left), box.left + box.width) - box.left) / box.width) * (to - from),
  };
}

export function drawTimeAxis(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [from, to]: [number, number]): void {
  const { toX } = timeScale(box, [from, to]);
  const step = niceTime((to - from) / Math.max(1, box.width / (box.width < 420 ? 70 : 100)));
  ctx.textAlign = "center";
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to; i += 1) {
    const x = Math.round(toX(i * step)) + 0.5;
    line(ctx, x, box.top, x, box.top + box.height, theme.line);
    ctx.fillStyle = theme.muted;
    const text = i === 0 ? "0" : format.span(Math.round(i * step * 1e9)).replace(/\.0 /, " ");
    const half = ctx.measureText(text).width / 2;
    ctx.fillText(text, Math.min(x, box.left + box.width + RIGHT - half), box.top + box.height + AXIS / 2 + 1);
  }
}

// States

/** Fills a stretch with the pattern of its state: no two of them need color to be told apart. */
function fillState(ctx: CanvasRenderingContext2D, theme: Theme, state: SyncStateView, box: Box): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  const stripes = (step: number, slant: 1 | -1, color: string, width: number) => {
    ctx.strokeStyle = color;
    ctx.lineWidth = width;
    ctx.beginPath();
    for (let x = box.left - box.height; x < box.left + box.width + box.height; x += step) {
      ctx.moveTo(x, slant > 0 ? box.top + box.height : box.top);
      ctx.lineTo(x + box.height, slant > 0 ? box.top : box.top + box.height);
    }
    ctx.stroke();
  };
  const fill = (color: string, alpha: number) => {
    ctx.globalAlpha = alpha;
    ctx.fillStyle = color;
    ctx.fillRect(box.left, box.top, box.width, box.height);
    ctx.globalAlpha = 1;
  };
  switch (state) {
    case "locked": fill(theme.series[2]!, 0.28); break;
    case "reference":
      fill(theme.series[0]!, 0.28);
      line(ctx, box.left, box.top + 3, box.left + box.width, box.top + 3, theme.series[0]!, 2);
      line(ctx, box.left, box.top + box.height - 3, box.left + box.width, box.top + box.height - 3, theme.series[0]!, 2);
      break;
    case "starting":
      ctx.fillStyle = theme.muted;
      for (let x = box.left + 3; x < box.left + box.width; x += 6) for (let y = box.top + 4; y < box.top + box.height; y += 6) ctx.fillRect(x, y, 1.5, 1.5);
      break;
    case "holdover": fill(theme.series[1]!, 0.18); stripes(9, 1, theme.series[1]!, 1.5); break;
    case "free": for (let y = box.top + 3; y < box.top + box.height; y += 4) line(ctx, box.left, y, box.left + box.width, y, theme.faint); break;
    case "lost": stripes(6, 1, theme.broken, 1); stripes(6, -1, theme.broken, 1); break;
  }
  ctx.restore();
}

export function drawStates(ctx: CanvasRenderingContext2D, theme: Theme, stretches: Stretch[], plot: Box, range: [number, number], top = 0): void {
  const { toX } = timeScale(plot, range);
  begin(ctx, theme);
  const band: Box = { left: plot.left, top, width: plot.width, height: BAND };
  if (plot.left >= 40) {
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    ctx.fillText("state", plot.left - 6, top + BAND / 2);
  }
  for (const { from, to, state } of stretches) {
    const left = Math.max(band.left, toX(from));
    const right = Math.min(band.left + band.width, toX(to));
    if (right <= left) continue;
    const box: Box = { left, top, width: Math.max(1.5, right - left), height: BAND };
    fillState(ctx, theme, state, box);
    line(ctx, Math.round(left) + 0.5, top, Math.round(left) + 0.5, top + BAND, theme.text);
    ctx.textAlign = "center";
    if (ctx.measureText(state).width + 12 < box.width) {
      drawText(ctx, state, left + box.width / 2, top + BAND / 2, theme.text, theme.background);
    }
  }
  ctx.strokeStyle = theme.faint;
  ctx.lineWidth = 1;
  ctx.strokeRect(band.left + 0.5, top + 0.5, band.width - 1, BAND - 1);
}

/** The pattern of each state that occurs, with its word: short stretches have no room for it. */
function drawStateKey(ctx: CanvasRenderingContext2D, theme: Theme, stretches: Stretch[], box: Box): void {
  const states = [...new Set(stretches.map(({ state }) => state))];
  if (states.length < 2) return;
  ctx.textAlign = "left";
  const widths = states.map((state) => ctx.measureText(state).width);
  // On a phone all of them have to fit.
  const swatch = widths.reduce((sum, width) => sum + width, 0) + states.length * 46 < box.width ? 24 : 14;
  let left = box.left;
  states.forEach((state, i) => {
    const place: Box = { left, top: box.top + 5, width: swatch, height: 12 };
    fillState(ctx, theme, state, place);
    ctx.strokeStyle = theme.faint;
    ctx.lineWidth = 1;
    ctx.strokeRect(place.left + 0.5, place.top + 0.5, place.width - 1, place.height - 1);
    ctx.fillStyle = theme.muted;
    ctx.fillText(state, left + swatch + 5, box.top + 11);
    left += swatch + widths[i]! + (swatch > 20 ? 22 : 14);
  });
}

// Offsets over time

export interface OverTime {
  run: RunView;
  track: Track;
  columns: Column[];
  stretches: Stretch[];
  events: SyncEventView[];
  range: [number, number];
  vertical: OffsetRange;
  /** The stated limit (ns); NaN if there is none, or if it does not apply to this source. */
  limit: number;
  broken: boolean;
  /** Where the pointer is (s). */
  cursor: number | null;
}

export function drawOffsets(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: OverTime): void {
  const withBand = shown.stretches.length + shown.events.length > 0;
  const box = timeBox(width, height, withBand);
  const { toX } = timeScale(box, shown.range);
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, shown.range);
  const toY = drawValueAxis(ctx, theme, box, shown.vertical.range);
  const invalid = shown.run.state === "invalid";
  const color = invalid ? theme.muted : theme.series[0]!;
  clipped(ctx, box, () => {
    drawBound(ctx, box, shown, toY, color);
    drawExtremes(ctx, box, shown.columns.filter(({ low }) => Number.isFinite(low)), toY, color);
  });
  if (Number.isFinite(shown.limit)) drawLimits(ctx, theme, box, shown, toY);
  drawEvents(ctx, theme, box, shown, toX);
  drawInvalid(ctx, theme, shown.run, box, true);
  if (withBand) drawStates(ctx, theme, shown.stretches, box, shown.range);
  drawStateKey(ctx, theme, shown.stretches, { left: box.left, top: box.top + box.height + AXIS, width: box.width, height: KEY });
  if (shown.vertical.beyond.length > 0) {
    ctx.textAlign = "right";
    shown.vertical.beyond.forEach((text, i) => drawText(
      ctx, `\u2195 beyond the view: ${text}`, box.left + box.width - 4, box.top + 12 + 16 * i, theme.text, theme.background));
  }
  drawCursor(ctx, theme, box, shown.cursor, toX);
}

export function drawCursor(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, cursor: number | null, toX: (seconds: number) => number): void {
  if (cursor === null) return;
  const x = Math.round(toX(cursor)) + 0.5;
  if (x < box.left || x > box.left + box.width) return;
  ctx.setLineDash([3, 3]);
  line(ctx, x, box.top, x, box.top + box.height, theme.muted);
  ctx.setLineDash([]);
}

/** A band from the lowest to the highest bound. Between two columns both hold, so that it is never narrower than it was. */
function drawBound(ctx: CanvasRenderingContext2D, box: Box, { columns, track }: OverTime, toY: (ns: number) => number, color: string): void {
  const bounded = columns.filter(({ lower, upper }) => Number.isFinite(lower) && Number.isFinite(upper));
  const usual = usualSpacing(track);
  const edge = (x: number) => box.left + x;
  ctx.fillStyle = color;
  const pieces = bounded.map((column, i) => {
    const next = bounded[i + 1];
    const joined = next !== undefined && !isGap(column, next, usual);
    const lower = joined ? Math.min(column.lower, next.lower) : column.lower;
    const upper = joined ? Math.max(column.upper, next.upper) : column.upper;
    return { left: edge(column.x), right: joined ? edge(next.x) : edge(column.x) + 1, top: toY(upper), foot: toY(lower) };
  });
  ctx.globalAlpha = 0.17;
  for (const { left, right, top, foot } of pieces) ctx.fillRect(left, top, right - left, Math.max(1, foot - top));
  // Its edges, so that it is a band without color too.
  ctx.globalAlpha = 0.55;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  for (const side of ["top", "foot"] as const) {
    ctx.beginPath();
    pieces.forEach((piece, i) => {
      if (i === 0 || pieces[i - 1]!.right < piece.left - 0.5) ctx.moveTo(piece.left, piece[side]);
      else ctx.lineTo(piece.left, piece[side]);
      ctx.lineTo(piece.right, piece[side]);
    });
    ctx.stroke();
  }
  ctx.globalAlpha = 1;
}

/** One stroke from the lowest to the highest of each column; single ones are dots. */
function drawExtremes(ctx: CanvasRenderingContext2D, box: Box, columns: Column[], toY: (ns: number) => number, color: string): void {
  const dot = columns.length < box.width / 6 ? 4 : columns.length < box.width / 2 ? 2.5 : 2;
  ctx.fillStyle = color;
  for (const { x, low, high } of columns) {
    const [top, foot] = [toY(high), toY(low)];
    const tall = Math.max(dot, foot - top);
    ctx.fillRect(box.left + x + 0.5 - dot / 2, (top + foot) / 2 - tall / 2, dot, tall);
  }
}

function drawLimits(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, { limit, broken, vertical: { range } }: OverTime, toY: (ns: number) => number): void {
  const color = broken ? theme.broken : theme.text;
  // Where both lie close together, one label names them.
  const isClose = toY(-limit) - toY(limit) < 44;
  for (const at of [limit, -limit]) {
    if (at < range[0] || at > range[1]) continue;
    const y = Math.round(toY(at)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, color, 1.5);
    if (isClose && at < 0) continue;
    ctx.textAlign = "left";
    const text = `limit ${isClose ? "\u00b1" : at < 0 ? "-" : "+"}${tick(limit)}${broken ? ", broken" : ""}`;
    drawText(ctx, text, box.left + 5, at > 0 && !isClose ? y + 10 : y - 10, color, theme.background);
  }
}

/** A mark for each event at its time, with its word where there is room; changes of state are edges of the band above. */
function drawEvents(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, { events, range, run }: OverTime, toX: (seconds: number) => number): void {
  const ends = [-Infinity, -Infinity];
  for (const event of events) {
    const at = num(event.at.offset_ns) / 1e9;
    if (at < range[0] || at > range[1] || event.what === "state") continue;
    const x = Math.round(toX(at)) + 0.5;
    ctx.setLineDash([2, 3]);
    line(ctx, x, BAND, x, box.top + box.height, run.state === "invalid" ? theme.muted : theme.text);
    ctx.setLineDash([]);
    drawShape(ctx, "triangle", x, box.top + box.height - 4, 8, true, theme.text, theme.background);
    const width = ctx.measureText(event.what).width;
    const left = Math.min(x + 5, box.left + box.width - width);
    const row = ends.findIndex((end) => left > end + 6);
    if (row < 0) continue;
    ends[row] = left + width;
    ctx.textAlign = "left";
    drawText(ctx, event.what, left, BAND + 10 + row * 16, theme.text, theme.background);
  }
}

export function drawDelays(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: OverTime): void {
  const box = timeBox(width, height, false);
  const { toX } = timeScale(box, shown.range);
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, shown.range);
  const delays = shown.columns.map(({ delay }) => delay).filter(Number.isFinite);
  const [low, high] = [Math.min(0, ...delays), Math.max(10, ...delays)];
  const toY = drawValueAxis(ctx, theme, box, [low, high + (high - low) * 0.1]);
  const color = shown.run.state === "invalid" ? theme.muted : theme.series[1]!;
  clipped(ctx, box, () => drawExtremes(
    ctx, box, shown.columns.filter(({ delay }) => Number.isFinite(delay)).map((column) => ({ ...column, low: column.delay, high: column.delay })), toY, color));
  drawInvalid(ctx, theme, shown.run, box);
  drawCursor(ctx, theme, box, shown.cursor, toX);
}

/** The states alone, of a source that shows no offset. */
export function drawBand(ctx: CanvasRenderingContext2D, width: number, theme: Theme, run: RunView, stretches: Stretch[]): void {
  const box: Box = { left: LEFT, top: BAND, width: width - LEFT - RIGHT, height: 8 };
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, [0, lengthOf(run)]);
  drawStates(ctx, theme, stretches, box, [0, lengthOf(run)]);
}
