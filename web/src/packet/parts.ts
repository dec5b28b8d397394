// The parts of a packet's way from program to program, as stacked bars. Pure but for the drawing at its end.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { PacketFlowView, PacketPartView, RunView } from "../generated/view.d.ts";
import { drawText, type Box } from "../marks.ts";
import type { Cell } from "../model.ts";
import { begin, drawInvalid } from "../sync_axes.ts";
import type { Theme } from "../theme.ts";

/** One stacked bar. */
export interface PartBar {
  /** Which packets it stands for. */
  title: string;
  /** The whole delay of these packets in words; empty if it is not known. */
  whole: string;
  /** Whether the parts are the whole way: shares of some of them alone would be shares of nothing. */
  isComplete: boolean;
  segments: Segment[];
}

export interface Segment {
  /** Number of the part in the order of the way: it has a pattern of its own. */
  part: number;
  words: string;
  /** Its length (ns); within the error it can be below zero. */
  ns: number;
  /** "±10.9 us"; empty if it has none. */
  error: string;
}

/** The number of what is not divided into its parts. */
const UNDIVIDED = -1;

const withError = (error: { words: string } | null | undefined) => (error ? ` ${error.words}` : "");

/** The bars of a flow: one of medians, and one of the worst packet, or else of what 99.9 % do not exceed. */
export function barsOf({ delay, parts }: PacketFlowView): PartBar[] {
  if (!delay || parts.every((part) => !part.delay)) return [];
  const bar = (title: string, whole: string, of: (part: PacketPartView) => number | null, error = (part: PacketPartView) => part.delay?.error?.words ?? ""): PartBar => ({
    title, whole, isComplete: parts.every((part) => part.delay),
    segments: parts.flatMap((part, i) => {
      const ns = of(part);
      return ns === null || !Number.isFinite(ns) ? [] : [{ part: i, words: part.words, ns, error: error(part) }];
    }),
  });
  const value = (ns: number | string | null | undefined) => (ns === null || ns === undefined ? null : num(ns));
  const bars = [bar("median of each part", `${format.latency(delay.median_ns)}${withError(delay.error)}`, (part) => value(part.delay?.median_ns))];
  const known = parts.map((part) => value(part.of_worst_ns));
  if (known.some((ns) => ns !== null)) {
    bars.push(bar("the worst packet", `${format.latency(delay.highest_ns)}${withError(delay.error_of_highest)}`, (part) => value(part.of_worst_ns),
      // Where one part alone lies between both clocks, its error for this packet is that of its whole delay.
      (part) => (part.delay?.error && parts.filter((other) => other.delay?.error).length === 1 ? delay.error_of_highest?.words ?? "" : part.delay?.error?.words ?? "")));
    // What lies between two stamps that exist is known; only how it is divided is not.
    const missing = known.findIndex((ns) => ns === null);
    if (missing >= 0) {
      const rest = num(delay.highest_ns) - known.reduce<number>((sum, ns) => sum + (ns ?? 0), 0);
      const words = parts.filter((_, i) => known[i] === null).map((part) => part.words).join(" and ");
      bars[1]!.isComplete = true;
      bars[1]!.segments.splice(missing, 0, { part: UNDIVIDED, words: `${words}, not divided for want of stamps`, ns: rest, error: delay.error_of_highest?.words ?? "" });
    }
  } else if (parts.some((part) => part.delay?.p99_9_ns !== null && part.delay?.p99_9_ns !== undefined)) {
    const whole = delay.p99_9_ns === null || delay.p99_9_ns === undefined ? "" : `${format.latency(delay.p99_9_ns)}${withError(delay.error)}`;
    bars.push(bar("what 99.9 % do not exceed, of each part", whole, (part) => value(part.delay?.p99_9_ns)));
  }
  return bars;
}

/** What is not known of the parts, in words; empty if nothing is missing. */
export function missingWords({ parts }: PacketFlowView): string {
  return parts.filter((part) => num(part.missing) > 0)
    .map((part) => `${part.words}: not known of ${format.count(part.missing!)} packets, whose stamp is missing or cannot be used`).join("; ");
}

export const PARTS_HEAD = ["part", "packets", "not known", "min", "median", "p99.9", "max", "of the worst packet", "error"];

export function partRows({ delay, parts }: PacketFlowView): Cell[][] {
  const latency = (ns: number | string | null | undefined) => (ns === null || ns === undefined ? "\u2013" : format.latency(ns));
  const row = (words: string, one: PacketFlowView["delay"], missing: Cell, ofWorst: number | string | null | undefined): Cell[] => [
    words, one ? format.count(one.count) : "0", missing, latency(one?.lowest_ns), latency(one?.median_ns), latency(one?.p99_9_ns), latency(one?.highest_ns),
    latency(ofWorst), one?.error?.words ?? "\u2013"];
  return [
    ...parts.map((part) => row(part.words, part.delay, part.missing === null || part.missing === undefined ? "\u2013" : format.count(part.missing), part.of_worst_ns)),
    row("sending program to receiving program", delay, "\u2013", delay?.highest_ns),
  ];
}

const TITLE = 22;
const BAR = 26;
const ROW = 20;
const GAP = 18;

const heightOf = (bar: PartBar) => TITLE + BAR + 6 + (bar.segments.length + (bar.whole === "" ? 0 : 1)) * ROW + GAP;

export function partsHeight(bars: PartBar[]): number {
  return bars.reduce((sum, bar) => sum + heightOf(bar), 0);
}

/** Fills a box with the pattern of a part: no two of them need color to be told apart. */
function fillPart(ctx: CanvasRenderingContext2D, theme: Theme, part: number, box: Box, invalid: boolean): void {
  const color = invalid ? theme.muted : theme.series[Math.max(0, part) % theme.series.length]!;
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  ctx.fillStyle = color;
  ctx.globalAlpha = part === 0 ? 0.85 : 0.3;
  // What is not known is left white.
  if (part !== UNDIVIDED) ctx.fillRect(box.left, box.top, box.width, box.height);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  if (part === 1) {
    for (let x = box.left - box.height; x < box.left + box.width; x += 8) { ctx.moveTo(x, box.top + box.height); ctx.lineTo(x + box.height, box.top); }
  } else if (part === 2) {
    for (let y = box.top + 3; y < box.top + box.height; y += 5) { ctx.moveTo(box.left, y); ctx.lineTo(box.left + box.width, y); }
  } else if (part === 3) {
    for (let x = box.left - box.height; x < box.left + box.width; x += 8) { ctx.moveTo(x, box.top); ctx.lineTo(x + box.height, box.top + box.height); }
  } else if (part === 4) {
    for (let x = box.left + 3; x < box.left + box.width; x += 5) { ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); }
  }
  ctx.stroke();
  ctx.restore();
  ctx.strokeStyle = theme.text;
  ctx.lineWidth = 1;
  ctx.strokeRect(box.left + 0.5, box.top + 0.5, Math.max(0, box.width - 1), box.height - 1);
}

/** "8.7 us": a share of the bar's length beside it. */
function segmentWords({ words, ns, error }: Segment, { isComplete, ...bar }: PartBar): string {
  const whole = wholeOf(bar);
  const share = isComplete && whole > 0 && ns > 0 ? `, ${ns / whole < 0.01 ? "<1" : Math.round((ns / whole) * 100)} %` : "";
  return `${words}: ${format.latency(ns)}${error === "" ? "" : ` ${error}`}${share}`;
}

export function barWords(bar: PartBar): string {
  const all = bar.whole === "" ? [] : [wholeWords(bar)];
  return `${bar.title}: ${[...bar.segments.map((segment) => segmentWords(segment, bar)), ...all].join("; ")}`;
}

const wholeWords = ({ whole }: PartBar) => `the whole way: ${whole}`;

const wholeOf = (bar: Pick<PartBar, "segments">) => bar.segments.reduce((sum, { ns }) => sum + Math.max(0, ns), 0);

export function drawParts(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, run: RunView, bars: PartBar[]): void {
  const invalid = run.state === "invalid";
  begin(ctx, theme);
  let top = 0;
  for (const bar of bars) {
    ctx.textAlign = "left";
    drawText(ctx, bar.title, 1, top + TITLE / 2, invalid ? theme.muted : theme.text, theme.background);
    const whole = wholeOf(bar);
    let left = 0;
    for (const segment of bar.segments) {
      const length = whole > 0 ? (Math.max(0, segment.ns) / whole) * width : 0;
      // A part of almost no length is still a line.
      fillPart(ctx, theme, segment.part, { left: Math.min(left, width - 2), top: top + TITLE, width: Math.max(2, length), height: BAR }, invalid);
      left += length;
    }
    bar.segments.forEach((segment, i) => {
      const y = top + TITLE + BAR + 6 + ROW * i;
      fillPart(ctx, theme, segment.part, { left: 0, top: y + 3, width: 20, height: 13 }, invalid);
      ctx.textAlign = "left";
      drawText(ctx, segmentWords(segment, bar), 28, y + ROW / 2, theme.text, theme.background);
    });
    if (bar.whole !== "") drawText(ctx, wholeWords(bar), 28, top + TITLE + BAR + 6 + ROW * (bar.segments.length + 0.5), theme.text, theme.background);
    top += heightOf(bar);
  }
  drawInvalid(ctx, theme, run, { left: 0, top: 0, width, height });
}
