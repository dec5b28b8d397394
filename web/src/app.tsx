// The page: header, sections in their order, keys.

import { useEffect, useMemo, useState } from "preact/hooks";
import { explainedNodes } from "./causes.ts";
import { Contents } from "./contents.tsx";
import { Caveats, Section, Shared, useChoices } from "./figure.tsx";
import * as format from "./format.ts";
import type { View } from "./generated/view.d.ts";
import { KEYS, useKeys } from "./keys.ts";
import { num } from "./bins.ts";
import { isOfProgram, resultsOf, runsOf, samplesOf, words, type Results } from "./model.ts";
import type { Overview } from "./overview.ts";
import { DelayDistribution, NodeClocks, Packets, WorstPackets } from "./packet/section.tsx";
import { Answers } from "./answer/section.tsx";
import { ActDistribution, ActingNodes, NeededLead } from "./pulse/section.tsx";
import { Calibration } from "./sections/calibration.tsx";
import { Campaign } from "./sections/campaign.tsx";
import { Causes } from "./sections/causes.tsx";
import { ComparisonSection } from "./sections/comparison.tsx";
import { Details, Findings } from "./sections/details.tsx";
import { LatencyPlot } from "./sections/latency.tsx";
import { Loads } from "./sections/load.tsx";
import { Others } from "./sections/others.tsx";
import { Groups, OneRun, Runs } from "./sections/overview.tsx";
import { Programs } from "./sections/program.tsx";
import { Rhythms } from "./sections/rhythm.tsx";
import { Clocks } from "./sections/sync.tsx";
import { HowSure } from "./sections/tail.tsx";
import { WorstOverTime } from "./sections/time.tsx";
import { Reasons, Verdict } from "./sections/verdict.tsx";
import { WorstSamples } from "./sections/worst.tsx";
import { toHash, type State, type Store } from "./state.ts";
import { Together } from "./together/section.tsx";
import { choose } from "./theme.ts";

interface Props {
  view: View;
  store: Store;
  /** Why other data are not shown; empty where all is well. */
  failure: string;
  /** What became of something that the reader had chosen; empty where it stays. */
  notice: string;
}

export function App({ store, ...page }: Props) {
  return <Shared.Provider value={store}><Page {...page} /></Shared.Provider>;
}

const NEXT_THEME = { auto: "light", light: "dark", dark: "auto" } as const;

function Page({ view, failure, notice }: Omit<Props, "store">) {
  const [state, store] = useChoices();
  const [help, setHelp] = useState(false);
  useEffect(() => choose(state.theme), [state.theme]);
  useHash(state);
  useKeys(store, () => setHelp((shown) => !shown), () => setHelp(false));
  const { generated } = view;
  const results = resultsOf(view.page);
  const overview = results?.overview ?? null;
  const plotted = results && !overview && runsOf(results, "wakeups").some((run) => run.series.length > 0) ? results : null;
  // Pages with runs name their machine among the conditions.
  const node = view.page.kind === "campaign" && view.conditions.length === 0 ? view.page.campaign.document.node : "";
  return (
    <div class={overview ? "page of-many" : "page"}>
      {failure !== "" && <p class="failure" role="alert">{failure}</p>}
      {notice !== "" && <p class="notice" role="status">{notice}</p>}
      <header>
        <h1>{view.title}</h1>
        <p class="note">
          {node !== "" && node !== view.title && `${node} \u00b7 `}{generated.tool} {"\u00b7 "}
          <time title={`${format.wallTime(generated.realtime_ns, "UTC", 0)} UTC`}>{format.wallTime(generated.realtime_ns, generated.time_zone, 0)} {generated.time_zone ?? "UTC"}</time>
        </p>
        <div class="buttons">
          <button title="Light, dark, or as the system (d)" onClick={() => store.set({ theme: NEXT_THEME[state.theme] })}>Theme: {state.theme}</button>
          <button title="Keys (?)" aria-expanded={help} onClick={() => setHelp(!help)}>Keys ?</button>
        </div>
      </header>
      {help && <Help onClose={() => setHelp(false)} />}
      <main>
        <Verdict view={view} />
        <Contents />
        {/* What people look at comes before what they read. */}
        {plotted && <Latency results={plotted} />}
        {view.page.kind === "together" && <Together together={view.page.together} results={view.page.results} />}
        {overview
          ? <Many view={view} results={results!} overview={overview} />
          : <><Reasons view={view} /><Told page={view.page} /></>}
      </main>
    </div>
  );
}

/** The subject of a page, as its kind is shown. */
function Told({ page }: { page: View["page"] }) {
  switch (page.kind) {
    case "calibration":
      return <Section id="calibration" title="Truth against reading"><Calibration calibration={page.calibration} /></Section>;
    case "comparison":
      return page.comparison
        ? <Section id="comparison" title="A and B"><ComparisonSection comparison={page.comparison} /></Section>
        : <p class="nothing">One of the two groups has no run.</p>;
    case "campaign":
      return <Campaign campaign={page.campaign} />;
    case "together":
      return page.results.runs.length > 0 ? <Measured results={page.results} beside /> : null;
    case "runs":
    case "assessment":
    case "program":
      return <Measured results={page.results} />;
  }
}

/** Many runs: what they are together, each as a line, and all of one at a time. */
function Many({ view, results, overview }: { view: View; results: Results; overview: Overview }) {
  const deadline = num(view.headline.deadline_ns);
  return (
    <>
      <Section id="groups" title="Groups"><Groups overview={overview} deadline={deadline} /></Section>
      <Section id="runs" title="Runs"><Runs overview={overview} /></Section>
      <OneRun overview={overview} results={results}>{(own) => <Measured results={own} single />}</OneRun>
      <Reasons view={view} />
      {results.findings.length > 0 && <Section id="findings" title="Findings"><Findings findings={results.findings} /></Section>}
      <Section id="details" title="Profile and manifests"><Details results={results} /></Section>
    </>
  );
}

/** The latencies of all wake-ups. What spoils a valid run stands below the plot, what makes one invalid above it. */
function Latency({ results }: { results: Results }) {
  const wakeups = useMemo(() => runsOf(results, "wakeups"), [results]);
  const areOfProgram = wakeups.length > 0 && wakeups.every(isOfProgram);
  const names = [...new Set(wakeups.flatMap((run) => run.series.map((series) => series.name)))];
  const latency = names.length === 1 ? words(names[0]!) : names.length === 0 ? "scheduled to woke" : `${names.length} latencies of ${results.totals?.what ?? "wake-ups"}`;
  const title = areOfProgram ? "Latency of the program's threads" : latency[0]!.toUpperCase() + latency.slice(1);
  const invalid = wakeups.some((run) => run.state === "invalid");
  return (
    <Section id="latency" title={areOfProgram ? "Latency of the program's threads" : `Latency, ${latency}`}>
      {wakeups.length === 0
        ? <p class="nothing">No wake-up run is in this report. Measure with: punctual measure wakeup</p>
        : wakeups.every((run) => run.series.length === 0)
          ? <><Caveats runs={wakeups} /><p class="nothing">The runs hold no sample. Mend what stands above, if anything, and measure again with: punctual measure wakeup</p></>
          : <>
              <LatencyPlot id="latency" title={title} what={results.totals?.what ?? samplesOf(wakeups[0]!.measurement)} runs={wakeups} caveats={invalid} />
              {!invalid && <Caveats runs={wakeups} />}
            </>}
    </Section>
  );
}

/** What was measured and read of a machine; of a single run of many without what the page says of all. `beside`: it is not what the page
 * is about. */
function Measured({ results, single = false, beside = false }: { results: Results; single?: boolean; beside?: boolean }) {
  const wakeups = useMemo(() => runsOf(results, "wakeups"), [results]);
  const clocks = useMemo(() => runsOf(results, "offsets").filter((run) => run.sync), [results]);
  const packets = useMemo(() => runsOf(results, "delays").filter((run) => run.packets), [results]);
  const acting = useMemo(() => runsOf(results, "orders").filter((run) => run.pulses), [results]);
  // The tolerance is of the act, and no limit on a packet.
  const carrying = useMemo(() => acting.map((run) => ({ ...run, deadline_ns: null })), [acting]);
  const nodes = useMemo(() => explainedNodes(packets), [packets]);
  return (
    <>
      {clocks.length > 0 && <Section id="clocks" title="Clocks"><Clocks runs={clocks} /></Section>}
      {acting.length > 0 && (
        <>
          <Section id="orders" title="Nodes that act together"><ActingNodes runs={acting} /></Section>
          <Section id={wakeups.length + packets.length > 0 ? "acts" : "latency"} title="How late each node acted"><ActDistribution runs={acting} /></Section>
          <Section id="lead" title="Lead"><NeededLead runs={acting} /></Section>
          <Section id="order-packets" title="Packets that bring the orders"><Packets runs={carrying} /></Section>
          <Section id="order-clocks" title="Clocks of the nodes"><NodeClocks runs={acting} /></Section>
          {wakeups.length + packets.length === 0 && results.tails.length > 0 && <Section id="sure" title="How sure, how long"><HowSure results={results} /></Section>}
        </>
      )}
      {packets.length > 0 && (
        <>
          <Section id="packets" title="Packets from program to program"><Packets runs={packets} /></Section>
          <Section id={wakeups.length > 0 ? "delays" : "latency"} title="Distribution of the delays"><DelayDistribution runs={packets} /></Section>
          <Section id="between" title="Clocks of both nodes"><NodeClocks runs={packets} /></Section>
          <Section id="worst-packets" title="Worst packets"><WorstPackets runs={packets} /></Section>
          {nodes.length > 0 && <Section id={wakeups.some((run) => run.explanation) ? "late-packets" : "causes"} title="What made packets late from kernel to program"><Causes results={results} runs={nodes} /></Section>}
          {wakeups.length === 0 && results.tails.length > 0 && <Section id="sure" title="How sure, how long"><HowSure results={results} /></Section>}
        </>
      )}
      {(single
        ? wakeups.length > 0
        : !beside && wakeups.every((run) => run.series.length === 0) && (wakeups.length > 0 || clocks.length + packets.length + acting.length === 0)) && <Latency results={results} />}
      {wakeups.some((run) => run.answers) && <Section id="answers" title="Edges that were answered"><Answers runs={wakeups} /></Section>}
      {wakeups.some((run) => run.program) && <Section id="program" title="The program's threads"><Programs runs={wakeups} /></Section>}
      {wakeups.length > 0 && (
        <>
          <Section id="time" title="Worst case over time"><WorstOverTime runs={wakeups} /></Section>
          {results.tails.length > 0 && <Section id="sure" title="How sure, how long"><HowSure results={results} /></Section>}
          <Section id="worst" title="Worst samples"><WorstSamples runs={wakeups} /></Section>
        </>
      )}
      {wakeups.some((run) => run.explanation) && <Section id="causes" title="What made the worst late"><Causes results={results} runs={wakeups} /></Section>}
      {wakeups.some((run) => run.rhythm) && <Section id="rhythm" title="Rhythm"><Rhythms runs={wakeups} /></Section>}
      {wakeups.some((run) => run.load) && <Section id="load" title="What the load did"><Loads runs={wakeups} /></Section>}
      {single
        ? hasOthers(results) && <Section id="others" title="Distribution"><Others results={results} /></Section>
        : (
          <>
            <Section id="others" title="Other measurements"><Others results={results} /></Section>
            <Section id="findings" title="Findings"><Findings findings={results.findings} /></Section>
            <Section id="details" title="Profile and manifests"><Details results={results} /></Section>
          </>
        )}
    </>
  );
}

function hasOthers(results: Results): boolean {
  return runsOf(results, "costs").length + runsOf(results, "gaps").length > 0;
}

function Help({ onClose }: { onClose: () => void }) {
  return (
    <div class="help" role="dialog" aria-label="Keys">
      <div class="bar"><b>Keys</b><button onClick={onClose}>Close</button></div>
      <dl>{KEYS.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
      <p class="note">In a chart: drag to zoom, double-click to go back, point to read all series.</p>
    </div>
  );
}

/** Writes the state into the URL without a new entry in the history. */
function useHash(state: State): void {
  const hash = toHash(state);
  useEffect(() => {
    if (location.hash.replace(/^#/, "") === hash) return;
    try {
      history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
    } catch {
      // Some browsers refuse for pages from disk; the page works without.
    }
  }, [hash]);
}
