// The first thing that a reader sees: the verdict in words, the numbers under it, what to change.

import * as format from "../format.ts";
import { num } from "../bins.ts";
import type { CampaignView, ChangeView, RunView, View } from "../generated/view.d.ts";
import { hasSeveralLatencies, resultsOf, runsOf } from "../model.ts";
import { FindingLink } from "./finding_link.tsx";

/** A shape for each state, so that it can be read without color. */
export function StateShape({ state }: { state: View["headline"]["state"] }) {
  const common = { width: 28, height: 28, viewBox: "0 0 28 28", "aria-hidden": true, class: "shape" } as const;
  const line = { fill: "none", stroke: "currentColor", "stroke-width": 3, "stroke-linecap": "round", "stroke-linejoin": "round" } as const;
  switch (state) {
    case "holds":
      return <svg {...common}><circle cx="14" cy="14" r="12" {...line} stroke-width={2} /><path d="M8.5 14.5l4 4 7-8" {...line} /></svg>;
    case "broken":
      return <svg {...common}><path d="M9 2h10l7 7v10l-7 7H9l-7-7V9z" {...line} stroke-width={2} /><path d="M10 10l8 8m0-8l-8 8" {...line} /></svg>;
    case "cannot-tell":
      return <svg {...common}><path d="M14 2.5L26 25H2z" {...line} stroke-width={2} /><path d="M14 11v6m0 4v.1" {...line} /></svg>;
    default:
      return <svg {...common}><rect x="3" y="3" width="22" height="22" rx="3" {...line} stroke-width={2} /><path d="M9 14h10" {...line} /></svg>;
  }
}

interface Fact {
  name: string;
  value: string;
  under: string;
  invalid?: boolean;
  broken?: boolean;
}

function worstOf(run: RunView): { ns: number; where: string } | null {
  let best: { ns: number; where: string } | null = null;
  for (const { histogram, cpu } of run.series) {
    const ns = num(histogram.max_ns);
    if (ns > (best?.ns ?? -1)) best = { ns, where: cpu === null || cpu === undefined ? "" : `CPU ${cpu}` };
  }
  return best;
}

/** How much of a campaign there is. */
function campaignFacts({ document, began, time_zone: zone }: CampaignView): Fact[] {
  const sum = (of: (condition: CampaignView["document"]["conditions"][number]) => number) => document.conditions.reduce((total, one) => total + of(one), 0);
  const [measured, planned, unusable, degraded] = [sum((one) => one.measured), sum((one) => one.planned), sum((one) => one.unusable), sum((one) => one.degraded)];
  const doubt = [unusable > 0 ? `${unusable} not used` : "", degraded > 0 ? `${degraded} degraded` : ""].filter((part) => part !== "").join(", ");
  const left = { running: "more to make", complete: "all made", "stopped-early": "ended early" }[document.state];
  const facts: Fact[] = [
    { name: "runs", value: `${format.count(measured)} of ${format.count(planned)}`, under: doubt === "" ? left : `${left}; ${doubt}` },
    { name: "conditions", value: format.count(document.conditions.length), under: `${document.repetitions} repetitions of each` },
    { name: "false alarms", value: `${Number((document.false_alarms * 100).toPrecision(3))} %`, under: `at most, over ${format.count(document.comparisons)} comparisons` },
  ];
  if (began !== null && began !== undefined) {
    facts.push({ name: "began", value: format.wallTime(began, zone, 0), under: `${zone ?? "UTC"}${document.restarts > 0 ? `; ${document.restarts} restarts` : ""}` });
  }
  return facts;
}

export function factsOf(view: View): Fact[] {
  const { page } = view;
  if (page.kind === "campaign") return campaignFacts(page.campaign);
  const results = resultsOf(page);
  const runs = results ? runsOf(results, "wakeups") : [];
  if (runs.length === 0) return [];
  const deadline = num(view.headline.deadline_ns);
  const facts: Fact[] = runs.slice(0, 4).flatMap((run) => {
    const worst = worstOf(run);
    if (!worst) return [];
    const invalid = run.state === "invalid";
    // Runs on one page can have deadlines of their own; only a conclusion over all of them has one for all.
    const limit = run.deadline_ns == null && page.kind === "assessment" ? deadline : num(run.deadline_ns);
    return [{
      name: `worst, ${run.label}`, value: invalid ? "invalid" : format.latency(worst.ns),
      under: invalid ? "not a result" : worst.where, invalid, broken: !invalid && worst.ns > limit,
    }];
  });
  const limits = [...new Set(runs.map((run) => num(run.deadline_ns)).filter(Number.isFinite))].sort((a, b) => a - b);
  if (limits.length > 1) facts.push({ name: "deadlines", value: limits.map((ns) => format.latency(ns)).join(", "), under: "each run has its own" });
  else if (Number.isFinite(deadline)) facts.push({ name: "deadline", value: format.latency(deadline), under: "stated limit" });
  const kinds = runs.flatMap((run) => run.reasons.map((reason) => reason.code));
  const state = runs.some((run) => run.state === "invalid") ? "invalid" : runs.some((run) => run.state === "degraded") ? "degraded" : "valid";
  const reasons = new Set(kinds).size;
  facts.push({
    name: "validity", value: state, invalid: state === "invalid",
    under: reasons === 0 ? "nothing spoilt the runs" : `${reasons} ${reasons === 1 ? "reason" : "reasons"}, under Latency`,
  });
  if (runs.every((run) => run.state === "invalid")) return facts;
  const samples = runs.filter((run) => run.state !== "invalid").reduce((sum, run) => sum + BigInt(run.samples), 0n);
  const time = runs.filter((run) => run.state !== "invalid").reduce((sum, run) => sum + num(run.duration_ns), 0);
  // A program that is followed has two latencies for one wake-up.
  const what = runs.some(hasSeveralLatencies) ? "latencies" : "wake-ups";
  facts.push({ name: what, value: format.count(samples), under: time > 0 ? `in ${format.span(time)}` : "how long is not known" });
  const counted = runs.some((run) => run.series.some((series) => series.counters["missed_periods"] !== undefined));
  if (!counted) return [...facts, { name: "missed periods", value: "\u2013", under: "not counted by the source" }];
  const counter = (name: string) => runs.filter((run) => run.state !== "invalid")
    .reduce((sum, run) => sum + run.series.reduce((part, series) => part + BigInt(series.counters[name] ?? 0), 0n), 0n);
  facts.push({ name: "missed periods", value: format.count(counter("missed_periods")), under: `${format.count(counter("late_samples"))} samples late` });
  return facts;
}

/** A longer line is folded: campaigns of many conditions name them all. */
const LONGEST_LINE = 480;

/** The numbers behind a change in one line: "41 % of what is late · shown · 7 samples · worst 1 870 us". */
export function gainOf(change: ChangeView): string {
  const percent = Math.max(1, Math.round((change.removes_share_of_beyond ?? 0) * 100));
  const worst = change.worst_ns == null ? [] : [`worst ${format.latency(change.worst_ns)}`];
  return [`${percent} % of what is late`, change.sureness ?? "unknown", `${format.count(change.basis_samples ?? 0)} samples`, ...worst].join(" \u00b7 ");
}

export function Verdict({ view }: { view: View }) {
  const { headline, page } = view;
  const assessment = page.kind === "assessment" ? page.assessment : null;
  const facts = factsOf(view);
  return (
    <section id="verdict" tabIndex={-1} class={`verdict ${headline.state}`} aria-label="Verdict">
      <p class="word"><StateShape state={headline.state} />{headline.word}</p>
      <p class="sentence">{headline.sentence}</p>
      {headline.lines.map((line) => (line.length <= LONGEST_LINE ? <p class="under">{line}</p> : (
        <details class="under"><summary>{line.slice(0, line.lastIndexOf(" ", LONGEST_LINE / 2))} {"\u2026"}</summary><p>{line}</p></details>
      )))}
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(({ name, value, under, invalid, broken }) => (
            <div class={invalid ? "fact hatched" : "fact"}>
              <dt>{name}</dt>
              <dd class={broken ? "broken-text" : ""}>{value}</dd>
              <dd class="muted">{[under, broken ? "beyond the deadline" : ""].filter((part) => part !== "").join(", ")}</dd>
            </div>
          ))}
        </dl>
      )}
      {assessment && assessment.changes.length > 0 && (
        <div class="changes">
          <h2>{assessment.changes_heading}</h2>
          <ol>
            {assessment.changes.slice(0, 3).map((change) => (
              <li>
                <b>{change.title}</b>
                <p>{change.why}</p>
                {change.removes_share_of_beyond != null && (
                  <p class="muted gain">{gainOf(change)}</p>
                )}
                {change.how.map((how) => <pre>{how}</pre>)}
                {change.finding && <p class="muted">More: <FindingLink id={change.finding} /></p>}
              </li>
            ))}
          </ol>
        </div>
      )}
    </section>
  );
}
