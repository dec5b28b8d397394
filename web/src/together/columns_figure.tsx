// The figure of scenarios side by side.

import { useCallback, useRef, useState } from "preact/hooks";
import { CanvasChart } from "../canvas_chart.tsx";
import { Figure } from "../figure.tsx";
import * as format from "../format.ts";
import type { ScenarioColumn } from "../generated/view.d.ts";
import type { Theme } from "../theme.ts";
import { columnAt, columnRows, columnsHeight, columnsWidth, columnText, COLUMNS_HEAD, drawColumns } from "./columns.ts";

type Draw = (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;

interface Props {
  id: string;
  title: string;
  about: string;
  columns: ScenarioColumn[];
  source: string;
}

/** Nothing where there is no column. */
export function ScenarioColumns({ id, title, about, columns, source }: Props) {
  const canvas = useRef<() => HTMLCanvasElement | null>(() => null);
  const [pointed, setPointed] = useState<ScenarioColumn | undefined>();
  const draw = useCallback<Draw>((ctx, width, height, theme) => drawColumns(ctx, width, height, theme, columns), [columns]);
  if (columns.length === 0) return null;
  const least = columnsWidth(columns);
  const width = Math.max(least, Math.min(1072, innerWidth - 48));
  const hasMin = columns.some(({ min_ns: min }) => min !== null && min !== undefined);
  return (
    <Figure
      id={id} caption title={title} picture={() => canvas.current()}
      note={`${about} ${hasMin ? "Stroke at the foot: minimum; dot" : "Dot"}: mean; bar: mean to mean + standard deviation; diamond: maximum. Gray: published, as far as the text prints it.`}
      table={() => ({ head: COLUMNS_HEAD, rows: columnRows(columns), words: 2, wraps: true, invalid: columns.map(({ invalid }) => invalid) })}
      data={() => ({
        head: ["scenario", "of", "published", "validity", "min_ns", "mean_ns", "sd_ns", "max_ns"],
        rows: columns.map((one) => [one.name, one.about, String(one.published), one.invalid ? "invalid" : "valid", one.min_ns, one.mean_ns, one.sd_ns, one.max_ns]),
      })}
    >
      <div class="sideways"><div style={{ minWidth: `${least}px` }}>
        <CanvasChart
          height={columnsHeight(columns, width)} draw={draw} canvasRef={(get) => { canvas.current = get; }}
          label={`${title}: ${columns.map((one) => `${one.name}${one.max_ns == null ? "" : ` maximum ${format.latency(Math.round(one.max_ns))}`}`).join("; ")}`}
          onPoint={(at, now) => setPointed(at === null ? undefined : columnAt(columns, at.x, now))}
        />
      </div></div>
      <p class="note readout">{pointed ? columnText(pointed) : "Point at a column to read its numbers."}</p>
      <p class="note">Published: {source}.</p>
    </Figure>
  );
}
