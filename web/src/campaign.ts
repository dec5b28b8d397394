// A campaign arranged for drawing: one row a condition, its differences from the first condition as marks about zero.

import { ticksOf } from "./calibration.ts";
import { apartText } from "./comparison.ts";
import * as format from "./format.ts";
import type { Answer, AnswerRows, CampaignResult, ComparedRow, ComparedRows, Comparison } from "./generated/view.d.ts";
import { drawShape, drawText, hatch, wrap, type Box, type Shape } from "./marks.ts";
import { COLORED } from "./model.ts";
import type { Theme } from "./theme.ts";

/** A shape for each word, so that it can be read without color. */
export const STATE_SHAPES: Record<Answer["state"], Shape> = {
  helps: "circle", harms: "diamond", trade: "square", "helps-body": "circle", "harms-body": "diamond", "not-beyond-margin": "circle", "no-difference-shown": "circle", "not-measured": "cross",
};

const isShown = (state: Answer["state"]) => state !== "no-difference-shown" && state !== "not-measured";

/** One quantity of one condition against the first. */
export interface Line {
  name: string;
  /** In the unit of the axis. */
  at: number;
  low: number | null;
  high: number | null;
  /** The same in words. */
  words: ComparedRow;
  aNs: number;
  bNs: number;
  differenceNs: number;
  lowNs: number | null;
  highNs: number | null;
  p: number | null;
}

export interface Row {
  answer: Answer;
  /** The answer in a word or two. */
  word: string;
  lines: Line[];
}

export interface Forest {
  /** Of the axis: nanoseconds where the first condition has a quantity of 0, of which there is no per cent. */
  unit: "%" | "ns";
  /** The heading of the intervals. */
  interval: string;
  rows: Row[];
}

const WORST_LINE = "worst";
/** The row of worst cases in the table of a comparison. */
const MEDIAN_OF_MAXIMA = "median of maxima";

/** Always drawn, where they are known; what else a verdict rests on is drawn as well. */
const DRAWN = ["stolen in 1 s", "p50", "p99"];

function linesOf(document: Comparison, { rows }: ComparedRows, unit: Forest["unit"]): Line[] {
  const line = (name: string, row: string, aNs: number, bNs: number, differenceNs: number, lowNs: number | null, highNs: number | null, p: number | null): Line[] => {
    const words = rows.find((one) => one.name === row);
    if (words === undefined) return [];
    const scaled = (ns: number) => (unit === "%" ? (ns / aNs) * 100 : ns);
    return [{
      name, words, aNs, bNs, differenceNs, lowNs, highNs, p, at: scaled(differenceNs),
      low: lowNs === null ? null : scaled(lowNs), high: highNs === null ? null : scaled(highNs),
    }];
  };
  const { worst } = document;
  const isShownOf = (name: string) => rows.some((row) => row.name === name && row.shown != null);
  const quantities = document.quantities
    .filter(({ name }) => DRAWN.includes(name) || isShownOf(name))
    .flatMap((row) => line(row.name, row.name, row.a_ns, row.b_ns, row.difference_ns, row.interval?.low_ns ?? null, row.interval?.high_ns ?? null, row.p_together ?? null));
  const { a_median_ns: aNs, b_median_ns: bNs, median_difference_ns: differenceNs } = worst;
  if (typeof aNs !== "number" || typeof bNs !== "number" || typeof differenceNs !== "number") return quantities;
  return [...quantities, ...line(WORST_LINE, MEDIAN_OF_MAXIMA, aNs, bNs, differenceNs, null, null, worst.p_together ?? null)];
}

/** The rows of some answers; `words` are those of the same answers. */
export function forestOf(answers: Answer[], words: AnswerRows[]): Forest {
  const linesIn = (unit: Forest["unit"], place: number) => {
    const [comparison, compared] = [answers[place]?.comparison, words[place]?.compared];
    return comparison && compared ? linesOf(comparison, compared, unit) : [];
  };
  const unit = answers.some((_, place) => linesIn("ns", place).some(({ aNs }) => !(aNs > 0))) ? "ns" : "%";
  return {
    unit, interval: words.find(({ compared }) => compared)?.compared?.interval ?? "interval",
    rows: answers.map((answer, place) => ({
      answer, word: words[place]?.word ?? "",
      // Numbers that nobody may rest anything on are not drawn.
      lines: answer.state === "not-measured" ? [] : linesIn(unit, place),
    })),
  };
}

/** Beyond this (per cent) a bar is cut, with an arrow: one row shall not press all others flat. */
const MOST = 200;

/** The axis: all that is not beyond it, zero always. */
export function forestRange({ unit, rows }: Forest): [number, number] {
  const ends = rows.flatMap(({ lines }) => lines.flatMap(({ at, low, high }) => [at, low ?? at, high ?? at]));
  const most = unit === "%" ? MOST : Number.POSITIVE_INFINITY;
  const low = Math.max(-most, Math.min(0, ...ends));
  const high = Math.min(most, Math.max(0, ...ends));
  const room = Math.max(1, high - low) * 0.06;
  return [low - room, high + room];
}

const HEAD = 26;
const LINE = 20;
const GAP = 12;
const AXIS = 24;
const FOOT = 26;

function rowHeight({ lines }: Row): number {
  return HEAD + Math.max(lines.length, 2) * LINE + GAP;
}

/** An axis promises numbers: there is none where no row has any. */
const hasAxis = ({ rows }: Forest) => rows.some(({ lines }) => lines.length > 0);

export function forestHeight(forest: Forest): number {
  return AXIS + forest.rows.reduce((sum, row) => sum + rowHeight(row), 0) + (hasAxis(forest) ? AXIS + FOOT : 0);
}

/** The row and line under the pointer. */
export function lineAt({ rows }: Forest, y: number): { row: Row; line: Line | undefined } | undefined {
  let top = AXIS;
  for (const row of rows) {
    const height = rowHeight(row);
    if (y >= top && y < top + height) return { row, line: row.lines[Math.floor((y - top - HEAD) / LINE)] };
    top += height;
  }
  return undefined;
}

/** What the values of a row are, in full. */
function fullName(name: string): string {
  return name === WORST_LINE ? "worst (median of the runs\u2019 maxima)" : name;
}

export function lineText({ name, words }: Line): string {
  const interval = words.interval == null ? "" : `, interval ${words.interval}`;
  const shown = words.shown == null ? "" : `, shown: ${words.shown === "better" ? "earlier" : "later"}`;
  return `${fullName(name)}: first condition ${words.a}, this one ${words.b}, ${apartText(words)}${interval}, p ${words.p ?? "\u2013"}${shown}`;
}

/** Where the axis lies in the picture, for drawing and for what is dragged over it. */
export function forestScale(width: number, range: [number, number]): { box: { left: number; width: number }; toX: (value: number) => number; toValue: (x: number) => number } {
  const narrow = width < 500;
  const left = narrow ? 52 : 104;
  const box = { left, width: Math.max(40, width - left - (narrow ? 66 : 168)) };
  const span = range[1] - range[0];
  return {
    box,
    toX: (value) => box.left + (box.width * (Math.min(range[1], Math.max(range[0], value)) - range[0])) / span,
    toValue: (x) => range[0] + ((Math.min(box.left + box.width, Math.max(box.left, x)) - box.left) / box.width) * span,
  };
}

export function stateColor(state: Answer["state"], theme: Theme): string {
  if (state === "harms" || state === "harms-body") return theme.broken;
  if (state === "helps" || state === "helps-body") return theme.series[0]!;
  return state === "trade" ? theme.text : theme.muted;
}

export function drawForest(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, forest: Forest, range: [number, number]): void {
  const { box, toX } = forestScale(width, range);
  const narrow = width < 500;
  const foot = height - FOOT - AXIS;
  ctx.font = `12px ${theme.font}`;
  ctx.textBaseline = "middle";
  const isDrawn = hasAxis(forest);
  if (isDrawn) drawAxis(ctx, theme, forest.unit, range, { left: box.left, top: AXIS, width: box.width, height: foot - AXIS }, toX);
  ctx.textAlign = "left";
  ctx.fillStyle = theme.muted;
  const side = forest.unit === "%" ? "Difference in % of the first condition" : "Difference from the first condition";
  if (isDrawn) ctx.fillText(narrow ? "Left: earlier; right: later" : `${side}; left of 0: earlier, right: later`, narrow ? 0 : box.left, height - FOOT / 2);
  let top = AXIS;
  for (const row of forest.rows) {
    drawRow(ctx, theme, row, { left: 0, top, width, height: rowHeight(row) }, box, range, toX, narrow);
    top += rowHeight(row);
  }
}

function drawAxis(
  ctx: CanvasRenderingContext2D, theme: Theme, unit: Forest["unit"], range: [number, number], box: Box, toX: (value: number) => number,
): void {
  ctx.textAlign = "center";
  // In steps of a thousandth, since the ticks are whole numbers.
  for (const thousandth of ticksOf([range[0] * 1000, range[1] * 1000], Math.max(3, box.width / 100))) {
    const value = thousandth / 1000;
    const x = Math.round(toX(value));
    ctx.fillStyle = value === 0 ? theme.muted : theme.line;
    ctx.fillRect(value === 0 ? x - 1 : x, box.top, value === 0 ? 2 : 1, box.height);
    ctx.fillStyle = theme.muted;
    const text = value === 0 ? "0" : unit === "%" ? `${value > 0 ? "+" : ""}${Number(value.toFixed(3))} %` : format.difference(value);
    for (const y of [box.top - AXIS / 2, box.top + box.height + AXIS / 2]) ctx.fillText(text, x, y);
  }
}

function drawRow(
  ctx: CanvasRenderingContext2D, theme: Theme, { answer, word, lines }: Row, all: Box, box: { left: number; width: number },
  range: [number, number], toX: (value: number) => number, narrow: boolean,
): void {
  const { state } = answer;
  const color = stateColor(state, theme);
  ctx.fillStyle = theme.line;
  ctx.fillRect(0, all.top, all.width, 1);
  const y = all.top + HEAD / 2 + 2;
  ctx.textAlign = "left";
  drawShape(ctx, STATE_SHAPES[state], 8, y, 11, isShown(state), color, theme.background);
  ctx.font = `600 12px ${theme.font}`;
  drawText(ctx, word, 20, y, isShown(state) ? color : theme.muted, theme.background);
  const after = 20 + ctx.measureText(word).width + 10;
  const name = shortened(answer.condition, all.width - after - 4, (text) => ctx.measureText(text).width);
  drawText(ctx, name, after, y, theme.text, theme.background);
  const nameEnd = after + ctx.measureText(name).width + 10;
  ctx.font = `12px ${theme.font}`;
  if (answer.is_set_apart === false && !narrow) drawText(ctx, "nothing else was set for it than for the first condition", nameEnd, y, theme.muted, theme.background);
  if (lines.length === 0) {
    hatch(ctx, { left: box.left, top: all.top + HEAD, width: box.width, height: 2 * LINE }, theme.faint, 1);
    const room = all.width - (narrow ? 8 : box.left) - 8;
    wrap(answer.sentence, room, (text) => ctx.measureText(text).width).slice(0, 2)
      .forEach((text, i) => drawText(ctx, text, narrow ? 8 : box.left + 8, all.top + HEAD + LINE * (i + 0.5), theme.text, theme.background));
    return;
  }
  lines.forEach((line, i) => drawLine(ctx, theme, line, all.top + HEAD + LINE * (i + 0.5), box, range, toX, narrow));
}

function drawLine(
  ctx: CanvasRenderingContext2D, theme: Theme, line: Line, y: number, box: { left: number; width: number }, [from, to]: [number, number],
  toX: (value: number) => number, narrow: boolean,
): void {
  const { shown } = line.words;
  const color = shown === "worse" ? theme.broken : shown === "better" ? theme.series[0]! : theme.muted;
  ctx.textAlign = "right";
  ctx.fillStyle = theme.muted;
  ctx.fillText(line.name, box.left - 10, y);
  if (line.low !== null && line.high !== null && line.high >= from && line.low <= to) {
    ctx.globalAlpha = shown == null ? 0.4 : 0.6;
    ctx.fillStyle = color;
    ctx.fillRect(toX(line.low), y - 4, Math.max(2, toX(line.high) - toX(line.low)), 8);
    ctx.globalAlpha = 1;
  }
  const arrow = (x: number, way: number) => {
    ctx.fillStyle = color;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x - way * 8, y - 6);
    ctx.lineTo(x - way * 8, y + 6);
    ctx.closePath();
    ctx.fill();
  };
  // What lies beyond the axis points there.
  if (Math.max(line.at, line.high ?? line.at) > to) arrow(box.left + box.width, 1);
  if (Math.min(line.at, line.low ?? line.at) < from) arrow(box.left, -1);
  // A filled mark is shown, an open one is not, or was not judged.
  if (line.at >= from && line.at <= to) drawShape(ctx, shown === "worse" ? "diamond" : "circle", toX(line.at), y, 9, shown != null, color, theme.background);
  ctx.textAlign = "left";
  const text = narrow ? line.words.percent ?? line.words.difference ?? "" : apartText(line.words);
  drawText(ctx, text, box.left + box.width + 8, y, shown == null ? theme.muted : theme.text, theme.background);
}

/** A text with as much left out of its middle as fits: names of conditions often begin alike. */
export function shortened(text: string, room: number, widthOf: (text: string) => number): string {
  if (widthOf(text) <= room) return text;
  for (let kept = text.length - 1; kept > 1; kept -= 1) {
    const head = Math.ceil(kept * 0.4);
    const cut = `${text.slice(0, head)}\u2026${text.slice(text.length - (kept - head))}`;
    if (widthOf(cut) <= room) return cut;
  }
  return "\u2026";
}

/** The measurements that were compared, in their order. */
export function comparedOf({ answers, confirmation }: CampaignResult): string[] {
  return [...new Set([...answers, ...confirmation].map(({ measurement }) => measurement))];
}

/**
 * Which conditions have a color of their own, the same in every figure: the first, then those that differ from it, then
 * others in their order; the rest are gray.
 */
export function ranksOf({ conditions, answers }: CampaignResult): Map<string, number | null> {
  const differs = (name: string) => answers.some((answer) => answer.condition === name && isShown(answer.state));
  const weight = ({ name, is_baseline: first }: { name: string; is_baseline: boolean }) => (first ? 0 : differs(name) ? 1 : 2);
  const order = [...conditions].sort((a, b) => weight(a) - weight(b));
  return new Map(order.map(({ name }, place) => [name, place < COLORED ? place : null]));
}
