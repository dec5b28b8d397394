// The results of following a user's own program beside its latencies: the periods of its threads, who preempted them, and
// what following it cost.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { ProgramView, RunView } from "../generated/view.d.ts";
import {
  costFacts, difference, DRAWN_THREADS, drawPeriods, drawPreemptions, missedWords, periodRowAt, periodRows, periodsHeight,
  preemptionRowAt, preemptionRows, preemptionsHeight, preemptionWords, shortestPeriod, threadCells, threadName, THREADS_HEAD,
  type PeriodRow, type PreemptionRow,
} from "../program.ts";
import type { Theme } from "../theme.ts";

interface Props {
  run: RunView;
  program: ProgramView;
  /** Tells the figures of several runs apart. */
  suffix: string;
}

export function Programs({ runs }: { runs: RunView[] }) {
  const followed = runs.filter((run) => run.program);
  return (
    <>
      {followed.map((run, i) => <Program run={run} program={run.program!} suffix={followed.length > 1 ? `-${i + 1}` : ""} />)}
    </>
  );
}

function Program({ run, program, suffix }: Props) {
  const left = Number(program.threads_left_out);
  return (
    <>
      <p class="followed">
        {suffix === "" ? "" : <b>{run.label}: </b>}
        {program.what}, followed for {format.span(Number(run.duration_ns))}
        {program.ended ? `, until it ended (${program.ended})` : ""}.
        {left > 0 ? ` ${format.count(left)} other ${left === 1 ? "thread" : "threads"} seen and left out.` : ""}
        {run.state === "invalid" ? " The run is invalid: nothing below is a result." : ""}
      </p>
      <Periods run={run} program={program} suffix={suffix} />
      <Preemptions run={run} program={program} suffix={suffix} />
      {program.looked_for.map((sentence) => <p class="muted">Audit: {sentence}.</p>)}
      <h3>What following cost</h3>
      <dl class="facts" data-facts={`cost${suffix}`}>
        {costFacts(program.cost, shortestPeriod(program)).map(({ name, value, under }) => (
          <div class={run.state === "invalid" ? "fact hatched" : "fact"}>
            <dt>{name}</dt>
            <dd>{value}</dd>
            <dd class="muted">{under}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Periods({ run, program, suffix }: Props) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<PeriodRow | undefined>();
  const all = useMemo(() => periodRows(program), [program]);
  const rows = all.slice(0, DRAWN_THREADS);
  const invalid = run.state === "invalid";
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => drawPeriods(ctx, width, height, theme, all.slice(0, DRAWN_THREADS), invalid),
    [all, invalid]);
  if (program.threads.length === 0) return <p class="nothing">No thread of the program is in this run.</p>;
  if (rows.length === 0) {
    return <p class="nothing">No loop was recognized in any thread, so there are no periods to draw: a loop is a wait that is returned to again and again.</p>;
  }
  const undrawn = all.length - rows.length;
  const words = (row: PeriodRow) =>
    `${row.name}: ${format.count(row.activations)} activations, ${difference(row.shortest)} to ${difference(row.longest)} about ${format.latency(row.periodNs)}, ${missedWords(row)}`;
  return (
    <Figure
      id={`periods${suffix}`} caption title="Periods: from one activation to the next" picture={() => canvas.current()}
      note={`Dashed: the period. Left of it: sooner, right of it: later, both logarithmic; height: number, logarithmic. Hatched: late by half a period or more. Diamond: the longest; cross: periods were missed.${undrawn > 0 ? ` ${undrawn} more threads in the table.` : ""}`}
      table={() => ({ head: THREADS_HEAD, rows: program.threads.map(threadCells), words: 2, invalid: program.threads.map(() => invalid) })}
      data={() => ({
        head: ["thread", "tid", "validity", "period_ns", "from_ns", "count"],
        rows: program.threads.flatMap(({ name, tid, period_ns: period, periods: { bins } }) =>
          bins.from_ns.map((from, i) => [name, tid, run.state, period, from, bins.count[i]])),
      })}
    >
      <CanvasChart
        height={periodsHeight(rows)} label={`Periods. ${rows.map(words).join("; ")}`} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        onPoint={(at) => setPointed(at === null ? undefined : periodRowAt(rows, at.y))}
      />
      <p class="note readout">{pointed ? words(pointed) : "Point at a line to read its numbers."}</p>
    </Figure>
  );
}

function Preemptions({ run, program, suffix }: Props) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<PreemptionRow | undefined>();
  const rows = useMemo(() => preemptionRows({ ...program, threads: program.threads.slice(0, DRAWN_THREADS) }), [program]);
  const invalid = run.state === "invalid";
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => drawPreemptions(ctx, width, height, theme, rows, invalid),
    [rows, invalid]);
  if (program.threads.length === 0) return null;
  if (rows.length === 0) {
    return <><h3>Preemptions</h3><p class="nothing">None: no followed thread lost its CPU while it wanted to go on.</p></>;
  }
  const lines = program.threads.flatMap((thread) => thread.preempted_by.map((by) => ({ thread, by })));
  return (
    <Figure
      id={`preemptions${suffix}`} caption title="Preemptions: who got the CPU, and for how long" picture={() => canvas.current()}
      note="Bar: until the preempted thread ran again, in all; diamond: the longest. Logarithmic. The thin bar is that of all together."
      table={() => ({
        head: ["thread", "by", "times", "in all", "longest"],
        rows: lines.map(({ thread, by }) => [threadName(thread), by.name, format.count(by.times), format.span(Number(by.total_ns)), format.latency(Number(by.longest_ns))]),
        words: 2, invalid: lines.map(() => invalid),
      })}
      data={() => ({
        head: ["thread", "tid", "validity", "by", "times", "total_ns", "longest_ns"],
        rows: lines.map(({ thread, by }) => [thread.name, thread.tid, run.state, by.name, by.times, by.total_ns, by.longest_ns]),
      })}
    >
      <CanvasChart
        height={preemptionsHeight(rows)} label={`Preemptions. ${rows.map(preemptionWords).join("; ")}`} draw={draw}
        canvasRef={(get) => { canvas.current = get; }}
        onPoint={(at) => setPointed(at === null ? undefined : preemptionRowAt(rows, at.y))}
      />
      <p class="note readout">{pointed ? preemptionWords(pointed) : "Point at a line to read its numbers."}</p>
    </Figure>
  );
}
