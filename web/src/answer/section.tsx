// Edges that were answered: what was counted, what a witness saw, and what lies between the two.

import { Table } from "../figure.tsx";
import * as format from "../format.ts";
import type { RunView } from "../generated/view.d.ts";

const latency = (value: number | string | null | undefined) => (value === null || value === undefined ? "\u2013" : format.latency(value));

export function Answers({ runs }: { runs: RunView[] }) {
  const answering = runs.filter((run) => run.answers);
  return <>{answering.map((run) => <Run run={run} isNamed={runs.length > 1} />)}</>;
}

function Run({ run, isNamed }: { run: RunView; isNamed: boolean }) {
  const { sentences, shown, worst_seconds } = run.answers!;
  const invalid = run.state === "invalid";
  return (
    <div class={invalid ? "acting invalid-text" : "acting"}>
      {isNamed && <h3>{run.label}{invalid ? " (invalid: not a result)" : ""}</h3>}
      {sentences.map((sentence) => <p>{sentence}</p>)}
      {worst_seconds.length > 0 && (
        <>
          <p>{shown}</p>
          <Table
            head={["at", "answers", "min", "mean", "max", "overruns"]} words={1}
            rows={worst_seconds.map((second) => [
              second.at, format.count(second.samples), latency(second.min_ns), latency(second.mean_ns), second.longest, format.count(second.overruns)])}
            invalid={worst_seconds.map(() => invalid)}
          />
        </>
      )}
    </div>
  );
}
