// The paper's form of clock cost: minimum, mean, mean + standard deviation and maximum of each variant, logarithmic.

import { logTicks, num } from "./bins.ts";
import * as format from "./format.ts";
import type { RunView } from "./generated/view.d.ts";
import { drawShape, drawText, hatch, type Box } from "./marks.ts";
import { words } from "./model.ts";
import type { Theme } from "./theme.ts";

export interface Bar {
  name: string;
  invalid: boolean;
  min: number;
  mean: number;
  meanPlusSd: number;
  max: number;
}

export function barsOf(runs: RunView[]): Bar[] {
  return runs.flatMap((run) => run.series.map(({ name, variant, cpu, histogram }) => ({
    name: [words(name), variant, cpu === null || cpu === undefined ? "" : `CPU ${cpu}`, runs.length > 1 ? run.label : ""]
      .filter((part) => part !== "").join(", "),
    invalid: run.state === "invalid",
    min: num(histogram.min_ns),
    mean: num(histogram.mean_ns),
    meanPlusSd: num(histogram.mean_ns) + num(histogram.sd_ns),
    max: num(histogram.max_ns),
  }))).filter(({ max }) => Number.isFinite(max));
}

const ROW = 46;
const FOOT = 24;

export function barsHeight(bars: Bar[]): number {
  return bars.length * ROW + FOOT;
}

/** The bar under the pointer. */
export function barAt(bars: Bar[], y: number): Bar | undefined {
  return bars[Math.floor(y / ROW)];
}

export function drawBars(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, bars: Bar[]): void {
  const box: Box = { left: 8, top: 0, width: width - 70, height: height - FOOT };
  const low = Math.log(Math.max(1, Math.min(...bars.map(({ min }) => min))) * 0.8);
  const high = Math.log(Math.max(10, ...bars.map(({ max }) => max)) * 1.15);
  const toX = (ns: number) => box.left + (box.width * (Math.log(Math.max(1, ns)) - low)) / (high - low);
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  for (const ns of logTicks(Math.exp(low), Math.exp(high), width / 90)) {
    ctx.strokeStyle = theme.line;
    ctx.beginPath();
    ctx.moveTo(Math.round(toX(ns)) + 0.5, 0);
    ctx.lineTo(Math.round(toX(ns)) + 0.5, box.height);
    ctx.stroke();
    ctx.fillStyle = theme.muted;
    ctx.fillText(format.span(ns), toX(ns), height - FOOT / 2);
  }
  bars.forEach((bar, i) => {
    const y = i * ROW + 32;
    const color = bar.invalid ? theme.faint : theme.series[0]!;
    ctx.textAlign = "left";
    drawText(ctx, bar.name, box.left, i * ROW + 12, bar.invalid ? theme.muted : theme.text, theme.background);
    ctx.fillStyle = color;
    ctx.fillRect(toX(bar.min), y - 1, toX(bar.max) - toX(bar.min), 2);
    ctx.fillRect(toX(bar.mean), y - 4, Math.max(1, toX(bar.meanPlusSd) - toX(bar.mean)), 8);
    ctx.fillRect(toX(bar.min) - 1, y - 6, 2, 12);
    drawShape(ctx, "circle", toX(bar.mean), y, 9, true, color, theme.background);
    drawShape(ctx, "diamond", toX(bar.max), y, 9, false, color, theme.background);
    drawText(ctx, format.latency(bar.max), toX(bar.max) + 9, y, theme.text, theme.background);
    if (bar.invalid) hatch(ctx, { left: box.left, top: y - 12, width: box.width, height: 24 }, theme.faint, 1);
  });
}
