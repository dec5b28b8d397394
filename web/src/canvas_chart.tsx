// A canvas of our own that follows width, pixel ratio and theme; what is drawn comes as a function.

import { useEffect, useRef } from "preact/hooks";
import { useTheme, useWidth } from "./chart.tsx";
import type { Theme } from "./theme.ts";

interface Props {
  height: number;
  label: string;
  draw: (ctx: CanvasRenderingContext2D, width: number, height: number, theme: Theme) => void;
  /** What lies under the pointer, in words; empty for nothing. */
  onPoint?: (x: number | null, width: number) => void;
  canvasRef: (canvas: () => HTMLCanvasElement | null) => void;
}

export function CanvasChart({ height, label, draw, onPoint, canvasRef }: Props) {
  const [setElement, width] = useWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
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
        onMouseMove={(event) => onPoint?.(event.offsetX, width)} onMouseLeave={() => onPoint?.(null, width)}
      />
    </div>
  );
}
