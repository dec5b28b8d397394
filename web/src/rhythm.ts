// Late samples folded into one period: across the place in the period, up the latency.

import { num } from "./bins.ts";
import * as format from "./format.ts";
import type { RhythmView } from "./generated/view.d.ts";
import { drawShape } from "./marks.ts";
import type { Theme } from "./theme.ts";

export interface Folded {
  /** From the start of the period (ns); the rhythm lies in the middle. */
  at: number;
  latency: number;
  inside: boolean;
}

export function foldedOf(rhythm: RhythmView): Folded[] {
  const [middle, half] = [rhythm.period_ns / 2, num(rhythm.width_ns) / 2];
  return rhythm.folded_ns.map((ns, i) => ({ at: num(ns), latency: num(rhythm.folded_latency_ns[i]), inside: Math.abs(num(ns) - middle) <= half }));
}

const LEFT = 62;
const RIGHT = 10;
const TOP = 10;
const FOOT = 40;
export const HEIGHT = 210;

/** 1, 2, 5, 10, ... within the range and one beyond at each end. */
export function decades(least: number, most: number): number[] {
  const marks: number[] = [];
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power += 1) {
    for (const digit of [1, 2, 5]) marks.push(digit * 10 ** power);
  }
  const from = Math.max(0, marks.findIndex((mark) => mark > least) - 1);
  const to = marks.findIndex((mark) => mark >= most);
  return marks.slice(from, to < 0 ? undefined : to + 1);
}

export interface Scale {
  toX: (at: number) => number;
  toY: (latency: number) => number;
  marks: number[];
}

export function scaleOf(folded: Folded[], period: number, width: number): Scale {
  const latencies = folded.map(({ latency }) => Math.max(1, latency));
  const marks = decades(Math.min(...latencies), Math.max(...latencies) * 1.05);
  const [low, high] = [Math.log(marks[0]!), Math.log(marks.at(-1)!)];
  return {
    toX: (at) => LEFT + ((width - LEFT - RIGHT) * at) / period,
    toY: (latency) => HEIGHT - FOOT - ((HEIGHT - FOOT - TOP) * (Math.log(Math.max(1, latency)) - low)) / Math.max(1e-9, high - low),
    marks,
  };
}

/** The sample nearest to the pointer, within a finger's reach. */
export function foldedAt(folded: Folded[], scale: Scale, { x, y }: { x: number; y: number }): Folded | undefined {
  const distance = (one: Folded) => Math.hypot(scale.toX(one.at) - x, scale.toY(one.latency) - y);
  const [nearest] = [...folded].sort((a, b) => distance(a) - distance(b));
  return nearest && distance(nearest) < 24 ? nearest : undefined;
}

export function drawRhythm(ctx: CanvasRenderingContext2D, width: number, theme: Theme, rhythm: RhythmView, invalid: boolean): void {
  const folded = foldedOf(rhythm);
  const { toX, toY, marks } = scaleOf(folded, rhythm.period_ns, width);
  const floor = HEIGHT - FOOT;
  const half = num(rhythm.width_ns) / 2;
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  // Where the rhythm lies; never thinner than can be seen.
  const middle = toX(rhythm.period_ns / 2);
  const wide = Math.max(3, toX(rhythm.period_ns / 2 + half) - middle);
  ctx.fillStyle = theme.faint;
  ctx.globalAlpha = 0.25;
  ctx.fillRect(middle - wide, TOP, 2 * wide, floor - TOP);
  ctx.globalAlpha = 1;
  ctx.textAlign = "right";
  for (const mark of marks) {
    ctx.fillStyle = theme.line;
    ctx.fillRect(LEFT, Math.round(toY(mark)), width - LEFT - RIGHT, 1);
    ctx.fillStyle = theme.muted;
    ctx.fillText(format.span(mark), LEFT - 6, toY(mark));
  }
  ctx.fillStyle = theme.muted;
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const text = part === 0.5 ? "0" : `${part < 0.5 ? "\u2212" : "+"}${format.span(Math.abs(part - 0.5) * rhythm.period_ns)}`;
    ctx.textAlign = part === 0 ? "left" : part === 1 ? "right" : "center";
    if (width > 520 || part !== 0.25 && part !== 0.75) ctx.fillText(text, toX(part * rhythm.period_ns), floor + 12);
    ctx.fillRect(Math.round(toX(part * rhythm.period_ns)), floor, 1, 5);
  }
  ctx.textAlign = "center";
  ctx.fillText(`within one period of ${rhythm.period}`, (LEFT + width - RIGHT) / 2, HEIGHT - 9);
  for (const one of [...folded].sort((a, b) => Number(a.inside) - Number(b.inside))) {
    const color = invalid || !one.inside ? theme.muted : theme.series[0]!;
    drawShape(ctx, one.inside ? "circle" : "cross", toX(one.at), toY(one.latency), 7, one.inside, color, theme.background);
  }
}

/** "4 100 us, 12 us before the middle of the rhythm". */
export function foldedText(one: Folded, rhythm: RhythmView): string {
  const apart = Math.round(one.at - rhythm.period_ns / 2);
  const where = apart === 0 ? "in the middle of the rhythm" : `${format.span(Math.abs(apart))} ${apart < 0 ? "before" : "after"} the middle of the rhythm`;
  return `${format.latency(one.latency)}, ${where}${one.inside ? "" : ", outside of it"}`;
}
