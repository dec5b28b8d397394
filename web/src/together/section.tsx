// Nodes that act together: what witnesses saw, what sweeps came to, and both beside what others have published.

import { useState } from "preact/hooks";
import { Section, Table } from "../figure.tsx";
import type { PulseRow, ShownLine, ShiftView, TogetherView } from "../generated/view.d.ts";
import * as format from "../format.ts";
import type { Results } from "../model.ts";
import { ScenarioColumns } from "./columns_figure.tsx";
import { knownPairs, SHIFT_HEAD, shiftRows } from "./shift.ts";
import { ShiftDistributions, ShiftOverTime, ShiftParts } from "./shift_figures.tsx";
import { Sweeps } from "./sweep.tsx";

export function Together({ together, results }: { together: TogetherView; results: Results }) {
  const { shifts, sweeps } = together;
  // What the page begins with is not said again.
  const isAlone = shifts.length + sweeps.length === 1;
  return (
    <>
      {shifts.length > 0 && <Section id="shift" title="Shift between nodes, by a witness"><Shifts shifts={shifts} isAlone={isAlone} /></Section>}
      {sweeps.length > 0 && <Section id="leads" title="The smallest lead"><Sweeps sweeps={sweeps} results={results} isAlone={isAlone} /></Section>}
      <Section id="beside" title="Beside what others have published"><Beside together={together} /></Section>
    </>
  );
}

/** One witness at a time; what contradicts a node stands above all of them. */
function Shifts({ shifts, isAlone }: { shifts: ShiftView[]; isAlone: boolean }) {
  const [chosen, setChosen] = useState(() => Math.max(0, shifts.findIndex(({ verdict }) => verdict === "invalid")));
  const shift = shifts[chosen] ?? shifts[0]!;
  const invalid = shifts.filter(({ verdict }) => verdict === "invalid");
  return (
    <>
      {invalid.length > 0 && (
        <div class="caveats">{invalid.map((one) => (
          <div class="caveat invalid">
            <p><b>{"\u2298"} Invalid{isAlone ? "" : `, ${one.name}`}: the witness and what the nodes say do not agree, or it shows too little.</b> These numbers are no result.</p>
            <ul>{one.contradictions.map((words) => <li>{words}.</li>)}</ul>
          </div>
        ))}</div>
      )}
      {shifts.length > 1 && (
        <div class="buttons" role="toolbar" aria-label="Witness">
          {shifts.map(({ name, verdict }, i) => (
            <button aria-pressed={i === chosen} onClick={() => setChosen(i)}>{verdict === "invalid" ? "\u2298 " : ""}{name}</button>
          ))}
        </div>
      )}
      <Shift key={chosen} shift={shift} isNamed={shifts.length > 1} isAlone={isAlone} />
    </>
  );
}

/** What is known of each node's shift, said once where it is the same. */
function exactnessOf(shift: ShiftView): string[] {
  const pairs = knownPairs(shift);
  const all = pairs.map((pair) => `${pair.figures!.exactness}; ${pair.paired}.${pair.not_matched ? ` ${pair.not_matched}.` : ""}`);
  if (all.every((words) => words === all[0])) return all.slice(0, 1);
  return all.map((words, i) => `${pairs[i]!.second}: ${words}`);
}

function Shift({ shift, isNamed, isAlone }: { shift: ShiftView; isNamed: boolean; isAlone: boolean }) {
  const invalid = shift.verdict === "invalid";
  const pairs = knownPairs(shift);
  const several = shift.pairs.length > 1;
  return (
    <div class={invalid ? "acting witnessed invalid-text" : "acting witnessed"}>
      {isNamed && <h3>{shift.name}{invalid ? " (invalid: not a result)" : ""}</h3>}
      <p class="asked">{shift.about}.</p>
      {!invalid && !isAlone && <p>{shift.sentence}</p>}
      {pairs.length === 0
        ? <p class="nothing">Nothing can be said of a shift: the reason stands above.</p>
        : <>
            <Table head={SHIFT_HEAD} rows={shiftRows(shift)} words={1} invalid={shift.pairs.map(() => invalid)} />
            <p class="note">Of each order: how much later {several ? "each node" : pairs[0]!.second} switched than {pairs[0]!.first}. Negative is earlier.</p>
            <ShiftOverTime shift={shift} />
            {exactnessOf(shift).map((words) => <p class="note">{words}</p>)}
            <ShiftDistributions shift={shift} />
            <ShiftParts shift={shift} />
          </>}
      <Lines lines={shift.lines} invalid={invalid} />
    </div>
  );
}

/** What each line shows, as the witness counted it. */
function Lines({ lines, invalid }: { lines: ShownLine[]; invalid: boolean }) {
  const known = (count: number | null | undefined) => (count === null || count === undefined ? null : format.count(count));
  return (
    <details>
      <summary>What each line shows</summary>
      <Table
        wraps head={["node", "channel", "pulses", "numbered", "missing", "extra", "odd", "bounces", "glitches", "cut", "node says it acted"]} words={2}
        rows={lines.map((line) => [
          line.node, line.channel, format.count(line.pulses), known(line.numbered), known(line.missing), known(line.extra), format.count(line.odd),
          format.count(line.bounces), format.count(line.glitches), format.count(line.cut), `${format.count(line.acted)} of ${format.count(line.scheduled)}`])}
        invalid={lines.map(() => invalid)}
      />
      {lines.filter((line) => line.fault).map((line) => <p>{line.node}: {line.fault}.</p>)}
    </details>
  );
}

const ROWS_HEAD = ["source", "min, max and avg are of", "duration", "path", "interval, us", "delay, us", "min, us", "max, us", "avg, us", "missed"];

/** OSIE's columns. On a phone each row is a card, so that no number is out of sight. */
function Rows({ rows, kind }: { rows: PulseRow[]; kind: string }) {
  const source = (row: PulseRow) => `${row.source}${row.published ? " (published)" : row.invalid ? " (invalid)" : ""}`;
  const cells = (row: PulseRow) => [source(row), row.of, row.duration, row.path, row.interval, row.lead, row.min, row.max, row.mean, row.missed];
  return (
    <div class="scroll">
      <table class="pulses" data-rows={kind}>
        <thead><tr>{ROWS_HEAD.map((name, i) => <th class={i < 4 ? "" : "number"}>{name}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr class={row.invalid ? "invalid" : row.published ? "published" : ""}>
              {cells(row).map((cell, i) => <td class={i < 4 ? "" : "number"} data-head={i < 2 ? undefined : ROWS_HEAD[i]}>{cell ?? "\u2013"}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Beside({ together }: { together: TogetherView }) {
  const { shift_rows: shifts, own_rows: own, costs, apart } = together;
  const isMeasured = shifts.some(({ published }) => !published);
  return (
    <>
      <h3>Shift between nodes</h3>
      {!isMeasured && <p class="nothing">No shift of these nodes was seen by a witness: only what is published stands here. See one with: punctual pulse shift RUN CAPTURE -o shift.json</p>}
      <Rows rows={shifts} kind="shift" />
      <p class="note">How far apart both switched, without the sign. Delay: how long after its schedule each order was to be carried out. Published: {together.rows_source}.</p>
      {own.length > 0 && (
        <>
          <h3>What the nodes say of themselves</h3>
          <Rows rows={own} kind="own" />
          <p class="note">No shift between nodes: each row is of one node, on the clock that it acts by, and rests on that clock.</p>
        </>
      )}
      <ScenarioColumns
        id="line-costs" title="Cost of setting and clearing a line" columns={costs} source={together.columns_source}
        about="The paper's figure 9: from before the write to after it, logarithmic."
      />
      <ScenarioColumns
        id="scenarios" title="Shift between nodes by scenario" columns={apart} source={together.columns_source}
        about="The paper's figure 10, logarithmic: the size of the mean, since which of two nodes comes first is arbitrary; the maximum is to either side, and there is no minimum."
      />
    </>
  );
}
