// Worst case over time, as steps or as a heat map.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { CanvasChart } from "../canvas_chart.tsx";
import { Chart, useTheme } from "../chart.tsx";
import { Figure, useChoices } from "../figure.tsx";
import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { RunView } from "../generated/view.d.ts";
import { drawHeat, heat, heatScales } from "../heat.ts";
import { deadlineOf, lanesOf, type Lane } from "../model.ts";
import { hasIntervals, timeline, timelineSpec, type Timeline } from "../timeline.ts";
import { Legend } from "./legend.tsx";

const stepped = uPlot.paths.stepped!({ align: 1 });

interface Props {
  runs: RunView[];
  /** Whether runs with the same series are a group, shown in one column. */
  grouped?: boolean;
}

export function WorstOverTime({ runs, grouped = false }: Props) {
  const [state, store] = useChoices();
  const [cursor, setCursor] = useState<number | null>(null);
  const [pointed, setPointed] = useState("");
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const lanes = useMemo(() => lanesOf(runs), [runs]);
  const deadline = deadlineOf(runs);
  const shown = useMemo(() => timeline(runs, lanes, deadline), [runs, lanes, deadline]);
  const spec = useMemo(() => timelineSpec(shown, state.timeRange, deadline, stepped), [shown, state.timeRange, deadline]);
  const heatShown = useMemo(() => (state.heat ? heat(shown.windows, state.lift) : null), [shown, state.heat, state.lift]);
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawHeat>[3]) =>
      heatShown && drawHeat(ctx, width, height, theme, heatShown, state.timeRange, deadline),
    [heatShown, state.timeRange, deadline]);
  const themeNow = useTheme();
  const height = innerWidth < 600 ? 260 : 320;

  if (!hasIntervals(runs)) {
    return (
      <p class="nothing">
        These runs keep no intervals, so that the order in time is not known. A run of punctual keeps one for each
        sixtieth of its duration; an imported one lacks them. Measure again with: punctual measure wakeup
      </p>
    );
  }
  const length = format.span(runs[0]!.series[0]?.intervals.length_ns[0] ?? 0);
  const rows = runs.flatMap((run) => run.series.flatMap((series) => series.intervals.max_ns.map((max, i) => ({ run, series, max, i }))));
  const controls = (
    <>
      <button aria-pressed={state.heat} title="Heat map of all samples over time (h)" data-key="h" onClick={() => store.set({ heat: !state.heat })}>Heat map</button>
      <button disabled={state.timeRange === null} title="Back to the first view (double-click)" onClick={() => store.set({ timeRange: null })}>Reset</button>
    </>
  );
  const note = state.heat
    ? `All samples by time and latency in us (logarithmic)${state.lift === null ? ", all CPUs together" : `, ${lanes.find((lane) => lane.key === state.lift)?.name ?? ""}`}; color: samples from 1 (${themeNow.dark ? "dark" : "light"}) to ${format.count(heatShown?.most ?? 1)} (${themeNow.dark ? "light" : "dark"}), logarithmic; line: the exact maximum.`
    : `Worst sample of each ${length} in us, never averaged${shown.log ? "; logarithmic" : ""}. Time counts from the start of each run${runs.some((run) => run.state !== "invalid" && run.series.some((series) => series.spoiled.length > 0)) ? "; hatched: spoiled, and in no number" : ""}${runs.some((run) => run.loaded) && runs.length > 1 ? "; shaded: under load" : ""}.`;
  return (
    <Figure
      id="time" title="Worst case over time" controls={controls} note={note} picture={() => canvas.current()}
      table={() => ({
        head: ["run", "series", "from", "worst, us", "samples", "missed"],
        rows: rows.map(({ run, series, max, i }) => [
          run.label + (run.state === "invalid" ? " (invalid)" : ""), series.lane, format.span(series.intervals.start_offset_ns[i]!),
          max === null ? "\u2013" : format.microseconds(max), format.count(series.intervals.count[i]!), format.count(series.intervals.missed_periods[i]!)]),
        words: 3, invalid: rows.map(({ run }) => run.state === "invalid"),
      })}
      data={() => ({
        head: ["run", "validity", "series", "start_offset_ns", "length_ns", "max_ns", "count", "missed_periods"],
        rows: rows.map(({ run, series, max, i }) => [
          run.label, run.state, series.lane, series.intervals.start_offset_ns[i], series.intervals.length_ns[i], max,
          series.intervals.count[i], series.intervals.missed_periods[i]]),
      })}
    >
      {heatShown ? (
        <CanvasChart
          height={height} label="Heat map: time, latency, number of samples" draw={draw} canvasRef={(get) => { canvas.current = get; }}
          onReset={() => store.set({ timeRange: null })}
          onZoom={(from, to, width) => {
            const { toSeconds } = heatScales(heatShown, state.timeRange, width, height);
            store.set({ timeRange: [Math.max(0, toSeconds(from)), toSeconds(to)] });
          }}
          onPoint={(at, width) => {
            const column = at === null ? undefined : heatScales(heatShown, state.timeRange, width, height).columnAt(at.x);
            setPointed(column ? `Worst ${format.latency(column.max)} of ${format.count([...column.bins.values()].reduce((a, b) => a + b, 0))} samples in ${format.span((column.to - column.from) * 1e9)}` : "");
          }}
        />
      ) : (
        <Chart
          spec={spec} height={height} lift={state.hover ?? state.lift} label="Interval maxima over time"
          onZoom={(timeRange) => store.set({ timeRange })} onReset={() => store.set({ timeRange: null })}
          onCursor={setCursor} canvasRef={(get) => { canvas.current = get; }}
        />
      )}
      <Legend
        lanes={lanes} runs={grouped ? [runs.find((run) => run.state !== "invalid") ?? runs[0]!] : runs} head={heatShown ? pointed || "Maximum of each, us. Choose one to see it alone." : readoutHead(grouped ? "all runs of each" : runs.map((run) => run.label).join(", "), shown, cursor)}
        values={(lane) => (grouped ? [maximumOf(lane, runs)] : maximaOf(lane, runs))}
        readout={(lane) => {
          const each = maximumAt(lane, runs, shown, heatShown ? null : cursor);
          return grouped ? [each.find((text) => text !== "") ?? ""] : each;
        }}
      />
      <Spoiled runs={runs} />
    </Figure>
  );
}

/** The intervals that something spoiled, with the figures that they would have had. */
function Spoiled({ runs }: { runs: RunView[] }) {
  const all = runs.flatMap((run) => run.series.flatMap((series) => series.spoiled.map((one) => ({ run, series, one }))));
  const notKept = runs.flatMap((run) => run.spoiled_not_kept ?? []);
  if (all.length === 0) return null;
  return (
    <div data-spoiled>
      <h3>Spoiled intervals</h3>
      <p class="muted">They are in none of the other numbers.</p>
      <div class="scroll"><table>
        <thead><tr>
          <th>run</th><th>series</th><th class="number">from</th><th class="number">length</th><th class="number">samples</th>
          <th class="number">worst</th><th class="number">missed</th><th>why</th>
        </tr></thead>
        <tbody>{all.map(({ run, series, one }) => (
          <tr class={run.state === "invalid" ? "invalid" : ""}>
            <td>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</td><td>{series.lane}</td>
            <td class="number">{format.span(one.start_offset_ns)}</td><td class="number">{format.span(one.length_ns)}</td>
            <td class="number">{format.count(one.samples)}</td><td class="number">{one.worst ?? "\u2013"}</td>
            <td class="number">{format.count(one.missed_periods)}</td><td>{one.why}</td>
          </tr>
        ))}</tbody>
      </table></div>
      {notKept.map((sentence) => <p class="muted">{sentence}</p>)}
    </div>
  );
}

function windowAt(shown: Timeline, cursor: number | null) {
  const at = cursor === null ? undefined : shown.x[cursor];
  const index = at === undefined ? -1 : shown.windows.findIndex(({ from, to }) => at >= from && at <= to);
  return index < 0 ? null : { index, window: shown.windows[index]!, at: at! };
}

function readoutHead(runs: string, shown: Timeline, cursor: number | null): string {
  const here = windowAt(shown, cursor);
  if (!here) return `Maximum of each in us (${runs}). Point at the plot to read an interval.`;
  const offset = (here.at - here.window.from) * 1e9;
  const { label, started_realtime_ns: started, time_zone: zone } = here.window.run;
  const wall = (BigInt(started) + BigInt(Math.round(offset))).toString();
  const date = started === "0" ? "" : ` (${format.wallTime(wall, zone, 0)} ${zone ?? "UTC"})`;
  return `Maximum of each in us (${runs}), and of the interval: ${label}, from ${format.span(offset)}${date}:`;
}

function maximaOf(lane: Lane, runs: RunView[]): string[] {
  return runs.map((run) => {
    const series = run.series.find((one) => one.lane === lane.key);
    if (!series || series.histogram.max_ns === null || series.histogram.max_ns === undefined) return "\u2013";
    return run.state === "invalid" ? "invalid" : format.microseconds(series.histogram.max_ns);
  });
}

/** Of all runs that have the lane and are not invalid. */
function maximumOf(lane: Lane, runs: RunView[]): string {
  const own = runs.filter((run) => run.series.some((series) => series.lane === lane.key));
  const valid = own.filter((run) => run.state !== "invalid");
  if (own.length > 0 && valid.length === 0) return "invalid";
  const maxima = valid.flatMap((run) => run.series.filter((series) => series.lane === lane.key).map((series) => num(series.histogram.max_ns))).filter(Number.isFinite);
  return maxima.length === 0 ? "\u2013" : format.microseconds(Math.max(...maxima));
}

function maximumAt(lane: Lane, runs: RunView[], shown: Timeline, cursor: number | null): string[] {
  const here = windowAt(shown, cursor);
  return runs.map((_, i) => {
    const max = here && here.index === i ? shown.maxima[shown.lanes.indexOf(lane)]![cursor!] : null;
    return typeof max === "number" ? format.microseconds(max * 1000) : "";
  });
}
