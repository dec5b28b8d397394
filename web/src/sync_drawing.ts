// Draws how far clocks are apart: over time, in a distribution, against the path delay, by averaging time.

import { linearTicks, logTicks, num } from "./bins.ts";
import { power } from "./distribution.ts";
import * as format from "./format.ts";
import type { RunView, SyncEventView, SyncStateView } from "./generated/view.d.ts";
import { drawNotice, drawShape, drawText, hatch, type Box } from "./marks.ts";
import { invalidReason } from "./model.ts";
import { isGap, lengthOf, ratio, usualSpacing, wedgeOf, type AllanDot, type Column, type Dot, type OffsetRange, type Signed, type Stretch, type Track } from "./sync.ts";
import type { Theme } from "./theme.ts";
import { niceTime } from "./timeline.ts";

const LEFT = 66;
const RIGHT = 14;
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

/** Height of the offsets over time, with the states and the marks above. */
export function offsetsHeight(narrow: boolean): number {
  return (narrow ? 230 : 300) + BAND + MARKS + AXIS + KEY;
}

export const DELAY_HEIGHT = 150;
export const SCATTER_HEIGHT = 300;
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

/** A number with its unit, without a tail of ".0". */
export function tick(ns: number): string {
  return ns === 0 ? "0" : format.span(Math.round(ns)).replace(/\.0 /, " ");
}

function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number, colour: string, width = 1): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

function begin(ctx: CanvasRenderingContext2D, theme: Theme): void {
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

function clipped(ctx: CanvasRenderingContext2D, box: Box, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** The sign of an invalid run over a plot: washed out, hatched and named so; the first plot has the reason too. */
function drawInvalid(ctx: CanvasRenderingContext2D, theme: Theme, run: RunView, box: Box, withReason = false): void {
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

function drawTimeAxis(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [from, to]: [number, number]): void {
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

function drawValueAxis(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [low, high]: [number, number]): (ns: number) => number {
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

// States

/** Fills a stretch with the pattern of its state: no two of them need colour to be told apart. */
function fillState(ctx: CanvasRenderingContext2D, theme: Theme, state: SyncStateView, box: Box): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  const stripes = (step: number, slant: 1 | -1, colour: string, width: number) => {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    for (let x = box.left - box.height; x < box.left + box.width + box.height; x += step) {
      ctx.moveTo(x, slant > 0 ? box.top + box.height : box.top);
      ctx.lineTo(x + box.height, slant > 0 ? box.top : box.top + box.height);
    }
    ctx.stroke();
  };
  const fill = (colour: string, alpha: number) => {
    ctx.globalAlpha = alpha;
    ctx.fillStyle = colour;
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
  const box = timeBox(width, height, true);
  const { toX } = timeScale(box, shown.range);
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, shown.range);
  const toY = drawValueAxis(ctx, theme, box, shown.vertical.range);
  const invalid = shown.run.state === "invalid";
  const colour = invalid ? theme.muted : theme.series[0]!;
  clipped(ctx, box, () => {
    drawBound(ctx, box, shown, toY, colour);
    drawExtremes(ctx, box, shown.columns.filter(({ low }) => Number.isFinite(low)), toY, colour);
  });
  if (Number.isFinite(shown.limit)) drawLimits(ctx, theme, box, shown, toY);
  drawEvents(ctx, theme, box, shown, toX);
  drawInvalid(ctx, theme, shown.run, box, true);
  drawStates(ctx, theme, shown.stretches, box, shown.range);
  drawStateKey(ctx, theme, shown.stretches, { left: box.left, top: box.top + box.height + AXIS, width: box.width, height: KEY });
  if (shown.vertical.beyond.length > 0) {
    ctx.textAlign = "right";
    shown.vertical.beyond.forEach((text, i) => drawText(
      ctx, `\u2195 beyond the view: ${text}`, box.left + box.width - 4, box.top + 12 + 16 * i, theme.text, theme.background));
  }
  drawCursor(ctx, theme, box, shown.cursor, toX);
}

function drawCursor(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, cursor: number | null, toX: (seconds: number) => number): void {
  if (cursor === null) return;
  const x = Math.round(toX(cursor)) + 0.5;
  if (x < box.left || x > box.left + box.width) return;
  ctx.setLineDash([3, 3]);
  line(ctx, x, box.top, x, box.top + box.height, theme.muted);
  ctx.setLineDash([]);
}

/** A band from the lowest to the highest bound. Between two columns both hold, so that it is never narrower than it was. */
function drawBound(ctx: CanvasRenderingContext2D, box: Box, { columns, track }: OverTime, toY: (ns: number) => number, colour: string): void {
  const bounded = columns.filter(({ lower, upper }) => Number.isFinite(lower) && Number.isFinite(upper));
  const usual = usualSpacing(track);
  const edge = (x: number) => box.left + x;
  ctx.fillStyle = colour;
  const pieces = bounded.map((column, i) => {
    const next = bounded[i + 1];
    const joined = next !== undefined && !isGap(column, next, usual);
    const lower = joined ? Math.min(column.lower, next.lower) : column.lower;
    const upper = joined ? Math.max(column.upper, next.upper) : column.upper;
    return { left: edge(column.x), right: joined ? edge(next.x) : edge(column.x) + 1, top: toY(upper), foot: toY(lower) };
  });
  ctx.globalAlpha = 0.17;
  for (const { left, right, top, foot } of pieces) ctx.fillRect(left, top, right - left, Math.max(1, foot - top));
  // Its edges, so that it is a band without colour too.
  ctx.globalAlpha = 0.55;
  ctx.strokeStyle = colour;
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
function drawExtremes(ctx: CanvasRenderingContext2D, box: Box, columns: Column[], toY: (ns: number) => number, colour: string): void {
  const dot = columns.length < box.width / 6 ? 4 : columns.length < box.width / 2 ? 2.5 : 2;
  ctx.fillStyle = colour;
  for (const { x, low, high } of columns) {
    const [top, foot] = [toY(high), toY(low)];
    const tall = Math.max(dot, foot - top);
    ctx.fillRect(box.left + x + 0.5 - dot / 2, (top + foot) / 2 - tall / 2, dot, tall);
  }
}

function drawLimits(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, { limit, broken, vertical: { range } }: OverTime, toY: (ns: number) => number): void {
  const colour = broken ? theme.broken : theme.text;
  // Where both lie close together, one label names them.
  const isClose = toY(-limit) - toY(limit) < 44;
  for (const at of [limit, -limit]) {
    if (at < range[0] || at > range[1]) continue;
    const y = Math.round(toY(at)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, colour, 1.5);
    if (isClose && at < 0) continue;
    ctx.textAlign = "left";
    const text = `limit ${isClose ? "\u00b1" : at < 0 ? "-" : "+"}${tick(limit)}${broken ? ", broken" : ""}`;
    drawText(ctx, text, box.left + 5, at > 0 && !isClose ? y + 10 : y - 10, colour, theme.background);
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
  const colour = shown.run.state === "invalid" ? theme.muted : theme.series[1]!;
  clipped(ctx, box, () => drawExtremes(
    ctx, box, shown.columns.filter(({ delay }) => Number.isFinite(delay)).map((column) => ({ ...column, low: column.delay, high: column.delay })), toY, colour));
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

// Distribution

export function plainBox(width: number, height: number): Box {
  return { left: LEFT, top: 10, width: Math.max(40, width - LEFT - RIGHT), height: height - 10 - 42 };
}

function drawName(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, name: string): void {
  ctx.textAlign = "center";
  ctx.fillStyle = theme.muted;
  ctx.fillText(name, box.left + box.width / 2, box.top + box.height + 33);
}

function drawLinearFoot(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [from, to]: [number, number]): (ns: number) => number {
  const toX = (ns: number) => box.left + ((ns - from) / (to - from)) * box.width;
  ctx.textAlign = "center";
  for (const ns of linearTicks(from, to, box.width / 85)) {
    const x = Math.round(toX(ns)) + 0.5;
    line(ctx, x, box.top, x, box.top + box.height, ns === 0 ? theme.muted : theme.line);
    ctx.fillStyle = theme.muted;
    const half = ctx.measureText(tick(ns)).width / 2;
    ctx.fillText(tick(ns), Math.min(x, box.left + box.width + RIGHT - half), box.top + box.height + 14);
  }
  return toX;
}

export interface Distributed {
  run: RunView;
  signed: Signed;
  range: [number, number];
  median: number;
  limit: number;
  pointed: number | null;
}

export function drawDistribution(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: Distributed): void {
  const { signed, range, run, median, limit, pointed } = shown;
  const box = plainBox(width, height);
  begin(ctx, theme);
  const toX = drawLinearFoot(ctx, theme, box, range);
  const top = Math.max(10, ...signed.counts) * 2;
  const toY = (count: number) => box.top + box.height - (Math.log(Math.max(count, 0.7) / 0.7) / Math.log(top / 0.7)) * box.height;
  ctx.textAlign = "right";
  for (const count of logTicks(1, top, 7)) {
    const y = Math.round(toY(count)) + 0.5;
    line(ctx, box.left, y, box.left + box.width, y, theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(width < 500 ? power(count) : format.count(count), box.left - 6, y);
  }
  const invalid = run.state === "invalid";
  clipped(ctx, box, () => {
    signed.counts.forEach((count, i) => {
      if (count === 0) return;
      const [left, right] = [toX(signed.edges[i]!), toX(signed.edges[i + 1]!)];
      ctx.fillStyle = invalid ? theme.muted : theme.series[0]!;
      ctx.globalAlpha = pointed === i ? 1 : 0.75;
      ctx.fillRect(left, toY(count), Math.max(1, right - left - (right - left > 4 ? 1 : 0)), box.top + box.height - toY(count));
    });
    ctx.globalAlpha = 1;
    for (const at of Number.isFinite(limit) ? [-limit, limit] : []) line(ctx, toX(at), box.top, toX(at), box.top + box.height, theme.text, 1.5);
  });
  if (median >= range[0] && median <= range[1]) {
    drawShape(ctx, "triangle", toX(median), box.top + box.height - 3, 9, true, theme.text, theme.background);
  }
  if (signed.below > 0 || signed.beyond > 0) {
    ctx.textAlign = "left";
    if (signed.below > 0) drawText(ctx, `\u25c2 ${format.count(signed.below)} below`, box.left + 4, box.top + 10, theme.text, theme.background);
    ctx.textAlign = "right";
    if (signed.beyond > 0) drawText(ctx, `${format.count(signed.beyond)} beyond \u25b8`, box.left + box.width - 4, box.top + 10, theme.text, theme.background);
  }
  drawName(ctx, theme, box, "offset");
  drawInvalid(ctx, theme, run, box);
}

// Offset against path delay

export interface Scatter {
  run: RunView;
  dots: Dot[];
  range: [number, number];
  median: number;
  pointed: Dot | undefined;
}

export interface ScatterScale {
  toX: (delay: number) => number;
  toY: (offset: number) => number;
  vertical: [number, number];
  seen: Dot[];
}

export function scatterScale(box: Box, dots: Dot[], [from, to]: [number, number]): ScatterScale {
  const seen = dots.filter(({ delay }) => delay >= from && delay <= to);
  let [low, high] = [0, 0];
  for (const dot of seen) [low, high] = [Math.min(low, dot.low), Math.max(high, dot.high)];
  const room = Math.max(10, (high - low) * 0.08);
  const vertical: [number, number] = [low - room, high + room];
  return {
    seen, vertical,
    toX: (delay) => box.left + ((delay - from) / (to - from)) * box.width,
    toY: (offset) => box.top + box.height - ((offset - vertical[0]) / (vertical[1] - vertical[0])) * box.height,
  };
}

/** The range of all path delays (ns), with room. */
export function delayRange(dots: Dot[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const { delay } of dots) [low, high] = [Math.min(low, delay), Math.max(high, delay)];
  if (!(high >= low)) return [0, 1000];
  const room = Math.max(10, (high - low) * 0.05);
  return [low - room, high + room];
}

/** The dot nearest to the pointer, within a finger's reach. */
export function dotAt(seen: Dot[], scale: ScatterScale, at: { x: number; y: number }): Dot | undefined {
  let [nearest, distance] = [undefined as Dot | undefined, 24];
  for (const dot of seen) {
    const y = Math.min(Math.max(at.y, scale.toY(dot.high)), scale.toY(dot.low));
    const here = Math.hypot(scale.toX(dot.delay) - at.x, y - at.y);
    if (here < distance) [nearest, distance] = [dot, here];
  }
  return nearest;
}

export function drawScatter(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: Scatter): void {
  const { run, dots, range, median, pointed } = shown;
  const box = plainBox(width, height);
  begin(ctx, theme);
  const scale = scatterScale(box, dots, range);
  drawLinearFoot(ctx, theme, box, range);
  drawValueAxis(ctx, theme, box, scale.vertical);
  const invalid = run.state === "invalid";
  clipped(ctx, box, () => {
    ctx.fillStyle = invalid ? theme.muted : theme.series[0]!;
    ctx.globalAlpha = scale.seen.length > 500 ? 0.45 : 0.8;
    for (const { delay, low, high } of scale.seen) {
      const [top, foot] = [scale.toY(high), scale.toY(low)];
      const tall = Math.max(2.5, foot - top);
      ctx.fillRect(scale.toX(delay) - 1.25, (top + foot) / 2 - tall / 2, 2.5, tall);
    }
    ctx.globalAlpha = 1;
    const wedge = wedgeOf(dots, median);
    if (wedge) {
      ctx.setLineDash([5, 4]);
      const reach = range[1] - wedge.delay;
      for (const slope of [1, -1]) {
        line(ctx, scale.toX(wedge.delay), scale.toY(wedge.offset), scale.toX(range[1]), scale.toY(wedge.offset + slope * reach), theme.muted);
      }
      ctx.setLineDash([]);
    }
    if (pointed) drawShape(ctx, "circle", scale.toX(pointed.delay), (scale.toY(pointed.low) + scale.toY(pointed.high)) / 2, 9, false, theme.text, theme.background);
  });
  drawName(ctx, theme, box, "path delay (half of a round trip)");
  drawInvalid(ctx, theme, run, box);
}

// Allan deviation

export function allanScale(box: Box, dots: AllanDot[]): { toX: (averaging: number) => number; toY: (deviation: number) => number; x: [number, number]; y: [number, number] } {
  const x: [number, number] = [Math.min(...dots.map((dot) => dot.averaging)) / 1.5, Math.max(...dots.map((dot) => dot.averaging)) * 1.5];
  const y: [number, number] = [Math.min(...dots.map((dot) => dot.deviation)) / 2, Math.max(...dots.map((dot) => dot.deviation)) * 2];
  const along = (value: number, [low, high]: [number, number]) => Math.log(value / low) / Math.log(high / low);
  return { x, y, toX: (at) => box.left + along(at, x) * box.width, toY: (at) => box.top + box.height - along(at, y) * box.height };
}

export function allanAt(box: Box, dots: AllanDot[], at: { x: number }): AllanDot | undefined {
  const { toX } = allanScale(box, dots);
  const [nearest] = [...dots].sort((a, b) => Math.abs(toX(a.averaging) - at.x) - Math.abs(toX(b.averaging) - at.x));
  return nearest;
}

export function drawAllan(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, run: RunView, dots: AllanDot[], pointed: AllanDot | undefined): void {
  const box = plainBox(width, height);
  const { toX, toY, x, y } = allanScale(box, dots);
  begin(ctx, theme);
  ctx.textAlign = "center";
  for (const at of logTicks(x[0], x[1], box.width / 80)) {
    const place = Math.round(toX(at)) + 0.5;
    line(ctx, place, box.top, place, box.top + box.height, theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(tick(at), place, box.top + box.height + 14);
  }
  ctx.textAlign = "right";
  for (const at of logTicks(y[0], y[1], 8)) {
    const place = Math.round(toY(at)) + 0.5;
    line(ctx, box.left, place, box.left + box.width, place, theme.line);
    ctx.fillStyle = theme.muted;
    ctx.fillText(ratio(at).replace(".0e", "e"), box.left - 6, place);
  }
  const colour = run.state === "invalid" ? theme.muted : theme.series[0]!;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  dots.forEach((dot, i) => (i === 0 ? ctx.moveTo(toX(dot.averaging), toY(dot.deviation)) : ctx.lineTo(toX(dot.averaging), toY(dot.deviation))));
  ctx.stroke();
  for (const dot of dots) drawShape(ctx, "diamond", toX(dot.averaging), toY(dot.deviation), dot === pointed ? 12 : 8, true, colour, theme.background);
  drawName(ctx, theme, box, "averaging time");
  drawInvalid(ctx, theme, run, box);
}
