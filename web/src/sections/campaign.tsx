// A campaign: which condition helps, the winners measured again, every figure, what was set, the runs, how it was judged.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import {
  comparedOf, drawForest, forestHeight, forestOf, forestRange, forestScale, lineAt, lineText, ranksOf, type Line, type Row,
} from "../campaign.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure, Section, Table, useChoices } from "../figure.tsx";
import * as format from "../format.ts";
import type { Answer, AnswerRows, BarRow, CampaignResult, CampaignView, Figure as FigureView, RunView } from "../generated/view.d.ts";
import { words, type Cell } from "../model.ts";
import { barAt, barText, drawScenario, leastWidth, scenarioHeight } from "../scenario.ts";
import { LatencyPlot } from "./latency.tsx";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawForest>[3]) => void;
type Ranks = Map<string, number | null>;

function lineRows(rows: Row[]): Cell[][] {
  return rows.flatMap(({ answer, word, lines }): Cell[][] => {
    const head = [answer.condition, word];
    if (lines.length === 0) return [[...head, answer.sentence, null, null, null, null, null, null]];
    return lines.map(({ name, words: { a, b, difference, percent, interval, p } }) => [...head, name, a, b, difference, percent, interval, p]);
  });
}

function rowLabel({ answer, word, lines }: Row): string {
  const found = lines.map((line: Line) => `${line.name} ${line.words.difference}`).join(", ");
  return `${answer.condition} ${word}${found === "" ? "" : `: ${found}`}`;
}

/** One row a condition: its word, and how it differs from the first condition. */
function Forest({ id, title, caption, answers, rows, note }: { id: string; title: string; caption: boolean; answers: Answer[]; rows: AnswerRows[]; note: string }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState("");
  const [zoom, setZoom] = useState<[number, number] | null>(null);
  const forest = useMemo(() => forestOf(answers, rows), [answers, rows]);
  const range = useMemo(() => zoom ?? forestRange(forest), [forest, zoom]);
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawForest(ctx, width, height, theme, forest, range), [forest, range]);
  const isDrawn = forest.rows.some(({ lines }) => lines.length > 0);
  const level = answers.find(({ comparison }) => comparison)?.comparison?.method.level;
  return (
    <Figure
      id={id} caption={caption} title={title} picture={() => canvas.current()}
      controls={<button disabled={zoom === null} title="Back to the first view (double-click)" onClick={() => setZoom(null)}>Reset</button>}
      note={!isDrawn ? `${note} Nothing can be concluded yet.` : `${note} A bar is the ${forest.interval} of the difference were the runs repeated, each row by itself. Filled: shown${level === undefined ? "" : `, p at most ${Number(level.toPrecision(3))}`}; open: not shown, or not judged where p is a dash; an arrow: beyond the axis. Worst: the difference of the medians of the runs\u2019 maxima, judged by their ranks, which give no interval.`}
      table={() => ({
        head: ["condition", "answer", "quantity", "first condition", "this one", "difference", "in %", forest.interval, "p"],
        rows: lineRows(forest.rows), words: 3, wraps: true, invalid: forest.rows.flatMap(({ lines }) => (lines.length === 0 ? [true] : lines.map(() => false))),
      })}
      data={() => ({
        head: ["condition", "measurement", "answer", "quantity", "a_ns", "b_ns", "difference_ns", "low_ns", "high_ns", "p_together", "sentence"],
        rows: forest.rows.flatMap(({ answer, lines }) => (lines.length === 0
          ? [[answer.condition, answer.measurement, answer.state, null, null, null, null, null, null, null, answer.sentence]]
          : lines.map((line) => [answer.condition, answer.measurement, answer.state, line.name, line.aNs, line.bNs, line.differenceNs, line.lowNs, line.highNs, line.p, answer.sentence]))),
      })}
    >
      <CanvasChart
        height={forestHeight(forest)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        label={`${title}: ${forest.rows.map(rowLabel).join("; ")}`}
        onPoint={(at) => {
          const found = at === null ? undefined : lineAt(forest, at.y);
          setPointed(!found ? "" : found.line ? `${found.row.answer.condition}, ${lineText(found.line)}.` : `${found.row.answer.condition}, ${found.row.word}: ${found.row.answer.sentence}`);
        }}
        onZoom={(from, to, width) => {
          const { toValue } = forestScale(width, range);
          if (toValue(to) > toValue(from)) setZoom([toValue(from), toValue(to)]);
        }}
        onReset={() => setZoom(null)}
      />
      <p class="note readout">{pointed === "" ? "Point at a row to read it." : pointed}</p>
    </Figure>
  );
}

function Forests({ document, answers, words: all, prefix, note }: { document: CampaignResult; answers: Answer[]; words: AnswerRows[]; prefix: string; note: string }) {
  const compared = comparedOf(document);
  return (
    <>
      {compared.map((measurement) => {
        const isOwn = (place: number) => answers[place]?.measurement === measurement;
        const own = answers.filter((_, place) => isOwn(place));
        const rows = all.filter((_, place) => isOwn(place));
        const title = document.figures.find((figure) => figure.measurement === measurement && figure.variant === "")?.title ?? measurement;
        return own.length > 0 && <Forest id={`${prefix}-${measurement}`} caption={compared.length > 1} title={title} answers={own} rows={rows} note={note} />;
      })}
    </>
  );
}

/** Maximum, minimum, mean and mean + sd of each condition, and the maximum of each run. */
function Scenario({ id, figure, rows, ranks }: { id: string; figure: FigureView; rows: BarRow[]; ranks: Ranks }) {
  const [state] = useChoices();
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState("");
  const lift = state.hover ?? state.lift;
  const known = figure.bars.some(({ condition }) => condition === lift) ? lift : null;
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawScenario(ctx, width, height, theme, figure, ranks, known), [figure, ranks, known]);
  const { bars } = figure;
  const least = leastWidth(bars);
  const width = Math.max(least, Math.min(1072, innerWidth - 48));
  return (
    <Figure
      id={id} caption="All conditions side by side" title={`${figure.title}: all conditions side by side`} picture={() => canvas.current()}
      note={`${words(figure.series)}, logarithmic. Stroke at the foot: minimum; dot: mean; bar: mean to mean + standard deviation; diamond: maximum; rings beside it: the maximum of each run. Dashed: mean and maximum of the first condition.${bars.some(({ min_ns: min }) => min <= 0) ? " Times of 0 and below stand at the foot, since a logarithmic axis has no place for them." : ""}`}
      table={() => ({
        head: ["condition", "runs", "samples", "min", "mean", "sd", "max", "maxima of runs"],
        rows: rows.map(({ condition, runs, samples, min, mean, sd, max, maxima }) => [condition, runs, samples, min, mean, sd, max, maxima.join(", ")]),
        words: 1,
      })}
      data={() => ({
        head: ["condition", "series", "variant", "runs", "samples", "min_ns", "mean_ns", "sd_ns", "max_ns", "maxima_ns"],
        rows: bars.map((bar) => [bar.condition, figure.series, figure.variant, bar.runs, bar.samples, bar.min_ns, bar.mean_ns, bar.sd_ns, bar.max_ns, bar.maxima_ns.join(" ")]),
      })}
    >
      <div class="sideways"><div style={{ minWidth: `${least}px` }}>
        <CanvasChart
          height={scenarioHeight(bars, width)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
          label={`${figure.title}: ${bars.map((bar) => `${bar.condition} maximum ${format.latency(bar.max_ns)}`).join("; ")}`}
          onPoint={(at, now) => {
            const bar = at === null ? undefined : barAt(bars, at.x, now);
            const row = bar && rows.find(({ condition }) => condition === bar.condition);
            setPointed(row ? barText(row) : "");
          }}
        />
      </div></div>
      <p class="note readout">{pointed === "" ? "Point at a condition to read its numbers." : pointed}</p>
    </Figure>
  );
}

function FigureSection({ place, figure, rows, plot, ranks, folded }: { place: number; figure: FigureView; rows: BarRow[]; plot: RunView | null; ranks: Ranks; folded: boolean }) {
  const id = `figure-${place + 1}`;
  const curves = plot && (
    <LatencyPlot id={`${id}-latency`} title={`${figure.title}: distributions`} caption="Distributions" what="samples" runs={[plot]} ranks={ranks} caveats={false} />
  );
  return (
    <Section id={id} title={figure.title}>
      {figure.bars.length === 0
        ? <p class="nothing">No run of it is usable: the runs below say why.</p>
        : <Scenario id={id} figure={figure} rows={rows} ranks={ranks} />}
      {curves && (folded ? <details><summary>Distributions of {figure.title}</summary>{curves}</details> : curves)}
    </Section>
  );
}

function Doubts({ campaign }: { campaign: CampaignView }) {
  const { reasons, document } = campaign;
  const of = document.runs.length;
  const kinds = (["invalid", "degraded"] as const).map((state) => ({ state, own: reasons.filter(({ reason }) => reason.state === state) }));
  return (
    <div class="caveats">
      {kinds.filter(({ own }) => own.length > 0).map(({ state, own }) => (
        <div class={`caveat ${state}`}>
          <p><b>{state === "invalid" ? "\u2298 Invalid runs are left out." : "\u25b3 Degraded runs are used, with caveats."}</b></p>
          <ul>
            {own.map(({ reason, runs }) => (
              <li>{runs} of {of} runs: {reason.meaning} {reason.detail !== "" && <span class="muted">({reason.detail})</span>}
                <br /><span class="muted">Remedy: {reason.remedy}</span></li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

/** So many settings of a condition stand open. */
const MOST_LINES = 8;

function Lines({ lines, none }: { lines: string[]; none: string }) {
  if (lines.length === 0) return <span class="muted">{none}</span>;
  const list = <ul class="plain">{lines.map((line) => <li>{line}</li>)}</ul>;
  return lines.length <= MOST_LINES ? list : <details><summary>{lines.length} settings</summary>{list}</details>;
}

function Conditions({ document }: { document: CampaignResult }) {
  return (
    <div class="scroll"><table class="evidence conditions">
      <thead><tr><th>condition</th><th>runs</th><th>what was changed</th><th>what was refused</th></tr></thead>
      <tbody>
        {document.conditions.map((one) => (
          <tr>
            <td><b>{one.name}</b>{one.is_baseline && <><br /><span class="muted">the one that others are compared with</span></>}
              {one.is_winners_together && <><br /><span class="muted">made of the winners</span></>}</td>
            <td>{one.measured} of {one.planned}{one.unusable > 0 && <><br />{one.unusable} not used</>}{one.degraded > 0 && <><br />{one.degraded} degraded</>}</td>
            <td><Lines lines={one.changed} none={one.measured === 0 ? "not set up yet" : "nothing"} /></td>
            <td><Lines lines={one.refused} none="nothing" /></td>
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}

/** So many runs stand open. */
const MOST_RUNS = 16;

function Runs({ campaign }: { campaign: CampaignView }) {
  const { document, run_reasons: reasons } = campaign;
  if (document.runs.length === 0) return <p class="nothing">No run has been made yet. Go on with: punctual campaign resume FOLDER</p>;
  const unusable = document.runs.map((run) => run.validity === "invalid" || run.unusable !== null && run.unusable !== undefined);
  const several = document.runs.some((run) => run.attempts > 1);
  // What all runs share is shown above: here only what distinguishes them.
  const shared = new Set((reasons[0] ?? []).filter((reason) => reasons.length > 1 && reasons.every((of) => of.includes(reason))));
  const rows = document.runs.map((run, i) => [
    run.number, run.condition + (run.is_confirmation ? " (measured again)" : ""), run.measurement,
    unusable[i] ? `\u2298 not used${run.validity === "invalid" ? ": invalid" : ""}` : run.validity === "degraded" ? "\u25b3 degraded" : "valid",
    (reasons[i] ?? []).filter((reason) => !shared.has(reason)).join("; "), run.file, ...(several ? [run.attempts] : []),
  ]);
  const head = ["visit", "condition", "measurement", "validity", "why", "record", ...(several ? ["attempts"] : [])];
  return (
    <>
      {shared.size > 0 && <p class="note">Of every run: {[...shared].join("; ")}.</p>}
      <div class="runs">
        <Table head={head} rows={rows.slice(0, MOST_RUNS)} words={6} invalid={unusable.slice(0, MOST_RUNS)} />
        {rows.length > MOST_RUNS && (
          <details>
            <summary>{rows.length - MOST_RUNS} more runs</summary>
            <Table head={head} rows={rows.slice(MOST_RUNS)} words={6} invalid={unusable.slice(MOST_RUNS)} />
          </details>
        )}
      </div>
    </>
  );
}

function Judged({ document }: { document: CampaignResult }) {
  const share = (p: number) => `${Number((p * 100).toPrecision(3))} %`;
  const facts: [string, string][] = [
    ["False alarms, all comparisons together", `at most ${share(document.false_alarms)}`],
    ["Comparisons", format.count(document.comparisons)],
    ["False alarms, each comparison", share(document.level_each)],
    ["Repetitions of each condition", format.count(document.repetitions)],
    ["Repetitions below which nothing can be shown", format.count(document.least_repetitions)],
    ["Seed of every order that was drawn", String(document.seed)],
  ];
  return (
    <>
      <p>Whole runs change sides in each test, never samples, since samples of one run are not independent. No difference shown is not the same as equal.</p>
      <table class="evidence"><tbody>{facts.map(([name, value]) => <tr><td>{name}</td><td>{value}</td></tr>)}</tbody></table>
    </>
  );
}

export function Campaign({ campaign }: { campaign: CampaignView }) {
  const { document, tables, distributions } = campaign;
  const ranks = useMemo(() => ranksOf(document), [document]);
  const first = document.conditions.find((condition) => condition.is_baseline)?.name ?? "";
  return (
    <>
      <Section id="knobs" title="Which knob">
        <p class="asked">{document.about}</p>
        {document.answers.length === 0
          ? <p class="nothing">Nothing is compared: {document.runs.length === 0 ? "no run has been made yet. Go on with: punctual campaign resume FOLDER" : "what is measured is shown side by side below."}</p>
          : <Forests document={document} answers={document.answers} words={tables.answers} prefix="knobs" note={`Each condition against the first, ${first}.`} />}
      </Section>
      {document.confirmation.length > 0 && (
        <Section id="anew" title="The winners together, measured again">
          <Forests document={document} answers={document.confirmation} words={tables.confirmation} prefix="anew"
            note={`Runs of their own, made after the winners were known: the winners together against ${first}, both measured again.`} />
        </Section>
      )}
      {document.figures.map((figure, place) => (
        <FigureSection place={place} figure={figure} rows={tables.figures[place] ?? []} plot={distributions[place] ?? null} ranks={ranks} folded={figure.variant !== ""} />
      ))}
      <Section id="conditions" title="Conditions"><Conditions document={document} /></Section>
      <Section id="runs" title="Runs"><Doubts campaign={campaign} /><Runs campaign={campaign} /></Section>
      {document.notes.length > 0 && <Section id="notes" title="Notes">{document.notes.map((note) => <p>{note}</p>)}</Section>}
      <Section id="judged" title="How it was judged"><Judged document={document} /></Section>
    </>
  );
}
