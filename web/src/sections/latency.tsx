// The latency plot with its legend; also used for the gaps that `noise` finds.

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { bodyRange, firstView, num } from "../bins.ts";
import { Chart } from "../chart.tsx";
import { beyondText, distribution, distributionSpec, unplacedText, widthOfBins, type Distribution } from "../distribution.ts";
import { Caveats, Figure, useChoices } from "../figure.tsx";
import * as format from "../format.ts";
import type { RunView } from "../generated/view.d.ts";
import { deadlineOf, hasCorrected, lanesOf, SUMMARY_HEAD, summaryOf, tracesOf, weightsText, type Lane, type Trace } from "../model.ts";
import { Legend } from "./legend.tsx";

interface Props {
  id: string;
  title: string;
  /** What a sample is: "wake-ups", "gaps". */
  what: string;
  runs: RunView[];
  /** Who has which color; the worst five where absent. */
  ranks?: Map<string, number | null>;
  /** Fewer words than its title, over the plot; none where the section's own title is enough. */
  caption?: string;
  /** Whether what spoils the runs stands over the plot; elsewhere on the page otherwise. */
  caveats?: boolean;
  /** Whether curves differ by dashes too, and what their colors mean if not all have one. */
  dashed?: string;
  /** What the limit is called, if it is no deadline. */
  limit?: string;
  /** More buttons before its own. */
  switches?: ComponentChildren;
}

const stepped = uPlot.paths.stepped!({ align: 1 });

export function LatencyPlot({ id, title, what, runs, ranks, caption, caveats = true, dashed, limit, switches }: Props) {
  const [state, store] = useChoices();
  const main = id === "latency";
  // Only the first plot keeps its view in the URL; the others keep it for themselves.
  const [own, setOwn] = useState<{ range: [number, number] | null; log: boolean | null }>({ range: null, log: null });
  const range = main ? state.range : own.range;
  const chosenLog = main ? state.log : own.log;
  const choose = (change: { range?: [number, number] | null; log?: boolean | null }) =>
    main ? store.set(change) : setOwn({ ...own, ...change });
  const corrected = main && state.corrected;
  const [cursor, setCursor] = useState<number | null>(null);
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);

  const { lanes, traces, deadline } = useMemo(() => {
    const all = lanesOf(runs, ranks, dashed !== undefined);
    return { lanes: all, traces: tracesOf(runs, all, corrected), deadline: deadlineOf(runs) };
  }, [runs, ranks, corrected]);
  const histograms = traces.filter((trace) => !trace.invalid || runs.every((run) => run.state === "invalid")).map((trace) => trace.histogram);
  const first = firstView(histograms, deadline);
  const [from, to] = range ?? first.range;
  const log = chosenLog ?? (range === null && first.log);
  const { spec, shown } = useMemo(() => {
    const choice = { range: [from, to] as [number, number], log, deadline, columns: innerWidth < 600 ? 120 : 240, ...(limit === undefined ? {} : { limit }) };
    const drawn = distribution(traces, choice);
    return { shown: drawn, spec: distributionSpec(traces, drawn, choice, stepped) };
  }, [traces, from, to, log]);
  const body = bodyRange(histograms, deadline);
  const hasBody = body[1] < first.range[1] * 0.99;
  const showsBody = range !== null && !log && from === 0 && Math.abs(to / body[1] - 1) < 1e-5;
  const showsAll = range === null && chosenLog === null;
  const all = { range: null, log: null };

  const controls = (
    <>
      {switches}
      <button aria-pressed={log} title="Logarithmic latency axis (l)" data-key="l" onClick={() => choose({ log: !log })}>Log x</button>
      {hasBody && (
        <button aria-pressed={showsBody} title="The body alone, without the far maxima, and back (b)" data-key="b"
          onClick={() => choose(showsBody ? all : { range: body, log: false })}>Body</button>
      )}
      <button disabled={showsAll} title="Back to the first view, which shows every sample (f, or a double click)" data-key="f"
        onClick={() => choose(all)}>All</button>
      {main && hasCorrected(runs) && (
        <button aria-pressed={corrected} title="One sample for each schedule that a late wake-up swallowed (c)" data-key="c"
          onClick={() => store.set({ corrected: !corrected })}>Corrected</button>
      )}
    </>
  );
  const outside = beyondText(shown);
  const sum = (of: (trace: Trace) => number) => traces.reduce((total, trace) => total + (of(trace) || 0), 0);
  const belowZero = sum((trace) => num(trace.series.below_zero?.count));
  const leftOut = sum((trace) => num(trace.series.counters["corrections_left_out"]));
  const note = (
    <>
      {corrected
        ? <><b>Corrected view:</b> besides every sample one for each schedule that a late wake-up swallowed{leftOut > 0 ? ` (${format.count(leftOut)} left out, beyond a million for one stall)` : ""}. </>
        : hasCorrected(runs) && main ? <>Raw view: every sample as it was taken. </> : null}
      {`Number of ${what} in bins ${widthOfBins(shown)}, logarithmic`}
      {dashed !== undefined || weightsText(runs) === "" ? "" : `; ${weightsText(runs)}`}
      {lanes.some((lane) => lane.rank === null) ? dashed ?? (ranks ? "; in color: the first condition and others, those that differ before the rest" : "; the worst five in color") : ""}.
      {shown.unit > 1 && <> The source counted in bins of {format.latency(shown.unit)}; none is drawn finer.</>}
      {shown.unplaced !== null && <> {unplacedText(shown)}.</>}
      {outside !== "" && <> {outside}.</>}
      {belowZero > 0 && <> Below zero, and not drawn: {format.count(belowZero)}.</>}
      {shown.beyondInvalid > 0 && <> Beyond the view, of invalid runs: {format.count(shown.beyondInvalid)}.</>}
    </>
  );
  return (
    <>
      {caveats && <Caveats runs={runs} />}
      <Figure
        id={id} caption={caption === "" ? false : caption ?? !main} title={title} controls={controls} note={note} picture={() => canvas.current()}
        table={() => ({
          head: ["run", "series", ...SUMMARY_HEAD.map((name, i) => (i > 0 && i < 8 ? `${name}, us` : name))],
          rows: inOrder(traces).map((trace) => [trace.run.label + (trace.invalid ? " (invalid)" : ""), trace.lane.name, ...summaryOf(trace)]),
          words: 2, invalid: inOrder(traces).map((trace) => trace.invalid),
        })}
        data={() => ({
          head: ["run", "validity", "series", "view", "bin_from_ns", "count"],
          rows: inOrder(traces).flatMap((trace) => trace.histogram.bins.from_ns.map((fromNs, i) =>
            [trace.run.label, trace.run.state, trace.lane.name, corrected && trace.series.corrected ? "corrected" : "raw", fromNs, trace.histogram.bins.count[i]])),
        })}
      >
        <Chart
          spec={spec} height={innerWidth < 600 ? 300 : 400} lift={state.hover ?? state.lift} label={`${title}: ${describe(traces)}`}
          onZoom={([a, b]) => choose({ range: [a * 1000, b * 1000], log })} onReset={() => choose(all)}
          onCursor={setCursor} canvasRef={(get) => { canvas.current = get; }}
        />
        <Legend lanes={lanes} runs={runs} head={readoutHead(runs.map((run) => run.label).join(", "), shown, cursor)}
          values={(lane) => valuesOf(lane, runs, traces)} readout={(lane) => countsAt(lane, runs, traces, shown, cursor)} />
      </Figure>
    </>
  );
}

function inOrder(traces: Trace[]): Trace[] {
  return [...traces].sort((a, b) => a.runIndex - b.runIndex || num(a.series.thread) - num(b.series.thread));
}

/** So many maxima are read out with the picture; the table has all. */
const MOST_READ = 12;

function describe(traces: Trace[]): string {
  const all = inOrder(traces);
  const read = all.length <= MOST_READ ? all : all.filter((trace) => trace.lane.rank !== null);
  const words = read.map((trace) =>
    `${trace.lane.name} ${trace.run.label}: ${trace.invalid ? "invalid" : `maximum ${format.latency(trace.histogram.max_ns ?? 0)}`}`);
  return [...words, ...(read.length < all.length ? [`${all.length - read.length} more in the table (t)`] : [])].join("; ");
}

function readoutHead(runs: string, shown: Distribution, cursor: number | null): string {
  const edges = shown.grid.edges;
  if (cursor === null || cursor >= edges.length - 1) return `Maximum of each in us (${runs}). Point at the plot to read its bins.`;
  return `Maximum of each in us (${runs}), and samples from ${format.latency(edges[cursor]!)} to ${format.latency(edges[cursor + 1]!)}:`;
}

function valuesOf(lane: Lane, runs: RunView[], traces: Trace[]): string[] {
  return runs.map((_, runIndex) => {
    const trace = traces.find((one) => one.lane === lane && one.runIndex === runIndex);
    if (!trace) return "\u2013";
    const max = trace.histogram.max_ns;
    if (trace.invalid) return "invalid";
    return max === null || max === undefined ? "\u2013" : format.microseconds(max);
  });
}

function countsAt(lane: Lane, runs: RunView[], traces: Trace[], shown: Distribution, cursor: number | null): string[] {
  return runs.map((_, runIndex) => {
    const i = traces.findIndex((one) => one.lane === lane && one.runIndex === runIndex);
    const count = cursor === null || i < 0 ? undefined : shown.columns[i]!.counts[cursor];
    return count === undefined ? "" : `\u00d7${format.count(count)}`;
  });
}
