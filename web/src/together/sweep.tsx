// What sweeps for the smallest lead came to: the lead that was needed beside the one that was given, run by run and as a distribution.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { SweepCycleView, SweepView } from "../generated/view.d.ts";
import type { Results } from "../model.ts";
import { LatencyPlot } from "../sections/latency.tsx";
import type { Theme } from "../theme.ts";
import { drawLeads, leadRows, leadsHeight, LEADS_HEAD, leadText, lineAtY, neededRuns } from "./leads.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;

export function Sweeps({ sweeps, results, isAlone }: { sweeps: SweepView[]; results: Results; isAlone: boolean }) {
  return <>{sweeps.map((sweep, i) => <Sweep sweep={sweep} results={results} suffix={i === 0 ? "" : `-${i + 1}`} isAlone={isAlone} isNamed={sweeps.length > 1} />)}</>;
}

interface SweepProps {
  sweep: SweepView;
  results: Results;
  suffix: string;
  isNamed: boolean;
  /** The page begins with its sentence. */
  isAlone: boolean;
}

function Sweep({ sweep, results, suffix, isNamed, isAlone }: SweepProps) {
  const [chosen, setChosen] = useState(() => Math.max(0, sweep.cycles.findIndex(({ lead_ns: lead }) => lead != null)));
  const cycle = sweep.cycles[chosen];
  return (
    <div class="acting swept">
      {isNamed && <h3>{sweep.name}</h3>}
      {!isAlone && <p>{sweep.sentence}</p>}
      {sweep.cycles.length === 0
        ? <p class="nothing">No cycle was tried. Sweep with: punctual pulse sweep -o FOLDER</p>
        : <>
            <Leads cycles={sweep.cycles} suffix={suffix} />
            <ul class="cycles">{sweep.cycles.map(({ sentence }) => <li>{sentence}</li>)}</ul>
            {sweep.cycles.length > 1 && (
              <div class="buttons" role="toolbar" aria-label="Cycle">
                {sweep.cycles.map(({ cycle_ns: ns }, i) => <button aria-pressed={i === chosen} onClick={() => setChosen(i)}>cycle {format.span(ns)}</button>)}
              </div>
            )}
            {cycle && <Needed key={chosen} cycle={cycle} results={results} suffix={suffix} />}
          </>}
    </div>
  );
}

/** A row for each run of each cycle. */
function Leads({ cycles, suffix }: { cycles: SweepCycleView[]; suffix: string }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState("");
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawLeads(ctx, width, height, theme, cycles), [cycles]);
  const rows = leadRows(cycles);
  return (
    <Figure
      id={`sweep-leads${suffix}`} caption="Lead needed beside lead given" title="Lead needed beside lead given" picture={() => canvas.current()}
      note="Stroke: what was needed, from the median over 99 % and 99.9 % to the worst (diamond). Bar: the lead that was given. In color: fresh orders that confirmed a lead (dot); a cross: an attempt that missed an order. Nothing is claimed of explorations."
      table={() => ({ head: LEADS_HEAD, rows, words: 2, wraps: true })}
      data={() => ({
        head: ["cycle_ns", "run", "confirmed", "lead_ns", "orders", "missed", "needed_p50_ns", "needed_p99_ns", "needed_p99_9_ns", "needed_worst_ns"],
        rows: cycles.flatMap(({ cycle_ns: cycle, leads }) => leads.map((row) => [
          cycle, row.words, String(row.confirmed), row.lead_ns, row.orders, row.missed, row.p50_ns, row.p99_ns, row.p99_9_ns, row.worst_ns])),
      })}
    >
      <CanvasChart
        height={leadsHeight(cycles)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`Lead needed beside lead given: ${cycles.map(({ cycle_ns: ns, word, lead_ns: lead }) => `cycle ${format.span(ns)} ${word}${lead == null ? "" : ` ${format.span(lead)} ahead`}`).join("; ")}`}
        onPoint={(at) => {
          const found = at === null ? undefined : lineAtY(cycles, at.y);
          setPointed(found ? leadText(found) : "");
        }}
      />
      <p class="note readout two">{pointed === "" ? "Point at a run to read its numbers." : pointed}</p>
    </Figure>
  );
}

function Needed({ cycle, results, suffix }: { cycle: SweepCycleView; results: Results; suffix: string }) {
  const runs = useMemo(() => neededRuns(cycle, results), [cycle, results]);
  const title = `The lead that orders needed at a cycle of ${format.span(cycle.cycle_ns)}`;
  if (runs.length === 0) return <p class="nothing">The records of this cycle are not on the page. Name the sweep{"\u2019"}s folder: punctual report FOLDER</p>;
  return (
    <>
      <LatencyPlot id={`needed${suffix}`} title={title} caption={title} what="orders" limit="confirmed lead" runs={runs} caveats={false} />
      <p class="note">{cycle.lead_ns == null ? "No lead is confirmed at this cycle." : `The limit is the lead that is confirmed, ${format.span(cycle.lead_ns)}.`}</p>
    </>
  );
}
