// Draws how offsets are spread: in a distribution, against the path delay, by averaging time.

import { linearTicks, logTicks } from "./bins.ts";
import { power } from "./distribution.ts";
import * as format from "./format.ts";
import type { RunView } from "./generated/view.d.ts";
import { drawShape, drawText, type Box } from "./marks.ts";
import { ratio, wedgeOf, type AllanDot, type Dot, type Signed } from "./sync.ts";
import { begin, clipped, drawInvalid, drawValueAxis, LEFT, line, RIGHT, tick, type Doubted } from "./sync_axes.ts";
import type { Theme } from "./theme.ts";

// Distribution

export const SCATTER_HEIGHT = 300;

export function plainBox(width: number, height: number): Box {
  return { left: LEFT, top: 10, width: Math.max(40, width - LEFT - RIGHT), height: height - 10 - 42 };
}

function drawName(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, name: string): void {
  ctx.textAlign = "center";
  ctx.fillStyle = theme.muted;
  ctx.fillText(name, box.left + box.width / 2, box.top + box.height + 33);
}

export function drawLinearFoot(ctx: CanvasRenderingContext2D, theme: Theme, box: Box, [from, to]: [number, number]): (ns: number) => number {
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
  run: Doubted;
  /** What the axis is of. */
  name?: string;
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
  drawName(ctx, theme, box, shown.name ?? "offset");
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
  const color = run.state === "invalid" ? theme.muted : theme.series[0]!;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  dots.forEach((dot, i) => (i === 0 ? ctx.moveTo(toX(dot.averaging), toY(dot.deviation)) : ctx.lineTo(toX(dot.averaging), toY(dot.deviation))));
  ctx.stroke();
  for (const dot of dots) drawShape(ctx, "diamond", toX(dot.averaging), toY(dot.deviation), dot === pointed ? 12 : 8, true, color, theme.background);
  drawName(ctx, theme, box, "averaging time");
  drawInvalid(ctx, theme, run, box);
}
