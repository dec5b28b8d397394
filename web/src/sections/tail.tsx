// How sure, how long: the sentence, whether the process stays the same, and the worst case of a time to come.

import { useCallback, useRef, useState } from "preact/hooks";
import { num } from "../bins.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure, Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { TailView } from "../generated/view.d.ts";
import { hasSeveralLatencies, type Results } from "../model.ts";
import { drawMaxima, drawReturns } from "../tail.ts";
import type { Theme } from "../theme.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;

const us = (ns: number | null | undefined) => (ns === null || ns === undefined ? "\u2013" : format.microseconds(Math.round(ns)));

export function HowSure({ results }: { results: Results }) {
  const [chosen, setChosen] = useState(0);
  const tail = results.tails[chosen] ?? results.tails[0]!;
  const run = results.runs.find(({ id }) => id === tail.run);
  const limit = tail.claim ? num(tail.claim.limit_ns) : num(run?.deadline_ns);
  // If some time span is refused, the sentence gave the first reason.
  const stated = tail.expectations.some(({ words: row }) => row.refusal) ? 1 : 0;
  return (
    <div class="tail">
      {results.tails.length === 1 && hasSeveralLatencies(results.runs.find(({ id }) => id === tail.run)) && <p class="note">{tail.label}</p>}
      {results.tails.length > 1 && (
        <div class="buttons" role="toolbar" aria-label="Run">
          {results.tails.map(({ label }, i) => <button aria-pressed={i === chosen} onClick={() => setChosen(i)}>{label}</button>)}
        </div>
      )}
      <p class="sentence">{tail.sentence}</p>
      {tail.claim && <p class="claim"><b>Claim: {tail.claim.word}.</b> {tail.claim.sentence}</p>}
      {tail.refusals.length > stated && (
        <details><summary>{stated > 0 ? "What else speaks against it" : "No one fit describes it all"} ({tail.refusals.length - stated})</summary>
          <ul>{tail.refusals.slice(stated).map((refusal) => <li>{refusal}</li>)}</ul>
        </details>
      )}
      {tail.maxima.max_ns.length > 0 && (
        <>
          <Stationary tail={tail} limit={limit} invalid={run?.state === "invalid"} />
          <Returns tail={tail} limit={limit} />
        </>
      )}
      {tail.by_cause && <Causes of={tail.by_cause} />}
      <p>{tail.model_free}</p>
      <p class="note">{tail.how} {tail.notes.join(" ")}</p>
    </div>
  );
}

/** How often each cause comes and how large it is, and what would be left without it. */
function Causes({ of: { sentence, table } }: { of: NonNullable<TailView["by_cause"]> }) {
  return (
    <div class="by-cause">
      <p>{sentence}</p>
      <p class="note">Causes of the samples above {table.above}:</p>
      <Table
        head={["cause", "samples", "times a day (90 %)", "worst", "worst left without it"]} words={1} wraps
        rows={table.rows.map((row) => [row.cause, row.samples, row.times_a_day, row.worst, row.worst_left])}
      />
    </div>
  );
}

/** That a test shows no change is not that there is none: of few intervals it sees only a great one. */
const stays = (tail: TailView) => (tail.stationary ? `Of ${tail.maxima.start_ns.length} intervals no change is shown` : tail.change_ns == null ? "That is not known" : "No");

function Stationary({ tail, limit, invalid }: { tail: TailView; limit: number; invalid: boolean }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawMaxima(ctx, width, height, theme, tail, limit, invalid), [tail, limit, invalid]);
  const { maxima } = tail;
  return (
    <Figure
      id="tail-maxima" caption title={`Does it stay the same? ${invalid ? "The run is invalid" : stays(tail)}`}
      picture={() => canvas.current()} note={<>{tail.sentence.includes(tail.stationarity) ? "" : tail.stationarity} Each dot is the worst of {format.span(maxima.length_ns)}, in us; bars are the medians of equal parts.</>}
      table={() => ({
        head: ["from", "worst, us"],
        rows: maxima.start_ns.map((start, i) => [format.span(start), us(num(maxima.max_ns[i]))]),
        words: 1,
      })}
      data={() => ({ head: ["start_ns", "length_ns", "max_ns"], rows: maxima.start_ns.map((start, i) => [start, maxima.length_ns, maxima.max_ns[i]]) })}
    >
      <CanvasChart height={220} label="Interval maxima in the order of time" draw={draw} canvasRef={(get) => { canvas.current = get; }} />
    </Figure>
  );
}

function Returns({ tail, limit }: { tail: TailView; limit: number }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawReturns(ctx, width, height, theme, tail, limit), [tail, limit]);
  return (
    <Figure
      id="tail" caption title="How bad can it get?" picture={() => canvas.current()}
      note={`The worst of a time to come, in us, by how long it is (logarithmic). Band: ${Math.round(tail.level * 100)} of 100 outcomes; line: typical; rings: maxima that were seen, by how long it takes to see one as large.`}
      table={() => ({
        head: ["within", "by, or why not", "typical worst", tail.interval, "beyond the worst seen"],
        rows: tail.expectations.map(({ words: row }) => [row.within, row.refusal ?? row.by, row.typical, row.interval, row.beyond_worst_seen]),
        words: 2, wraps: true, invalid: tail.expectations.map(({ words: row }) => row.interval == null),
      })}
      data={() => ({
        head: ["horizon_ns", "low_ns", "typical_ns", "high_ns", "seen_max_ns"],
        rows: [
          ...tail.curve.horizon_ns.map((ns, i) => [ns, tail.curve.low_ns[i], tail.curve.typical_ns[i], tail.curve.high_ns[i], null]),
          ...tail.seen.horizon_ns.map((ns, i) => [ns, null, null, null, tail.seen.max_ns[i]]),
        ],
      })}
    >
      <CanvasChart height={300} label="The worst case by the time to come" draw={draw} canvasRef={(get) => { canvas.current = get; }} />
    </Figure>
  );
}
