// What made the worst samples late, arranged for drawing: shares of the causes as bars, and the timeline of one sample.

import { num } from "./bins.ts";
import { ticksOf } from "./calibration.ts";
import * as format from "./format.ts";
import type { ExplainedSampleView, ExplanationView, RunView } from "./generated/view.d.ts";
import { drawText, hatch, placeLabels, wrap, type Box } from "./marks.ts";
import type { Theme } from "./theme.ts";

export type Certainty = ExplainedSampleView["certainty"];
export type Activity = ExplanationView["stretches"][number]["activity"];

/** A word with its shape: how sure a cause is is never shown by color alone. */
export const SURE: Record<Certainty, { sign: string; means: string }> = {
  shown: { sign: "\u25a0", means: "covers the time on what was recorded" },
  likely: { sign: "\u2592", means: "counters, or the exclusion of all else, say so" },
  unknown: { sign: "\u25a1", means: "nothing says what it was" },
};

export function causeName({ words, name }: { words: string; name: string }): string {
  return name === "" ? words : name.startsWith(words) ? name : `${words}: ${name}`;
}

/** An explained sample with its run; the key is what the URL holds. */
export interface Explained {
  key: string;
  run: RunView;
  explanation: ExplanationView;
  sample: ExplainedSampleView;
}

/** All explained samples, worst first, those of invalid runs last. */
export function explainedOf(runs: RunView[]): Explained[] {
  const all = runs.flatMap((run, r) => (run.explanation?.samples ?? []).map((sample, s) => ({ key: `${r}.${s}`, run, explanation: run.explanation!, sample })));
  return all.sort((a, b) => Number(a.run.state === "invalid") - Number(b.run.state === "invalid") || num(b.sample.latency_ns) - num(a.sample.latency_ns));
}

/** The explanations of the nodes of runs of packets, each as a run of its own, so that all of them are drawn alike. */
export function explainedNodes(runs: RunView[]): RunView[] {
  return runs.flatMap((run) => (run.packets?.explanations ?? []).map(({ node, words, explanation }) => ({ ...run, id: `${run.id} ${node}`, label: `${run.label}: ${words}`, explanation })));
}

/** The explained sample that one of the worst is. */
export function explainedAs(all: Explained[], run: RunView, worst: RunView["worst"][number]): Explained | undefined {
  return all.find(({ run: of, sample }) => of === run && sample.thread === worst.thread
    && String(sample.scheduled.offset_ns) === String(worst.from.offset_ns) && String(sample.latency_ns) === String(worst.latency_ns));
}

/** Explained samples by class, the largest first. */
export function classesOf({ causes }: ExplanationView): [string, number][] {
  const sums = new Map<string, number>();
  for (const cause of causes) sums.set(cause.words, (sums.get(cause.words) ?? 0) + num(cause.samples));
  return [...sums].sort((a, b) => b[1] - a[1]);
}

/** A share in percent that never rounds a part up to all, or down to nothing. */
export function percent(part: number, total: number): string {
  if (total <= 0 || part <= 0) return "0 %";
  if (part >= total) return "100 %";
  const share = (100 * part) / total;
  return share < 1 ? "<1 %" : share > 99 ? ">99 %" : `${Math.round(share)} %`;
}

// The bars of shares.

const BAR_HEAD = 20;
const BAR = 26;
const BAR_GAP = 14;

export function sharesHeight(explanation: ExplanationView): number {
  return explanation.shares.length * (BAR_HEAD + BAR + BAR_GAP) + 2;
}

/** One piece of a bar; `cause` is null for what was not explained. */
export interface Piece {
  share: number;
  cause: number | null;
  samples: number;
  /** The share in words. */
  percent: string;
  box: Box;
}

export function piecesOf(explanation: ExplanationView, width: number): Piece[] {
  return explanation.shares.flatMap((share, row) => {
    const top = row * (BAR_HEAD + BAR + BAR_GAP) + BAR_HEAD;
    const total = Math.max(1, num(share.total));
    let left = 0;
    const counted: [number | null, number, string][] = share.causes.map((samples, cause) => [cause, num(samples), share.percents[cause]!]);
    counted.push([null, num(share.not_explained), share.not_explained_percent]);
    return counted.filter(([, samples]) => samples > 0).map(([cause, samples, percent]) => {
      const wide = (samples / total) * width;
      const piece: Piece = { share: row, cause, samples, percent, box: { left, top, width: wide, height: BAR } };
      left += wide;
      return piece;
    });
  });
}

export function pieceAt(pieces: Piece[], { x, y }: { x: number; y: number }): Piece | undefined {
  // A piece thinner than a finger is found from two pixels beside it.
  const near = (piece: Piece) => Math.max(piece.box.left - x, x - piece.box.left - piece.box.width, 0);
  return pieces.filter(({ box }) => y >= box.top - BAR_HEAD && y <= box.top + box.height + BAR_GAP)
    .sort((a, b) => near(a) - near(b) || a.box.width - b.box.width)[0];
}

export function pieceText(explanation: ExplanationView, piece: Piece): string {
  const share = explanation.shares[piece.share]!;
  const cause = piece.cause === null ? undefined : explanation.causes[piece.cause];
  const what = cause ? `${piece.cause! + 1} ${causeName(cause)} (${cause.certainty})` : "not explained: nothing is known of them";
  return `${what}: ${format.count(piece.samples)} of ${format.count(share.total)} ${share.of}, ${piece.percent}`;
}

/** The color of a cause by its place among the causes; beyond the fifth gray. */
function causeColor(cause: number, theme: Theme): string {
  return theme.series[cause] ?? theme.faint;
}

export function drawShares(ctx: CanvasRenderingContext2D, width: number, theme: Theme, explanation: ExplanationView, invalid: boolean): void {
  ctx.textBaseline = "middle";
  explanation.shares.forEach((share, row) => {
    ctx.font = `12px ${theme.font}`;
    ctx.textAlign = "left";
    ctx.fillStyle = theme.muted;
    const label = `${share.of[0]!.toUpperCase()}${share.of.slice(1)}: ${format.count(share.total)}`;
    ctx.fillText(wrap(label, width, (text) => ctx.measureText(text).width)[0]!, 0, row * (BAR_HEAD + BAR + BAR_GAP) + 9);
  });
  for (const { cause, percent: share, box } of piecesOf(explanation, width)) {
    const known = cause === null ? undefined : explanation.causes[cause]!;
    const inner = { left: box.left + 0.5, top: box.top + 0.5, width: Math.max(1, box.width - 1), height: box.height - 1 };
    const color = cause === null || invalid || known?.class === "unknown" ? theme.faint : causeColor(cause, theme);
    if (known && known.certainty !== "unknown" && !invalid) {
      ctx.globalAlpha = known.certainty === "shown" ? 1 : 0.25;
      ctx.fillStyle = color;
      ctx.fillRect(inner.left, inner.top, inner.width, inner.height);
      ctx.globalAlpha = 1;
    }
    if (cause === null || invalid) hatch(ctx, inner, theme.muted, 1);
    else if (known!.certainty === "likely") dots(ctx, inner, color);
    ctx.strokeStyle = color;
    ctx.lineWidth = 1.5;
    ctx.strokeRect(inner.left, inner.top, inner.width, inner.height);
    const number = cause === null ? "not explained" : `${cause + 1}`;
    const said = [`${number}: ${share}`, number].find((text) => ctx.measureText(text).width < box.width - 12);
    if (!said) continue;
    const wide = ctx.measureText(said).width + 8;
    const x = box.left + box.width / 2;
    // On paper of its own: it has to be read on every pattern.
    ctx.fillStyle = theme.background;
    ctx.fillRect(x - wide / 2, box.top + 5, wide, box.height - 10);
    ctx.fillStyle = theme.text;
    ctx.textAlign = "center";
    ctx.fillText(said, x, box.top + box.height / 2 + 0.5);
  }
}

function clipped(ctx: CanvasRenderingContext2D, box: Box, draw: () => void): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  draw();
  ctx.restore();
}

/** Likely is dotted, shown is solid, unknown is empty. */
function dots(ctx: CanvasRenderingContext2D, box: Box, color: string): void {
  clipped(ctx, box, () => {
    ctx.fillStyle = color;
    for (let y = box.top + 3, row = 0; y < box.top + box.height; y += 5, row += 1) {
      for (let x = box.left + (row % 2 === 0 ? 3 : 6); x < box.left + box.width; x += 6) ctx.fillRect(x, y, 2, 2);
    }
  });
}

// The timeline of one sample.

/** What the times of a sample are counted from, and its two ends as they are marked; a packet's are not those of a timer. */
export const BEGIN: Record<ExplanationView["begin"], { at: string; begin: string; end: string; axis: string; rest: string }> = {
  schedule: { at: "Scheduled at", begin: "scheduled", end: "woke", axis: "after the schedule, us", rest: "the wake-up itself" },
  arrival: { at: "In the kernel at", begin: "in the kernel", end: "in the program", axis: "after the kernel's stamp, us", rest: "the receiver itself" },
};

/** One stretch of a timeline; times are counted from the schedule or, of a packet, from the kernel's stamp. */
export interface Stretch {
  activity: Activity;
  name: string;
  from: number;
  to: number;
  depth: number;
  net: number;
}

export function stretchesOf({ explanation, sample }: Explained): Stretch[] {
  const { timeline } = sample;
  return timeline.stretch.map((at, i) => ({
    ...explanation.stretches[at]!, from: num(timeline.from_ns[i]), to: num(timeline.to_ns[i]), depth: timeline.depth[i]!, net: num(timeline.net_ns[i]),
  }));
}

/** From the first thing that is known (or the schedule) to the wake-up. */
export function windowOf(explained: Explained): [number, number] {
  const stretches = stretchesOf(explained);
  const to = Math.max(1, num(explained.sample.latency_ns), ...stretches.map((one) => one.to));
  return [Math.min(0, ...stretches.map(({ from }) => from)), to];
}

/** What nothing covers at the foot of a timeline: there nobody knows who had the CPU. */
export function gapsOf(stretches: Stretch[], [from, to]: [number, number]): [number, number][] {
  const gaps: [number, number][] = [];
  let reached = from;
  for (const one of stretches.filter(({ depth }) => depth === 0).sort((a, b) => a.from - b.from)) {
    if (one.from > reached) gaps.push([reached, one.from]);
    reached = Math.max(reached, one.to);
  }
  if (reached < to) gaps.push([reached, to]);
  return gaps;
}

export const ACTIVITIES: Record<Activity, string> = {
  idle: "idle", thread: "thread", measuring: "the measuring thread", softirq: "softirq", interrupt: "interrupt", "timer-function": "timer function", nmi: "non-maskable interrupt", untold: "unknown thread",
};

/** Which of the five hues; null for gray. */
export const HUES: Record<Activity, number | null> = { idle: null, thread: 0, measuring: 4, softirq: 1, interrupt: 2, "timer-function": 3, nmi: 4, untold: null };

/** Thinner ones are drawn this wide (px). */
export const THINNEST = 4;
const LANE = 30;
const LABELS = 58;
const FOOT = 42;
const SIDE = 8;

export function timelineHeight(stretches: Stretch[]): number {
  return LABELS + (1 + Math.max(0, ...stretches.map(({ depth }) => depth))) * LANE + FOOT;
}

export interface Placed extends Stretch {
  box: Box;
}

/** Pixels to nanoseconds and back. */
export function scaleOf([from, to]: [number, number], width: number) {
  const room = width - 2 * SIDE;
  return {
    toX: (ns: number) => SIDE + (room * (ns - from)) / (to - from),
    toNs: (x: number) => from + ((Math.min(Math.max(x, SIDE), SIDE + room) - SIDE) * (to - from)) / room,
  };
}

/** Where the stretches in view lie, long before short: a short one lies on top and stays visible. */
export function placedOf(stretches: Stretch[], range: [number, number], width: number, height: number): Placed[] {
  const { toX } = scaleOf(range, width);
  return stretches.filter(({ from, to }) => to >= range[0] && from <= range[1])
    .sort((a, b) => (b.to - b.from) - (a.to - a.from))
    .map((one) => {
      const left = Math.max(SIDE, toX(one.from));
      const right = Math.min(width - SIDE, toX(one.to));
      const wide = Math.max(THINNEST, right - left);
      const box = { left: Math.min(Math.max(SIDE, (left + right - wide) / 2), width - SIDE - wide), top: height - FOOT - (one.depth + 1) * LANE, width: wide, height: LANE - 4 };
      return { ...one, box };
    });
}

/** The stretch under the pointer: the shortest of those that a finger may mean. */
export function stretchAt(placed: Placed[], { x, y }: { x: number; y: number }): Placed | undefined {
  return placed.findLast(({ box }) => y >= box.top - 2 && y <= box.top + box.height + 2 && x >= box.left - 3 && x <= box.left + box.width + 3);
}

/** "eth0 (interrupt 126), interrupt: from 1.2 us to 4.5 us after the schedule; 3.3 us gross, 2.1 us net". */
export function stretchText({ activity, name, from, to, net }: Stretch): string {
  const kind = name === ACTIVITIES[activity] ? "" : `, ${ACTIVITIES[activity]}`;
  return `${name}${kind}: from ${format.latency(from)} to ${format.latency(to)}; ${format.latency(to - from)} gross, ${format.latency(net)} net of what interrupted it`;
}

function pattern(ctx: CanvasRenderingContext2D, activity: Activity, box: Box, color: string): void {
  if (box.width < 8 || activity === "thread" || activity === "interrupt") return;
  if (activity === "idle") return;
  clipped(ctx, box, () => {
    ctx.strokeStyle = color;
    ctx.lineWidth = 1;
    ctx.beginPath();
    if (activity === "softirq" || activity === "nmi") {
      for (let x = box.left - box.height; x < box.left + box.width; x += 7) { ctx.moveTo(x, box.top + box.height); ctx.lineTo(x + box.height, box.top); }
    }
    if (activity === "nmi") for (let x = box.left; x < box.left + box.width + box.height; x += 7) { ctx.moveTo(x, box.top + box.height); ctx.lineTo(x - box.height, box.top); }
    if (activity === "timer-function") for (let y = box.top + 4; y < box.top + box.height; y += 5) { ctx.moveTo(box.left, y); ctx.lineTo(box.left + box.width, y); }
    if (activity === "untold") for (let x = box.left + 4; x < box.left + box.width; x += 6) for (let y = box.top + 4; y < box.top + box.height; y += 6) { ctx.moveTo(x, y); ctx.lineTo(x + 1, y); }
    if (activity === "measuring") for (let x = box.left + 3; x < box.left + box.width; x += 5) { ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); }
    ctx.stroke();
  });
}

/** Text cut to what fits; nothing where not even a few letters do. */
function fitted(ctx: CanvasRenderingContext2D, text: string, room: number): string {
  if (ctx.measureText(text).width <= room) return text;
  for (let length = text.length - 1; length >= 4; length -= 1) {
    const cut = `${text.slice(0, length)}\u2026`;
    if (ctx.measureText(cut).width <= room) return cut;
  }
  return "";
}

export function drawTimeline(
  ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, explained: Explained, range: [number, number], lifted: Stretch | null,
): void {
  const stretches = stretchesOf(explained);
  const placed = placedOf(stretches, range, width, height);
  const { toX } = scaleOf(range, width);
  const floor = height - FOOT;
  const latency = num(explained.sample.latency_ns);
  const invalid = explained.run.state === "invalid";
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  drawAxis(ctx, width, height, theme, range, toX, BEGIN[explained.explanation.begin].axis);
  for (const [from, to] of gapsOf(stretches, windowOf(explained))) {
    const left = Math.max(SIDE, toX(from));
    const right = Math.min(width - SIDE, toX(to));
    if (right > left) hatch(ctx, { left, top: floor - LANE, width: right - left, height: LANE - 4 }, theme.faint, 1);
  }
  for (const one of placed) {
    const hue = HUES[one.activity];
    const color = hue === null || invalid ? theme.faint : theme.series[hue]!;
    const inner = { left: one.box.left + 0.5, top: one.box.top + 0.5, width: Math.max(1, one.box.width - 1), height: one.box.height - 1 };
    ctx.fillStyle = theme.background;
    ctx.fillRect(inner.left, inner.top, inner.width, inner.height);
    ctx.fillStyle = color;
    ctx.globalAlpha = one.box.width <= THINNEST ? 1 : one.activity === "idle" ? 0.08 : 0.3;
    ctx.fillRect(inner.left, inner.top, inner.width, inner.height);
    ctx.globalAlpha = 1;
    pattern(ctx, one.activity, inner, color);
    const isLifted = lifted !== null && lifted.from === one.from && lifted.depth === one.depth && lifted.to === one.to;
    ctx.strokeStyle = isLifted ? theme.text : color;
    ctx.lineWidth = isLifted ? 2.5 : 1;
    ctx.strokeRect(inner.left, inner.top, inner.width, inner.height);
  }
  if (invalid) hatch(ctx, { left: SIDE, top: LABELS, width: width - 2 * SIDE, height: floor - LABELS }, theme.faint, 1);
  const { begin, end } = BEGIN[explained.explanation.begin];
  drawBound(ctx, theme, toX(0), floor, begin, width, 0);
  drawBound(ctx, theme, toX(latency), floor, `${end}, ${format.latency(latency)} late`, width, 80);
  drawNames(ctx, width, height, theme, placed, toX(0));
}

function drawAxis(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, range: [number, number], toX: (ns: number) => number, says: string): void {
  const floor = height - FOOT;
  const ticks = ticksOf(range, width / 95);
  const step = (ticks[1] ?? 1000) - (ticks[0] ?? 0);
  for (const ns of ticks) {
    ctx.fillStyle = theme.line;
    ctx.fillRect(Math.round(toX(ns)), LABELS - 8, 1, floor - LABELS + 8);
    ctx.fillStyle = theme.muted;
    const text = step % 1000 === 0 ? format.count(ns / 1000) : (ns / 1000).toFixed(step % 100 === 0 ? 1 : 3);
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.min(Math.max(toX(ns), half), width - half), floor + 12);
  }
  ctx.fillStyle = theme.muted;
  ctx.fillRect(SIDE, floor - 2, width - 2 * SIDE, 1);
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "right";
  ctx.fillText(says, width - SIDE, height - 8);
}

/** The schedule and the wake-up, as lines over everything with their words at the head. */
function drawBound(ctx: CanvasRenderingContext2D, theme: Theme, x: number, floor: number, text: string, width: number, least: number): void {
  if (x < SIDE - 1 || x > width - SIDE + 1) return;
  const wide = ctx.measureText(text).width;
  ctx.fillStyle = theme.text;
  ctx.fillRect(Math.round(x) - 1, 16, 2, floor - 12);
  ctx.textAlign = "left";
  const left = Math.min(Math.max(x - wide / 2, 0), width - wide);
  drawText(ctx, text, Math.max(left, least), 8, theme.text, theme.background);
}

/** Names inside where they fit; the longest of the others over the picture, with a line down to what they name. */
function drawNames(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, placed: Placed[], schedule: number): void {
  const outside: Placed[] = [];
  for (const one of placed) {
    const covered = placed.some((other) => other !== one && other.depth === one.depth && other.to - other.from < one.to - one.from
      && other.box.left < one.box.left + one.box.width / 2 + 20 && other.box.left + other.box.width > one.box.left + 5);
    // Beside the line of the schedule, not across it, where there is room.
    const right = one.box.left + one.box.width;
    const beside = one.box.left < schedule && right - schedule > ctx.measureText(one.name).width + 14;
    const left = (beside ? schedule : one.box.left) + 6;
    const text = covered ? "" : fitted(ctx, one.name, right - left - 6);
    if (text === "" || (text !== one.name && one.box.width < 90)) {
      if (one.activity !== "idle") outside.push(one);
      continue;
    }
    ctx.textAlign = "left";
    drawText(ctx, text, left, one.box.top + one.box.height / 2 + 0.5, theme.text, theme.background);
  }
  // Each name once: the longest of them.
  const named = new Set(placed.filter((one) => one.box.width > 90 && !outside.includes(one)).map(({ name }) => name));
  const first = (one: Placed) => !named.has(one.name) && named.add(one.name) !== undefined;
  const wanted = outside.sort((a, b) => b.net - a.net).filter(first).slice(0, 4).map((one) => ({ one, text: fitted(ctx, one.name, width * 0.45) }));
  const boxes = placeLabels(
    wanted.map(({ one, text }) => ({ x: one.box.left + one.box.width / 2, y: LABELS, width: ctx.measureText(text).width, weight: one.net })),
    13, { left: 0, top: 14, width, height }, () => LABELS - 4);
  wanted.forEach(({ one, text }, i) => {
    const box = boxes[i];
    if (!box || text === "") return;
    const x = one.box.left + one.box.width / 2;
    ctx.fillStyle = theme.muted;
    ctx.fillRect(Math.round(x), box.top + box.height, 1, one.box.top - box.top - box.height);
  });
  // Over all lines, so that none crosses a word.
  wanted.forEach(({ text }, i) => {
    const box = boxes[i];
    if (!box || text === "") return;
    ctx.textAlign = "left";
    drawText(ctx, text, box.left, box.top + box.height / 2, theme.text, theme.background);
  });
}

/** Its parts, and what is in none of them, so that the sum is the latency. */
export function partsOf({ sample, explanation }: Pick<Explained, "sample" | "explanation">): { what: string; net: number }[] {
  const parts = sample.parts.map((part) => ({ what: causeName(part), net: num(part.net_ns) }));
  const rest = num(sample.latency_ns) - parts.reduce((sum, { net }) => sum + net, 0);
  const smaller = num(sample.parts_left_out);
  const { rest: itself } = BEGIN[explanation.begin];
  const what = smaller > 0 ? `in none of these: ${format.count(smaller)} smaller, idle, or ${itself}` : `in none of these: idle, or ${itself}`;
  return rest > 0 ? [...parts, { what, net: rest }] : parts;
}
