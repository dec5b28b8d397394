// The figures of a shift: over time, its distribution, what its mean is made of.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { ShiftPairView, ShiftView } from "../generated/view.d.ts";
import { num } from "../bins.ts";
import { signedColumns, signedRows } from "../sync.ts";
import type { Doubted } from "../sync_axes.ts";
import { timeScale } from "../sync_over_time.ts";
import { drawDistribution, plainBox, SCATTER_HEIGHT } from "../sync_spread.ts";
import type { Theme } from "../theme.ts";
import { drawParts, partsHeight } from "./parts.ts";
import { drawShift, keyRows, knownPairs, lengthOf, orderCount, readout, shiftBox, shiftColumns, shiftHeight, shiftRange, signed } from "./shift.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;
type Canvas = () => HTMLCanvasElement | null;

interface Props {
  shift: ShiftView;
}

const doubtOf = (shift: ShiftView): Doubted => ({
  state: shift.verdict === "invalid" ? "invalid" : "valid", invalid_because: shift.contradictions[0] ?? null });

/** One line for each node against the first, with its error. */
export function ShiftOverTime({ shift }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const [zoomed, setZoomed] = useState<[number, number] | null>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const end = lengthOf(shift);
  const range = useMemo<[number, number]>(() => zoomed ?? [0, end], [zoomed, end]);
  const pairs = knownPairs(shift);
  const boxOf = (width: number) => shiftBox(width, shiftHeight(shift, width), keyRows(shift, width));
  const columnsAt = useCallback((width: number) => pairs.map((pair) => shiftColumns(pair, range, Math.max(40, Math.round(boxOf(width).width)))), [shift, range]);
  const draw = useCallback<Draw>((ctx, width, height, theme) => {
    const columns = columnsAt(width);
    drawShift(ctx, width, height, theme, { shift, columns, range, vertical: shiftRange(shift, columns), cursor });
  }, [shift, range, columnsAt, cursor]);
  const toSeconds = (x: number, width: number) => timeScale(boxOf(width), range).toSeconds(x);
  const pointed = useMemo(() => columnsAt(600), [columnsAt]);
  const isExact = pairs.every(({ figures }) => figures!.error_ns != null);
  const block = Math.max(...pairs.map(({ over_time: track }) => track.length_ns));
  return (
    <Figure
      id="shift-time" caption="Shift over time" title={`Shift over time, ${shift.name}`} picture={() => canvas.current()}
      controls={<button disabled={zoomed === null} title="Back to the first view (double-click)" onClick={() => setZoomed(null)}>Reset</button>}
      note={`Later than ${pairs[0]!.first} is up; strokes from the lowest to the highest of ${format.span(Math.round(block))}, or of a column of the picture, never averaged. ${isExact ? "Band: the error of each." : "How exact each is, the capture does not say."}`}
      table={() => ({
        head: ["node", "from", "orders", "lowest", "mean", "highest"], words: 2, invalid: rowsOf(pairs).map(() => shift.verdict === "invalid"), rows: rowsOf(pairs),
      })}
      data={() => ({
        head: ["node", "against", "validity", "from_ns", "orders", "min_ns", "mean_ns", "max_ns", "error_ns"],
        rows: pairs.flatMap(({ first, second, over_time: track, figures }) => track.from_ns.map((from, i) => [
          second, first, shift.verdict === "invalid" ? "invalid" : "valid", from, track.orders[i], track.min_ns[i], track.mean_ns[i], track.max_ns[i], figures!.error_ns])),
      })}
    >
      <CanvasChart
        height={shiftHeight(shift, Math.min(1072, innerWidth - 48))} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`Shift over time: ${pairs.map(({ second, figures }) => `${second} ${signed(figures!.min_ns)} to ${signed(figures!.max_ns)}`).join("; ")}`}
        onPoint={(at, width) => setCursor(at === null ? null : toSeconds(at.x, width))}
        onZoom={(from, to, width) => {
          const [a, b] = [toSeconds(from, width), toSeconds(to, width)];
          if (b > a) setZoomed([a, b]);
        }}
        onReset={() => setZoomed(null)}
      />
      <p class="note readout">{cursor === null ? "Point at the plot to read a moment." : readout(shift, pointed, cursor)}</p>
    </Figure>
  );
}

/** So many stretches have a row; more are joined, and the CSV file has all. */
const MOST_ROWS = 200;

function rowsOf(pairs: ShiftPairView[]) {
  return pairs.flatMap(({ second, over_time: track }) => {
    const step = Math.ceil(track.from_ns.length / MOST_ROWS);
    const rows = [];
    for (let i = 0; i < track.from_ns.length; i += step) {
      const of = (values: number[]) => values.slice(i, i + step);
      const orders = track.orders.slice(i, i + step).map(num);
      const total = orders.reduce((sum, one) => sum + one, 0);
      const mean = of(track.mean_ns).reduce((sum, ns, k) => sum + ns * orders[k]!, 0) / total;
      rows.push([second, format.span(track.from_ns[i]!), format.count(total), signed(Math.min(...of(track.min_ns))), signed(mean), signed(Math.max(...of(track.max_ns)))]);
    }
    return rows;
  });
}

export function ShiftDistributions({ shift }: Props) {
  return <div class="pair">{knownPairs(shift).map((pair, i) => <Distribution shift={shift} pair={pair} suffix={i === 0 ? "" : `-${i + 1}`} />)}</div>;
}

function Distribution({ shift, pair, suffix }: Props & { pair: ShiftPairView; suffix: string }) {
  const canvas = useRef<Canvas>(() => null);
  const [zoomed, setZoomed] = useState<[number, number] | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const figures = pair.figures!;
  const room = Math.max(2, (figures.max_ns - figures.min_ns) * 0.04);
  const [from, to] = zoomed ?? [figures.min_ns - room, figures.max_ns + room];
  const columns = useMemo(() => signedColumns(pair, [from, to], innerWidth < 600 ? 90 : 140), [pair, from, to]);
  const range = useMemo<[number, number]>(() => [columns.edges[0]!, columns.edges.at(-1)!], [columns]);
  const limit = num(shift.limit_ns);
  const median = num(figures.median_ns);
  const doubt = doubtOf(shift);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawDistribution(
    ctx, width, height, theme, { run: doubt, signed: columns, range, median, limit, pointed, name: `${pair.second} less ${pair.first}` }), [shift, columns, range, median, limit, pointed]);
  const toNs = (x: number, width: number) => {
    const box = plainBox(width, SCATTER_HEIGHT);
    return range[0] + ((Math.min(Math.max(x, box.left), box.left + box.width) - box.left) / box.width) * (range[1] - range[0]);
  };
  const step = columns.edges[1]! - columns.edges[0]!;
  const rows = signedRows(columns);
  return (
    <Figure
      id={`shift-distribution${suffix}`} caption={`Distribution, ${pair.second}`} title={`Distribution of the shift of ${pair.second} against ${pair.first}`} picture={() => canvas.current()}
      controls={<button disabled={zoomed === null} title="Back to the first view (double-click)" onClick={() => setZoomed(null)}>Reset</button>}
      note={`Number of orders in bins of ${format.latency(step)}, logarithmic. Triangle: the median.${Number.isFinite(limit) && limit > Math.max(-range[0], range[1]) ? ` The limit, \u00b1${format.span(limit)}, lies beyond.` : ""}`}
      table={() => ({ head: ["from", "to", "orders"], rows, words: 0, invalid: rows.map(() => shift.verdict === "invalid") })}
      data={() => ({
        head: ["node", "against", "validity", "side", "magnitude_from_ns", "count"],
        rows: ([["later", pair.from_zero], ["earlier", pair.below_zero]] as const).flatMap(([side, histogram]) => (histogram?.bins.from_ns ?? []).map((ns, i) => [
          pair.second, pair.first, doubt.state, side, ns, histogram!.bins.count[i]])),
      })}
    >
      <CanvasChart
        height={SCATTER_HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`Distribution of the shift of ${pair.second}: ${signed(figures.min_ns)} to ${signed(figures.max_ns)}, mean ${signed(figures.mean_ns)}`}
        onReset={() => setZoomed(null)}
        onZoom={(a, b, width) => {
          const [low, high] = [toNs(a, width), toNs(b, width)];
          if (high - low >= 4) setZoomed([low, high]);
        }}
        onPoint={(at, width) => setPointed(at === null ? null : Math.min(columns.counts.length - 1, Math.max(0, Math.floor((toNs(at.x, width) - range[0]) / step))))}
      />
      <p class="note readout">
        {pointed === null || columns.counts[pointed] === undefined
          ? "Point at a bar to read it."
          : `${signed(columns.edges[pointed]!)} to ${signed(columns.edges[pointed + 1]!)}: ${orderCount(columns.counts[pointed]!)}`}
      </p>
    </Figure>
  );
}

/** The parts of the mean of each node. */
export function ShiftParts({ shift }: Props) {
  const canvas = useRef<Canvas>(() => null);
  const pairs = useMemo(() => knownPairs(shift).filter(({ parts }) => parts.length > 0), [shift]);
  const invalid = shift.verdict === "invalid";
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawParts(ctx, width, height, theme, pairs, invalid), [pairs, invalid]);
  const unknown = knownPairs(shift).filter(({ not_split: why }) => why);
  const words = (pair: ShiftPairView) => `${pair.second}: ${pair.not_split}.`;
  return (
    <>
      {pairs.length > 0 && (
        <Figure
          id="shift-parts" caption="What the mean shift is made of" title={`What the mean shift is made of, ${shift.name}`} picture={() => canvas.current()}
          note="Each part begins where the one above it ends, and the last one ends at the mean (triangle); what makes the node earlier goes to the left. Strokes: what a part can be at least and at most, by the records and the capture. A rest whose stroke does not reach back to its beginning has no reason."
          table={() => ({
            head: ["node", "part", "likely", "at least", "at most"], words: 2,
            rows: pairs.flatMap((pair) => pair.parts.map((part) => [pair.second, part.words, signed(part.likely_ns), signed(part.lower_ns), signed(part.upper_ns)])),
            invalid: pairs.flatMap((pair) => pair.parts.map(() => invalid)),
          })}
          data={() => ({
            head: ["node", "against", "validity", "part", "likely_ns", "lower_ns", "upper_ns"],
            rows: pairs.flatMap((pair) => pair.parts.map((part) => [
              pair.second, pair.first, invalid ? "invalid" : "valid", part.words, part.likely_ns, part.lower_ns, part.upper_ns])),
          })}
        >
          <CanvasChart
            height={partsHeight(pairs)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
            label={pairs.map((pair) => `${pair.second}: ${pair.parts.map((part) => `${part.words} ${signed(part.likely_ns)}`).join(", ")}`).join("; ")}
          />
        </Figure>
      )}
      {unknown.map((pair) => <p>{words(pair)[0]!.toUpperCase() + words(pair).slice(1)}</p>)}
    </>
  );
}
