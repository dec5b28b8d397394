// The heat map: time across, latency upwards (logarithmic), color the logarithm of the number of samples.

import { heatFrom, logTicks, num } from "./bins.ts";
import * as format from "./format.ts";
import { drawDeadline, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";
import { drawWindow, timeTicks, windowBox, type Window } from "./timeline.ts";

/** One column: an interval of all shown lanes together. */
export interface HeatColumn {
  from: number;
  to: number;
  /** Samples by bin number. */
  bins: Map<number, number>;
  max: number;
}

export interface Heat {
  columns: HeatColumn[];
  windows: Window[];
  lowest: number;
  highest: number;
  most: number;
}

/** Lanes are summed, or one is taken alone; the maximum of a column is the exact interval maximum. */
export function heat(windows: Window[], lift: string | null): Heat {
  const columns: HeatColumn[] = [];
  let [lowest, highest, most] = [Infinity, 0, 1];
  for (const { run, from } of windows) {
    const byStart = new Map<number, HeatColumn>();
    for (const series of run.series) {
      if (lift !== null && series.lane !== lift) continue;
      const { intervals } = series;
      intervals.start_offset_ns.forEach((startExact, i) => {
        const start = num(startExact) / 1e9;
        const column = byStart.get(start)
          ?? { from: from + start, to: from + start + num(intervals.length_ns[i]) / 1e9, bins: new Map(), max: Number.NaN };
        byStart.set(start, column);
        intervals.heat.bin[i]!.forEach((bin, b) => {
          const sum = (column.bins.get(bin) ?? 0) + num(intervals.heat.count[i]![b]);
          column.bins.set(bin, sum);
          most = Math.max(most, sum);
          lowest = Math.min(lowest, Math.max(1, heatFrom(bin)));
        });
        const max = num(intervals.max_ns[i]);
        if (!(max <= column.max)) column.max = max;
        if (max > highest) highest = max;
      });
    }
    columns.push(...byStart.values());
  }
  return { columns, windows, lowest: Number.isFinite(lowest) ? lowest : 1, highest: Math.max(highest, 10), most };
}

// Cividis (Nuñez, Anderton and Renslow, 2018) at eight even places; even to eyes that do not distinguish red from green.
const CIVIDIS: [number, number, number][] = [
  [0, 34, 78], [35, 62, 108], [87, 92, 109], [124, 123, 120], [149, 143, 120], [187, 175, 113], [223, 206, 91], [254, 232, 56]];

/** The color of a share from 0 to 1; on light paper more samples are darker, on dark paper brighter. */
export function sequential(share: number, dark: boolean): string {
  const place = Math.min(1, Math.max(0, dark ? share : 1 - share)) * (CIVIDIS.length - 1);
  const low = Math.min(CIVIDIS.length - 2, Math.floor(place));
  const [a, b] = [CIVIDIS[low]!, CIVIDIS[low + 1]!];
  return `rgb(${a.map((channel, i) => Math.round(channel + (b[i]! - channel) * (place - low))).join(" ")})`;
}

const FOOT = 26;
const TOP = 10;

/** On a border of device pixels, where neighbors meet without a seam. */
function onPixel(place: number): number {
  return Math.round(place * devicePixelRatio) / devicePixelRatio;
}

/** Everything between data and pixels, for drawing and for finding what lies under the pointer. */
export function heatScales(shown: Heat, range: [number, number] | null, width: number, height: number) {
  const box: Box = { left: width < 500 ? 46 : 62, top: TOP, width: 0, height: height - TOP - FOOT };
  box.width = Math.max(1, width - box.left - 14);
  const [from, to] = range ?? [0, shown.windows[shown.windows.length - 1]?.to ?? 1];
  const toSeconds = (x: number) => from + ((x - box.left) / box.width) * (to - from);
  const [low, high] = [Math.log(shown.lowest * 0.9), Math.log(shown.highest * 3)];
  return {
    box, from, to, toSeconds,
    toX: (seconds: number) => box.left + ((seconds - from) / (to - from)) * box.width,
    toY: (ns: number) => box.top + box.height * (1 - (Math.log(Math.max(1, ns)) - low) / (high - low)),
    columnAt: (x: number) => shown.columns.find((column) => toSeconds(x) >= column.from && toSeconds(x) < column.to),
  };
}

export function drawHeat(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: Heat, range: [number, number] | null, deadline: number,
): void {
  const scales = heatScales(shown, range, width, height);
  const { box, toX, toY } = scales;
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, 0, box.width, height);
  ctx.clip();
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  const logMost = Math.log(shown.most + 1);
  for (const column of shown.columns) {
    const left = onPixel(toX(column.from));
    const right = Math.max(left + 1, onPixel(toX(column.to)));
    for (const [bin, count] of column.bins) {
      const top = onPixel(toY(heatFrom(bin + 1)));
      const bottom = onPixel(toY(heatFrom(bin)));
      ctx.fillStyle = sequential(0.05 + (0.95 * Math.log(count + 1)) / logMost, theme.dark);
      ctx.fillRect(left, top, right - left, Math.max(1, bottom - top));
    }
  }
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  let before: HeatColumn | null = null;
  for (const column of shown.columns) {
    if (!Number.isFinite(column.max)) continue;
    const y = toY(column.max);
    if (before && Math.abs(before.to - column.from) < 1e-6) ctx.lineTo(toX(column.from), y);
    else ctx.moveTo(toX(column.from), y);
    ctx.lineTo(toX(column.to), y);
    before = column;
  }
  ctx.stroke();
  ctx.restore();
  drawAxes(ctx, width, height, theme, shown, deadline, scales);
}

function drawAxes(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: Heat, deadline: number,
  { box, from, to, toX, toY }: ReturnType<typeof heatScales>,
): void {
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "right";
  for (const us of logTicks((shown.lowest * 0.9) / 1000, (shown.highest * 1.3) / 1000, 9)) {
    ctx.fillText(us >= 1 ? format.count(us) : String(us), box.left - 6, toY(us * 1000));
  }
  ctx.textAlign = "center";
  for (const { at, text } of timeTicks(shown.windows, from, to, width / (width < 500 ? 65 : 100))) ctx.fillText(text, Math.max(toX(at), box.left + 6), height - 12);
  for (const window of shown.windows) {
    // The load's shade would change colors that mean something, so only the label shows it.
    drawWindow(ctx, theme, { ...window, run: { ...window.run, loaded: false } }, windowBox(window, toX, box), 1, shown.windows.length > 1);
  }
  if (deadline >= shown.lowest && deadline <= shown.highest * 1.3) {
    drawDeadline(ctx, theme, box, Math.round(toY(deadline)), deadline, deadline < shown.highest, 1);
  }
}
