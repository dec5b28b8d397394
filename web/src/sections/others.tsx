// The measurements beside wake-ups: what a call costs, as reading a clock or writing a line, and which gaps a thread that never sleeps sees.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { barAt, barsHeight, barsOf, drawBars, type Bar } from "../bars.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import { Caveats, Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { RunView } from "../generated/view.d.ts";
import { kindsOf, words, type Results } from "../model.ts";
import { LatencyPlot } from "./latency.tsx";

function Costs({ name, title, runs }: { name: string; title: string; runs: RunView[] }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<Bar | undefined>();
  const bars = useMemo(() => barsOf(runs), [runs]);
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawBars>[3]) =>
      drawBars(ctx, width, height, theme, bars), [bars]);
  const lines = runs.flatMap((run) => run.series.map((series) => ({ run, series })));
  const latency = (value: number | string | null | undefined) => (value === null || value === undefined ? "\u2013" : format.latency(value));
  const hasBlocks = lines.some(({ series }) => typeof series.mean_of_blocks === "string");
  if (bars.length === 0) return <p class="nothing">The measurement holds no sample. Repeat it with: punctual measure {name}</p>;
  return (
    <>
      <Caveats runs={runs} />
      <Figure
        id={name} caption title={title} picture={() => canvas.current()}
        note="Each from one reading of a clock to the next one, logarithmic. Stroke: minimum; dot: mean; bar: mean to mean + standard deviation; diamond: maximum."
        table={() => ({
          head: ["what", "variant", "samples", "min", "mean", "sd", "max", ...(hasBlocks ? ["mean of blocks"] : [])],
          rows: lines.map(({ series: { name: points, variant, figures, mean_of_blocks } }) => [
            words(points), variant, format.count(figures.samples), latency(figures.lowest_ns), latency(figures.mean_ns), latency(figures.sd_ns),
            latency(figures.highest_ns), ...(hasBlocks ? [mean_of_blocks ?? "\u2013"] : [])]),
          words: 2, invalid: lines.map(({ run }) => run.state === "invalid"),
        })}
        data={() => ({
          head: ["run", "validity", "name", "variant", "count", "min_ns", "mean_ns", "sd_ns", "max_ns"],
          rows: lines.map(({ run, series: { name, variant, histogram } }) =>
            [run.label, run.state, name, variant, histogram.count, histogram.min_ns, histogram.mean_ns, histogram.sd_ns, histogram.max_ns]),
        })}
      >
        <CanvasChart
          height={barsHeight(bars)} label={title} draw={draw} canvasRef={(get) => { canvas.current = get; }}
          onPoint={(at) => setPointed(at === null ? undefined : barAt(bars, at.y))}
        />
        <p class="note readout">
          {pointed
            ? `${pointed.name}: min ${latency(pointed.min)}, mean ${latency(pointed.mean)}, mean + sd ${latency(pointed.meanPlusSd)}, max ${latency(pointed.max)}${pointed.invalid ? " (invalid)" : ""}`
            : "Point at a line to read its numbers."}
        </p>
      </Figure>
    </>
  );
}

/** Which share of its time each thread lost to gaps. */
function Stolen({ runs }: { runs: RunView[] }) {
  const all = runs.flatMap((run) => run.series.flatMap(({ lane, stolen }) =>
    (stolen ? [`${run.label}${run.state === "invalid" ? " (invalid)" : ""}, ${lane}: ${stolen}`] : [])));
  return all.length === 0 ? null : <p class="note">Time taken from each thread: {all.join("; ")}.</p>;
}

export function Others({ results }: { results: Results }) {
  const costs = useMemo(() => kindsOf(results, "costs"), [results]);
  const gaps = useMemo(() => kindsOf(results, "gaps"), [results]);
  if (costs.length === 0 && gaps.length === 0) {
    return <p class="nothing">None in this report. Add them with: punctual measure clock, punctual measure noise</p>;
  }
  return (
    <>
      {costs.map(({ name, title, runs }) => <Costs key={name} name={name} title={title} runs={runs} />)}
      {gaps.map(({ name, title, samples, runs }) => (
        <div key={name}><LatencyPlot id={name} title={title} what={samples} runs={runs} /><Stolen runs={runs} /></div>
      ))}
    </>
  );
}
