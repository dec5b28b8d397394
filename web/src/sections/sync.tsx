// How far clocks are apart: for each source its bound, its spread and its own view in words, then over time, in a distribution,
// against the path delay and by averaging time.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Caveats, Figure, Table, useChoices } from "../figure.tsx";
import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { RunView, SyncEventView, SyncSourceView } from "../generated/view.d.ts";
import {
  allanOf, breaksLimit, columnsOf, dotsOf, dotWords, foldEvents, inOrder, LEAST_ALLAN, lengthOf, MOST_ROWS, offsetRange, pointAt, pointWords, ratio, signedColumns,
  signedRows, spreadRange, spreadWords, stateAt, stretchesOf, TRACK_HEAD, trackOf, trackRows, timeWords, type AllanDot, type Dot, type Reach, type Track,
} from "../sync.ts";
import { BAND_HEIGHT, DELAY_HEIGHT, drawBand, drawDelays, drawOffsets, offsetsHeight, timeBox, timeScale, type OverTime } from "../sync_over_time.ts";
import { allanAt, delayRange, dotAt, drawAllan, drawDistribution, drawScatter, plainBox, SCATTER_HEIGHT, scatterScale } from "../sync_spread.ts";
import type { Theme } from "../theme.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;
type Canvas = () => HTMLCanvasElement | null;

interface Props {
  run: RunView;
  source: SyncSourceView;
  /** Tells the figures of several sources apart. */
  suffix: string;
}

export function Clocks({ runs }: { runs: RunView[] }) {
  return <>{runs.map((run, i) => <Run run={run} suffix={runs.length > 1 ? `-${i + 1}` : ""} isNamed={runs.length > 1} />)}</>;
}

function Run({ run, suffix, isNamed }: { run: RunView; suffix: string; isNamed: boolean }) {
  const sync = run.sync!;
  const sources = inOrder(sync);
  return (
    <>
      {isNamed && <h3>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</h3>}
      <Caveats runs={[run]} />
      {sources.length === 0 && <p class="nothing">No source of time was found. Start ptp4l or chronyd, and measure again with: punctual measure sync</p>}
      {sources.map((source, i) => <Source run={run} source={source} suffix={sources.length > 1 ? `${suffix}-${i + 1}` : suffix} />)}
      {sync.not_followed.length > 0 && <p>Not followed: {sync.not_followed.join("; ")}.</p>}
      <Events run={run} events={sync.events} leftOut={num(sync.events_left_out)} suffix={suffix} />
    </>
  );
}

/** What is known of a source in words. */
function Head({ run, source }: { run: RunView; source: SyncSourceView }) {
  const { version, clock, reference, state } = source;
  const invalid = run.state === "invalid";
  const facts: [string, string][] = [[source.bound ? "hard bound" : "bound", source.bound_sentence]];
  if (source.spread) facts.push(["spread", spreadWords(source)]);
  if (source.growth_sentence) facts.push(["without corrections", source.growth_sentence]);
  if (source.own_estimate_sentence) facts.push(["what the service says of itself", source.own_estimate_sentence]);
  if (source.could_be_missed.length > 0) facts.push(["could be missed", source.could_be_missed.join("; ")]);
  return (
    <div class={invalid ? "source invalid-text" : "source"}>
      <h3>{source.name}{version ? <span class="muted"> {version}</span> : null}{invalid ? " (invalid: not a result)" : ""}</h3>
      <p>Clock {clock} against {reference}{state ? <>; at the end: <b>{state}</b></> : null}.</p>
      <dl class="about">{facts.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </div>
  );
}

function Source(props: Props) {
  const { run, source } = props;
  const track = useMemo(() => trackOf(source), [source]);
  const dots = useMemo(() => dotsOf(track), [track]);
  const allan = useMemo(() => allanOf(source), [source]);
  return (
    <>
      <Head run={run} source={source} />
      {track.at.length > 0 ? <OverTimeFigures {...props} track={track} /> : source.states.length > 1 && <Band {...props} />}
      {source.spread && (
        <div class="pair">
          <Distribution {...props} />
          {dots.length > 1 && <Wedge {...props} dots={dots} />}
          {allan.length >= LEAST_ALLAN && <Allan {...props} dots={allan} />}
        </div>
      )}
    </>
  );
}

function Band({ run, source }: Props) {
  const stretches = useMemo(() => stretchesOf(source, lengthOf(run)), [run, source]);
  const draw = useCallback<Draw>((ctx, width, _, theme) => drawBand(ctx, width, theme, run, stretches), [run, stretches]);
  return <CanvasChart height={BAND_HEIGHT} label={`States of ${source.name}: ${stateWords(source)}`} draw={draw} canvasRef={() => {}} />;
}

function stateWords({ states }: SyncSourceView): string {
  const shown = states.slice(0, 8).map(({ at, state }) => `${state} from ${format.span(at.offset_ns)}`);
  return [...shown, ...(states.length > shown.length ? [`${states.length - shown.length} more changes`] : [])].join(", ");
}

/** Offsets and, below on the same axis, path delays. */
export function OverTimeFigures({ run, source, suffix, track, first = "first" }: Props & { track: Track; first?: Reach }) {
  const [state, store] = useChoices();
  const [reach, setReach] = useState<Reach>(first);
  const [cursor, setCursor] = useState<number | null>(null);
  const offsets = useRef<Canvas>(() => null);
  const delays = useRef<Canvas>(() => null);
  const end = lengthOf(run);
  const range = useMemo<[number, number]>(() => {
    const chosen = state.clockRange;
    return chosen && chosen[0] < end ? [chosen[0], Math.min(end, chosen[1])] : [0, end];
  }, [state.clockRange, end]);
  const limit = source.judged ? num(run.deadline_ns) : Number.NaN;
  const stretches = useMemo(() => stretchesOf(source, end), [source, end]);
  const events = useMemo(() => (run.sync?.events ?? []).filter((event) => event.source === source.name), [run, source]);
  const broken = useMemo(() => breaksLimit(run, track, limit), [run, track, limit]);
  const shownAt = useCallback((width: number): OverTime => {
    const columns = columnsOf(track, range, Math.max(40, Math.round(timeBox(width, 200, true).width)));
    return { run, track, columns, stretches, events, range, vertical: offsetRange(columns, limit, reach), limit, broken, cursor };
  }, [run, track, stretches, events, range, limit, broken, reach, cursor]);
  const drawTop = useCallback<Draw>((ctx, width, height, theme) => drawOffsets(ctx, width, height, theme, shownAt(width)), [shownAt]);
  const drawBottom = useCallback<Draw>((ctx, width, height, theme) => drawDelays(ctx, width, height, theme, shownAt(width)), [shownAt]);
  const near = useMemo(() => offsetRange(columnsOf(track, range, 600), limit, "first"), [track, range, limit]);
  const pointed = cursor === null ? undefined : pointAt(track, cursor);
  const point = (at: { x: number; y: number } | null, width: number) => setCursor(at === null ? null : timeScale(timeBox(width, 200, true), range).toSeconds(at.x));
  const zoom = (from: number, to: number, width: number) => {
    const { toSeconds } = timeScale(timeBox(width, 200, true), range);
    const [a, b] = [toSeconds(from), toSeconds(to)];
    if (b > a) store.set({ clockRange: [a, b] });
  };
  const reset = () => {
    setReach(first);
    store.set({ clockRange: null });
  };
  const hasDelays = track.delay.some(Number.isFinite);
  const bounded = source.bound !== null && source.bound !== undefined;
  const readout = pointed === undefined
    ? "Point at the plot to read a moment."
    : `At ${timeWords(run, track.at[pointed]!)}: ${pointWords(track, pointed)}${stateAt(stretches, track.at[pointed]!) ? `; ${stateAt(stretches, track.at[pointed]!)}` : ""}.`;
  const controls = (
    <>
      <button aria-pressed={reach === "offsets"} title="The offsets alone, without bound and limit, and back (b)" data-key="b"
        onClick={() => setReach(reach === "offsets" ? first : "offsets")}>Offsets</button>
      <button aria-pressed={reach === "all"} title="With bound and limit, wherever they lie, and back"
        onClick={() => setReach(reach === "all" ? "first" : "all")}>All</button>
      <button disabled={state.clockRange === null && reach === first} title="Back to the first view (f, or a double click)" data-key="f" onClick={reset}>Reset</button>
    </>
  );
  const rows = () => trackRows(track);
  const table = () => ({ head: TRACK_HEAD, rows: rows(), words: 1, invalid: rows().map(() => run.state === "invalid") });
  const data = () => ({
    head: ["run", "validity", "source", "offset_ns", "count", "lowest_ns", "highest_ns", "lower_bound_ns", "upper_bound_ns", "delay_ns"],
    rows: source.track.offset_ns.map((ns, i) => [
      run.label, run.state, source.name, ns, source.track.count[i], source.track.lowest_ns[i], source.track.highest_ns[i], source.track.lower_bound_ns[i],
      source.track.upper_bound_ns[i], source.track.delay_ns[i]]),
  });
  const joined = track.at.length > MOST_ROWS ? " Its table joins neighboring points; the CSV file has all." : "";
  const beyond = near.beyond.length > 0 && reach === "first" ? ` Beyond this view: ${near.beyond.join("; ")}; All shows it.` : "";
  return (
    <>
      <Figure
        id={`offsets${suffix}`} caption="Offset over time" title={`Offset over time, ${source.name}`} controls={controls} picture={() => offsets.current()}
        note={`The clock less its reference; strokes from the lowest to the highest, never averaged. ${bounded ? "Band: the hard bound." : "No hard bound: the offsets are what the service believes."}${beyond}${joined}`}
        table={table} data={data}
      >
        <CanvasChart
          height={offsetsHeight(innerWidth < 600, stretches.length + events.length > 0)} draw={drawTop} canvasRef={(get) => { offsets.current = get; }} onPoint={point} onZoom={zoom} onReset={reset}
          label={`Offset over time, ${source.name}: ${spreadWords(source)}; ${source.bound_sentence}; ${stateWords(source)}`}
        />
        <p class="note readout">{readout}</p>
      </Figure>
      {hasDelays && (
        <Figure
          id={`delays${suffix}`} caption="Path delay over time" title={`Path delay over time, ${source.name}`} picture={() => delays.current()}
          note="Half of a round trip, on the same axis of time: the longest of each point." table={table} data={data}
        >
          <CanvasChart
            height={DELAY_HEIGHT} draw={drawBottom} canvasRef={(get) => { delays.current = get; }} onPoint={point} onZoom={zoom} onReset={reset}
            label={`Path delay over time, ${source.name}`}
          />
        </Figure>
      )}
    </>
  );
}

function Distribution({ run, source, suffix }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const [zoomed, setZoomed] = useState<[number, number] | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [from, to] = zoomed ?? spreadRange(source);
  const signed = useMemo(() => signedColumns(source, [from, to], innerWidth < 600 ? 90 : 140), [source, from, to]);
  const range = useMemo<[number, number]>(() => [signed.edges[0]!, signed.edges[signed.edges.length - 1]!], [signed]);
  const limit = source.judged ? num(run.deadline_ns) : Number.NaN;
  const median = num(source.spread?.median_ns);
  const draw = useCallback<Draw>(
    (ctx, width, height, theme) => drawDistribution(ctx, width, height, theme, { run, signed, range, median, limit, pointed }), [run, signed, range, median, limit, pointed]);
  const toNs = (x: number, width: number) => {
    const box = plainBox(width, SCATTER_HEIGHT);
    return range[0] + ((Math.min(Math.max(x, box.left), box.left + box.width) - box.left) / box.width) * (range[1] - range[0]);
  };
  const step = signed.edges[1]! - signed.edges[0]!;
  const rows = signedRows(signed);
  return (
    <Figure
      id={`offset-distribution${suffix}`} caption="Distribution of the offsets" title={`Distribution of the offsets, ${source.name}`} picture={() => canvas.current()}
      controls={<button disabled={zoomed === null} title="Back to the first view (double-click)" onClick={() => setZoomed(null)}>Reset</button>}
      note={`Number of offsets in bins of ${format.latency(step)}, logarithmic. Triangle: the median.${Number.isFinite(limit) && limit > Math.max(-range[0], range[1]) ? ` The limit, \u00b1${format.span(limit)}, lies beyond.` : ""}`}
      table={() => ({ head: ["from", "to", "offsets"], rows, words: 0, invalid: rows.map(() => run.state === "invalid") })}
      data={() => ({
        head: ["run", "validity", "source", "side", "magnitude_from_ns", "count"],
        rows: ([["above", source.from_zero], ["below", source.below_zero]] as const).flatMap(([side, histogram]) =>
          (histogram?.bins.from_ns ?? []).map((ns, i) => [run.label, run.state, source.name, side, ns, histogram!.bins.count[i]])),
      })}
    >
      <CanvasChart
        height={SCATTER_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} label={`Distribution of the offsets of ${source.name}: ${spreadWords(source)}`}
        onReset={() => setZoomed(null)}
        onZoom={(a, b, width) => {
          const [low, high] = [toNs(a, width), toNs(b, width)];
          if (high - low >= 4) setZoomed([low, high]);
        }}
        onPoint={(at, width) => setPointed(at === null ? null : Math.min(signed.counts.length - 1, Math.max(0, Math.floor((toNs(at.x, width) - range[0]) / step))))}
      />
      <p class="note readout">
        {pointed === null || signed.counts[pointed] === undefined
          ? "Point at a bar to read it."
          : `${format.latency(signed.edges[pointed]!)} to ${format.latency(signed.edges[pointed + 1]!)}: ${format.count(signed.counts[pointed]!)} offsets`}
      </p>
    </Figure>
  );
}

function Wedge({ run, source, suffix, dots }: Props & { dots: Dot[] }) {
  const canvas = useRef<Canvas>(() => null);
  const [zoomed, setZoomed] = useState<[number, number] | null>(null);
  const [pointed, setPointed] = useState<Dot | undefined>();
  const range = useMemo(() => zoomed ?? delayRange(dots), [zoomed, dots]);
  const median = num(source.spread?.median_ns);
  const draw = useCallback<Draw>(
    (ctx, width, height, theme) => drawScatter(ctx, width, height, theme, { run, dots, range, median, pointed }), [run, dots, range, median, pointed]);
  const shown = dots.length <= MOST_ROWS ? dots : [...dots].sort((a, b) => b.delay - a.delay).slice(0, MOST_ROWS);
  return (
    <Figure
      id={`wedge${suffix}`} caption="Offset against path delay" title={`Offset against path delay, ${source.name}`} picture={() => canvas.current()}
      controls={<button disabled={zoomed === null} title="Back to the first view (double-click)" onClick={() => setZoomed(null)}>Reset</button>}
      note={`Dashed: where an offset moves to if all the additional delay is in one direction, as queues and an asymmetric path do.${shown.length < dots.length ? ` Its table has the ${MOST_ROWS} longest delays.` : ""}`}
      table={() => ({
        head: ["path delay", "lowest offset", "highest", "at"],
        rows: shown.map((dot) => [format.latency(dot.delay), format.latency(dot.low), format.latency(dot.high), format.span(Math.round(dot.at * 1e9))]),
        words: 0, invalid: shown.map(() => run.state === "invalid"),
      })}
      data={() => ({
        head: ["run", "validity", "source", "offset_ns", "delay_ns", "lowest_ns", "highest_ns", "count"],
        rows: dots.map((dot) => [run.label, run.state, source.name, Math.round(dot.at * 1e9), dot.delay, dot.low, dot.high, dot.count]),
      })}
    >
      <CanvasChart
        height={SCATTER_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} label={`Offset against path delay of ${source.name}, ${format.count(dots.length)} points`}
        onReset={() => setZoomed(null)}
        onZoom={(a, b, width) => {
          const box = plainBox(width, SCATTER_HEIGHT);
          const toDelay = (x: number) => range[0] + ((Math.min(Math.max(x, box.left), box.left + box.width) - box.left) / box.width) * (range[1] - range[0]);
          if (toDelay(b) - toDelay(a) >= 4) setZoomed([toDelay(a), toDelay(b)]);
        }}
        onPoint={(at, width) => {
          if (at === null) return setPointed(undefined);
          const scale = scatterScale(plainBox(width, SCATTER_HEIGHT), dots, range);
          return setPointed(dotAt(scale.seen, scale, at));
        }}
      />
      <p class="note readout">{pointed ? dotWords(run, pointed) : "Point at a dot to read it."}</p>
    </Figure>
  );
}

function allanWords({ averaging, deviation, count }: AllanDot): string {
  return `Averaged over ${format.span(averaging)}: ${ratio(deviation)}, from ${format.count(count)} second differences`;
}

function Allan({ run, source, suffix, dots }: Props & { dots: AllanDot[] }) {
  const canvas = useRef<Canvas>(() => null);
  const [pointed, setPointed] = useState<AllanDot | undefined>();
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawAllan(ctx, width, height, theme, run, dots, pointed), [run, dots, pointed]);
  return (
    <Figure
      id={`allan${suffix}`} caption="Allan deviation" title={`Allan deviation, ${source.name}`} picture={() => canvas.current()}
      note="How much the rate of the clock differs from one averaging time to the next, as a ratio; both axes logarithmic."
      table={() => ({
        head: ["averaging time", "deviation", "second differences"],
        rows: dots.map((dot) => [format.span(dot.averaging), ratio(dot.deviation), format.count(dot.count)]), words: 0, invalid: dots.map(() => run.state === "invalid"),
      })}
      data={() => ({
        head: ["run", "validity", "source", "averaging_ns", "deviation", "count"],
        rows: dots.map((dot) => [run.label, run.state, source.name, dot.averaging, dot.deviation, dot.count]),
      })}
    >
      <CanvasChart
        height={SCATTER_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} label={`Allan deviation of ${source.name}: ${dots.map(allanWords).join("; ")}`}
        onPoint={(at, width) => setPointed(at === null ? undefined : allanAt(plainBox(width, SCATTER_HEIGHT), dots, at))}
      />
      <p class="note readout">{pointed ? allanWords(pointed) : "Point at a diamond to read it."}</p>
    </Figure>
  );
}

/** So many events are listed at once. */
const SHOWN_EVENTS = 12;

function Events({ run, events, leftOut, suffix }: { run: RunView; events: SyncEventView[]; leftOut: number; suffix: string }) {
  if (events.length === 0) return <p class="note" data-events>No change of state, reference or time was seen during the run.</p>;
  const [shown, folded] = foldEvents(events, SHOWN_EVENTS);
  const head = ["time", "into the run", "source", "what", "detail"];
  const cells = ({ at, source, what, detail }: SyncEventView) => [format.wallTime(at.realtime_ns, run.time_zone, 0), format.span(at.offset_ns), source, what, detail];
  const table = (some: SyncEventView[]) => <Table head={head} rows={some.map(cells)} words={5} invalid={some.map(() => run.state === "invalid")} />;
  return (
    <div data-events={suffix}>
      <h3>What changed</h3>
      <p class="note">Times in {run.time_zone ?? "UTC"}, as they were noticed.</p>
      {table(shown)}
      {folded.length > 0 && <details><summary>{format.count(folded.length)} more{folded.every(({ what }) => what === "state") ? " changes of state" : ""}</summary>{table(folded)}</details>}
      {leftOut > 0 && <p class="note">{format.count(leftOut)} later ones were not kept.</p>}
    </div>
  );
}
