// What the load of a run did: its parts, what each achieved, and which of them made it late where they took turns.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { LoadTurnView, LoadView, RunView } from "../generated/view.d.ts";

export function Loads({ runs }: { runs: RunView[] }) {
  const loaded = runs.filter((run) => run.load);
  return <>{loaded.map((run) => <Load run={run} load={run.load!} />)}</>;
}

function Load({ run, load }: { run: RunView; load: LoadView }) {
  const turns = load.between ? [...load.turns, load.between] : load.turns;
  const invalid = run.state === "invalid";
  return (
    <div data-load={load.name}>
      <p>{run.label}: {load.sentence}.{invalid ? " The run is invalid: nothing below is a result." : ""}</p>
      {turns.length > 0 && (
        <>
          {load.sentences.map((sentence) => <p>{sentence}</p>)}
          <Turns turns={turns} invalid={invalid} />
        </>
      )}
      {load.parts.length > 0 && (
        <>
          <h3>What each part achieved</h3>
          <ul>
            {load.parts.map((part) => (
              <li>
                <b>{part.name}</b>{typeof part.cpu_used === "number" ? ` (${part.cpu_used.toFixed(2)} CPUs)` : ""}
                {": "}{[...(part.dropped ? [`did not run: ${part.dropped}`] : part.achieved), ...part.lacks.map((lack) => `without ${lack}`)].join("; ")}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

const FIGURES = ["for", "samples", "worst, us", "CPU", "beyond the deadline", "missed"];

/** A row for each turn, with a bar as long as its worst wake-up. */
function Turns({ turns, invalid }: { turns: LoadTurnView[]; invalid: boolean }) {
  const longest = Math.max(1, ...turns.map((turn) => num(turn.worst_ns ?? 0)));
  return (
    <div class="scroll"><table class="parts">
      <thead><tr><th>while it ran</th><th></th>{FIGURES.map((name) => <th class="number">{name}</th>)}</tr></thead>
      <tbody>
        {turns.map((turn) => (
          <tr class={invalid ? "invalid" : ""}>
            <td>{turn.name}</td>
            <td class="part-bar" aria-hidden><span class="whole" style={{ width: `${((100 * num(turn.worst_ns ?? 0)) / longest).toFixed(1)}%` }} /></td>
            {figuresOf(turn).map((figure) => <td class="number">{figure ?? "\u2013"}</td>)}
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}

function figuresOf(turn: LoadTurnView) {
  const seen = num(turn.samples) > 0;
  return [
    format.span(turn.observed_ns),
    format.count(turn.samples),
    seen && turn.worst_ns !== null && turn.worst_ns !== undefined ? format.microseconds(turn.worst_ns) : null,
    turn.worst_cpu ?? null,
    turn.beyond === null || turn.beyond === undefined ? null : format.count(turn.beyond),
    format.count(turn.missed_periods),
  ];
}
