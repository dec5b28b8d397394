// What made the worst samples late: in a sentence, as shares, as a table, and the timeline of each of the worst.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { num } from "../bins.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import {
  ACTIVITIES, BEGIN, causeName, classesOf, drawShares, drawTimeline, explainedOf, gapsOf, HUES, partsOf, percent, pieceAt, piecesOf, pieceText, placedOf, scaleOf, sharesHeight,
  stretchAt, stretchesOf, stretchText, SURE, timelineHeight, windowOf, type Activity, type Certainty, type Explained, type Piece, type Stretch,
} from "../causes.ts";
import { Figure, useChoices } from "../figure.tsx";
import * as format from "../format.ts";
import type { Exact, ExplanationView, RunView } from "../generated/view.d.ts";
import { placeName, type Results } from "../model.ts";
import type { Theme } from "../theme.ts";
import { FindingLink } from "./finding_link.tsx";
import { Time } from "./worst.tsx";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;

export function Sure({ certainty }: { certainty: Certainty }) {
  return <span class="sure" title={SURE[certainty].means}><span aria-hidden>{SURE[certainty].sign}</span> {certainty}</span>;
}

/** The remedy, with a link to the related finding if the page holds it. */
export function Remedy({ remedy, finding, results }: { remedy: string; finding?: string | null | undefined; results: Results }) {
  const held = finding && results.findings.some(({ id }) => id === finding);
  return <>{remedy}{held ? <> {"\u2013"} <FindingLink id={finding} /></> : null}</>;
}

function Shares({ id, run, explanation }: { id: string; run: RunView; explanation: ExplanationView }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<Piece | undefined>();
  const invalid = run.state === "invalid";
  const draw = useCallback<Draw>((ctx, width, _, theme) => drawShares(ctx, width, theme, explanation, invalid), [explanation, invalid]);
  const rows = explanation.shares.flatMap((share) => [
    ...explanation.causes.map((cause, i) => ({ of: share.of, total: share.total, cause: causeName(cause), certainty: String(cause.certainty), samples: share.causes[i]!, percent: share.percents[i]! })),
    { of: share.of, total: share.total, cause: "not explained", certainty: "\u2013", samples: share.not_explained, percent: share.not_explained_percent },
  ]);
  const find = (at: { x: number; y: number }, width: number) => setPointed(pieceAt(piecesOf(explanation, width), at));
  return (
    <Figure
      id={id} caption={`Causes of ${explanation.shares[0]!.of}`} title={`Causes, ${run.label}`} picture={() => canvas.current()}
      note={<>Numbers are those of the table below. Solid: shown; dotted: likely; empty: unknown; hatched: not explained, nothing is known of them.</>}
      table={() => ({
        head: ["of", "cause", "how sure", "samples", "of", "share"],
        rows: rows.map(({ of, total, cause, certainty, samples, percent: share }) =>
          [of, cause, certainty, format.count(samples), format.count(total), share]),
        words: 3, invalid: rows.map(() => invalid),
      })}
      data={() => ({
        head: ["run", "validity", "of", "cause", "certainty", "samples", "total"],
        rows: rows.map(({ of, total, cause, certainty, samples }) => [run.label, run.state, of, cause, certainty, samples, total]),
      })}
    >
      <CanvasChart
        height={sharesHeight(explanation)} draw={draw} canvasRef={(get) => { canvas.current = get; }} onPick={find}
        label={rows.map(({ of, total, cause, samples }) => `${cause}: ${format.count(samples)} of ${format.count(total)} ${of}`).join("; ")}
        onPoint={(at, width) => (at === null ? setPointed(undefined) : find(at, width))}
      />
      <p class="note readout">{pointed ? pieceText(explanation, pointed) : "Point at a piece to read it."}</p>
    </Figure>
  );
}

/** More are folded. */
const SHOWN_CAUSES = 10;

function Totals({ results, run, explanation }: { results: Results; run: RunView; explanation: ExplanationView }) {
  const [all, setAll] = useState(false);
  const invalid = run.state === "invalid" ? "invalid" : "";
  const missing = num(explanation.outliers) - num(explanation.explained);
  return (
    <div class="scroll"><table class="causes">
      <thead><tr>
        <th></th><th>cause</th><th>how sure</th><th class="number">samples</th><th class="number">worst</th><th class="number">took, together</th><th>what to change</th>
      </tr></thead>
      <tbody>
        {explanation.causes.slice(0, all ? undefined : SHOWN_CAUSES).map((cause, i) => (
          <tr class={invalid}>
            <td class="number muted">{i + 1}</td><td>{causeName(cause)}</td><td><Sure certainty={cause.certainty} /></td>
            <td class="number" data-head="samples">{format.count(cause.samples)}<span class="muted"> of {format.count(explanation.explained)}</span></td>
            <td class="number" data-head="worst">{format.latency(cause.worst_ns)}</td><td class="number" data-head="took">{format.latency(cause.took_ns)}</td>
            <td><Remedy remedy={cause.remedy} finding={cause.finding} results={results} /></td>
          </tr>
        ))}
        {!all && explanation.causes.length > SHOWN_CAUSES && (
          <tr><td></td><td colSpan={6}><button class="more" onClick={() => setAll(true)}>{"\u2026"} and {explanation.causes.length - SHOWN_CAUSES} more: show all</button></td></tr>
        )}
        {missing > 0 && (
          <tr class="hatched"><td></td><td>not explained</td><td>nothing is known</td><td class="number" data-head="samples">{format.count(missing)}</td><td class="number" data-head="worst">{"\u2013"}</td><td class="number" data-head="took">{"\u2013"}</td>
            <td>{num(explanation.not_recorded) > 0 ? `${format.count(explanation.not_recorded)} came while an earlier one was being read: a higher threshold (--above) leaves fewer` : "they were not read"}</td></tr>
        )}
      </tbody>
    </table></div>
  );
}

/** Every wake-up in its parts: a bar as long as its p99.9 in each row, the darker piece up to the median. */
function Parts({ run, explanation }: { run: RunView; explanation: ExplanationView }) {
  const parts = explanation.parts!;
  const invalid = run.state === "invalid" ? "invalid" : "";
  // A part that was not recorded has no bar, and a dash for each number.
  const ns = (value: Exact | null | undefined) => num(value) || 0;
  const latency = (value: Exact | null | undefined) => (value === null || value === undefined ? "\u2013" : format.latency(value));
  const longest = Math.max(1, ...parts.rows.map((row) => ns(row.p999_ns)));
  const width = (value: Exact | null | undefined) => `${(100 * ns(value) / longest).toFixed(1)}%`;
  return (
    <>
      <h3>Each wake-up in its parts</h3>
      <p class="note">{parts.sentence} Bars: up to the median, and paler up to the p99.9.</p>
      <div class="scroll"><table class="parts">
        <thead><tr><th>part</th><th></th><th class="number">median</th><th class="number">p99.9</th><th class="number">max</th></tr></thead>
        <tbody>
          {parts.rows.map((row) => (
            <tr class={invalid}>
              <td title={row.name}>{row.words}</td>
              <td class="part-bar" aria-hidden><span style={{ width: width(row.p999_ns) }} /><span style={{ width: width(row.median_ns) }} /></td>
              <td class="number" data-head="median">{latency(row.median_ns)}</td><td class="number" data-head="p99.9">{latency(row.p999_ns)}</td><td class="number" data-head="max">{latency(row.max_ns)}</td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </>
  );
}

function OneRun({ results, run, at, named, repeated }: { results: Results; run: RunView; at: number; named: boolean; repeated: boolean }) {
  const explanation = run.explanation!;
  const invalid = run.state === "invalid";
  const classes = classesOf(explanation);
  // What could not be seen is most often the same for all runs: it is said once, with the first.
  return (
    <div class={`explained ${invalid ? "is-invalid" : ""}`}>
      {named && <h3>{run.label}{invalid ? " (invalid)" : ""}</h3>}
      {invalid && <div class="caveats"><div class="caveat invalid"><p><b>{"\u2298"} Invalid: not a result.</b></p></div></div>}
      {explanation.sources.length === 0
        ? <p class="nothing">{explanation.sentence}</p>
        : <p class={`asked ${invalid ? "invalid-text" : ""}`}>{explanation.sentence}{explanation.change && !invalid && <> <b>What to change:</b> <Remedy {...explanation.change} results={results} />.</>}</p>}
      {classes.length < explanation.causes.length && (
        <p class="note classes">By class, of {format.count(explanation.explained)} explained: {classes.map(([words, samples]) => `${words} ${format.count(samples)}`).join(", ")}.</p>
      )}
      {explanation.shares.length > 0 && <Shares id={`causes-${at}`} run={run} explanation={explanation} />}
      {explanation.causes.length > 0 && <Totals results={results} run={run} explanation={explanation} />}
      {explanation.parts && <Parts run={run} explanation={explanation} />}
      {!repeated && explanation.missing.length > 0 && (
        <div class="caveats"><div class="caveat degraded"><p><b>{"\u25b3"} Not seen</b>, and what it takes:</p>
          <ul>{explanation.missing.map((missing) => <li>{missing}</li>)}</ul></div></div>
      )}
      {(explanation.cost || explanation.sources.length > 0) && (
        <p class="note">{explanation.sources.length > 0 && `Seen by: ${explanation.sources.join("; ")}. `}{explanation.cost}</p>
      )}
    </div>
  );
}

/** More are folded. */
const SHOWN = 8;
/** More would be thinner than a pixel. */
const STRIP = 40;

function hueOf(activity: Activity): string {
  const hue = HUES[activity];
  if (activity === "untold") return "var(--faint)";
  return hue === null ? "var(--line)" : `var(--series-${hue + 1})`;
}

/** The timeline in miniature, from the schedule to the wake-up. */
function Strip({ explained }: { explained: Explained }) {
  const [, to] = windowOf(explained);
  const all = stretchesOf(explained).filter((one) => one.to > 0).sort((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, STRIP);
  const lanes = 1 + Math.max(0, ...all.map(({ depth }) => depth));
  return (
    <svg class="strip" viewBox="0 0 200 16" preserveAspectRatio="none" aria-hidden>
      {all.map((one) => {
        const left = (200 * Math.max(0, one.from)) / to;
        return <rect x={left} y={16 - (16 * (one.depth + 1)) / lanes} width={Math.max(1.5, (200 * one.to) / to - left)} height={16 / lanes} fill={hueOf(one.activity)} />;
      })}
    </svg>
  );
}

function Picks({ all, picked, pick }: { all: Explained[]; picked: Explained; pick: (key: string) => void }) {
  const several = new Set(all.map(({ run }) => run.id)).size > 1;
  const button = (one: Explained) => (
    <button class={`pick ${one.run.state === "invalid" ? "hatched" : ""}`} data-pick={one.key} aria-pressed={one === picked} onClick={() => pick(one.key)}>
      <span class="number">{format.latency(one.sample.latency_ns)}</span>
      <span>{placeName(one.sample)}{several ? `, ${one.run.label}` : ""}{one.run.state === "invalid" ? " (invalid)" : ""}</span>
      <span class="name">{causeName(one.sample)}</span>
      <Sure certainty={one.sample.certainty} />
      <Strip explained={one} />
    </button>
  );
  return (
    <div class="picks" role="group" aria-label="Late samples, worst first">
      {all.slice(0, SHOWN).map(button)}
      {all.length > SHOWN && <details open={all.indexOf(picked) >= SHOWN || undefined}><summary>{all.length - SHOWN} more</summary><div class="picks">{all.slice(SHOWN).map(button)}</div></details>}
    </div>
  );
}

/** The patterns of the picture. */
const PATTERNS: Partial<Record<Activity, string>> = {
  softirq: "M1 7L7 1M1 13L13 1M7 13L13 7", nmi: "M1 7L7 1M1 13L13 1M7 13L13 7M1 1L13 13M7 1L13 7M1 7L7 13",
  "timer-function": "M1 4H13M1 7H13M1 10H13", measuring: "M4 1V13M7 1V13M10 1V13", untold: "M4 4H5M9 4H10M4 10H5M9 10H10",
};

function Kind({ kind }: { kind: Activity }) {
  return (
    <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden>
      <rect x="1" y="1" width="12" height="12" fill={hueOf(kind)} fill-opacity="0.3" stroke={kind === "idle" ? "var(--faint)" : hueOf(kind)} />
      <path d={PATTERNS[kind] ?? ""} stroke={hueOf(kind)} fill="none" />
    </svg>
  );
}

const KINDS: Activity[] = ["thread", "interrupt", "softirq", "timer-function", "nmi", "measuring", "idle", "untold"];

function Timeline({ all }: { all: Explained[] }) {
  const [state, store] = useChoices();
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [hovered, setHovered] = useState<Stretch | null>(null);
  const [pinned, setPinned] = useState<Stretch | null>(null);
  const picked = all.find(({ key }) => key === state.sample) ?? all[0]!;
  const { run, sample } = picked;
  const stretches = useMemo(() => stretchesOf(picked), [picked]);
  const whole = useMemo(() => windowOf(picked), [picked]);
  const range = state.sampleRange ?? whole;
  const height = timelineHeight(stretches);
  const held = pinned !== null && stretches.includes(pinned) ? pinned : null;
  const lifted = hovered ?? held;
  const draw = useCallback<Draw>((ctx, width, tall, theme) => drawTimeline(ctx, width, tall, theme, picked, range, lifted), [picked, range[0], range[1], lifted]);
  const find = (at: { x: number; y: number }, width: number): Stretch | null => {
    const found = stretchAt(placedOf(stretches, range, width, height), at);
    return found ? stretches.find((one) => one.from === found.from && one.to === found.to && one.depth === found.depth) ?? null : null;
  };
  const pick = (key: string) => { setHovered(null); setPinned(null); store.set({ sample: key, sampleRange: null }); };
  const kinds = KINDS.filter((kind) => stretches.some(({ activity }) => activity === kind));
  const title = `${format.latency(sample.latency_ns)} on ${placeName(sample)}, ${run.label}${run.state === "invalid" ? " (invalid: not a result)" : ""}`;
  return (
    <>
      <h3>Timelines of the worst</h3>
      <Picks all={all} picked={picked} pick={pick} />
      <Figure
        id="timeline" title={`Timeline: ${title}`} caption={title} picture={() => canvas.current()}
        controls={<button disabled={state.sampleRange === null} title="All of it again (double-click)" onClick={() => store.set({ sampleRange: null })}>Reset</button>}
        note={<>{causeName(sample)}, <Sure certainty={sample.certainty} />. {BEGIN[picked.explanation.begin].at} <Time realtimeNs={sample.scheduled.realtime_ns} zone={run.time_zone} />, {format.span(sample.scheduled.offset_ns)} into the run.</>}
        table={() => ({
          head: ["what", "kind", "depth", "from", "to", "gross", "net"],
          rows: stretches.map((one) => [one.name, ACTIVITIES[one.activity], one.depth, format.latency(one.from), format.latency(one.to), format.latency(one.to - one.from), format.latency(one.net)]),
          words: 2, invalid: stretches.map(() => run.state === "invalid"),
        })}
        data={() => ({
          head: ["run", "validity", "cpu", "thread", "scheduled_offset_ns", "latency_ns", "class", "cause", "certainty", "activity", "name", "depth", "from_ns", "to_ns", "net_ns"],
          rows: all.flatMap((each) => stretchesOf(each).map((one) => [
            each.run.label, each.run.state, each.sample.cpu, each.sample.thread, each.sample.scheduled.offset_ns, each.sample.latency_ns, each.sample.class,
            each.sample.name, each.sample.certainty, one.activity, one.name, one.depth, one.from, one.to, one.net])),
        })}
      >
        {stretches.length === 0 ? <p class="nothing">No timeline: what is known of this sample was counted.</p> : (
          <CanvasChart
            height={height} draw={draw} canvasRef={(get) => { canvas.current = get; }}
            label={`What CPU ${sample.cpu} did: ${stretches.filter(({ to }) => to > 0).sort((a, b) => b.net - a.net).slice(0, 6).map((one) => `${one.name} ${format.latency(one.net)} net`).join("; ")}`}
            onPoint={(at, width) => setHovered(at === null ? null : find(at, width))}
            onPick={(at, width) => setPinned(find(at, width))}
            onReset={() => store.set({ sampleRange: null })}
            onZoom={(from, to, width) => {
              const { toNs } = scaleOf(range, width);
              store.set({ sampleRange: [Math.round(toNs(from)), Math.round(toNs(to)) + 1] });
            }}
          />
        )}
        {stretches.length > 0 && <p class="note readout two">{lifted ? stretchText(lifted) : "Point at a stretch to read it; arrows up and down change the sample. The foot is who had the CPU, what interrupts it stands above; the shortest are drawn wider than they are."}</p>}
        <p class="kinds">{kinds.map((kind) => <span><Kind kind={kind} /> {ACTIVITIES[kind]}</span>)}
          {gapsOf(stretches, whole).length > 0 && <span><i class="hatched nothing-recorded" /> nothing recorded{sample.left_out === null ? "" : ", or not kept"}</span>}</p>
        {sample.left_out !== null && <p class="note left-out">{sample.left_out}</p>}
      </Figure>
      <div class="evidence-of">
        <p><b>Evidence:</b> {sample.evidence === "" ? "none is recorded" : sample.evidence}.</p>
        {sample.parts.length > 0 && <div class="scroll"><table class="parts">
          <thead><tr><th>what took the time</th><th class="number">net</th><th class="number">of the latency</th></tr></thead>
          <tbody>{partsOf(picked).map(({ what, net }) => (
            <tr class={run.state === "invalid" ? "invalid" : ""}><td>{what}</td><td class="number">{format.latency(net)}</td><td class="number">{percent(net, num(sample.latency_ns))}</td></tr>
          ))}</tbody>
        </table></div>}
        {sample.stack.length > 0 && <><p class="muted">The timer's interrupt was taken at last in these functions, the innermost first:</p><pre>{sample.stack.join("\n")}</pre></>}
      </div>
    </>
  );
}

export function Causes({ results, runs }: { results: Results; runs: RunView[] }) {
  const all = useMemo(() => explainedOf(runs), [runs]);
  const explained = runs.filter((run) => run.explanation);
  return (
    <>
      {explained.map((run, at) => <OneRun key={run.id} results={results} run={run} at={at} named={runs.length > 1 || Boolean(run.packets)}
        repeated={explained.findIndex((other) => String(other.explanation!.missing) === String(run.explanation!.missing)) < at} />)}
      {all.length > 0 && <Timeline all={all} />}
    </>
  );
}
