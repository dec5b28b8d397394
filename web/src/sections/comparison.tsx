// Two groups of runs side by side: curves, quantiles, differences with their intervals, worst cases, what else differs.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { comparedTable, drawEffects, drawMaxima, effectAt, effectsHeight, effectsOf, isDistance, MAXIMA_HEIGHT, type Effect } from "../comparison.ts";
import { Figure, Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { ComparedRow, ComparedRows, Comparison, ComparisonView, GroupRow, SettingDifference } from "../generated/view.d.ts";
import { samplesOf, words } from "../model.ts";
import {
  drawPair, drawStrokes, PAIR_HEIGHT, pairAt, pairColumns, pairRange, pairRows, partsOf, STROKES_HEIGHT, strokeAt, strokeWords, type Lane,
} from "../signed_pair.ts";
import { LatencyPlot } from "./latency.tsx";
import { WorstOverTime } from "./time.tsx";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawEffects>[3]) => void;

/** A time, or a dash where there is none. */
const latency = (ns: number | null | undefined) => (ns == null ? "\u2013" : format.latency(Math.round(ns)));

function Groups({ groups }: { groups: GroupRow[] }) {
  const rows = groups.map((group) => [
    group.letter, group.name, group.validity, group.runs, group.samples, group.time, group.missed, group.worst,
  ]);
  const head = ["", "group", "validity", "runs", "samples", "time", "missed periods", "worst"];
  return <Table head={head} rows={rows} words={3} invalid={groups.map(({ validity }) => validity === "invalid")} />;
}

/** Where the samples of both lie: a clock ahead and one behind by as much are equally far from zero, and not alike. */
function Lies({ comparison: { document, signed } }: { comparison: ComparisonView }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<ReturnType<typeof pairAt>>();
  const ends = document.signed!;
  const lanes = useMemo<[Lane, Lane]>(() => {
    const range = pairRange(Math.min(Number(ends.a.lowest_ns), Number(ends.b.lowest_ns)), Math.max(Number(ends.a.highest_ns), Number(ends.b.highest_ns)));
    const [a, b] = pairColumns(signed!, range, innerWidth < 600 ? 90 : 160);
    const median = ends.quantities.find(({ name }) => name === "p50");
    return [
      { name: `A: ${document.a.name}`, signed: a, median: median?.a_ns ?? Number.NaN },
      { name: `B: ${document.b.name}`, signed: b, median: median?.b_ns ?? Number.NaN },
    ];
  }, [document, signed]);
  const invalid = document.verdict.state === "invalid" ? document.verdict.reason : "";
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawPair(ctx, width, height, theme, lanes, invalid), [lanes, invalid]);
  const step = lanes[0].signed.edges[1]! - lanes[0].signed.edges[0]!;
  const rows = pairRows(lanes);
  const samples = samplesOf(document.measurement);
  return (
    <Figure
      id="comparison" caption title={`${words(document.latency)}, with sign`} picture={() => canvas.current()}
      note={`Number of ${samples} in bins of ${format.latency(step)}, logarithmic. Triangle: the median.`}
      table={() => ({ head: ["from", "to", "A", "B"], rows, words: 0, invalid: rows.map(() => invalid !== "") })}
      data={() => ({
        head: ["group", "side", "magnitude_from_ns", "count"],
        rows: ([["A", signed!.a], ["B", signed!.b]] as const).flatMap(([letter, sides]) =>
          ([["above", sides.from_zero], ["below", sides.below_zero]] as const).flatMap(([side, histogram]) =>
            (histogram?.bins.from_ns ?? []).map((ns, i) => [letter, side, ns, histogram!.bins.count[i]]))),
      })}
    >
      <CanvasChart
        height={PAIR_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`Distributions with sign: ${ends.text}; A from ${format.latency(ends.a.lowest_ns)} to ${format.latency(ends.a.highest_ns)}, B from ${format.latency(ends.b.lowest_ns)} to ${format.latency(ends.b.highest_ns)}`}
        onPoint={(at, width) => setPointed(at === null ? undefined : pairAt(at, width, lanes))}
      />
      <p class="note readout">
        {pointed
          ? `${pointed.lane.name}: ${format.latency(pointed.lane.signed.edges[pointed.column]!)} to ${format.latency(pointed.lane.signed.edges[pointed.column + 1]!)}: ${format.count(pointed.lane.signed.counts[pointed.column]!)} ${samples}`
          : "Point at a bar to read it."}
      </p>
    </Figure>
  );
}

/** The same over time: the lowest and the highest sample of each interval, with their sign. */
function Strokes({ comparison: { document, signed } }: { comparison: ComparisonView }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState("");
  const { runs } = signed!;
  const ends = document.signed!;
  const range = useMemo(
    () => pairRange(Math.min(Number(ends.a.lowest_ns), Number(ends.b.lowest_ns)), Math.max(Number(ends.a.highest_ns), Number(ends.b.highest_ns))), [ends]);
  const invalid = document.verdict.state === "invalid" ? document.verdict.reason : "";
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawStrokes(ctx, width, height, theme, runs, range, invalid), [runs, range, invalid]);
  const rows = runs.flatMap((run) => run.start_offset_ns.map((start, i) => [
    run.label, format.span(Number(start)), run.lowest_ns[i] == null ? "\u2013" : format.difference(run.lowest_ns[i]!),
    run.highest_ns[i] == null ? "\u2013" : format.difference(run.highest_ns[i]!),
  ]));
  return (
    <Figure
      id="signed-time" caption title={`${words(document.latency)} over time, with sign`} picture={() => canvas.current()}
      note="From the lowest to the highest sample of each interval, never averaged. Time counts from the start of each run."
      table={() => ({ head: ["run", "from", "lowest", "highest"], rows, words: 1, invalid: rows.map(() => invalid !== "") })}
      data={() => ({
        head: ["run", "start_offset_ns", "length_ns", "lowest_ns", "highest_ns"],
        rows: runs.flatMap((run) => run.start_offset_ns.map((start, i) => [run.label, start, run.length_ns[i], run.lowest_ns[i], run.highest_ns[i]])),
      })}
    >
      <CanvasChart
        height={STROKES_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} label={`Samples over time, with sign: ${ends.text}`}
        onPoint={(at, width) => {
          const found = at === null ? undefined : strokeAt(partsOf(runs, width), at.x);
          setPointed(found ? strokeWords(found.run, found.i) : "");
        }}
      />
      <p class="note readout">{pointed === "" ? "Point at a stroke to read it." : pointed}</p>
    </Figure>
  );
}

function Effects({ document, rows }: { document: Comparison; rows: ComparedRows }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<Effect | undefined>();
  const effects = useMemo(() => effectsOf(document, rows), [document, rows]);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawEffects(ctx, width, height, theme, effects, isDistance(document)), [effects, document]);
  const isQuantity = ({ name }: ComparedRow) => document.quantities.some((one) => one.name === name);
  return (
    <Figure
      id="effects" caption title="Difference with its interval" picture={() => canvas.current()}
      note="A bar is where the difference would lie were the runs repeated, each row by itself. Filled: shown; open: not shown, or not judged where p is a dash; an arrow: beyond the axis."
      table={() => comparedTable({ ...rows, rows: rows.rows.filter(isQuantity) }, "quantity")}
      data={() => ({
        head: ["quantity", "a_ns", "b_ns", "difference_ns", "low_ns", "high_ns", "p", "p_together"],
        rows: document.quantities.map((one) => [one.name, one.a_ns, one.b_ns, one.difference_ns, one.interval?.low_ns, one.interval?.high_ns, one.p, one.p_together]),
      })}
    >
      <CanvasChart
        height={effectsHeight(effects)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`Differences: ${effects.map(({ name, words: said }) => `${name} ${said}`).join("; ")}`}
        onPoint={(at) => setPointed(at === null ? undefined : effectAt(effects, at.y))}
      />
      <p class="note readout">{pointed ? effectText(pointed) : "Point at a row to read its numbers."}</p>
    </Figure>
  );
}

function effectText({ name, words: apart, row }: Effect): string {
  const [interval, p] = [row.interval, row.p].map((cell) => cell ?? "\u2013");
  return `${name}: A ${row.a}, B ${row.b}, B \u2212 A ${apart}, interval ${interval}, p ${p}`;
}

function Maxima({ document }: { document: Comparison }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const { worst } = document;
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawMaxima(ctx, width, height, theme, document), [document]);
  const what = worst.unit === "run" ? "run" : "block of intervals";
  const rows = [...worst.a_maxima_ns.map((ns, i) => ["A", i + 1, ns] as const), ...worst.b_maxima_ns.map((ns, i) => ["B", i + 1, ns] as const)];
  return (
    <Figure
      id="maxima" caption title={worst.unit === "run" ? "Maxima of repetitions" : "Maxima of pieces of one run each"} picture={() => canvas.current()}
      note={`Each point is the maximum of one ${what}, the stroke their median. Worst cases: ${worst.note}.`}
      table={() => ({ head: ["group", what, "maximum"], rows: rows.map(([letter, i, ns]) => [letter, i, latency(ns)]), words: 1 })}
      data={() => ({ head: ["group", "unit", "maximum_ns"], rows: rows.map((row) => [...row]) })}
    >
      <CanvasChart height={MAXIMA_HEIGHT} draw={draw} label={`Maxima: median ${latency(worst.a_median_ns)} of A, ${latency(worst.b_median_ns)} of B`}
        canvasRef={(get) => { canvas.current = get; }} />
    </Figure>
  );
}

/** What a pipeline asked, with the answers. */
function Gates({ document }: { document: Comparison }) {
  const gates = document.gates ?? [];
  if (gates.length === 0) return null;
  const answers = { "holds": "holds", "broken": "BROKEN", "cannot-tell": "cannot be told" };
  return (
    <>
      <h3>What was asked</h3>
      <Table head={["question", "answer", "why"]} rows={gates.map(({ question, answer, reason }) => [question, answers[answer], reason])} words={3}
        invalid={gates.map(({ answer }) => answer === "broken")} />
    </>
  );
}

function Settings({ title, differences }: { title: string; differences: SettingDifference[] }) {
  if (differences.length === 0) return null;
  return (
    <details open={differences.length <= 20}>
      <summary>{title} ({differences.length})</summary>
      <Evidence rows={differences.map(({ name, a, b }) => [name, a ?? "\u2013", b ?? "\u2013"])} />
    </details>
  );
}

function Evidence({ rows }: { rows: [string, string, string][] }) {
  return (
    <div class="scroll"><table class="evidence">
      <thead><tr><th>what</th><th>A</th><th>B</th></tr></thead>
      <tbody>{rows.map(([name, a, b]) => <tr><td>{name}</td><td>{a}</td><td>{b}</td></tr>)}</tbody>
    </table></div>
  );
}

export function ComparisonSection({ comparison }: { comparison: ComparisonView }) {
  const { document, tables, plot, runs, how, reach } = comparison;
  const isInvalid = document.verdict.state === "invalid";
  const values = (all: string[]) => all.map((value) => (value === "" ? "\u2013" : value)).join(" | ");
  const profiles = document.profiles;
  return (
    <>
      <Groups groups={tables.groups} />
      <h3>Distributions</h3>
      {comparison.signed ? <Lies comparison={comparison} /> : <LatencyPlot id="comparison" title={words(document.latency)} what={samplesOf(document.measurement)} runs={[plot]} />}
      {comparison.signed
        ? <><h3>Over time</h3><Strokes comparison={comparison} /></>
        : <><h3>Worst case over time</h3><WorstOverTime runs={runs} grouped /></>}
      {tables.side_by_side.rows.length > 0 && (
        <>
          <h3>{tables.with_sign ? "Side by side, with sign" : "Side by side"}</h3>
          {tables.with_sign && (
            <>
              <Table {...comparedTable(tables.with_sign, tables.with_sign.of, isInvalid)} />
              <h3>How far from zero, either way</h3>
            </>
          )}
          <Table {...comparedTable(tables.side_by_side, words(tables.side_by_side.of), isInvalid)} />
          {isInvalid
            ? <p class="note">Invalid: these numbers do not mean what was asked, so that nothing is concluded from them.</p>
            : <>
              <p class="note">{how}</p>
              <h3>How much, and how sure</h3>
              <Effects document={document} rows={tables.side_by_side} />
              <Maxima document={document} />
            </>}
        </>
      )}
      <Gates document={document} />
      {reach.length > 0 && <><h3>What could have been seen</h3>{reach.map((line) => <p>{line}</p>)}</>}
      <h3>What else differs</h3>
      {document.context.length === 0 && !profiles && <p class="muted">Nothing that the records contain.</p>}
      {document.context.length > 0 && <Evidence rows={document.context.map(({ field, a, b }) => [field, values(a), values(b)])} />}
      {profiles && <Settings title="Settings of the machines" differences={profiles.settings} />}
      {profiles && (profiles.kernel_configs_known
        ? <Settings title="Kernel configuration" differences={profiles.kernel_config} />
        : <p class="muted">The kernels' configurations could not be read on both sides.</p>)}
    </>
  );
}
