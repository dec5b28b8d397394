// The lead that orders needed beside the one that they had, a row for each run of a sweep. Pure but for drawing.

import { logTicks, num } from "../bins.ts";
import { shortened } from "../campaign.ts";
import * as format from "../format.ts";
import type { LeadRowView, RunView, SweepCycleView } from "../generated/view.d.ts";
import { drawShape, drawText, type Box } from "../marks.ts";
import type { Cell, Results } from "../model.ts";
import { begin, line, tick } from "../sync_axes.ts";
import type { Theme } from "../theme.ts";

const HEAD = 30;
const ROW = 46;
const FOOT = 42;
const SIDE = 12;

/** A line of the picture: a cycle's heading, or one of its runs. */
export type LeadLine = { top: number; cycle: SweepCycleView; row: LeadRowView | null };

export function linesOf(cycles: SweepCycleView[]): LeadLine[] {
  let top = 0;
  return cycles.flatMap((cycle) => {
    const lines: LeadLine[] = [{ top, cycle, row: null }];
    top += HEAD;
    for (const row of cycle.leads) {
      lines.push({ top, cycle, row });
      top += ROW;
    }
    return lines;
  });
}

export function leadsHeight(cycles: SweepCycleView[]): number {
  return cycles.reduce((sum, { leads }) => sum + HEAD + ROW * leads.length, 0) + FOOT;
}

/** The logarithmic axis (ns): every lead that was needed or given. */
export function leadsRange(cycles: SweepCycleView[]): [number, number] {
  const all = cycles.flatMap(({ leads }) => leads.flatMap((row) => [row.p50_ns, row.worst_ns, row.lead_ns].map(num))).filter((ns) => ns > 0);
  if (all.length === 0) return [1e5, 1e7];
  return [Math.min(...all) * 0.7, Math.max(...all) * 1.4];
}

export function lineAtY(cycles: SweepCycleView[], y: number): LeadLine | undefined {
  return linesOf(cycles).find(({ top, row }) => y >= top && y < top + (row ? ROW : HEAD));
}

function rowWords({ words, orders, missed, lead_ns: lead }: LeadRowView, narrow = false): string {
  if (narrow) return `${words}: ${format.span(lead)}, ${format.count(missed)} missed`;
  return `${words}: ${format.span(lead)} ahead, ${format.count(missed)} of ${format.count(orders)} missed`;
}

export function drawLeads(ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme, cycles: SweepCycleView[]): void {
  const range = leadsRange(cycles);
  const box: Box = { left: SIDE, top: 0, width: width - 2 * SIDE, height: height - FOOT };
  const toX = (ns: number) => box.left + (Math.log(Math.max(ns, range[0]) / range[0]) / Math.log(range[1] / range[0])) * box.width;
  begin(ctx, theme);
  ctx.textAlign = "center";
  for (const ns of logTicks(range[0], range[1], box.width / 70)) {
    const x = Math.round(toX(ns)) + 0.5;
    line(ctx, x, 0, x, box.height, theme.line);
    ctx.fillStyle = theme.muted;
    const half = ctx.measureText(tick(ns)).width / 2;
    ctx.fillText(tick(ns), Math.min(Math.max(x, half), width - half), box.height + 13);
  }
  ctx.fillStyle = theme.muted;
  ctx.fillText("lead, logarithmic", width / 2, box.height + 32);
  for (const { top, cycle, row } of linesOf(cycles)) {
    ctx.textAlign = "left";
    if (row === null) {
      line(ctx, SIDE, top + 0.5, width - SIDE, top + 0.5, theme.faint);
      ctx.font = `600 12px ${theme.font}`;
      const text = `cycle ${format.span(cycle.cycle_ns)}: ${cycle.word}${cycle.lead_ns == null ? "" : ` ${format.span(cycle.lead_ns)} ahead`}`;
      drawText(ctx, text, SIDE, top + HEAD / 2 + 2, theme.text, theme.background);
      ctx.font = `12px ${theme.font}`;
    } else drawRow(ctx, theme, row, top, width, toX);
  }
}

/** What was needed as a stroke from the median to the worst, what was given as a bar with its word. */
function drawRow(ctx: CanvasRenderingContext2D, theme: Theme, row: LeadRowView, top: number, width: number, toX: (ns: number) => number): void {
  const y = top + 32;
  const failed = num(row.missed) > 0 && row.words.startsWith("attempt");
  const color = row.confirmed ? theme.series[0]! : theme.muted;
  const [p50, p99, p999, worst] = [row.p50_ns, row.p99_ns, row.p99_9_ns, row.worst_ns].map((ns) => num(ns));
  if (Number.isFinite(p50)) {
    line(ctx, toX(p50!), y, toX(worst!), y, color, 2);
    for (const at of [p50!, p99!, p999!]) line(ctx, toX(at), y - 5, toX(at), y + 5, color, 2);
  }
  if (Number.isFinite(worst)) drawShape(ctx, "diamond", toX(worst!), y, 8, row.confirmed, color, theme.background);
  const lead = toX(num(row.lead_ns));
  line(ctx, lead, y - 9, lead, y + 9, failed ? theme.broken : theme.text, 3);
  if (row.confirmed || failed) drawShape(ctx, failed ? "cross" : "circle", lead, y - 9, 8, true, failed ? theme.broken : theme.text, theme.background);
  const text = shortened(rowWords(row, width < 500), width - 2 * SIDE, (some) => ctx.measureText(some).width);
  ctx.textAlign = "left";
  drawText(ctx, text, SIDE, top + 9, theme.text, theme.background);
}

const cell = (ns: number | string | null | undefined): Cell => (ns === null || ns === undefined ? null : format.latency(ns));

export const LEADS_HEAD = ["cycle", "run", "lead given", "orders", "missed", "needed: median", "99 %", "99.9 %", "worst"];

export function leadRows(cycles: SweepCycleView[]): Cell[][] {
  return cycles.flatMap(({ cycle_ns: cycle, leads }) => leads.map((row) => [
    format.span(cycle), row.words, format.span(row.lead_ns), format.count(row.orders), format.count(row.missed),
    cell(row.p50_ns), cell(row.p99_ns), cell(row.p99_9_ns), cell(row.worst_ns)]));
}

export function leadText({ cycle, row }: LeadLine): string {
  if (row === null) return cycle.sentence;
  const needed = [["median", row.p50_ns], ["99 %", row.p99_ns], ["99.9 %", row.p99_9_ns], ["worst", row.worst_ns]] as const;
  const known = needed.flatMap(([what, ns]) => (ns == null ? [] : [`${what} ${format.latency(ns)}`]));
  return `Cycle ${format.span(cycle.cycle_ns)}, ${rowWords(row)}; needed: ${known.length === 0 ? "not known" : known.join(", ")}.`;
}

/** The runs of a cycle that are drawn: the last that explored, and the last that tried a lead; each with what its nodes needed. */
export function neededRuns({ runs, lead_ns: lead }: SweepCycleView, results: Results): RunView[] {
  const last = (step: "explore" | "confirm") => [...runs].reverse().find((run) => run.step === step);
  return [last("explore"), last("confirm")].flatMap((one) => {
    const run = one && results.runs[one.run];
    if (!one || !run?.pulses) return [];
    let thread = 0;
    const series = run.pulses.nodes.flatMap((node) => {
      const found = node.needed_series == null ? undefined : run.series[node.needed_series];
      return found ? [{ ...found, lane: node.node, cpu: null, thread: thread++ }] : [];
    });
    const words = one.step === "explore" ? "explored" : lead != null ? "confirmed" : "tried";
    return series.length === 0 ? [] : [{ ...run, label: `${words}, ${format.span(one.lead_ns)} ahead`, deadline_ns: lead ?? null, series }];
  });
}
