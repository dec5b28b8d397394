// Periods among the late samples: a sentence and a folded plot for each.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { RhythmView, RunView } from "../generated/view.d.ts";
import { drawRhythm, foldedAt, foldedOf, foldedText, HEIGHT, scaleOf, type Folded } from "../rhythm.ts";
import type { Theme } from "../theme.ts";

function OneRhythm({ id, run, rhythm }: { id: string; run: RunView; rhythm: RhythmView }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<number | undefined>();
  const folded = useMemo(() => foldedOf(rhythm), [rhythm]);
  const invalid = run.state === "invalid";
  const lifted = pointed === undefined ? undefined : folded[pointed];
  const draw = useCallback((ctx: CanvasRenderingContext2D, width: number, _: number, theme: Theme) =>
    drawRhythm(ctx, width, theme, rhythm, invalid), [rhythm, invalid]);
  const find = (at: { x: number; y: number }, width: number) => {
    const found = foldedAt(folded, scaleOf(folded, rhythm.period_ns, width), at);
    setPointed(found && folded.indexOf(found));
  };
  const place = (one: Folded) => Math.round(one.at - rhythm.period_ns / 2);
  return (
    <>
      <p class={`asked ${invalid ? "invalid-text" : ""}`}>{rhythm.sentence}.</p>
      <Figure
        id={id} caption={`Every ${rhythm.period}`} title={`Rhythm of ${rhythm.period}, ${run.label}`} picture={() => canvas.current()}
        note={<>Late samples by where in the period they {rhythm.end}. Dots lie in the rhythm, which is shaded; crosses outside of it.</>}
        table={() => ({
          head: ["in the rhythm", "latency, us", "from its middle, us"],
          rows: folded.map((one) => [one.inside ? "yes" : "no", format.microseconds(one.latency), (place(one) / 1000).toFixed(1)]),
          words: 1, invalid: folded.map(() => invalid),
        })}
        data={() => ({
          head: ["run", "validity", "period_ns", "in_rhythm", "latency_ns", "from_middle_ns"],
          rows: folded.map((one) => [run.label, run.state, rhythm.period_ns, one.inside ? "yes" : "no", one.latency, place(one)]),
        })}
      >
        <CanvasChart
          height={HEIGHT} draw={draw} canvasRef={(get) => { canvas.current = get; }} onPick={find} label={rhythm.sentence}
          onPoint={(at, width) => (at === null ? setPointed(undefined) : find(at, width))}
        />
        <p class="note readout">{lifted ? foldedText(lifted, rhythm) : "Point at a sample to read it."}</p>
      </Figure>
    </>
  );
}

export function Rhythms({ runs }: { runs: RunView[] }) {
  const scanned = runs.filter((run) => run.rhythm);
  return (
    <>
      {scanned.map((run) => {
        const { sentence, rhythms, hidden } = run.rhythm!;
        const invalid = run.state === "invalid";
        return (
          <div class={`explained ${invalid ? "is-invalid" : ""}`}>
            {scanned.length > 1 && <h3>{run.label}{invalid ? " (invalid)" : ""}</h3>}
            {invalid && <div class="caveats"><div class="caveat invalid"><p><b>{"⊘"} Invalid: not a result.</b></p></div></div>}
            {rhythms.map((rhythm, i) => <OneRhythm id={`rhythm-${runs.indexOf(run)}-${i}`} run={run} rhythm={rhythm} />)}
            <p class="note">{sentence}{hidden.map((one) => ` Hidden: ${one}.`)}</p>
          </div>
        );
      })}
    </>
  );
}
