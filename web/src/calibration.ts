// A calibration arranged for drawing: one row for each kind and length of delay, one line in it for each condition.

import { KINDS as MEASUREMENTS } from "./generated/kinds.ts";
import { num } from "./bins.ts";
import * as format from "./format.ts";
import type { CalibrationRowView } from "./generated/view.d.ts";
import { drawShape, drawText, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";

/** All delays of one kind, length and condition. */
export interface Group {
  measurement: string;
  kind: string;
  lengthNs: number;
  condition: string;
  rows: CalibrationRowView[];
}

/** What a reader calls the ways to hold a CPU. */
const KINDS: Record<string, string> = { "irqs-off": "interrupts off", hog: "thread above", softirq: "softirq" };
const CONDITIONS: Record<string, string> = { idle: "idle", load: "under load" };

export function kindName(kind: string): string {
  return KINDS[kind] ?? kind;
}

export function conditionName(condition: string): string {
  return CONDITIONS[condition] ?? condition;
}

/** Groups in the order measurement, kind, length, idle before load. */
export function groupsOf(rows: CalibrationRowView[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const key = JSON.stringify([row.measurement, row.kind, num(row.asked_length_ns), row.condition]);
    const group = groups.get(key) ?? {
      measurement: row.measurement, kind: row.kind, lengthNs: num(row.asked_length_ns), condition: row.condition, rows: [],
    };
    group.rows.push(row);
    groups.set(key, group);
  }
  // Wake-ups first: they are what the program is used for.
  const rank = (group: Group) => [MEASUREMENTS[group.measurement]?.figure === "wakeups" ? 0 : 1, group.kind === "irqs-off" ? 0 : 1, group.lengthNs, group.condition === "idle" ? 0 : 1];
  return [...groups.values()].sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    const at = left.findIndex((value, i) => value !== right[i]);
    return at < 0 ? 0 : left[at]! - right[at]!;
  });
}

/** What a group says in numbers. */
export interface Summary {
  found: number;
  within: number;
  exceptions: number;
  wrong: number;
  least: number;
  mean: number;
  most: number;
  missedRight: number;
  missedOf: number;
}

export function summaryOf({ rows }: Group): Summary {
  const differences = rows.flatMap(({ difference_ns: ns }) => (ns === null || ns === undefined ? [] : [num(ns)]));
  const count = (outcome: CalibrationRowView["outcome"]) => rows.filter((row) => row.outcome === outcome).length;
  const missed = rows.flatMap((row) => (row.missed ? [row.missed] : []));
  return {
    found: differences.length,
    within: count("within"),
    exceptions: count("exception"),
    wrong: count("outside") + count("not-found"),
    least: Math.min(...differences),
    mean: differences.reduce((sum, ns) => sum + ns, 0) / differences.length,
    most: Math.max(...differences),
    missedRight: missed.filter(({ reading, least, most }) => num(reading) >= num(least) && num(reading) <= num(most)).length,
    missedOf: missed.length,
  };
}

/** The bound in words: "-1 to +5 us"; a range where the rows of a group differ. */
export function boundOf({ rows }: Group): string {
  const least = rows.map((row) => num(row.least_ns));
  const most = rows.map((row) => num(row.most_ns));
  const word = (values: number[]) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return low === high ? signed(low) : `${signed(low)}\u2026${signed(high)}`;
  };
  return `${word(least)} to ${word(most)} us`;
}

/** Microseconds with their sign: "+2.6", "-0.1", "0" where less than a tenth. */
export function signed(ns: number): string {
  const us = format.microseconds(Math.abs(Math.round(ns))).replace(/\.0$/, "");
  return us === "0" ? us : `${ns < 0 ? "-" : "+"}${us}`;
}

/** One row of a measurement's picture: the groups of all conditions. */
export interface Lane {
  title: string;
  groups: Group[];
}

export function lanesOf(groups: Group[]): Lane[] {
  const lanes: Lane[] = [];
  for (const group of groups) {
    const title = `${kindName(group.kind)} for ${format.span(group.lengthNs)}`;
    const last = lanes.at(-1);
    if (last?.title === title) last.groups.push(group);
    else lanes.push({ title, groups: [group] });
  }
  return lanes;
}

const TITLE = 20;
const LINE = 18;
const GAP = 10;
const FOOT = 40;

export function laneHeight(lane: Lane): number {
  return TITLE + lane.groups.length * LINE + GAP;
}

export function pictureHeight(lanes: Lane[]): number {
  return lanes.reduce((sum, lane) => sum + laneHeight(lane), 0) + FOOT;
}

/** The group under the pointer. */
export function groupAt(lanes: Lane[], y: number): Group | undefined {
  let top = 0;
  for (const lane of lanes) {
    const height = laneHeight(lane);
    if (y < top + height) {
      const line = Math.floor((y - top - TITLE) / LINE);
      return lane.groups[Math.min(lane.groups.length - 1, Math.max(0, line))];
    }
    top += height;
  }
  return undefined;
}

/** From the lowest to the highest difference or bound (ns), zero and some room included. */
export function rangeOf(lanes: Lane[]): [number, number] {
  const all = lanes.flatMap(({ groups }) => groups.flatMap(({ rows }) =>
    rows.flatMap(({ difference_ns: ns, least_ns: least, most_ns: most }) =>
      [...(ns === null || ns === undefined ? [] : [num(ns)]), num(least), num(most)])));
  const [low, high] = [Math.min(0, ...all), Math.max(1000, ...all)];
  const room = (high - low) * 0.08;
  return [Math.min(low, -3500) - room, high + room];
}

/** Steps of 1, 2 or 5 times a power of ten, about as many as asked. */
export function ticksOf([low, high]: [number, number], wanted: number): number[] {
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const ticks: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) ticks.push(Math.round(at));
  return ticks;
}

export function drawCalibration(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, lanes: Lane[]): void {
  const box: Box = { left: 8, top: 0, width: width - 16, height: height - FOOT };
  const range = rangeOf(lanes);
  const toX = (ns: number) => box.left + (box.width * (ns - range[0])) / (range[1] - range[0]);
  const clipped = (ns: number) => Math.min(box.left + box.width, Math.max(box.left, toX(ns)));
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "center";
  for (const ns of ticksOf(range, width / 90)) {
    ctx.fillStyle = ns === 0 ? theme.muted : theme.line;
    ctx.fillRect(Math.round(toX(ns)), 0, 1, box.height);
    ctx.fillStyle = theme.muted;
    ctx.fillText(signed(ns), toX(ns), height - FOOT + 12);
  }
  ctx.textAlign = "right";
  ctx.fillText("reading minus truth and baseline, us", box.left + box.width, height - 8);
  let top = 0;
  for (const lane of lanes) {
    lane.groups.forEach((group, i) => drawGroup(ctx, theme, group, top + TITLE + i * LINE + LINE / 2, clipped));
    ctx.textAlign = "left";
    drawText(ctx, lane.title, box.left, top + 11, theme.text, theme.background);
    top += laneHeight(lane);
  }
}

/** The bound as a bar, every reading as a shape on it; what lies beyond is larger, so that one of hundreds is seen. */
function drawGroup(ctx: CanvasRenderingContext2D, theme: Theme, group: Group, y: number, toX: (ns: number) => number): void {
  const isLoad = group.condition === "load";
  const color = theme.series[isLoad ? 1 : 0]!;
  ctx.globalAlpha = 0.22;
  ctx.fillStyle = color;
  for (const bound of new Set(group.rows.map((row) => `${row.least_ns} ${row.most_ns}`))) {
    const [least, most] = bound.split(" ").map((ns) => toX(Number(ns)));
    ctx.fillRect(least!, y - 6, most! - least!, 12);
  }
  ctx.globalAlpha = 1;
  const beyond: CalibrationRowView[] = [];
  let missing = 0;
  for (const row of group.rows) {
    if (row.outcome === "not-found") missing += 1;
    else if (row.outcome !== "within") beyond.push(row);
    else drawShape(ctx, isLoad ? "triangle" : "circle", toX(num(row.difference_ns)), y, 6, !isLoad, color, theme.background);
  }
  ctx.textAlign = "left";
  for (const row of beyond) {
    const wrong = row.outcome !== "exception";
    const x = toX(num(row.difference_ns));
    drawShape(ctx, wrong ? "cross" : "diamond", x, y, 10, wrong, wrong ? theme.broken : color, theme.background);
    if (wrong) {
      ctx.textAlign = "right";
      drawText(ctx, "wrong", x - 9, y, theme.broken, theme.background);
    }
  }
  if (missing > 0) {
    // They have no place on the axis: one mark at its end says how many.
    const x = toX(Infinity);
    drawShape(ctx, "cross", x, y, 10, true, theme.broken, theme.background);
    ctx.textAlign = "right";
    drawText(ctx, `${missing} not found`, x - 9, y, theme.broken, theme.background);
  }
}
