// Truth against reading, and everything else that a calibration asks for.

import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { num } from "../bins.ts";
import { boundOf, conditionName, drawCalibration, groupAt, groupsOf, kindName, lanesOf, pictureHeight, signed, summaryOf, type Group } from "../calibration.ts";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { CalibrationRowView, CalibrationView } from "../generated/view.d.ts";

function words(group: Group): string {
  const { found, within, exceptions, wrong, least, mean, most } = summaryOf(group);
  const head = `${group.measurement}, ${kindName(group.kind)} for ${format.span(group.lengthNs)}, ${conditionName(group.condition)}`;
  const beyond = [exceptions > 0 ? `${exceptions} ${exceptions === 1 ? "exception" : "exceptions"}` : "", wrong > 0 ? `${wrong} wrong` : ""].filter((part) => part !== "");
  const differences = found === 0 ? "" : `; ${signed(least)} to ${signed(most)} us, mean ${signed(mean)}`;
  return `${head}: ${found} of ${group.rows.length} found, ${within} within ${boundOf(group)}${beyond.map((part) => `, ${part}`).join("")}${differences}`;
}

/** The readings of one measurement: their differences have a scale of their own. */
function Readings({ calibration, measurement }: { calibration: CalibrationView; measurement: string }) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<Group | undefined>();
  const rows = useMemo(() => calibration.rows.filter((row) => row.measurement === measurement), [calibration, measurement]);
  const groups = useMemo(() => groupsOf(rows), [rows]);
  const lanes = useMemo(() => lanesOf(groups), [groups]);
  const draw = useCallback(
    (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Parameters<typeof drawCalibration>[3]) =>
      drawCalibration(ctx, width, height, theme, lanes), [lanes]);
  const missed = groups.map(summaryOf);
  const anyMissed = missed.some(({ missedOf }) => missedOf > 0);
  return (
    <Figure
      id={`calibration-${measurement}`} caption title={`Reading minus truth: ${measurement}`} picture={() => canvas.current()}
      note="Each mark is one injected delay: dot idle, triangle under load, diamond an exception, cross wrong. The bar is the bound, fixed beforehand."
      table={() => ({
        head: ["measured", "injected", "length", "condition", "found", "within", "exceptions", "wrong", "bound", "least, us", "mean, us", "most, us", ...(anyMissed ? ["missed periods right"] : [])],
        rows: groups.map((group, i) => {
          const { found, within, exceptions, wrong, least, mean, most, missedRight, missedOf } = missed[i]!;
          const number = (ns: number) => (found === 0 ? "\u2013" : signed(ns));
          return [group.measurement, kindName(group.kind), format.span(group.lengthNs), conditionName(group.condition), `${found} of ${group.rows.length}`,
            String(within), String(exceptions), String(wrong), boundOf(group), number(least), number(mean), number(most),
            ...(anyMissed ? [missedOf === 0 ? "\u2013" : `${missedRight} of ${missedOf}`] : [])];
        }),
        words: 4,
      })}
      data={() => ({
        head: ["boot", "condition", "measurement", "kind", "asked_length_ns", "truth_ns", "baseline_ns", "reading_ns", "difference_ns", "least_ns", "most_ns", "exception_ns", "missed_periods", "outcome"],
        rows: rows.map((row) => [row.boot, row.condition, row.measurement, row.kind, row.asked_length_ns, row.truth_ns, row.baseline_ns,
          row.reading_ns, row.difference_ns, row.least_ns, row.most_ns, row.exception_ns, row.missed?.reading, row.outcome]),
      })}
    >
      <CanvasChart
        height={pictureHeight(lanes)} label={`Reading minus truth of ${measurement}, for each injected delay`} draw={draw} canvasRef={(get) => { canvas.current = get; }}
        onPoint={(at) => setPointed(at === null ? undefined : groupAt(lanes, at.y))}
      />
      <p class="note readout">{pointed ? words(pointed) : "Point at a line to read its numbers."}</p>
    </Figure>
  );
}

function Beyond({ rows }: { rows: CalibrationRowView[] }) {
  if (rows.length === 0) return <p class="muted">None: every reading lies within its bound.</p>;
  return (
    <div class="scroll"><table>
      <thead><tr>
        <th>outcome</th><th>boot</th><th>measured</th><th>injected</th><th class="number">length</th><th class="number">truth, us</th><th class="number">baseline, us</th>
        <th class="number">reading, us</th><th class="number">difference, us</th><th class="number">allowed, us</th><th class="number">exception up to, us</th>
      </tr></thead>
      <tbody>{rows.map((row) => (
        <tr>
          <td class={row.outcome === "exception" ? "" : "broken-text"}>{row.outcome === "exception" ? "exception" : row.outcome === "not-found" ? "not found" : "wrong"}</td>
          <td>{row.boot}</td><td>{row.measurement}</td><td>{kindName(row.kind)}</td><td class="number">{format.span(row.asked_length_ns)}</td>
          <td class="number">{format.microseconds(row.truth_ns)}</td><td class="number">{format.microseconds(row.baseline_ns)}</td>
          <td class="number">{row.reading_ns === null || row.reading_ns === undefined ? "\u2013" : format.microseconds(row.reading_ns)}</td>
          <td class="number">{row.difference_ns === null || row.difference_ns === undefined ? "\u2013" : signed(num(row.difference_ns))}</td>
          <td class="number">{signed(num(row.least_ns))} to {signed(num(row.most_ns))}</td><td class="number">{signed(num(row.exception_ns))}</td>
        </tr>
      ))}</tbody>
    </table></div>
  );
}

function Checks({ calibration }: { calibration: CalibrationView }) {
  const failed = calibration.checks.filter(({ holds }) => !holds);
  const held = calibration.checks.filter(({ holds }) => holds);
  const table = (checks: CalibrationView["checks"]) => (
    <div class="scroll"><table>
      <thead><tr><th>holds</th><th>what</th><th>boot</th><th>found</th></tr></thead>
      <tbody>{checks.map(({ boot, name, holds, found }) => (
        <tr><td class={holds ? "" : "broken-text"}>{holds ? "yes" : "no"}</td><td>{name}</td><td>{boot === "" ? "all" : boot}</td><td>{found}</td></tr>
      ))}</tbody>
    </table></div>
  );
  return (
    <>
      {failed.length > 0 && table(failed)}
      {held.length > 0 && <details open={failed.length === 0 && held.length <= 12}><summary>{held.length} hold</summary>{table(held)}</details>}
    </>
  );
}

export function Calibration({ calibration }: { calibration: CalibrationView }) {
  const measurements = [...new Set(groupsOf(calibration.rows).map(({ measurement }) => measurement))];
  const beyond = calibration.rows.filter(({ outcome }) => outcome !== "within")
    .sort((a, b) => Number(a.outcome === "exception") - Number(b.outcome === "exception"));
  return (
    <>
      {measurements.length === 0 && <p class="nothing">No delay was injected: this calibrates nothing. Repeat it with: punctual lab calibrate</p>}
      {measurements.map((measurement) => <Readings key={measurement} calibration={calibration} measurement={measurement} />)}
      <h3>Beyond their bounds</h3>
      <Beyond rows={beyond} />
      <h3>Counts, clocks, baseline and controls</h3>
      <Checks calibration={calibration} />
    </>
  );
}
