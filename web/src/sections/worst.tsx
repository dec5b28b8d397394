// The worst samples with their time and CPU, and the bursts of missed periods with their recovery.

import { burstsOf, noBursts, recoveryText } from "../bursts.ts";
import * as format from "../format.ts";
import { num } from "../bins.ts";
import type { Exact, RunView } from "../generated/view.d.ts";
import { explainedAs, explainedOf } from "../causes.ts";
import { useChoices } from "../figure.tsx";

/** A time in the node's zone; UTC on hover and for machines. */
export function Time({ realtimeNs, zone }: { realtimeNs: Exact; zone: string | null | undefined }) {
  if (realtimeNs === "0") return <>{format.wallTime(realtimeNs, zone)}</>;
  const utc = `${format.wallTime(realtimeNs, "UTC")} UTC`;
  return <time dateTime={utc.replace(" ", "T").replace(" UTC", "Z")} title={utc}>{format.wallTime(realtimeNs, zone)}</time>;
}

const SHOWN = 12;

export function WorstSamples({ runs }: { runs: RunView[] }) {
  const samples = runs.flatMap((run) => run.worst.map((sample) => ({ run, sample })))
    .sort((a, b) => Number(a.run.state === "invalid") - Number(b.run.state === "invalid") || num(b.sample.latency_ns) - num(a.sample.latency_ns));
  const [, store] = useChoices();
  const explained = explainedOf(runs);
  const zone = runs.find((run) => run.time_zone)?.time_zone ?? "UTC";
  if (runs.every((run) => num(run.samples) === 0)) return <p class="nothing">There is none: no sample was taken.</p>;
  if (samples.length === 0) {
    return <p class="nothing">No single samples were kept: an imported histogram has none. Measure again with: punctual measure wakeup</p>;
  }
  const line = ({ run, sample }: (typeof samples)[number]) => {
    const known = explainedAs(explained, run, sample);
    const late = run.state !== "invalid" && num(sample.latency_ns) > num(run.deadline_ns);
    return (
      <tr class={run.state === "invalid" ? "invalid" : ""}>
        <td class={`number ${late ? "broken-text" : ""}`}>{format.microseconds(sample.latency_ns)}{late ? <span class="flag"> late</span> : null}</td>
        <td>{sample.place}</td>
        <td class="number">{num(sample.missed_periods) === 0 ? "\u2013" : format.count(sample.missed_periods)}</td>
        <td><Time realtimeNs={sample.from.realtime_ns} zone={run.time_zone} /></td>
        <td class="number">{format.span(sample.from.offset_ns)}</td>
        <td>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</td>
        {explained.length > 0 && <td>{known
          ? <a href="#causes" title="Its timeline" onClick={(event) => {
            event.preventDefault();
            store.set({ sample: known.key, sampleRange: null });
            document.querySelector("[data-figure='timeline']")?.scrollIntoView({ block: "start" });
          }}>{sample.cause}</a>
          : <span class="muted">{sample.cause ?? "not looked for"}</span>}</td>}
      </tr>
    );
  };
  const head = (
    <thead><tr>
      <th class="number">latency, us</th><th>series</th><th class="number">missed</th><th>scheduled ({zone})</th>
      <th class="number">into the run</th><th>run</th>
      {explained.length > 0 && <th>cause</th>}
    </tr></thead>
  );
  return (
    <>
      <div class="scroll"><table>{head}<tbody>{samples.slice(0, SHOWN).map(line)}</tbody></table></div>
      {samples.length > SHOWN && (
        <details><summary>{samples.length - SHOWN} more</summary><div class="scroll"><table>{head}<tbody>{samples.slice(SHOWN).map(line)}</tbody></table></div></details>
      )}
      <Bursts runs={runs} zone={zone} />
    </>
  );
}

function Bursts({ runs, zone }: { runs: RunView[]; zone: string }) {
  const all = burstsOf(runs);
  if (all.length === 0) return <><h3>Bursts of late wake-ups</h3><p class="muted">{noBursts(runs)}</p></>;
  const table = (bursts: typeof all) => (
    <div class="scroll"><table>
      <thead><tr>
        <th class="number">worst, us</th><th class="number">periods</th><th class="number">missed</th><th class="number">recovered after</th>
        <th>series</th><th>first late schedule ({zone})</th><th>run</th>
      </tr></thead>
      <tbody>{bursts.map(({ run, row }) => (
        <tr class={run.state === "invalid" ? "invalid" : ""}>
          <td class="number">{format.microseconds(row.worst_ns)}</td><td class="number">{format.count(row.periods)}</td>
          <td class="number">{num(row.missed_periods) === 0 ? "\u2013" : format.count(row.missed_periods)}</td>
          <td class="number">{recoveryText(row)}</td>
          <td>{row.place}</td><td><Time realtimeNs={row.first_scheduled.realtime_ns} zone={run.time_zone} /></td>
          <td>{run.label}{run.state === "invalid" ? " (invalid)" : ""}</td>
        </tr>
      ))}</tbody>
    </table></div>
  );
  return (
    <div data-bursts>
      <h3>Bursts of late wake-ups</h3>
      {table(all.slice(0, SHOWN))}
      {all.length > SHOWN && <details><summary>{all.length - SHOWN} more</summary>{table(all.slice(SHOWN))}</details>}
    </div>
  );
}
