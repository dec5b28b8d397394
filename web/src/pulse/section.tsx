// Nodes that act together: what became of their orders, how late each node acted, and the lead that orders needed beside the one that
// they had.

import { useMemo } from "preact/hooks";
import { Caveats, Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { ActingNodeView, RunView } from "../generated/view.d.ts";
import { LatencyPlot } from "../sections/latency.tsx";

const latency = (value: number | string | null | undefined) => (value === null || value === undefined ? "\u2013" : format.latency(value));

export function ActingNodes({ runs }: { runs: RunView[] }) {
  return <>{runs.map((run) => <Run run={run} isNamed={runs.length > 1} />)}</>;
}

function Run({ run, isNamed }: { run: RunView; isNamed: boolean }) {
  const pulses = run.pulses!;
  const invalid = run.state === "invalid";
  const sentence = (text: string) => <p>{text[0]!.toUpperCase() + text.slice(1)}.</p>;
  return (
    <div class={invalid ? "acting invalid-text" : "acting"}>
      {isNamed && <h3>{run.label}{invalid ? " (invalid: not a result)" : ""}</h3>}
      <Caveats runs={[run]} />
      <p>{pulses.ordered}.</p>
      {pulses.nodes.length === 0
        ? <p class="nothing">No node was ordered to act. Measure with: punctual pulse send</p>
        : <>
            <Table
              wraps head={["node", "output", ...pulses.counted]} words={2}
              rows={pulses.nodes.map((node) => [node.node, node.output, ...node.counts.map((count) => format.count(count))])}
              invalid={pulses.nodes.map(() => invalid)}
            />
            {sentence(pulses.trials)}
            {sentence(pulses.bursts)}
            <Table
              wraps head={["node", "of each order", "orders", "min", "median", "p99.9", "max"]} words={2}
              rows={pulses.nodes.flatMap((node) => node.rows.map((row) => [
                node.node, row.words, format.count(row.count), latency(row.lowest_ns), latency(row.median_ns), latency(row.p99_9_ns), latency(row.worst_ns)]))}
              invalid={pulses.nodes.flatMap((node) => node.rows.map(() => invalid))}
            />
            {pulses.nodes.flatMap((node) => [node.within, node.needed].filter((text) => text).map((text) => <p>{node.node}: {text}.</p>))}
            {pulses.apart && sentence(pulses.apart)}
          </>}
    </div>
  );
}

/** One series of each node, named by the node, as series of one run. */
function alone(runs: RunView[], indexOf: (node: ActingNodeView) => number | null | undefined, limitOf: (run: RunView) => number | string | null): RunView[] {
  let thread = 0;
  return runs.map((run) => {
    const series = run.pulses!.nodes.flatMap((node) => {
      const index = indexOf(node);
      const found = index === null || index === undefined ? undefined : run.series[index];
      return found ? [{ ...found, lane: runs.length > 1 ? `${run.label}, ${node.node}` : node.node, cpu: null, thread: thread++ }] : [];
    });
    return { ...run, deadline_ns: limitOf(run) as RunView["deadline_ns"], series };
  });
}

/** How late each node acted, with the tolerance as the limit. */
export function ActDistribution({ runs }: { runs: RunView[] }) {
  const shown = useMemo(() => alone(runs, (node) => node.act_series, (run) => run.pulses!.tolerance_ns), [runs]);
  if (shown.every((run) => run.series.length === 0)) return <p class="nothing">There is none: no order was carried out.</p>;
  return <LatencyPlot id="latency" title="How late each node acted" what="orders" runs={shown} caveats={false} />;
}

/** The lead that orders needed, with the one that they had as the limit. */
export function NeededLead({ runs }: { runs: RunView[] }) {
  const shown = useMemo(() => alone(runs, (node) => node.needed_series, (run) => run.pulses!.lead_ns), [runs]);
  if (shown.every((run) => run.series.length === 0)) return <p class="nothing">It is not known: no order arrived.</p>;
  return (
    <>
      <LatencyPlot id="needed-lead" title="The lead that orders needed" what="orders" limit="given lead" runs={shown} caveats={false} />
      <p class="note">The limit is the lead that they had: an order that needed more was not carried out.</p>
    </>
  );
}
