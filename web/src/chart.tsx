// The one place where uPlot is mounted and disposed. What is drawn comes from pure functions as a ChartSpec.

import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { subscribe, theme, type Theme } from "./theme.ts";

/** How a curve is drawn now. */
export interface Weight {
  width: number;
  alpha: number;
  color: string;
}

export interface ChartSpec {
  options: (width: number, theme: Theme) => Omit<uPlot.Options, "width" | "height">;
  data: uPlot.AlignedData;
  /** Drawn over the curves. */
  overlay: (plot: uPlot, theme: Theme, lift: string | null) => void;
  /** Each curve, while a series is lifted or none is. */
  weights: (lift: string | null, theme: Theme) => Weight[];
}

interface Props {
  spec: ChartSpec;
  height: number;
  lift: string | null;
  label: string;
  onZoom: (range: [number, number]) => void;
  onReset: () => void;
  onCursor: (index: number | null) => void;
  canvasRef: (canvas: () => HTMLCanvasElement | null) => void;
}

/** The width of an element, followed while it changes; 0 before the first layout. */
export function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element) return undefined;
    setWidth(element.clientWidth);
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width];
}

export function useTheme(): Theme {
  const [now, setNow] = useState(theme);
  useEffect(() => subscribe(() => setNow(theme())), []);
  return now;
}

export function Chart({ spec, height, lift, label, onZoom, onReset, onCursor, canvasRef }: Props) {
  const [setElement, width] = useWidth();
  const mount = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const now = useTheme();
  // Read by uPlot's hooks, which outlive a render.
  const latest = useRef({ lift, onZoom, onReset, onCursor });
  latest.current = { lift, onZoom, onReset, onCursor };

  useEffect(() => {
    if (!mount.current || width === 0) return undefined;
    const options = spec.options(width, now);
    const made = new uPlot({
      ...options, width, height,
      legend: { show: false },
      cursor: {
        ...options.cursor,
        drag: { x: true, y: false, setScale: false, dist: 6 },
        bind: {
          dblclick: () => () => { latest.current.onReset(); return null; },
        },
      },
      hooks: {
        draw: [(u) => spec.overlay(u, now, latest.current.lift)],
        setCursor: [(u) => latest.current.onCursor(stepUnder(u))],
        setSelect: [(u) => {
          if (u.select.width < 6) return;
          const from = u.posToVal(u.select.left, "x");
          const to = u.posToVal(u.select.left + u.select.width, "x");
          latest.current.onZoom([Math.max(0, from), to]);
        }],
      },
    }, spec.data, mount.current);
    plot.current = made;
    emphasize(made, spec, latest.current.lift, now);
    // Read by the browser test: when the first pictures stood.
    performance.clearMarks("chart");
    performance.mark("chart");
    const letGo = followTouch(made);
    canvasRef(() => made.ctx.canvas);
    return () => { plot.current = null; letGo(); made.destroy(); };
  }, [spec, width, height, now]);

  useEffect(() => {
    if (plot.current) emphasize(plot.current, spec, lift, now);
  }, [lift]);

  // The height is set before anything is drawn, so that nothing below it jumps.
  return (
    <div ref={setElement} class="chart" style={{ height: `${height}px` }} role="img" aria-label={label}>
      <div ref={mount} />
    </div>
  );
}

/** A finger that moves sideways selects as the mouse does (uPlot knows mice alone); downwards it scrolls the page. */
function followTouch(plot: uPlot): () => void {
  let start: number | null = null;
  const placeOf = (event: PointerEvent) => Math.min(plot.over.clientWidth, Math.max(0, event.clientX - plot.over.getBoundingClientRect().left));
  const select = (event: PointerEvent, done: boolean) => {
    if (start === null || event.pointerType === "mouse") return;
    const place = placeOf(event);
    plot.setCursor({ left: place, top: 1 });
    plot.setSelect({ left: Math.min(start, place), width: Math.abs(place - start), top: 0, height: plot.over.clientHeight }, done);
    if (done) start = null;
  };
  const down = (event: PointerEvent) => { if (event.pointerType !== "mouse") start = placeOf(event); };
  const move = (event: PointerEvent) => select(event, false);
  const up = (event: PointerEvent) => select(event, true);
  const cancel = () => { start = null; plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false); };
  const { over } = plot;
  over.addEventListener("pointerdown", down);
  over.addEventListener("pointermove", move);
  over.addEventListener("pointerup", up);
  over.addEventListener("pointercancel", cancel);
  return () => {
    over.removeEventListener("pointerdown", down);
    over.removeEventListener("pointermove", move);
    over.removeEventListener("pointerup", up);
    over.removeEventListener("pointercancel", cancel);
  };
}

/** The step under the pointer: the last one that begins at or before it (uPlot gives the nearest). */
function stepUnder(plot: uPlot): number | null {
  const { idx, left } = plot.cursor;
  if (idx === null || idx === undefined || left === undefined || left < 0) return null;
  return plot.data[0]![idx]! > plot.posToVal(left, "x") ? Math.max(0, idx - 1) : idx;
}

function emphasize(plot: uPlot, spec: ChartSpec, lift: string | null, now: Theme): void {
  spec.weights(lift, now).forEach(({ width, alpha, color }, i) => {
    const series = plot.series[i + 1];
    if (!series) return;
    series.width = width;
    series.alpha = alpha;
    series.stroke = () => color;
  });
  plot.redraw(true, false);
}
