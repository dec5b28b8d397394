// Packets from program to program: for each flow its delays with their error over time, the parts of its way, and loss and order; then
// the clocks of both nodes on the same axis of time.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Caveats, Figure, Table, useChoices } from "../figure.tsx";
import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { PacketFlowView, PacketPartView, PacketWorstView, RunView, SyncSourceView } from "../generated/view.d.ts";
import { LatencyPlot } from "../sections/latency.tsx";
import { OverTimeFigures } from "../sections/sync.tsx";
import { Time } from "../sections/worst.tsx";
import { lengthOf, trackOf } from "../sync.ts";
import { timeBox, timeScale } from "../sync_over_time.ts";
import type { Theme } from "../theme.ts";
import { arrivalRows, ARRIVALS_HEAD, ARRIVALS_HEIGHT, arrivalsBox, arrivalsOf, arrivalWords, drawArrivals } from "./arrivals.ts";
import { DELAYS_HEAD, delayRows, delaysOf, drawDelaysOverTime, intervalAt, intervalWords, verticalOf } from "./delays.ts";
import { arrow } from "./facts.ts";
import { barsOf, barWords, drawParts, missingWords, partRows, PARTS_HEAD, partsHeight } from "./parts.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;
type Canvas = () => HTMLCanvasElement | null;

interface Props {
  run: RunView;
  flow: PacketFlowView;
  /** Distinguishes the figures of several flows. */
  suffix: string;
}

export function Packets({ runs }: { runs: RunView[] }) {
  return (
    <>
      {runs.length > 1 && <SideBySide runs={runs} />}
      {runs.map((run, i) => <Run run={run} suffix={runs.length > 1 ? `-${i + 1}` : ""} isNamed={runs.length > 1} />)}
    </>
  );
}

function Run({ run, suffix, isNamed }: { run: RunView; suffix: string; isNamed: boolean }) {
  const { flows } = run.packets!;
  return (
    <>
      {isNamed && <h3>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</h3>}
      <Caveats runs={[run]} />
      {flows.length === 0 && <p class="nothing">No flow of packets was begun. Mend what stands above, and measure again with: punctual packet send</p>}
      {flows.map((flow) => <Flow run={run} flow={flow} suffix={flows.length > 1 ? `${suffix}-flow${flow.flow}` : suffix} />)}
    </>
  );
}

const pathOf = ({ path, receiver }: PacketFlowView) => [path ?? "way not known", receiver ? `receiver: ${receiver}` : ""].filter((part) => part !== "").join(", ");

/** OSIE's table: one line for each flow of each run. */
function SideBySide({ runs }: { runs: RunView[] }) {
  const lines = runs.flatMap((run) => run.packets!.flows.map((flow) => ({ run, flow })));
  const latency = (value: number | string | null | undefined) => (value === null || value === undefined ? "\u2013" : format.latency(value));
  return (
    <>
      <h3>One-way delay, run by run</h3>
      <Table
        wraps
        head={["run", "from, to", "path", "receiver", "packets", "min", "mean", "p99.9", "max", "error of max", "lost"]} words={4}
        rows={lines.map(({ run, flow }) => [
          run.label + (run.state === "invalid" ? " (invalid)" : ""), arrow(flow), flow.path ?? "not known", flow.receiver ?? "not known",
          flow.delay ? format.count(flow.delay.count) : "0", latency(flow.delay?.lowest_ns), latency(flow.delay?.mean_ns), latency(flow.delay?.p99_9_ns),
          latency(flow.delay?.highest_ns), flow.delay?.error_of_highest?.words ?? "\u2013", flow.lost === null || flow.lost === undefined ? "not known" : format.count(flow.lost)])}
        invalid={lines.map(({ run }) => run.state === "invalid")}
      />
      <p class="note">Each delay is worth no more than its error: two lines that differ by less than both errors together cannot be told apart by their single values.</p>
    </>
  );
}

function Flow(props: Props) {
  const { run, flow } = props;
  const invalid = run.state === "invalid";
  return (
    <>
      <div class={invalid ? "source invalid-text" : "source"}>
        <h3>{arrow(flow)}{invalid ? " (invalid: not a result)" : ""}</h3>
        <p>{pathOf(flow)}; {flow.schedule}.</p>
        <dl class="about">
          <div><dt>packets</dt><dd>{flow.counts_sentence}</dd></div>
          {flow.parts_sentence && <div><dt>parts of the way</dt><dd>{flow.parts_sentence}</dd></div>}
          {flow.lateness && <div><dt>sender</dt><dd>sent {format.latency(flow.lateness.median_ns)} after the schedule (median), at worst {format.latency(flow.lateness.highest_ns)}</dd></div>}
          {flow.launch && <div><dt>launch times</dt><dd>{flow.launch}{flow.launched
            ? `: the driver had the packets ${format.latency(flow.launched.lowest_ns)} to ${format.latency(flow.launched.highest_ns)} after them (median ${format.latency(flow.launched.median_ns)})`
            : ": when the driver had the packets is not known"}</dd></div>}
        </dl>
      </div>
      {flow.delay ? <><DelaysOverTime {...props} /><Parts {...props} /></> : <p class="nothing">No packet of this flow has a delay. Look at what stands above, and whether a firewall lies between the nodes.</p>}
      <ArrivalsOverTime {...props} />
    </>
  );
}

/** The range of time that is shown: of all plots over time of the page the same. */
function useTimeRange(run: RunView): { range: [number, number]; zoom: (from: number, to: number) => void; reset: () => void; isWhole: boolean } {
  const [state, store] = useChoices();
  const end = lengthOf(run);
  const chosen = state.clockRange;
  const range: [number, number] = chosen && chosen[0] < end ? [chosen[0], Math.min(end, chosen[1])] : [0, end];
  return {
    range, isWhole: chosen === null,
    zoom: (from, to) => { if (to > from) store.set({ clockRange: [from, to] }); },
    reset: () => store.set({ clockRange: null }),
  };
}

function DelaysOverTime({ run, flow, suffix }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const [cursor, setCursor] = useState<number | null>(null);
  const { range, zoom, reset, isWhole } = useTimeRange(run);
  const [from, to] = range;
  const delays = useMemo(() => delaysOf(flow), [flow]);
  const limit = num(run.deadline_ns);
  const broken = run.state !== "invalid" && delays.highest.some((ns, i) => ns - (delays.below[i] || 0) > limit);
  const vertical = useMemo(() => verticalOf(delays, [from, to], limit), [delays, from, to, limit]);
  const draw = useCallback<Draw>(
    (ctx, width, height, theme) => drawDelaysOverTime(ctx, width, height, theme, { run, delays, range: [from, to], vertical, limit, broken, cursor }),
    [run, delays, from, to, vertical, limit, broken, cursor]);
  const seconds = (x: number, width: number) => timeScale(timeBox(width, 200, false), range).toSeconds(x);
  const pointed = cursor === null ? undefined : intervalAt(delays, cursor);
  const title = `Delay over time, ${arrow(flow)}`;
  const length = format.span(flow.over_time.length_ns[0] ?? 0);
  const rows = () => delayRows(delays);
  const error = flow.delay!.error;
  return (
    <Figure
      id={`packet-delays${suffix}`} caption="Delay over time" title={title} picture={() => canvas.current()}
      controls={<button disabled={isWhole} title="Back to the first view (f, or a double click)" data-key="f" onClick={reset}>Reset</button>}
      note={`Worst and median of each ${length}, program to program, never averaged${vertical.log ? "; logarithmic" : ""}. Bands: where the truth can be, ${error ? `at most ${error.words}` : "not known"}.${vertical.beyond.length > 0 ? ` Beyond this view: ${vertical.beyond.join("; ")}.` : ""}`}
      table={() => ({ head: DELAYS_HEAD, rows: rows(), words: 1, invalid: rows().map(() => run.state === "invalid") })}
      data={() => ({
        head: ["run", "validity", "from_node", "to_node", "start_offset_ns", "length_ns", "count", "median_ns", "highest_ns", "below_ns", "above_ns"],
        rows: flow.over_time.start_offset_ns.map((ns, i) => [
          run.label, run.state, flow.from, flow.to, ns, flow.over_time.length_ns[i], flow.over_time.count[i], flow.over_time.median_ns[i], flow.over_time.highest_ns[i],
          flow.over_time.below_ns[i], flow.over_time.above_ns[i]]),
      })}
    >
      <CanvasChart
        height={innerWidth < 600 ? 260 : 320} draw={draw} canvasRef={(get) => { canvas.current = get; }} onReset={reset}
        onPoint={(at, width) => setCursor(at === null ? null : seconds(at.x, width))} onZoom={(a, b, width) => zoom(seconds(a, width), seconds(b, width))}
        label={`${title}: worst ${format.latency(flow.delay!.highest_ns)}, median ${format.latency(flow.delay!.median_ns)}, ${error ? `error at most ${error.words}` : "error not known"}`}
      />
      <p class="note readout">{pointed === undefined ? "Point at the plot to read an interval." : `${intervalWords(delays, pointed)}.`}</p>
    </Figure>
  );
}

function Parts({ run, flow, suffix }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const bars = useMemo(() => barsOf(flow), [flow]);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawParts(ctx, width, height, theme, run, bars), [run, bars]);
  const missing = missingWords(flow);
  if (bars.length === 0) return <p class="nothing">The parts of the way are not known: the packets came without the kernels' stamps. Look at: ethtool -T INTERFACE</p>;
  const rows = () => partRows(flow);
  return (
    <Figure
      id={`packet-parts${suffix}`} caption="From program to program, part by part" title={`Parts of the way, ${arrow(flow)}`} picture={() => canvas.current()}
      note={`Each bar has a scale of its own, and its parts stand in the order in which a packet passes them. Medians of parts need not add up to the median of the whole.${missing === "" ? "" : ` Missing: ${missing}.`}`}
      table={() => ({ head: PARTS_HEAD, rows: rows(), words: 1, invalid: rows().map(() => run.state === "invalid") })}
      data={() => ({
        head: ["run", "validity", "from_node", "to_node", "latency", "count", "missing", "lowest_ns", "median_ns", "p99_9_ns", "highest_ns", "of_worst_ns", "below_ns", "above_ns"],
        rows: flow.parts.map(({ name, delay, missing: without, of_worst_ns }) => [
          run.label, run.state, flow.from, flow.to, name, delay?.count ?? 0, without, delay?.lowest_ns, delay?.median_ns, delay?.p99_9_ns, delay?.highest_ns, of_worst_ns,
          delay?.error?.below_ns, delay?.error?.above_ns]),
      })}
    >
      <CanvasChart height={partsHeight(bars)} draw={draw} canvasRef={(get) => { canvas.current = get; }} label={bars.map(barWords).join(". ")} />
    </Figure>
  );
}

function ArrivalsOverTime({ run, flow, suffix }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const [cursor, setCursor] = useState<number | null>(null);
  const { range, zoom, reset, isWhole } = useTimeRange(run);
  const [from, to] = range;
  const arrivals = useMemo(() => arrivalsOf(flow), [flow]);
  const draw = useCallback<Draw>(
    (ctx, width, height, theme) => drawArrivals(ctx, width, height, theme, { run, arrivals, range: [from, to], cursor }), [run, arrivals, from, to, cursor]);
  if (arrivals.from.length === 0) {
    return <p class="nothing">Loss and order over time are not known: {flow.arrived === null || flow.arrived === undefined ? "the receiver did not report" : "this record does not have them, being imported or made before they were kept, or nothing arrived"}.</p>;
  }
  const seconds = (x: number, width: number) => timeScale(arrivalsBox(width), range).toSeconds(x);
  const pointed = cursor === null ? undefined : intervalAt(arrivals, cursor);
  const rows = () => arrivalRows(arrivals);
  return (
    <Figure
      id={`packet-arrivals${suffix}`} caption="Loss and order over time" title={`Loss and order over time, ${arrow(flow)}`} picture={() => canvas.current()}
      controls={<button disabled={isWhole} title="Back to the first view (f, or a double click)" data-key="f" onClick={reset}>Reset</button>}
      note={`Packets in each ${format.span(flow.arrivals.length_ns[0] ?? 0)}, as the receiver knew of them: each says how many were sent before it. A missing one is lost, or comes later.`}
      table={() => ({ head: ARRIVALS_HEAD, rows: rows(), words: 1, invalid: rows().map(() => run.state === "invalid") })}
      data={() => ({
        head: ["run", "validity", "from_node", "to_node", "start_offset_ns", "length_ns", "sent", "arrived", "missing", "doubled", "reordered"],
        rows: flow.arrivals.start_offset_ns.map((ns, i) => [
          run.label, run.state, flow.from, flow.to, ns, flow.arrivals.length_ns[i], flow.arrivals.sent[i], flow.arrivals.arrived[i], flow.arrivals.missing[i],
          flow.arrivals.doubled[i], flow.arrivals.reordered[i]]),
      })}
    >
      <CanvasChart
        height={ARRIVALS_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} onReset={reset} label={`Loss and order over time, ${arrow(flow)}: ${flow.counts_sentence}`}
        onPoint={(at, width) => setCursor(at === null ? null : seconds(at.x, width))} onZoom={(a, b, width) => zoom(seconds(a, width), seconds(b, width))}
      />
      <p class="note readout">{pointed === undefined ? "Point at the plot to read an interval." : `${arrivalWords(arrivals, pointed)}.`}</p>
    </Figure>
  );
}

/** The delays from program to program alone, named by their flows, as series of one run: of several runs each flow has a color of its own. */
function delaysAlone(runs: RunView[]): RunView[] {
  const isInvalid = (run: RunView) => run.state === "invalid";
  const groups = [runs.filter((run) => !isInvalid(run)), runs.filter(isInvalid)].filter((group) => group.length > 0);
  let thread = 0;
  return groups.map((group) => {
    const series = group.flatMap((run) => run.packets!.flows.flatMap((flow) => {
      const found = flow.series === null || flow.series === undefined ? undefined : run.series[flow.series];
      return found ? [{ ...found, lane: runs.length > 1 ? `${run.label}, ${arrow(flow)}` : arrow(flow), cpu: null, thread: thread++ }] : [];
    }));
    const [first] = group as [RunView];
    const limit = group.every((run) => run.deadline_ns === first.deadline_ns) ? first.deadline_ns : null;
    return { ...first, label: group.length > 1 ? "each run" : first.label, deadline_ns: limit, series };
  });
}

/** How the delays are spread, flow by flow. */
export function DelayDistribution({ runs }: { runs: RunView[] }) {
  const alone = useMemo(() => delaysAlone(runs), [runs]);
  if (alone.every((run) => run.series.length === 0)) return <p class="nothing">There is none: no packet has a delay.</p>;
  const errors = runs.flatMap((run) => run.packets!.flows.flatMap(({ delay, from, to }) =>
    delay ? [`${runs.length > 1 ? `${run.label}, ` : ""}${arrow({ from, to })}: ${delay.error?.words ?? "not known"}`] : []));
  return (
    <>
      <LatencyPlot id="latency" title="One-way delay from program to program" what="packets" runs={alone} caveats={false} />
      <p class="note">Largest error of a packet: {errors.join("; ")}. What lies closer together than that can be the clocks.</p>
    </>
  );
}

/** How far the clocks of both nodes are apart, as each of them saw it. Of several runs each is folded: one sentence says what it shows. */
export function NodeClocks({ runs }: { runs: RunView[] }) {
  const doubt = (run: RunView) => (run.state === "invalid" ? " (invalid: not a result)" : "");
  if (runs.length === 1) return <RunClocks run={runs[0]!} suffix="" />;
  return <>{runs.map((run, i) => (
    <details>
      <summary>{run.label}{doubt(run)}{run.packets!.clocks.slice(0, 1).map(({ node, partner, sentence }) => `: ${node} less ${partner}, ${sentence.split(";").slice(0, 2).join(";")}`)}</summary>
      <RunClocks run={run} suffix={`-${i + 1}`} />
    </details>
  ))}</>;
}

function RunClocks({ run, suffix }: { run: RunView; suffix: string }) {
  const invalid = run.state === "invalid";
  const { clocks, hardware } = run.packets!;
  const tracks = useMemo(() => clocks.map(({ source }) => trackOf(source)), [clocks]);
  if (clocks.length === 0) return <p class="nothing">The clocks were not compared.</p>;
  return (
    <div>
      <p class="note">The error of a delay is wider than these bands by what the clocks can drift until the next exchange, and by how exactly each node compared its own clocks.</p>
      {hardware.map((sentence) => <p class="note">{sentence}.</p>)}
      {clocks.map(({ node, partner, sentence, source, services }, n) => (
        <>
          <div class={invalid ? "source invalid-text" : "source"}>
            <h3>{node} less {partner}{invalid ? " (invalid: not a result)" : ""}</h3>
            <p class="note">{sentence[0]!.toUpperCase() + sentence.slice(1)}.</p>
          </div>
          {tracks[n]!.at.length > 0 && <OverTimeFigures run={run} source={source} suffix={`-node${n + 1}${suffix}`} track={tracks[n]!} first="all" />}
          {services.map((one, m) => <Services run={run} source={one} title={`${node} less ${partner}, by their time services`} suffix={`-node${n + 1}-services${m + 1}${suffix}`} />)}
        </>
      ))}
    </div>
  );
}

/** What the time services of both nodes say of the same offset. */
function Services({ run, source, title, suffix }: { run: RunView; source: SyncSourceView; title: string; suffix: string }) {
  const { bound_sentence: sentence } = source;
  const track = useMemo(() => trackOf(source), [source]);
  return (
    <>
      <div class={run.state === "invalid" ? "source invalid-text" : "source"}>
        <h3>{title}{run.state === "invalid" ? " (invalid: not a result)" : ""}</h3>
        <p class="note">{sentence}.</p>
      </div>
      {track.at.length > 0 && <OverTimeFigures run={run} source={source} suffix={suffix} track={track} first="all" />}
    </>
  );
}

const SHOWN = 12;

/** One column for each part of the way: runs with stamps of interfaces have others than those without. */
function columnsOf(runs: RunView[]): PacketPartView[] {
  const all = new Map(runs.flatMap((run) => run.packets!.flows).flatMap(({ parts }) => parts).map((part) => [part.name, part]));
  return [...all.values()];
}

function partOf(run: RunView, packet: PacketWorstView, name: string): PacketWorstView["parts_ns"][number] {
  const flow = run.packets!.flows.find((one) => arrow(one) === packet.flow);
  const at = flow?.parts.findIndex((part) => part.name === name) ?? -1;
  return at < 0 ? null : packet.parts_ns[at];
}

/** The worst packets with the parts of their way. */
export function WorstPackets({ runs }: { runs: RunView[] }) {
  const all = runs.flatMap((run) => run.packets!.worst.map((packet) => ({ run, packet })))
    .sort((a, b) => Number(a.run.state === "invalid") - Number(b.run.state === "invalid") || num(b.packet.delay_ns) - num(a.packet.delay_ns));
  if (all.length === 0) return <p class="nothing">There is none: no packet has a delay.</p>;
  const zone = runs.find((run) => run.time_zone)?.time_zone ?? "UTC";
  const parts = columnsOf(runs);
  const hasParts = all.some(({ packet }) => packet.parts_ns.some((ns) => ns !== null));
  const latency = (value: PacketWorstView["parts_ns"][number]) => (value === null || value === undefined ? "\u2013" : format.latency(value));
  const table = (lines: typeof all) => (
    <div class="scroll"><table>
      <thead><tr>
        <th class="number">delay</th><th class="number">error</th>{hasParts && parts.map((part) => <th class="number">{part.words}</th>)}
        <th>from, to</th><th>sent ({zone})</th><th class="number">into the run</th>{runs.length > 1 && <th>run</th>}
      </tr></thead>
      <tbody>{lines.map(({ run, packet }) => {
        const late = run.state !== "invalid" && num(packet.delay_ns) - num(packet.error?.below_ns ?? 0) > num(run.deadline_ns);
        return (
          <tr class={run.state === "invalid" ? "invalid" : ""}>
            <td class={`number ${late ? "broken-text" : ""}`}>{format.latency(packet.delay_ns)}{late ? <span class="flag"> late</span> : null}</td>
            <td class="number">{packet.error?.words ?? "\u2013"}</td>
            {hasParts && parts.map(({ name }) => <td class="number">{latency(partOf(run, packet, name))}</td>)}
            <td>{packet.flow}</td><td><Time realtimeNs={packet.at.realtime_ns} zone={run.time_zone} /></td><td class="number">{format.span(packet.at.offset_ns)}</td>
            {runs.length > 1 && <td>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</td>}
          </tr>
        );
      })}</tbody>
    </table></div>
  );
  return (
    <>
      {table(all.slice(0, SHOWN))}
      {all.length > SHOWN && <details><summary>{all.length - SHOWN} more</summary>{table(all.slice(SHOWN))}</details>}
    </>
  );
}
