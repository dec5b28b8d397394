// A canvas of our own that follows width, pixel ratio and theme; what is drawn comes as a function.

import { useEffect, useRef, useState } from "preact/hooks";
import { useTheme, useWidth } from "./chart.tsx";
import type { Theme } from "./theme.ts";

interface Props {
  height: number;
  label: string;
  draw: (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;
  /** Where the pointer is; null once it has left. */
  onPoint?: (at: { x: number; y: number } | null, width: number) => void;
  /** A click or a tap, which is no range. */
  onPick?: (at: { x: number; y: number }, width: number) => void;
  /** A range was drawn up by dragging. */
  onZoom?: (from: number, to: number, width: number) => void;
  onReset?: () => void;
  canvasRef: (canvas: () => HTMLCanvasElement | null) => void;
}

/** A shorter drag is a click. */
const SHORTEST_DRAG = 8;

export function CanvasChart({ height, label, draw, onPoint, onPick, onZoom, onReset, canvasRef }: Props) {
  const [setElement, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const now = useTheme();
  useEffect(() => {
    canvasRef(() => canvas.current);
    const ctx = canvas.current?.getContext("2d");
    if (!ctx || width === 0) return;
    ctx.canvas.width = width * devicePixelRatio;
    ctx.canvas.height = height * devicePixelRatio;
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    draw(ctx, width, height, now);
  }, [width, height, draw, now]);
  return (
    <div ref={setElement} class="chart" style={{ height: `${height}px` }} role="img" aria-label={label}>
      <canvas
        ref={canvas} style={{ width: "100%", height: "100%" }}
        onPointerDown={(event) => onZoom && setDrag({ from: event.offsetX, to: event.offsetX })}
        onPointerMove={(event) => {
          onPoint?.({ x: event.offsetX, y: event.offsetY }, width);
          if (drag) setDrag({ ...drag, to: event.offsetX });
        }}
        onPointerUp={(event) => {
          if (drag && Math.abs(drag.to - drag.from) >= SHORTEST_DRAG) onZoom?.(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to), width);
          else onPick?.({ x: event.offsetX, y: event.offsetY }, width);
          setDrag(null);
        }}
        onPointerCancel={() => setDrag(null)}
        onPointerLeave={() => { onPoint?.(null, width); setDrag(null); }}
        onDblClick={() => onReset?.()}
      />
      {drag && <div class="selection" style={{ left: `${Math.min(drag.from, drag.to)}px`, width: `${Math.abs(drag.to - drag.from)}px` }} />}
    </div>
  );
}
