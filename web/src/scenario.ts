// The paper's form of scenarios side by side: maximum, minimum, mean and mean + standard deviation of each on a
// logarithmic axis, with the maximum of every run beside them.

import { logTicks } from "./bins.ts";
import { shortened } from "./campaign.ts";
import * as format from "./format.ts";
import type { Bar, BarRow, Figure } from "./generated/view.d.ts";
import { colorOf, drawShape, drawText, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";

const PLOT = 300;
/** A condition has at least so much room; where there are more than fit, the picture scrolls. */
const LEAST_SLOT = 28;
const HEAD = 22;
const SLANT = Math.PI / 3;
/** Of a letter, on average: heights are needed before a canvas can measure. */
const LETTER = 6.6;
const LONGEST = 34;

const leftOf = (width: number) => (width < 500 ? 54 : 66);

export function leastWidth(bars: Bar[]): number {
  return bars.length * LEAST_SLOT + leftOf(0) + 8;
}

interface Layout {
  left: number;
  slot: number;
  slanted: boolean;
  foot: number;
}

export function layoutOf(bars: Pick<Bar, "condition">[], width: number): Layout {
  const left = leftOf(width);
  const slot = (width - left - 8) / Math.max(1, bars.length);
  const longest = Math.min(LONGEST, Math.max(1, ...bars.map(({ condition }) => condition.length))) * LETTER;
  const slanted = longest > slot - 8;
  return { left, slot, slanted, foot: slanted ? Math.ceil(longest * Math.sin(SLANT)) + 26 : 28 };
}

export function scenarioHeight(bars: Bar[], width: number): number {
  return HEAD + PLOT + layoutOf(bars, width).foot;
}

/** The condition under the pointer. */
export function barAt(bars: Bar[], x: number, width: number): Bar | undefined {
  const { left, slot } = layoutOf(bars, width);
  return x < left ? undefined : bars[Math.floor((x - left) / slot)];
}

/** The axis (ns). Times of 0 and below have no place on it: they are drawn at its foot, and stated in words. */
export function scenarioRange(bars: Bar[]): [number, number] {
  const positive = bars.flatMap(({ min_ns: min, mean_ns: mean, max_ns: max }) => [min, mean, max]).filter((ns) => ns > 0);
  if (positive.length === 0) return [1, 10];
  const low = Math.min(...positive);
  const high = Math.max(...positive, low * 2);
  return [Math.max(0.5, low * 0.75), high * 1.35];
}

export function barText({ condition, runs, samples, min, mean, sd, max, maxima }: BarRow): string {
  return `${condition}: min ${min}, mean ${mean}${sd == null ? "" : `, sd ${sd}`}, max ${max}; ${samples} samples of ${runs} ${runs === "1" ? "run" : "runs"}, their maxima ${maxima.join(", ")}`;
}

export function drawScenario(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, { bars }: Figure, ranks: Map<string, number | null>, lift: string | null,
): void {
  const { left, slot, slanted, foot } = layoutOf(bars, width);
  const box: Box = { left, top: HEAD, width: width - left - 8, height: height - HEAD - foot };
  const [from, to] = scenarioRange(bars);
  const toY = (ns: number) => box.top + box.height * (1 - Math.log(Math.max(from, ns) / from) / Math.log(to / from));
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const ns of logTicks(from, to, box.height / 40)) {
    const y = Math.round(toY(ns));
    ctx.fillStyle = theme.line;
    ctx.fillRect(box.left, y, box.width, 1);
    ctx.fillStyle = theme.muted;
    // Round numbers need no tenths.
    ctx.fillText(ns < 1 ? "" : format.span(ns).replace(".0 ", " "), box.left - 8, y);
  }
  const [first] = bars;
  if (first) {
    // What the first condition has, across all others.
    ctx.strokeStyle = theme.faint;
    ctx.setLineDash([5, 4]);
    for (const ns of [first.mean_ns, first.max_ns]) {
      ctx.beginPath();
      ctx.moveTo(box.left, Math.round(toY(ns)) + 0.5);
      ctx.lineTo(box.left + box.width, Math.round(toY(ns)) + 0.5);
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }
  bars.forEach((bar, i) => {
    const x = box.left + slot * (i + 0.5);
    ctx.globalAlpha = lift !== null && lift !== bar.condition ? 0.3 : 1;
    drawBar(ctx, theme, bar, x, slot, toY, colorOf(ranks.get(bar.condition) ?? null, theme));
    drawName(ctx, theme, bar.condition, x, box.top + box.height, slot, slanted);
    ctx.globalAlpha = 1;
  });
}

function drawBar(ctx: CanvasRenderingContext2D, theme: Theme, bar: Bar, x: number, slot: number, toY: (ns: number) => number, color: string): void {
  const half = Math.min(9, slot * 0.2);
  ctx.fillStyle = color;
  ctx.fillRect(x - 1, toY(bar.max_ns), 2, toY(bar.min_ns) - toY(bar.max_ns));
  if (bar.sd_ns !== null && bar.sd_ns !== undefined) {
    const top = toY(bar.mean_ns + bar.sd_ns);
    ctx.fillRect(x - half / 2, top, half, Math.max(1, toY(bar.mean_ns) - top));
    ctx.fillRect(x - half, top - 1, half * 2, 2);
  }
  ctx.fillRect(x - half, toY(bar.min_ns) - 1, half * 2, 2);
  drawShape(ctx, "circle", x, toY(bar.mean_ns), Math.min(9, slot * 0.3), true, color, theme.background);
  if (bar.maxima_ns.length > 1) {
    const alpha = ctx.globalAlpha;
    ctx.globalAlpha = alpha * 0.75;
    for (const ns of bar.maxima_ns) drawShape(ctx, "circle", x + Math.min(18, slot * 0.36), toY(ns), 5, false, color, theme.background);
    ctx.globalAlpha = alpha;
  }
  drawShape(ctx, "diamond", x, toY(bar.max_ns), Math.min(9, slot * 0.32), false, color, theme.background);
  const text = format.latency(bar.max_ns);
  ctx.textAlign = "center";
  if (ctx.measureText(text).width < slot - 4) drawText(ctx, text, x, toY(bar.max_ns) - 14, theme.text, theme.background);
  if (bar.min_ns <= 0 && slot > 40) drawText(ctx, `\u25be ${format.latency(bar.min_ns)}`, x, toY(bar.min_ns) - 8, theme.text, theme.background);
}

export function drawName(ctx: CanvasRenderingContext2D, theme: Theme, name: string, x: number, y: number, slot: number, slanted: boolean): void {
  ctx.fillStyle = theme.text;
  if (!slanted) {
    ctx.textAlign = "center";
    ctx.fillText(shortened(name, slot - 4, (text) => ctx.measureText(text).width), x, y + 16);
    return;
  }
  ctx.save();
  ctx.translate(x + 4, y + 10);
  ctx.rotate(-SLANT);
  ctx.textAlign = "right";
  // The first ones would begin left of the picture.
  const room = Math.min(LONGEST * LETTER, (x - 4) / Math.cos(SLANT));
  ctx.fillText(shortened(name, room, (text) => ctx.measureText(text).width), 0, 0);
  ctx.restore();
}
