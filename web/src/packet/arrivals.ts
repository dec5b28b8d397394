// Loss and order of packets over time. Pure but for the drawing at its end.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { PacketFlowView, RunView } from "../generated/view.d.ts";
import { drawText, type Box } from "../marks.ts";
import type { Cell } from "../model.ts";
import { begin, clipped, drawInvalid, LEFT, line, RIGHT } from "../sync_axes.ts";
import { drawCursor, drawTimeAxis, timeScale } from "../sync_over_time.ts";
import type { Theme } from "../theme.ts";

/** What a receiver knew of the packets of a flow by interval: seconds from the start of the run and numbers of packets. */
export interface Arrivals {
  from: number[];
  to: number[];
  sent: number[];
  arrived: number[];
  missing: number[];
  doubled: number[];
  reordered: number[];
}

export function arrivalsOf({ arrivals: over }: PacketFlowView): Arrivals {
  const from = over.start_offset_ns.map((ns) => num(ns) / 1e9);
  return {
    from, to: from.map((at, i) => at + num(over.length_ns[i]) / 1e9), sent: over.sent.map(num), arrived: over.arrived.map(num),
    missing: over.missing.map(num), doubled: over.doubled.map(num), reordered: over.reordered.map(num),
  };
}

/** A row of the picture: its name, and one value for each interval. */
export interface Lane {
  name: string;
  values: number[];
  /** A value that stands for the end of an interval, not for what happened in it: the largest of several is drawn. */
  isLevel: boolean;
}

/** Newly missing packets of each interval: those that are known to be sent and did not come, less those that came late. */
export function newlyMissing({ missing }: Arrivals): number[] {
  return missing.map((level, i) => Math.max(0, level - (i === 0 ? 0 : missing[i - 1]!)));
}

export function lanesOf(arrivals: Arrivals): Lane[] {
  return [
    { name: "arrived", values: arrivals.arrived, isLevel: false },
    { name: "newly missing", values: newlyMissing(arrivals), isLevel: false },
    { name: "missing since the start", values: arrivals.missing, isLevel: true },
    { name: "doubled", values: arrivals.doubled, isLevel: false },
    { name: "out of order", values: arrivals.reordered, isLevel: false },
  ];
}

/** One value for each of some columns of the picture; those in which nothing came are 0. */
export function laneColumns({ values, isLevel }: Lane, { from, to }: Arrivals, range: [number, number], columns: number): number[] {
  const found = new Array<number>(columns).fill(0);
  // A little more, so that no rounding moves an interval to the column before.
  const place = (seconds: number) => Math.floor(((seconds - range[0]) / (range[1] - range[0])) * columns + 1e-6);
  from.forEach((start, i) => {
    // Where nothing came, what was missing before is missing still.
    const end = isLevel ? Math.max(to[i]!, from[i + 1] ?? 0) : to[i]!;
    if (end <= range[0] || start >= range[1]) return;
    const [first, last] = [Math.max(0, place(start)), Math.min(columns - 1, Math.max(place(start), place(end) - 1))];
    // An interval that fills several columns is drawn over all of them; several in one column are joined.
    for (let x = first; x <= last; x += 1) found[x] = isLevel || last > first ? Math.max(found[x]!, values[i]!) : found[x]! + values[i]!;
  });
  return found;
}

export const ARRIVALS_HEAD = ["from", "known to be sent", "arrived", "missing since the start", "doubled", "out of order"];

export function arrivalRows({ from, sent, arrived, missing, doubled, reordered }: Arrivals): Cell[][] {
  return from.map((at, i) => [format.span(Math.round(at * 1e9)), ...[sent, arrived, missing, doubled, reordered].map((values) => format.count(values[i]!))]);
}

export function arrivalWords(arrivals: Arrivals, i: number): string {
  const at = (values: number[]) => format.count(values[i]!);
  return `from ${format.span(Math.round(arrivals.from[i]! * 1e9))}: ${at(arrivals.arrived)} arrived, ${at(arrivals.missing)} missing since the start, ${at(arrivals.doubled)} doubled, ${at(arrivals.reordered)} out of order`;
}

const LANE = 44;
const AXIS = 24;

export const ARRIVALS_HEIGHT = 5 * LANE + AXIS + 4;

export interface ShownArrivals {
  run: RunView;
  arrivals: Arrivals;
  range: [number, number];
  cursor: number | null;
}

export function drawArrivals(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, shown: ShownArrivals): void {
  const { run, arrivals, range } = shown;
  const box: Box = { left: LEFT, top: 4, width: Math.max(40, width - LEFT - RIGHT), height: height - 4 - AXIS };
  begin(ctx, theme);
  drawTimeAxis(ctx, theme, box, range);
  const invalid = run.state === "invalid";
  lanesOf(arrivals).forEach((lane, n) => {
    const foot = box.top + (n + 1) * LANE - 2;
    const columns = laneColumns(lane, arrivals, range, Math.max(1, Math.round(box.width)));
    const most = columns.reduce((a, b) => Math.max(a, b), 0);
    const room = LANE - 20;
    line(ctx, box.left, foot + 0.5, box.left + box.width, foot + 0.5, theme.faint);
    clipped(ctx, box, () => {
      ctx.fillStyle = invalid ? theme.muted : n === 0 ? theme.series[0]! : theme.series[1]!;
      if (most > 0) {
        columns.forEach((value, x) => {
          if (value > 0) ctx.fillRect(box.left + x, foot - Math.max(2, (value / most) * room), n === 0 ? 1 : 1.5, Math.max(2, (value / most) * room));
        });
      }
    });
    ctx.textAlign = "left";
    const words = most === 0 ? `${lane.name}: none` : lane.name;
    drawText(ctx, words, box.left + 4, foot - LANE + 11, most === 0 ? theme.muted : theme.text, theme.background);
    ctx.textAlign = "right";
    ctx.fillStyle = theme.muted;
    if (most > 0) ctx.fillText(format.count(most), box.left - 6, foot - room + 3);
    ctx.fillText("0", box.left - 6, foot - 3);
  });
  drawInvalid(ctx, theme, run, box);
  drawCursor(ctx, theme, box, shown.cursor, timeScale(box, range).toX);
}

/** Where the columns lie, for pointing at them. */
export function arrivalsBox(width: number): Box {
  return { left: LEFT, top: 4, width: Math.max(40, width - LEFT - RIGHT), height: 5 * LANE };
}
