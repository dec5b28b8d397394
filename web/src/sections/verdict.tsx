// The first thing that a reader sees: the verdict in words, the numbers under it, what to change.

import * as format from "../format.ts";
import { num } from "../bins.ts";
import type { CampaignView, ConditionView, LateCausesView, RunView, View } from "../generated/view.d.ts";
import { resultsOf, runsOf, type Results } from "../model.ts";
import type { Overview } from "../overview.ts";
import { packetFacts } from "../packet/facts.ts";
import { syncFacts } from "../sync.ts";
import { togetherFacts } from "../together/facts.ts";
import { Remedy, Sure } from "./causes.tsx";
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
  /** What is said of it if it is broken; "late" where absent. */
  breach?: string;
}

function worstOf(run: RunView): { ns: number; where: string } | null {
  let best: { ns: number; where: string } | null = null;
  // What stands beside the latency that a run is judged by has no worst case of the run.
  for (const { histogram, cpu, place } of run.series.filter((series) => series.judged)) {
    const ns = num(histogram.max_ns);
    if (ns > (best?.ns ?? -1)) best = { ns, where: cpu === null || cpu === undefined ? "" : place };
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

/** Before the longest sample of a run whose witness gave answers up without saying how late they were. */
const atLeast = (run: RunView): string => (run.reasons.some(({ code }) => code === "witness-overran") ? "at least " : "");

/** Of many runs: how many there are of each verdict, the worst, and the sums. */
function manyFacts(overview: Overview, results: Results): Fact[] {
  const { tally, groups, rows } = overview;
  const judged = tally.runs - tally.not_judged;
  const of = judged === tally.runs ? "" : `of ${format.count(judged)} judged`;
  // That of what the sentence above is about, where something has a deadline; the table has all.
  const worst = rows.find((row) => row.worst != null && (judged === 0 || row.verdict !== "no-deadline"));
  const facts: Fact[] = [{ name: "runs", value: format.count(tally.runs), under: `in ${groups.length} ${groups.length === 1 ? "group" : "groups"}` }];
  if (judged > 0) {
    facts.push(
      { name: "broken", value: format.count(tally.broken), under: of, broken: tally.broken > 0 },
      { name: "cannot be told", value: format.count(tally.cannot_tell), under: of },
      { name: "hold", value: format.count(tally.holds), under: of },
    );
  }
  if (worst?.worst) facts.push({ name: "worst", value: format.latency(worst.worst.latency_ns), under: `${worst.worst.place}, ${results.runs[worst.run]!.label}`, broken: worst.verdict === "broken" });
  const { totals } = results;
  if (totals?.beyond != null) facts.push({ name: "beyond the deadline", value: format.count(totals.beyond), under: `of ${format.count(totals.samples)}`, broken: num(totals.beyond) > 0 });
  if (totals?.missed_periods != null) facts.push({ name: "missed periods", value: format.count(totals.missed_periods), under: "" });
  facts.push({
    name: "validity", value: tally.invalid > 0 ? `${format.count(tally.invalid)} invalid` : tally.degraded > 0 ? `${format.count(tally.degraded)} degraded` : "valid",
    under: tally.invalid > 0 ? `no results; ${format.count(tally.degraded)} degraded` : "", invalid: tally.invalid > 0,
  });
  return facts;
}

export function factsOf(view: View): Fact[] {
  const { page } = view;
  if (page.kind === "campaign") return campaignFacts(page.campaign);
  if (page.kind === "together") return togetherFacts(page.together);
  const results = resultsOf(page);
  if (results?.overview) return manyFacts(results.overview, results);
  const runs = results ? runsOf(results, "wakeups") : [];
  const clocks = results ? runsOf(results, "offsets").filter((run) => run.sync) : [];
  const packets = results ? runsOf(results, "delays").filter((run) => run.packets) : [];
  if (runs.length === 0 && packets.length > 0) return packetFacts(packets);
  if (runs.length === 0) return clocks.length > 0 ? syncFacts(clocks) : [];
  const deadline = num(view.headline.deadline_ns);
  const limitOf = (run: RunView) => (run.deadline_ns == null && page.kind === "assessment" ? deadline : num(run.deadline_ns));
  // Of many runs the worst have a tile; all have a row in the tables below.
  const shown = runs.length <= MOST_TILES ? runs : [...runs]
    .sort((a, b) => Number(a.state === "invalid") - Number(b.state === "invalid") || (worstOf(b)?.ns ?? -1) - (worstOf(a)?.ns ?? -1)).slice(0, MOST_TILES);
  const facts: Fact[] = shown.flatMap((run) => {
    const worst = worstOf(run);
    if (!worst) return [];
    const invalid = run.state === "invalid";
    return [{
      name: `worst, ${run.label}`, value: invalid ? "invalid" : `${atLeast(run)}${format.latency(worst.ns)}`,
      under: invalid ? "not a result" : worst.where, invalid, broken: !invalid && worst.ns > limitOf(run),
    }];
  });
  const kinds = runs.flatMap((run) => run.reasons.map((reason) => reason.code));
  const state = runs.some((run) => run.state === "invalid") ? "invalid" : runs.some((run) => run.state === "degraded") ? "degraded" : "valid";
  const reasons = new Set(kinds).size;
  const validity: Fact = {
    name: "validity", value: state, invalid: state === "invalid",
    under: reasons === 0 ? "nothing spoilt the runs" : `${reasons} ${reasons === 1 ? "reason" : "reasons"}, under Latency`,
  };
  // The sums are those of the sentence above: they come from the same place.
  const totals = results?.totals;
  if (!totals) return [...facts, validity];
  const left = num(totals.invalid_runs);
  const observed = num(totals.observed_ns) > 0 ? `in ${format.span(totals.observed_ns)}` : "how long is not known";
  const without = left > 0 ? `, without ${left} invalid ${left === 1 ? "run" : "runs"}` : "";
  facts.push({ name: totals.what, value: format.count(totals.samples), under: `${observed}${without}` });
  if (totals.beyond !== null && totals.beyond !== undefined) {
    facts.push({ name: "beyond the deadline", value: format.count(totals.beyond), under: `of ${format.count(totals.samples)}`, broken: num(totals.beyond) > 0 });
  }
  facts.push(totals.missed_periods === null || totals.missed_periods === undefined
    ? { name: "missed periods", value: "\u2013", under: "not counted by the source" }
    : { name: "missed periods", value: format.count(totals.missed_periods), under: num(totals.missed_periods) === 0 ? "" : "skipped by late wake-ups" });
  return [...facts, validity];
}

const MOST_TILES = 4;

/** A longer line is folded: campaigns of many conditions name them all. */
const LONGEST_LINE = 480;

/** Machine, kernel, processor, load, policy, deadline: under which conditions the answer was found. */
function Conditions({ all }: { all: ConditionView[] }) {
  if (all.length === 0) return null;
  return (
    <dl class="about" aria-label="Conditions">
      {all.map(({ name, value }) => <div><dt>{name}</dt><dd class={value == null ? "muted" : ""}>{value ?? "not known"}</dd></div>)}
    </dl>
  );
}

/** What makes it late: one row for each cause, of all runs together. */
function LateCauses({ causes, results }: { causes: LateCausesView; results: Results }) {
  return (
    <div class="late" data-late>
      <h3>{causes.heading}</h3>
      <div class="scroll"><table class="causes late-causes">
        <thead><tr>
          <th>cause</th><th class="number">share of {format.count(causes.total)}</th><th class="number">worst</th><th>how sure</th><th>what to do</th>
        </tr></thead>
        <tbody>
          {causes.rows.map((row) => (
            <tr class={row.certainty === null || row.certainty === undefined ? "hatched" : ""}>
              <td>{row.cause}</td>
              <td class="number" data-head="share">{row.percent}<span class="muted"> ({format.count(row.samples)})</span></td>
              <td class="number" data-head="worst">{row.worst_ns == null ? "\u2013" : format.latency(row.worst_ns)}</td>
              <td data-head="how sure">{row.certainty == null ? "\u2013" : <Sure certainty={row.certainty} />}</td>
              <td>{row.remedy == null ? "\u2013" : <Remedy remedy={row.remedy} finding={row.finding} results={results} />}</td>
            </tr>
          ))}
        </tbody>
      </table></div>
      <p class="note">Shares are of {format.count(causes.total)} {causes.of}. {causes.notes.join(" ")}</p>
    </div>
  );
}

/** A line under the sentence; a very long one is folded. */
function Line({ line }: { line: string }) {
  if (line.length <= LONGEST_LINE) return <p class="under">{line}</p>;
  return <details class="under"><summary>{line.slice(0, line.lastIndexOf(" ", LONGEST_LINE / 2))} {"\u2026"}</summary><p>{line}</p></details>;
}

/** The answer: the verdict in words and the numbers under it. */
export function Verdict({ view }: { view: View }) {
  const { headline } = view;
  const facts = factsOf(view);
  return (
    <section id="verdict" tabIndex={-1} class={`verdict ${headline.state}`} aria-label="Verdict">
      <h2 class="word"><StateShape state={headline.state} />{headline.word}</h2>
      <p class="sentence">{headline.sentence}</p>
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(({ name, value, under, invalid, broken, breach }) => (
            <div class={invalid ? "fact hatched" : "fact"}>
              <dt>{name}</dt>
              <dd class={broken ? "broken-text" : ""}>{value}</dd>
              <dd class="muted">{[under, broken && !name.startsWith("beyond") && name !== "broken" ? breach ?? "late" : ""].filter((part) => part !== "").join(", ")}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

/** Under which conditions the answer was found, what makes it late, and what to change. */
export function Reasons({ view }: { view: View }) {
  const { headline, page } = view;
  const assessment = page.kind === "assessment" ? page.assessment : null;
  const results = resultsOf(page);
  if (view.conditions.length + headline.lines.length === 0 && !results?.late_causes && !assessment?.changes.length) return null;
  return (
    <section id="reasons" tabIndex={-1} class={`verdict ${headline.state}`} aria-label="Conditions, causes and changes">
      <Conditions all={view.conditions} />
      {results?.late_causes && <LateCauses causes={results.late_causes} results={results} />}
      {headline.lines.length > 0 && <div class="lines">{headline.lines.map((line) => <Line line={line} />)}</div>}
      {assessment && assessment.changes.length > 0 && (
        <div class="changes">
          <h3>{assessment.changes_heading}</h3>
          <ol>
            {assessment.changes.slice(0, 3).map((change) => (
              <li>
                <b>{change.title}</b>
                <p>{change.why}</p>
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
