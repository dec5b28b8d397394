// Two groups of runs side by side: curves, quantiles, differences with their intervals, worst cases, what else differs.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import {
  differenceText, drawEffects, drawMaxima, effectAt, effectsHeight, effectsOf, intervalText, MAXIMA_HEIGHT, percentText, pText, rateRows, verdictOf, WORST,
  type Effect,
} from "../comparison.ts";
import { Figure, Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { Comparison, ComparisonView, SettingDifference } from "../generated/view.d.ts";
import { samplesOf, words } from "../model.ts";
import { LatencyPlot } from "./latency.tsx";
import { WorstOverTime } from "./time.tsx";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawEffects>[3]) => void;

const latency = (ns: number) => format.latency(Math.round(ns));

/** An unknown value is a dash. */
const spanText = (ns: number) => (ns === 0 ? "\u2013" : format.span(ns));

function Groups({ document }: { document: Comparison }) {
  const rows = ([["A", document.a], ["B", document.b]] as const).map(([letter, group]) => [
    letter, group.name, group.validity, format.count(group.runs.length), format.count(group.samples),
    spanText(group.runs.reduce((sum, run) => sum + Number(run.duration_ns), 0)), group.missed_periods == null ? "\u2013" : format.count(group.missed_periods), latency(group.max_ns),
  ]);
  const invalid = [document.a, document.b].map((group) => group.validity === "invalid");
  return <Table head={["", "group", "validity", "runs", "samples", "time", "missed periods", "worst of all"]} rows={rows} words={3} invalid={invalid} />;
}

/** Everything in rows: a reader who wants numbers needs nothing else. */
function SideBySide({ document }: { document: Comparison }) {
  const confidence = `${Number(((1 - document.method.level) * 100).toFixed(2))} % interval of B \u2212 A`;
  const { worst } = document;
  const rows = [
    ...document.quantities.map((row) => [
      row.name, verdictOf(document, row.name) ?? "", latency(row.a_ns), latency(row.b_ns), differenceText(row.difference_ns),
      percentText(row.difference_percent), intervalText(row), pText(row.p_together),
    ]),
    ["median of maxima", verdictOf(document, WORST) ?? "", latency(worst.a_median_ns), latency(worst.b_median_ns),
      differenceText(worst.median_difference_ns), percentText(worst.median_difference_percent), "\u2013", pText(worst.p_together)],
    ...rateRows(document),
  ];
  return <Table head={[words(document.latency), "shown", "A", "B", "B \u2212 A", "", confidence, "p, all rows together"]} rows={rows} words={2}
    invalid={rows.map(() => document.verdict.state === "invalid")} />;
}

function Effects({ document }: { document: Comparison }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<Effect | undefined>();
  const effects = useMemo(() => effectsOf(document), [document]);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawEffects(ctx, width, height, theme, effects), [effects]);
  const row = document.quantities.find(({ name }) => name === pointed?.name);
  return (
    <Figure
      id="effects" caption title="Difference with its interval" picture={() => canvas.current()}
      note="A bar is where the difference would lie were the runs repeated, each row by itself. Filled: shown; open: within chance; an arrow: beyond the axis."
      table={() => ({
        head: ["quantity", "shown", "A", "B", "B \u2212 A", "", "interval", "p"],
        rows: document.quantities.map((one) => [one.name, verdictOf(document, one.name) ?? "", latency(one.a_ns), latency(one.b_ns),
          differenceText(one.difference_ns), percentText(one.difference_percent), intervalText(one), pText(one.p_together)]),
        words: 2,
      })}
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
      <p class="note readout">{row ? `${row.name}: A ${latency(row.a_ns)}, B ${latency(row.b_ns)}, B \u2212 A ${intervalText(row)}, p ${pText(row.p_together)}` : "Point at a row to read its numbers."}</p>
    </Figure>
  );
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
  const { document, plot, runs, how, reach } = comparison;
  const values = (all: string[]) => all.map((value) => (value === "" ? "\u2013" : value)).join(" | ");
  const profiles = document.profiles;
  return (
    <>
      <Groups document={document} />
      <h3>Distributions</h3>
      <LatencyPlot id="comparison" title={words(document.latency)} what={samplesOf(document.measurement)} runs={[plot]} />
      <h3>Worst case over time</h3>
      <WorstOverTime runs={runs} grouped />
      {document.quantities.length > 0 && (
        <>
          <h3>Side by side</h3>
          <SideBySide document={document} />
          {document.verdict.state === "invalid"
            ? <p class="note">Invalid: these numbers do not mean what was asked, so that nothing is concluded from them.</p>
            : <>
              <p class="note">{how}</p>
              <h3>How much, and how sure</h3>
              <Effects document={document} />
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
