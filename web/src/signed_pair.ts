// Draws where the samples of two groups lie, with their sign: one lane each, on one axis with zero marked.

import { logTicks, num } from "./bins.ts";
import { power } from "./distribution.ts";
import * as format from "./format.ts";
import type { SignedRunView, SignedSamplesView } from "./generated/view.d.ts";
import { drawNotice, drawShape, drawText, hatch, type Box } from "./marks.ts";
import { signedColumns, type Signed } from "./sync.ts";
import { begin, clipped, drawValueAxis, LEFT, line, RIGHT, tick } from "./sync_axes.ts";
import { drawLinearFoot, plainBox } from "./sync_spread.ts";
import type { Theme } from "./theme.ts";

const LANE = 120;
const GAP = 34;
const FOOT = 42;

export const PAIR_HEIGHT = 2 * (LANE + GAP) + FOOT;

/** One group in its lane. */
export interface Lane {
  name: string;
  signed: Signed;
  median: number;
}

/** The range of all samples of both (ns), with room; zero is always in it, so that a sign can be seen. */
export function pairRange(lowest: number, highest: number): [number, number] {
  const [low, high] = [Math.min(0, lowest), Math.max(0, highest)];
  const room = Math.max(2, (high - low) * 0.04);
  return [low - room, high + room];
}

/** Both groups in the same columns. */
export function pairColumns({ a, b }: SignedSamplesView, range: [number, number], columns: number): [Signed, Signed] {
  return [signedColumns(a, range, columns), signedColumns(b, range, columns)];
}

/** The lane at a height, and the column at a place; undefined outside. */
export function pairAt(at: { x: number; y: number }, width: number, lanes: [Lane, Lane]): { lane: Lane; column: number } | undefined {
  const lane = lanes[Math.floor(at.y / (LANE + GAP))];
  const box = plainBox(width, PAIR_HEIGHT);
  if (!lane) return undefined;
  const column = Math.floor(((at.x - box.left) / box.width) * lane.signed.counts.length);
  return column >= 0 && column < lane.signed.counts.length ? { lane, column } : undefined;
}

export function drawPair(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, lanes: [Lane, Lane], invalid: string,
): void {
  begin(ctx, theme);
  const whole = plainBox(width, height);
  const { edges } = lanes[0].signed;
  const toX = drawLinearFoot(ctx, theme, { ...whole, height: height - whole.top - FOOT }, [edges[0]!, edges[edges.length - 1]!]);
  const top = Math.max(10, ...lanes.flatMap(({ signed }) => signed.counts)) * 2;
  lanes.forEach(({ name, signed, median }, i) => {
    const box: Box = { left: whole.left, top: i * (LANE + GAP) + GAP, width: whole.width, height: LANE };
    const toY = (count: number) => box.top + box.height - (Math.log(Math.max(count, 0.7) / 0.7) / Math.log(top / 0.7)) * box.height;
    ctx.textAlign = "right";
    for (const count of logTicks(1, top, 4)) {
      const y = Math.round(toY(count)) + 0.5;
      line(ctx, box.left, y, box.left + box.width, y, theme.line);
      ctx.fillStyle = theme.muted;
      ctx.fillText(width < 500 ? power(count) : format.count(count), box.left - 6, y);
    }
    clipped(ctx, box, () => {
      ctx.fillStyle = invalid === "" ? theme.series[i]! : theme.muted;
      ctx.globalAlpha = 0.8;
      signed.counts.forEach((count, column) => {
        if (count === 0) return;
        const [left, right] = [toX(signed.edges[column]!), toX(signed.edges[column + 1]!)];
        ctx.fillRect(left, toY(count), Math.max(1, right - left), box.top + box.height - toY(count));
      });
      ctx.globalAlpha = 1;
    });
    drawShape(ctx, "triangle", toX(median), box.top + box.height - 3, 9, true, theme.text, theme.background);
    ctx.textAlign = "left";
    drawText(ctx, `${name}: median ${format.difference(median)}`, box.left, box.top - 14, theme.text, theme.background);
  });
  ctx.textAlign = "center";
  ctx.fillStyle = theme.muted;
  ctx.fillText("with sign; below zero: behind its reference", Math.min(whole.left + whole.width / 2, width - RIGHT - 130), height - 8);
  if (invalid !== "") {
    hatch(ctx, { ...whole, height: height - FOOT }, theme.faint, 1);
    drawNotice(ctx, ["Invalid: not a result.", invalid], { ...whole, height: height - FOOT }, theme, 1);
  }
}

/** Rows of a table: every column that has a sample on a side. */
export function pairRows([a, b]: [Lane, Lane]): string[][] {
  return a.signed.counts.flatMap((count, i) => {
    const other = b.signed.counts[i]!;
    if (count === 0 && other === 0) return [];
    const [from, to] = [a.signed.edges[i]!, a.signed.edges[i + 1]!];
    return [[tick(from), tick(to), format.count(count), format.count(other)]];
  });
}

// Over time

export const STROKES_HEIGHT = 300;
const HEAD = 24;
const TIMES = 30;

/** One run in its part of the axis of time. */
export interface Part {
  run: SignedRunView;
  left: number;
  width: number;
  /** How long the run is (ns). */
  length: number;
}

/** The parts of the runs, as wide as they are long, with a gap between. */
export function partsOf(runs: SignedRunView[], width: number): Part[] {
  const lengthOf = (run: SignedRunView) => run.start_offset_ns.reduce<number>((end, start, i) => Math.max(end, num(start) + num(run.length_ns[i])), 0);
  const lengths = runs.map(lengthOf);
  const gap = runs.length > 12 ? 2 : 8;
  const room = Math.max(40, width - LEFT - RIGHT - gap * (runs.length - 1));
  const total = Math.max(1, lengths.reduce((sum, one) => sum + one, 0));
  let left = LEFT;
  return runs.map((run, i) => {
    const part = { run, left, width: (room * lengths[i]!) / total, length: lengths[i]! };
    left += part.width + gap;
    return part;
  });
}

/** The run and its interval at a place. */
export function strokeAt(parts: Part[], x: number): { run: SignedRunView; i: number } | undefined {
  const part = parts.find(({ left, width }) => x >= left && x <= left + width);
  if (!part) return undefined;
  const at = ((x - part.left) / part.width) * part.length;
  const i = part.run.start_offset_ns.findIndex((start, index) => at >= num(start) && at < num(start) + num(part.run.length_ns[index]));
  return i < 0 ? undefined : { run: part.run, i };
}

/** "A 1, from 2 min on: -60.1 us to -41.0 us". */
export function strokeWords(run: SignedRunView, i: number): string {
  const [low, high] = [run.lowest_ns[i], run.highest_ns[i]];
  const values = low == null || high == null ? "no sample" : `${format.difference(low)} to ${format.difference(high)}`;
  return `${run.label}, from ${format.span(num(run.start_offset_ns[i]))} on: ${values}`;
}

/** Strokes from the lowest to the highest sample of each interval, on an axis with zero in it. */
export function drawStrokes(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, runs: SignedRunView[], range: [number, number], invalid: string,
): void {
  begin(ctx, theme);
  const box: Box = { left: LEFT, top: HEAD, width: Math.max(40, width - LEFT - RIGHT), height: height - HEAD - TIMES };
  const toY = drawValueAxis(ctx, theme, box, range);
  for (const { run, left, width: wide, length } of partsOf(runs, width)) {
    ctx.fillStyle = invalid === "" ? theme.series[run.of_a ? 0 : 1]! : theme.muted;
    const toX = (ns: number) => left + (ns / Math.max(1, length)) * wide;
    run.start_offset_ns.forEach((start, i) => {
      const [low, high] = [run.lowest_ns[i], run.highest_ns[i]];
      if (low == null || high == null) return;
      const [from, to] = [toX(num(start)), toX(num(start) + num(run.length_ns[i]))];
      const [top, foot] = [toY(num(high)), toY(num(low))];
      ctx.globalAlpha = 0.85;
      ctx.fillRect(from, top - 1, Math.max(1, to - from - (to - from > 4 ? 1 : 0)), Math.max(2, foot - top + 2));
    });
    ctx.globalAlpha = 1;
    ctx.textAlign = "left";
    if (wide > 30) drawText(ctx, run.label, left + 2, HEAD / 2, theme.text, theme.background);
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    if (wide > 70) ctx.fillText(format.span(length), left + wide, height - TIMES / 2);
  }
  if (invalid !== "") {
    hatch(ctx, box, theme.faint, 1);
    drawNotice(ctx, ["Invalid: not a result.", invalid], box, theme, 1);
  }
}
