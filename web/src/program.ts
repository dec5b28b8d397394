// The results of following a program's threads, arranged for drawing: the distances of their activations about the
// period that was asked for, and who took the CPU from them. Pure: data in, rows out, and what is drawn of them.

import { binEnd, logTicks, num } from "./bins.ts";
import * as format from "./format.ts";
import type { FollowedThreadView, FollowingCostView, HistogramView, ProgramView } from "./generated/view.d.ts";
import { drawShape, drawText, hatch, type Box } from "./marks.ts";
import type { Cell } from "./model.ts";
import type { Theme } from "./theme.ts";

/** Threads that are drawn; the table holds all. */
export const DRAWN_THREADS = 24;
/** Preempting threads that are drawn for each thread. */
const DRAWN_PREEMPTERS = 6;

/** "motor (4711, fifo 80)". */
export function threadName({ name, tid, policy, priority }: FollowedThreadView): string {
  return `${name} (${tid}, ${policy}${priority > 0 ? ` ${priority}` : ""})`;
}

// Periods

/** Activations between two distances from the period (ns); `to` is not included. */
export interface Stretch {
  from: number;
  to: number;
  count: number;
}

export interface PeriodRow {
  name: string;
  periodNs: number;
  /** By how much the distance from one activation to the next differed from the period. */
  stretches: Stretch[];
  activations: number;
  /** The schedules that late wake-ups swallowed; NaN where nobody could count them. */
  missed: number;
  /** From here on the next activation was nearer to the schedule after its own (ns). */
  lateFrom: number;
  shortest: number;
  longest: number;
}

export function periodRows({ threads }: ProgramView): PeriodRow[] {
  return threads.flatMap((thread) => {
    const periodNs = num(thread.period_ns);
    if (!(periodNs > 0) || num(thread.periods.count) === 0) return [];
    return [{
      name: threadName(thread), periodNs, stretches: stretchesOf(thread.periods, periodNs), activations: num(thread.activations),
      missed: num(thread.missed_periods), lateFrom: periodNs / 2,
      shortest: num(thread.periods.min_ns) - periodNs, longest: num(thread.periods.max_ns) - periodNs,
    }];
  });
}

function stretchesOf({ bins, min_ns: least, max_ns: most }: HistogramView, periodNs: number): Stretch[] {
  return bins.from_ns.map((from, i) => {
    // A bin is coarser than its samples: none lies outside of the exact ends.
    const low = Math.max(num(from), num(least));
    const high = Math.min(binEnd(num(from)), num(most) + 1);
    return { from: low - periodNs, to: high - periodNs, count: num(bins.count[i]) };
  });
}

/** Differences below this stand at their own distance, beyond it at that of their logarithm (ns). */
const EVEN_BELOW = 1_000;

/** Where a difference stands: nothing in the middle, and as much room for a delay as for coming early. */
export function symmetric(ns: number): number {
  return Math.sign(ns) * Math.log10(1 + Math.abs(ns) / EVEN_BELOW);
}

/** The axis of all rows: both ends (ns). */
export function periodRange(rows: PeriodRow[]): [number, number] {
  const early = Math.max(EVEN_BELOW, ...rows.map(({ shortest }) => -shortest));
  // The place from which periods count as missed is always to be seen.
  const late = Math.max(EVEN_BELOW, ...rows.map(({ longest, lateFrom }) => Math.max(longest, lateFrom * 1.5)));
  return [-early * 1.3, late * 1.3];
}

/** Round differences, the same on both sides. */
export function periodTicks([from, to]: [number, number], wanted: number): number[] {
  const share = Math.max(1, wanted / 2);
  const side = (end: number) => logTicks(EVEN_BELOW * 9.99, Math.max(end, EVEN_BELOW * 10), share).filter((ns) => ns <= end);
  return [...side(-from).map((ns) => -ns).reverse(), 0, ...side(to)];
}

/** "+10 us". */
export function difference(ns: number): string {
  if (ns === 0) return "0";
  return `${ns < 0 ? "\u2212" : "+"}${format.latency(Math.abs(Math.round(ns)))}`;
}

export function missedWords({ missed }: PeriodRow): string {
  if (Number.isNaN(missed)) return "missed periods not counted";
  return missed === 0 ? "none missed" : `${format.count(missed)} missed`;
}

const PERIOD_ROW = 66;
const FOOT = 24;

export function periodsHeight(rows: PeriodRow[]): number {
  return rows.length * PERIOD_ROW + FOOT;
}

export function periodRowAt(rows: PeriodRow[], y: number): PeriodRow | undefined {
  return rows[Math.floor(y / PERIOD_ROW)];
}

export function drawPeriods(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, rows: PeriodRow[], invalid: boolean,
): void {
  const box: Box = { left: 8, top: 0, width: width - 16, height: height - FOOT };
  const range = periodRange(rows);
  const [low, high] = [symmetric(range[0]), symmetric(range[1])];
  const toX = (ns: number) => box.left + (box.width * (symmetric(ns) - low)) / (high - low);
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  let free = -Infinity;
  for (const ns of periodTicks(range, width / 90)) {
    const x = Math.round(toX(ns)) + 0.5;
    ctx.strokeStyle = theme.line;
    line(ctx, x, 0, x, box.height);
    const text = ns === 0 ? "period" : difference(ns);
    const half = ctx.measureText(text).width / 2;
    const at = Math.min(Math.max(x, half), width - half);
    if (at - half < free) continue;
    free = at + half + 8;
    ctx.textAlign = "center";
    ctx.fillStyle = theme.muted;
    ctx.fillText(text, at, height - FOOT / 2);
  }
  const tallest = Math.log(1 + Math.max(1, ...rows.flatMap(({ stretches }) => stretches.map(({ count }) => count))));
  rows.forEach((row, i) => {
    const top = i * PERIOD_ROW + 24;
    const foot = (i + 1) * PERIOD_ROW - 6;
    const late = toX(row.lateFrom);
    const color = invalid ? theme.faint : theme.series[0]!;
    hatch(ctx, { left: late, top, width: box.left + box.width - late, height: foot - top }, theme.faint, 1);
    ctx.strokeStyle = theme.muted;
    line(ctx, box.left, foot + 0.5, box.left + box.width, foot + 0.5);
    for (const { from, to, count } of row.stretches) {
      const x = toX(from);
      const isLate = from >= row.lateFrom;
      // A single activation stays visible, and more so where it matters.
      const tall = Math.max(isLate ? 9 : 3, (Math.log(1 + count) / tallest) * (foot - top - 2));
      ctx.fillStyle = isLate && !invalid ? theme.text : color;
      ctx.fillRect(x, foot - tall, Math.max(isLate ? 2.5 : 1.5, toX(to) - x), tall);
    }
    // The period that was asked for.
    ctx.strokeStyle = theme.text;
    ctx.setLineDash([4, 3]);
    line(ctx, Math.round(toX(0)) + 0.5, top - 4, Math.round(toX(0)) + 0.5, foot);
    ctx.setLineDash([]);
    drawShape(ctx, "diamond", toX(row.longest), foot - 7, 9, false, invalid ? theme.faint : theme.text, theme.background);
    ctx.textAlign = "right";
    const missed = missedWords(row);
    drawText(ctx, missed, box.left + box.width, i * PERIOD_ROW + 12, row.missed > 0 ? theme.text : theme.muted, theme.background);
    if (row.missed > 0) {
      const left = box.left + box.width - ctx.measureText(missed).width;
      drawShape(ctx, "cross", left - 10, i * PERIOD_ROW + 12, 9, true, invalid ? theme.faint : theme.text, theme.background);
    }
    ctx.textAlign = "left";
    const room = box.width - ctx.measureText(missed).width - 30;
    const whole = `${row.name}, period ${format.latency(row.periodNs)}`;
    drawText(ctx, shortened(ctx, whole, room), box.left, i * PERIOD_ROW + 12, invalid ? theme.muted : theme.text, theme.background);
  });
  if (invalid) hatch(ctx, box, theme.faint, 1);
}

function shortened(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length > 1 && ctx.measureText(`${text.slice(0, length)}\u2026`).width > room) length -= 1;
  return `${text.slice(0, length)}\u2026`;
}

function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number): void {
  // Shapes and halos leave a width of their own.
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

// Preemptions

/** A line of the picture: a thread that was preempted, or one of those that it waited for. */
export interface PreemptionRow {
  /** The preempted thread. */
  thread: string;
  /** Who got the CPU; absent where the line stands for all of them. */
  by?: string;
  times: number;
  totalNs: number;
  /** NaN if unknown, as for all together. */
  longestNs: number;
}

export function preemptionRows({ threads }: ProgramView): PreemptionRow[] {
  return threads.filter(({ preempted }) => num(preempted) > 0).flatMap((thread) => {
    const name = threadName(thread);
    const by = thread.preempted_by.slice(0, DRAWN_PREEMPTERS).map((one) => ({
      thread: name, by: one.name, times: num(one.times), totalNs: num(one.total_ns), longestNs: num(one.longest_ns),
    }));
    return [{ thread: name, times: num(thread.preempted), totalNs: num(thread.preempted_ns), longestNs: Number.NaN }, ...by];
  });
}

export function preemptionWords({ thread, by, times, totalNs, longestNs }: PreemptionRow): string {
  const often = `${format.count(times)} ${times === 1 ? "time" : "times"}, ${format.span(totalNs)} in all`;
  return by === undefined ? `${thread}: preempted ${often}` : `by ${by}: ${often}, longest ${format.latency(longestNs)}`;
}

const PREEMPTION_ROW = 38;

export function preemptionsHeight(rows: PreemptionRow[]): number {
  return rows.length * PREEMPTION_ROW + FOOT;
}

export function preemptionRowAt(rows: PreemptionRow[], y: number): PreemptionRow | undefined {
  return rows[Math.floor(y / PREEMPTION_ROW)];
}

export function drawPreemptions(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, rows: PreemptionRow[], invalid: boolean,
): void {
  const box: Box = { left: 8, top: 0, width: width - 16, height: height - FOOT };
  const shortest = Math.min(...rows.flatMap(({ by, longestNs }) => (by === undefined ? [] : [longestNs])), 1e6);
  const [low, high] = [Math.log(Math.max(1, shortest) / 2), Math.log(Math.max(10, ...rows.map(({ totalNs }) => totalNs)) * 1.15)];
  const toX = (ns: number) => box.left + (box.width * (Math.log(Math.max(1, ns)) - low)) / (high - low);
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  for (const ns of logTicks(Math.exp(low), Math.exp(high), width / 90)) {
    const x = Math.round(toX(ns)) + 0.5;
    ctx.strokeStyle = theme.line;
    line(ctx, x, 0, x, box.height);
    ctx.fillStyle = theme.muted;
    ctx.fillText(format.span(ns), Math.min(Math.max(x, 24), width - 24), height - FOOT / 2);
  }
  rows.forEach((row, i) => {
    const y = i * PREEMPTION_ROW + 27;
    const all = row.by === undefined;
    const color = invalid ? theme.faint : all ? theme.muted : theme.series[0]!;
    const left = box.left + (all ? 0 : 14);
    ctx.textAlign = "left";
    drawText(
      ctx, shortened(ctx, preemptionWords(row), box.left + box.width - left), left, i * PREEMPTION_ROW + 11,
      invalid ? theme.muted : theme.text, theme.background);
    ctx.fillStyle = color;
    ctx.fillRect(left, y - (all ? 2 : 5), Math.max(2, toX(row.totalNs) - left), all ? 4 : 10);
    if (!Number.isNaN(row.longestNs)) {
      drawShape(ctx, "diamond", toX(row.longestNs), y, 10, false, invalid ? theme.faint : theme.text, theme.background);
    }
  });
  if (invalid) hatch(ctx, box, theme.faint, 1);
}

// What following cost

export interface CostFact {
  name: string;
  value: string;
  under: string;
}

/** What following cost the program, and this machine. */
export function costFacts(cost: FollowingCostView, periodNs: number): CostFact[] {
  const facts: CostFact[] = [{
    name: "events", value: format.count(cost.events),
    under: num(cost.lost_events) === 0 ? "none lost" : `${format.count(cost.lost_events)} lost: what happened then is unknown`,
  }];
  const eventNs = num(cost.event_ns);
  const each = cost.events_per_activation ?? Number.NaN;
  const eachNs = eventNs * each;
  // Without a loop there are no activations to speak of.
  if (Number.isFinite(eachNs) && periodNs > 0) {
    const under = `${each.toFixed(1)} events of ${format.latency(eventNs)}, ${percent(eachNs / periodNs)} of the shortest period`;
    facts.push({ name: "for each activation", value: format.latency(Math.round(eachNs)), under });
  }
  const returnNs = num(cost.return_ns);
  if (Number.isFinite(returnNs)) {
    facts.push({ name: "the way back", value: format.latency(returnNs), under: "measured before, in each scheduled to returned" });
  }
  facts.push({ name: "reading the events", value: `${(cost.own_cpu * 100).toFixed(1)} %`, under: "of one CPU" });
  return facts;
}

function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`;
}

/** The shortest period of all threads (ns); NaN where none has one. */
export function shortestPeriod({ threads }: ProgramView): number {
  const all = threads.map(({ period_ns: period }) => num(period)).filter(Number.isFinite);
  return all.length === 0 ? Number.NaN : Math.min(...all);
}

// Tables

export const THREADS_HEAD = ["thread", "waits by", "activations", "period", "shortest", "longest", "missed", "preempted", "for", "ended"];

export function threadCells(thread: FollowedThreadView): Cell[] {
  const latency = (value: number) => (Number.isFinite(value) ? format.latency(value) : "\u2013");
  const { periods } = thread;
  return [
    threadName(thread), thread.waits_by ?? "no loop recognized", format.count(thread.activations), latency(num(thread.period_ns)),
    latency(num(periods.min_ns)), latency(num(periods.max_ns)),
    thread.missed_periods === null || thread.missed_periods === undefined ? "\u2013" : format.count(thread.missed_periods),
    format.count(thread.preempted), format.span(num(thread.preempted_ns)), thread.ended ? "yes" : "no",
  ];
}
