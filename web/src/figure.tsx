// The frame of every chart: title, what is shown, its controls, its table, its CSV and its picture.

import type { ComponentChildren } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { RunView } from "./generated/view.d.ts";
import { csv, invalidReason, type Cell } from "./model.ts";
import type { State, Store } from "./state.ts";
import { theme } from "./theme.ts";

export const Shared = createContext<Store | null>(null);

/** The reader's choices, and how to change them. */
export function useChoices(): [State, Store] {
  const store = useContext(Shared)!;
  const [state, setState] = useState(store.get());
  useEffect(() => store.subscribe(() => setState(store.get())), [store]);
  return [state, store];
}

export interface TableData {
  head: string[];
  rows: Cell[][];
  /** The first columns are words, the rest are figures. */
  words: number;
  /** Rows of invalid runs. */
  invalid?: boolean[];
  /** Long words are broken, so that the figures beside them stay in view. */
  wraps?: boolean;
}

export function Table({ head, rows, words, invalid, wraps = false }: TableData) {
  return (
    <div class="scroll">
      <table class={wraps ? "wraps" : ""}>
        <thead><tr>{head.map((name, i) => <th class={i < words ? "" : "number"}>{name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row, r) => (
            <tr class={invalid?.[r] ? "invalid" : ""}>
              {row.map((cell, i) => <td class={i < words ? "" : "number"}>{cell === null || cell === undefined ? "\u2013" : String(cell)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface Props {
  id: string;
  title: string;
  /** What stands over the figure: its title, or fewer words; else the section's own title. */
  caption?: boolean | string;
  note?: ComponentChildren;
  controls?: ComponentChildren;
  table: () => TableData;
  /** Columns and rows of the CSV file, in nanoseconds. */
  data: () => { head: string[]; rows: Cell[][] };
  picture: () => HTMLCanvasElement | null;
  children: ComponentChildren;
}

export function Figure({ id, title, caption, note, controls, table, data, picture, children }: Props) {
  const [state, store] = useChoices();
  const [said, setSaid] = useState("");
  const asTable = state.tables.includes(id);
  useEffect(() => {
    if (said === "") return undefined;
    const timer = setTimeout(() => setSaid(""), 2500);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <figure data-figure={id}>
      {caption && <figcaption>{caption === true ? title : caption}</figcaption>}
      <div class="bar">
        <p class="note">{note}<span class="said" role="status">{said}</span></p>
        <div class="buttons" role="toolbar" aria-label={`${title}: tools`}>
          {controls}
          <button aria-pressed={asTable} title="Table instead of the picture (t)" onClick={() => store.toggleTable(id)}>Table</button>
          <button title="Download the data as CSV" data-csv={id} onClick={() => {
            const { head, rows } = data();
            save(`${id}.csv`, new Blob([csv(head, rows)], { type: "text/csv" }));
            setSaid("CSV saved");
          }}>CSV</button>
          <button title="Copy as PNG; saved as a file where copying is not allowed" disabled={asTable} onClick={() => {
            const canvas = picture();
            if (canvas) void copyPicture(canvas, title, id).then(setSaid);
          }}>PNG</button>
        </div>
      </div>
      {asTable ? <Table {...table()} /> : children}
    </figure>
  );
}

export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The chart on paper with its title, since a canvas alone is transparent and says nothing. */
async function copyPicture(canvas: HTMLCanvasElement, title: string, id: string): Promise<string> {
  const head = 30 * devicePixelRatio;
  const page = document.createElement("canvas");
  page.width = canvas.width;
  page.height = canvas.height + head;
  const ctx = page.getContext("2d");
  if (!ctx) return "no picture: the browser gave no canvas";
  const now = theme();
  ctx.fillStyle = now.background;
  ctx.fillRect(0, 0, page.width, page.height);
  ctx.fillStyle = now.text;
  ctx.font = `${14 * devicePixelRatio}px ${now.font}`;
  ctx.fillText(`${document.title}: ${title}`, 10 * devicePixelRatio, 20 * devicePixelRatio);
  ctx.drawImage(canvas, 0, head);
  const blob = await new Promise<Blob | null>((done) => page.toBlob(done, "image/png"));
  if (!blob) return "no picture: the browser refused";
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
    return "PNG copied";
  } catch {
    save(`${id}.png`, blob);
    return "PNG saved";
  }
}

/** A part of the page that the arrow keys stop at. */
export function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return <section id={id} tabIndex={-1} aria-labelledby={`${id}-title`}><h2 id={`${id}-title`}>{title}</h2>{children}</section>;
}

/** Runs with the same key are doubtful for the same reasons, in the same order. */
function reasonsKey(run: RunView): string {
  return JSON.stringify([run.state, run.reasons.map(({ meaning }) => meaning)]);
}

/** The details of one reason: once where all runs agree, else each with its run. */
function whatWasSeen(group: RunView[], index: number): string {
  const details = group.map((run) => ({ label: run.label, detail: run.reasons[index]?.detail ?? "" }));
  const [first] = details;
  if (!first || details.every(({ detail }) => detail === first.detail)) return first?.detail ?? "";
  return details.map(({ label, detail }) => `${label}: ${detail}`).join("; ");
}

/** What the machine gave no means to see, each once, with its runs where others could see it. */
function NotObservable({ runs }: { runs: RunView[] }) {
  const unseen = [...new Set(runs.flatMap((run) => run.not_observable))];
  if (unseen.length === 0) return null;
  const of = (what: string) => runs.filter((run) => run.not_observable.includes(what));
  return (
    <div class="caveat" data-not-observable>
      <p><b>Not observable on this machine.</b> It makes no run worse; whether it happened is not known.</p>
      <ul>
        {unseen.map((what) => {
          const labels = of(what).length === runs.length ? "" : ` (${of(what).map(({ label }) => label).join(", ")})`;
          return <li>{what}{labels === "" ? null : <span class="muted">{labels}</span>}</li>;
        })}
      </ul>
    </div>
  );
}

/** What must be read beside a chart: invalid runs first, then caveats, then what could not be observed. */
export function Caveats({ runs }: { runs: RunView[] }) {
  const doubtful = runs.filter((run) => run.state !== "valid");
  if (doubtful.length === 0 && runs.every((run) => run.not_observable.length === 0)) return null;
  // Runs of one session often share their reasons: said once, with what was seen in each.
  const groups: RunView[][] = [];
  for (const run of doubtful) {
    const same = groups.find(([first]) => first && reasonsKey(first) === reasonsKey(run));
    if (same) same.push(run);
    else groups.push([run]);
  }
  return (
    <div class="caveats">
      {groups.map((group) => {
        const run = group[0]!;
        return (
          <div class={`caveat ${run.state}`}>
            <p>
              <b>{run.state === "invalid" ? "\u2298 Invalid" : "\u25b3 Degraded"}: {group.map(({ label }) => label).join(", ")}.</b>{" "}
              {run.state === "invalid" ? "These numbers do not mean what was asked." : "These numbers stand, with caveats."}
            </p>
            <ul>
              {run.reasons.length === 0 ? <li>{invalidReason(run)}</li> : run.reasons.map((reason, index) => {
                const seen = whatWasSeen(group, index);
                return (
                  <li>{reason.meaning} {seen === "" ? null : <span class="muted">({seen})</span>}
                    <br /><span class="muted">Remedy: {reason.remedy}</span></li>
                );
              })}
            </ul>
            {group.filter(({ lacks }) => lacks.length > 0).map(({ label, lacks }) => (
              <details class="lacks">
                <summary>{label}: what its source does not contain ({lacks.length})</summary>
                <ul>{lacks.map((lack) => <li>{lack}</li>)}</ul>
              </details>
            ))}
          </div>
        );
      })}
      <NotObservable runs={runs} />
    </div>
  );
}
