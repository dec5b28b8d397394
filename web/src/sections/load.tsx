// What the load of a run did: its parts, what each achieved, and which of them made it late where they took turns.

import { num } from "../bins.ts";
import { Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { LoadTurnView, LoadView, RunView } from "../generated/view.d.ts";

export function Loads({ runs }: { runs: RunView[] }) {
  const loaded = runs.filter((run) => run.load);
  return <>{loaded.map((run) => <Load run={run} load={run.load!} />)}</>;
}

function Load({ run, load }: { run: RunView; load: LoadView }) {
  const share = load.share ? `, let run for ${Math.round(load.share * 100)} % of the time, in turns of random length` : "";
  const turns = load.between ? [...load.turns, load.between] : load.turns;
  const invalid = run.state === "invalid";
  return (
    <div data-load={load.name}>
      <p>{run.label}: load <b>{load.name}</b>{share}.{invalid ? " The run is invalid: nothing below is a result." : ""}</p>
      {turns.length > 0 && (
        <>
          {load.sentences.map((sentence) => <p>{sentence}</p>)}
          <Table
            head={["while it ran", "for", "samples", "worst, us", "CPU", "beyond the deadline", "missed"]} words={1}
            rows={turns.map(turnCells)} invalid={turns.map(() => invalid)}
          />
        </>
      )}
      <h3>What each part achieved</h3>
      <ul>
        {load.parts.map((part) => (
          <li>
            <b>{part.name}</b>{typeof part.cpu_used === "number" ? ` (${part.cpu_used.toFixed(2)} CPUs)` : ""}
            {": "}{[...(part.dropped ? [`did not run: ${part.dropped}`] : part.achieved), ...part.lacks.map((lack) => `without ${lack}`)].join("; ")}
          </li>
        ))}
      </ul>
    </div>
  );
}

function turnCells(turn: LoadTurnView) {
  const seen = num(turn.samples) > 0;
  return [
    turn.name,
    format.span(turn.observed_ns),
    format.count(turn.samples),
    seen && turn.worst_ns !== null && turn.worst_ns !== undefined ? format.microseconds(turn.worst_ns) : null,
    turn.worst_cpu ?? null,
    turn.beyond === null || turn.beyond === undefined ? null : format.count(turn.beyond),
    format.count(turn.missed_periods),
  ];
}
