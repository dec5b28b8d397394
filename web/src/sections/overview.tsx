// Many runs: their groups as small plots on the same axes, one line for each run, and the details of one at a time.

import { useCallback, useContext, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { num } from "../bins.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import { useWidth } from "../chart.tsx";
import { Figure, Section, Shared, useChoices } from "../figure.tsx";
import * as format from "../format.ts";
import type { GroupView, RunRowView, RunView } from "../generated/view.d.ts";
import { goTo } from "../go_to.ts";
import { shapeOf } from "../marks.ts";
import { figuresIn, isOfProgram, type Results } from "../model.ts";
import { basisText, columnsOf, commonYear, sortChoice, sortedRows, sortOf, stripColumns, stripsOf, worstText, type Column, type Overview, type Strip } from "../overview.ts";
import { columnsIn, drawNames, drawStrips, HEAD, NARROW, stripAt, stripsHeight, stripText, WIDE } from "../strips.ts";
import { theme, type Theme } from "../theme.ts";
import { LatencyPlot } from "./latency.tsx";
import { Swatch } from "./legend.tsx";

/** Narrower figures have no room for names beside their plots. */
const LEAST_WIDE = 760;
/** So many groups can be told apart in one plot. */
const MOST_OVERLAID = 8;
/** So many small plots stand open. */
const MOST_STRIPS = 12;
/** So many lines of the table stand open; on a phone each takes more room. */
const MOST_ROWS = 60;
const MOST_CARDS = 20;

const VERDICT_SIGNS = { "holds": "\u2713", "broken": "\u2715", "cannot-tell": "?", "no-deadline": "\u2013", "empty": "\u2013" } as const;
const STATE_SIGNS = { valid: "", degraded: "\u25b3 ", invalid: "\u2298 " } as const;

function GroupMark({ group }: { group: GroupView }) {
  return <Swatch shape={shapeOf(group.slot ?? null)} rank={group.slot ?? null} />;
}

/** Opens the details of a run, and goes there. */
function useOpen(): (key: string) => void {
  // Not as one who listens: there is a link in every line.
  const store = useContext(Shared)!;
  return (key) => {
    store.set({ run: key, timeRange: null, sample: null, sampleRange: null, clockRange: null });
    // Once it is drawn.
    requestAnimationFrame(() => requestAnimationFrame(() => goTo("run")));
  };
}

/** A link to the details of a run. */
function RunLink({ row, children, title }: { row: RunRowView; children: preact.ComponentChildren; title?: string }) {
  const open = useOpen();
  return <a href="#run" title={title} onClick={(event) => { event.preventDefault(); open(row.key); }}>{children}</a>;
}

function Named({ strip }: { strip: Strip }) {
  const [state, store] = useChoices();
  const { group, row } = strip;
  const chosen = state.group === group.name;
  const words = row === null ? group.tally_words : `${row.verdict_words}${row.state === "valid" ? "" : `; ${row.validity}`}`;
  return (
    <div class="strip-name">
      <button
        aria-pressed={chosen} title={chosen ? `${strip.name}: list all runs again` : `${strip.name}: list the runs of this group alone`} data-group={group.name}
        onClick={() => store.set({ group: chosen ? null : group.name })}
      ><GroupMark group={group} /><span class="name">{strip.name}</span></button>
      <span class="muted" title={words}>{words}</span>
    </div>
  );
}

function Worst({ strip, overview }: { strip: Strip; overview: Overview }) {
  const row = overview.rows.find(({ key }) => key === strip.worst?.run);
  if (strip.worst == null || !row) return <div class="strip-worst muted">{"\u2013"}</div>;
  return (
    <div class="strip-worst">
      <span class={strip.late ? "broken-text" : ""}><b>{format.latency(strip.worst.latency_ns)}</b>{strip.late && " late"}</span>
      <span class="muted">{strip.worst.place}{strip.row === null && <>, run <RunLink row={row}>{row.name}</RunLink></>}{strip.row !== null && <>, <RunLink row={row}>details</RunLink></>}</span>
    </div>
  );
}

function Strips({ strips, all, overview, deadline, canvasRef, setPointed }: {
  strips: Strip[]; all: Strip[]; overview: Overview; deadline: number; canvasRef: (canvas: () => HTMLCanvasElement | null) => void; setPointed: (text: string) => void;
}) {
  const [setElement, width] = useWidth();
  const [cursor, setCursor] = useState<{ place: number; column: number } | null>(null);
  const layout = width >= LEAST_WIDE ? WIDE : NARROW;
  const columns = columnsIn(width, layout);
  const shown = useMemo(() => (width === 0 ? null : stripColumns(strips, deadline, columns, all)), [strips, all, deadline, columns, width === 0]);
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, w: number, h: number, now: Theme) => { if (shown) drawStrips(ctx, w, h, now, strips, shown, deadline, layout, cursor); },
    [strips, shown, deadline, layout, cursor]);
  const height = stripsHeight(strips, layout);
  return (
    <div ref={setElement} class={`strips ${layout === WIDE ? "wide" : "narrow"}`} style={{ height: `${height}px`, "--row": `${layout.row}px`, "--head": `${HEAD}px` }}>
      {shown !== null && (
        <CanvasChart
          height={height} draw={draw} canvasRef={canvasRef} label={strips.map((strip) => `${strip.name}: worst ${worstText(strip.worst)}`).join("; ")}
          onPoint={(at, w) => {
            const here = at === null ? null : stripAt(shown, at, w, layout);
            if (here?.place === cursor?.place && here?.column === cursor?.column) return;
            setCursor(here);
            setPointed(here === null ? "" : stripText(strips, shown, here));
          }}
        />
      )}
      <ul class="strip-texts">
        {strips.map((strip) => <li><Named strip={strip} /><Worst strip={strip} overview={overview} /></li>)}
      </ul>
    </div>
  );
}

/** A copy of a picture with the names that stand beside it on the page. */
function withNames(picture: HTMLCanvasElement | null, strips: Strip[]): HTMLCanvasElement | null {
  const ctx = document.createElement("canvas").getContext("2d");
  if (picture === null || ctx === null) return picture;
  [ctx.canvas.width, ctx.canvas.height] = [picture.width, picture.height];
  ctx.drawImage(picture, 0, 0);
  ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  const width = picture.width / devicePixelRatio;
  drawNames(ctx, width, theme(), strips, width >= LEAST_WIDE ? WIDE : NARROW);
  return ctx.canvas;
}

/** The groups of one plot: those that its deadline is of, or all where there is none. */
function overlaidOf({ groups }: Overview, deadline: number): { drawn: GroupView[]; left: GroupView[] } {
  const isDrawn = ({ histogram, tally }: GroupView) => histogram != null && (!Number.isFinite(deadline) || tally.not_judged < tally.runs);
  return { drawn: groups.filter(isDrawn), left: groups.filter((group) => !isDrawn(group)) };
}

/** Groups as series of one run, for one plot. */
function asRun(groups: GroupView[], deadline: number): RunView {
  return {
    id: "groups", measurement: "wakeup", label: "all runs of each", loaded: true, node: "", state: "valid", reasons: [], lacks: [], not_observable: [],
    started_realtime_ns: "0", duration_ns: 0, samples: 0, worst: [], rows: [], manifest: {}, ...(Number.isFinite(deadline) ? { deadline_ns: deadline } : {}),
    series: groups.map((group) => ({
      name: "", lane: group.name, place: "", variant: "", judged: true, histogram: group.histogram!, figures: figuresIn(group.histogram!), counters: {}, spoiled: [],
      intervals: { start_offset_ns: [], length_ns: [], max_ns: [], count: [], missed_periods: [], heat: { bin: [], count: [] } },
    })),
  };
}

export function Groups({ overview, deadline }: { overview: Overview; deadline: number }) {
  const [state, store] = useChoices();
  const [pointed, setPointed] = useState("");
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const strips = useMemo(() => stripsOf(overview), [overview]);
  const singly = strips.some(({ row }) => row !== null);
  const { drawn, left } = useMemo(() => overlaidOf(overview, deadline), [overview, deadline]);
  const runs = useMemo(() => [asRun(drawn, deadline)], [drawn, deadline]);
  const ranks = useMemo(() => new Map(overview.groups.map(({ name, slot }) => [name, slot ?? null])), [overview]);
  const overlays = drawn.length > 1 && drawn.length <= MOST_OVERLAID;
  const [open, rest] = useMemo(() => [strips.slice(0, MOST_STRIPS), strips.slice(MOST_STRIPS)], [strips]);
  const what = singly ? "run" : "group";
  const button = overlays && (
    <button aria-pressed={state.overlay} title="All groups in one plot, and back" onClick={() => store.set({ overlay: !state.overlay })}>One plot</button>
  );
  if (state.overlay && overlays) {
    return (
      <>
        <LatencyPlot id="groups" title="All groups" what="samples" runs={runs} ranks={ranks} caption="" caveats={false} dashed="" switches={button} />
        {left.length > 0 && <p class="note">Not in this plot, since they have no {Number.isFinite(deadline) ? "deadline or no result" : "distribution"}: {left.map(({ name }) => name).join("; ")}.</p>}
      </>
    );
  }
  const read = (strip: Strip) => num(strip.histogram?.count);
  return (
    <Figure
      id="groups" title={`Samples of each ${what}`} controls={button} picture={() => withNames(canvas.current(), open)}
      note={<>By {overview.grouped_by}. Number of samples by latency, both logarithmic, on the same axes; worst {what} first. Mark: the worst of all{singly ? "" : "; ticks: the worst of each run"}{Number.isFinite(deadline) ? `; line: the deadline, ${format.span(deadline)}` : ""}. Invalid runs are in none. {pointed !== "" && <b>{pointed}</b>}</>}
      table={() => ({
        head: [what, "runs", "samples", "worst", "missed"], words: 2, wraps: true,
        rows: strips.map((strip) => [strip.name, strip.row ? strip.row.validity : strip.group.tally_words, Number.isFinite(read(strip)) ? format.count(strip.histogram!.count) : "\u2013", worstText(strip.worst), missedText(strip.row ? strip.row.missed_periods : strip.group.missed_periods)]),
        invalid: strips.map(({ row, group }) => (row ? row.state === "invalid" : group.tally.invalid === group.tally.runs)),
      })}
      data={() => ({
        head: [what, "bin_from_ns", "count"],
        rows: strips.flatMap((strip) => (strip.histogram?.bins.from_ns ?? []).map((from, i) => [strip.name, from, strip.histogram!.bins.count[i]])),
      })}
    >
      <Strips strips={open} all={strips} overview={overview} deadline={deadline} canvasRef={(get) => { canvas.current = get; }} setPointed={setPointed} />
      {rest.length > 0 && <Rest rest={rest} all={strips} overview={overview} deadline={deadline} what={what} setPointed={setPointed} />}
    </Figure>
  );
}

/** The small plots beyond the first dozen, which are drawn once they are opened. */
function Rest({ rest, all, overview, deadline, what, setPointed }: { rest: Strip[]; all: Strip[]; overview: Overview; deadline: number; what: string; setPointed: (text: string) => void }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{rest.length} more {rest.length === 1 ? what : `${what}s`}</summary>
      {open && <div class="rest"><Strips strips={rest} all={all} overview={overview} deadline={deadline} canvasRef={() => undefined} setPointed={setPointed} /></div>}
    </details>
  );
}

function missedText(missed: RunRowView["missed_periods"]): string {
  return missed == null ? "\u2013" : format.count(missed);
}

/** One cell of a run's line. */
function Cell({ column, row, group, year }: { column: Column; row: RunRowView; group: GroupView; year: string | null }) {
  // On a phone what is not known is left out.
  const text = column.id === "basis" ? basisText(row.basis) : column.id === "missed" ? missedText(row.missed_periods) : column.id === "start" ? row.started_utc : column.text?.(row);
  const isNone = ["node", "kernel", "start", "load", "basis", "missed"].includes(column.id) && (text == null || text === "\u2013");
  const attributes = { class: `${column.number ? "number " : ""}${column.id}${isNone ? " none" : ""}` };
  switch (column.id) {
    case "group": return <td {...attributes}><span class="in"><GroupMark group={group} /><span class="name" title={group.name}>{group.name}</span></span></td>;
    case "run": return <td {...attributes}><RunLink row={row} title={`Details of ${group.name}, ${row.name}`}>{row.name}</RunLink></td>;
    case "start": return <td {...attributes}>{row.started_utc == null ? "\u2013" : <span title={`${row.started_utc} UTC`}>{year === null ? row.started_utc : row.started_utc.slice(5)}</span>}</td>;
    case "worst": {
      if (row.worst == null) return <td {...attributes}><span class="muted">{row.state === "invalid" ? "no result" : "\u2013"}</span></td>;
      return <td {...attributes}><b class={row.verdict === "broken" ? "broken-text" : ""}>{format.microseconds(row.worst.latency_ns)}</b><span class="at muted" title={row.worst.place}>{row.worst.place}</span></td>;
    }
    case "basis": return <td {...attributes}>{text}</td>;
    case "missed": return <td {...attributes}>{text}</td>;
    case "validity": return <td {...attributes}><span class="in" title={row.validity}><span>{STATE_SIGNS[row.state]}{row.validity}</span></span></td>;
    case "verdict": return <td {...attributes}><span class={row.verdict === "broken" ? "broken-text" : ""}><span class="sign" aria-hidden>{VERDICT_SIGNS[row.verdict]}</span> {row.verdict_words}</span></td>;
    default: return <td {...attributes} title={text ?? ""}>{text ?? "\u2013"}</td>;
  }
}

export function Runs({ overview }: { overview: Overview }) {
  const [state, store] = useChoices();
  const [whole, setWhole] = useState(false);
  const { columns, common } = useMemo(() => columnsOf(overview.rows), [overview]);
  const year = useMemo(() => commonYear(overview.rows), [overview]);
  const sorted = useMemo(() => sortedRows(overview, state.sort), [overview, state.sort]);
  const sort = sortOf(state.sort);
  const listed = useMemo(() => (state.group === null ? sorted : sorted.filter(({ group }) => overview.groups[group]!.name === state.group)), [overview, sorted, state.group]);
  const count = whole ? listed.length : Math.min(listed.length, innerWidth < 600 ? MOST_CARDS : MOST_ROWS);
  // The same lines again are not compared cell by cell whenever something else on the page is chosen.
  const lines = useMemo(() => listed.slice(0, count).map((row) => (
    <tr key={row.key} data-run={row.key} class={`${row.state}${row.key === state.run ? " open" : ""}`}>
      {columns.map((column) => <Cell column={column} row={row} group={overview.groups[row.group]!} year={year} />)}
    </tr>
  )), [overview, listed, state.run, columns, year, count]);
  // A table with room for all its columns keeps its head in view of the window; a wider one scrolls in a box of its own.
  const [setRows, width] = useWidth();
  const box = useRef<HTMLElement | null>(null);
  const rowsRef = useCallback((element: HTMLElement | null) => { box.current = element; setRows(element); }, []);
  const [boxed, setBoxed] = useState(false);
  useLayoutEffect(() => {
    const isWider = box.current !== null && (box.current.firstElementChild?.scrollWidth ?? 0) > box.current.clientWidth + 1;
    if (isWider !== boxed) setBoxed(isWider);
  }, [lines, width]);
  const titleOf = ({ id, title }: Column) => (id === "start" && year !== null ? `start ${year} (UTC)` : title);
  return (
    <div class="many">
      <div class="bar">
        <p class="note">
          {state.group === null ? `${format.count(overview.tally.runs)} runs` : `${listed.length} of ${format.count(overview.tally.runs)} runs: ${state.group}`}
          {`, by ${sort.column.title.replace(/,? us$/, "")}${sort.column.id === "worst" && sort.descending ? ", the worst first" : ""}.`}
          {common.length > 0 && ` All of them: ${common.join(", ")}.`} A click on a run shows its details.
        </p>
        <div class="buttons">
          {state.group !== null && <button onClick={() => store.set({ group: null })}>List all</button>}
          <label class="sort-by">Sort by{" "}
            <select value={sort.column.id} onChange={(event) => store.set({ sort: event.currentTarget.value === "worst" ? null : event.currentTarget.value })}>
              {columns.map((column) => <option value={column.id}>{column.title}</option>)}
            </select>
          </label>
        </div>
      </div>
      <div ref={rowsRef} class={boxed ? "rows boxed scroll" : "rows"} tabIndex={boxed ? 0 : undefined}>
        <table>
          <thead><tr>{columns.map((column) => {
            const now = sort.column.id === column.id;
            return (
              <th class={column.number ? "number" : ""} aria-sort={now ? (sort.descending ? "descending" : "ascending") : undefined}>
                <button data-sort={column.id} title={`Sort by ${column.title}`} onClick={() => store.set({ sort: sortChoice(state.sort, column.id) })}>
                  {titleOf(column)}<span class="arrow" aria-hidden>{now ? (sort.descending ? "\u2193" : "\u2191") : ""}</span>
                </button>
              </th>
            );
          })}</tr></thead>
          <tbody>
            {lines}
          </tbody>
        </table>
      </div>
      {listed.length > count && <p class="more-rows"><button onClick={() => setWhole(true)}>Show all {format.count(listed.length)} runs</button></p>}
    </div>
  );
}

/** The head of the details of one run: which one, what is known of it in short, and the ways to others. */
export function OneRun({ overview, results, children }: { overview: Overview; results: Results; children: (results: Results) => preact.ComponentChildren }) {
  const [state, store] = useChoices();
  const open = useOpen();
  const sorted = useMemo(() => sortedRows(overview, state.sort), [overview, state.sort]);
  const at = sorted.findIndex(({ key }) => key === state.run);
  const row = sorted[at];
  const run = row ? results.runs[row.run] : undefined;
  const own = useMemo(() => (run ? { ...results, runs: [run], totals: null, late_causes: null, tails: results.tails.filter(({ run: id }) => id === run.id) } : null), [results, run]);
  if (!row || !run || !own) {
    return <Section id="run" title="One run"><p class="nothing">Choose a run in the table above: its distribution, its worst case over time and its worst samples stand here.</p></Section>;
  }
  const group = overview.groups[row.group]!;
  const facts: [string, string][] = [
    ["node", row.node ?? "not known"], ["kernel", row.kernel ?? "not known"], ["load", row.load ?? "not known"],
    ["start", row.started_utc == null ? "not known" : `${row.started_utc} UTC`], ["duration", num(run.duration_ns) > 0 ? format.span(run.duration_ns) : "not known"],
    ["samples", format.count(row.samples)], ["worst", row.state === "invalid" ? "no result: the run is invalid" : worstText(row.worst)],
    ["validity", row.validity], ["verdict", run.verdict?.reason ?? row.verdict_words],
  ];
  const to = (step: number) => sorted[at + step];
  return (
    <>
      <Section id="run" title={`Run ${run.label}`}>
        <div class="bar">
          <p class="note with-mark"><GroupMark group={group} />{group.name}{isOfProgram(run) ? ", a program" : ""}: run {at + 1} of {sorted.length} in the order of the table.</p>
          <div class="buttons">
            <button disabled={!to(-1)} onClick={() => open(to(-1)!.key)}>{"\u2190"} Run before</button>
            <button disabled={!to(1)} onClick={() => open(to(1)!.key)}>Run after {"\u2192"}</button>
            <button onClick={() => { store.set({ run: null }); goTo("runs"); }}>Close</button>
          </div>
        </div>
        <dl class="about">{facts.map(([name, value]) => <div><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
      </Section>
      {children(own)}
    </>
  );
}
