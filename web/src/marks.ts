// What is drawn over the curves: shapes, labels that avoid each other, limits, hatching. Coordinates are canvas pixels.

import * as format from "./format.ts";
import type { Theme } from "./theme.ts";

export const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "down", "star", "bar"] as const;
export type Shape = (typeof SHAPES)[number];

/** Each of the five worst, or of eight groups, has a shape besides its color, for print and for eyes that do not see it. */
export function shapeOf(rank: number | null): Shape {
  return rank === null ? "circle" : SHAPES[rank % SHAPES.length]!;
}

export function colorOf(rank: number | null, theme: Theme): string {
  return rank === null ? theme.faint : theme.groups[rank % theme.groups.length]!;
}

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** A label that wants to stand near its point. */
export interface Wanted {
  x: number;
  y: number;
  width: number;
  /** More important ones are placed first. */
  weight: number;
}

/**
 * Where each label goes (its box), or null where there is no room left.
 * `ceiling` gives the height of the curves between two places: labels stand above them. They keep off what is `written`.
 */
export function placeLabels(
  wanted: Wanted[], height: number, plot: Box, ceiling: (left: number, right: number) => number, written: Box[] = [],
): (Box | null)[] {
  const placed: Box[] = [...written];
  const result = new Array<Box | null>(wanted.length).fill(null);
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[b]!.weight - wanted[a]!.weight);
  const gap = height * 0.25;
  for (const i of order) {
    const { x, y, width } = wanted[i]!;
    const inside = (wish: number) => Math.min(Math.max(wish, plot.left + gap), plot.left + plot.width - width - gap);
    // Over its point; else beside it, on either side.
    const lefts = [x - width / 2, x - gap, x - width + gap].map(inside);
    const feet = lefts.map((left) => Math.min(y - height * 0.7, ceiling(left - gap, left + width + gap) - gap));
    for (let step = 0; step < 12 * lefts.length && result[i] === null; step += 1) {
      const [side, level] = [step % lefts.length, Math.floor(step / lefts.length)];
      const left = lefts[side]!;
      const top = feet[side]! - height * (1 + level * 1.2);
      if (top < plot.top) continue;
      const box = { left, top, width, height };
      const hit = placed.some((other) =>
        other.left < left + width + gap && left < other.left + other.width + gap
        && other.top < top + height && top < other.top + other.height);
      if (hit) continue;
      placed.push(box);
      result[i] = box;
    }
  }
  return result;
}

export function drawShape(
  ctx: CanvasRenderingContext2D, shape: Shape, x: number, y: number, size: number, filled: boolean, color: string, paper: string,
): void {
  ctx.beginPath();
  const r = size / 2;
  switch (shape) {
    case "circle": ctx.arc(x, y, r, 0, Math.PI * 2); break;
    case "square": ctx.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8); break;
    case "triangle": ctx.moveTo(x, y - r * 1.1); ctx.lineTo(x + r * 1.1, y + r * 0.9); ctx.lineTo(x - r * 1.1, y + r * 0.9); ctx.closePath(); break;
    case "diamond": ctx.moveTo(x, y - r * 1.25); ctx.lineTo(x + r * 1.25, y); ctx.lineTo(x, y + r * 1.25); ctx.lineTo(x - r * 1.25, y); ctx.closePath(); break;
    case "down": ctx.moveTo(x, y + r * 1.1); ctx.lineTo(x + r * 1.1, y - r * 0.9); ctx.lineTo(x - r * 1.1, y - r * 0.9); ctx.closePath(); break;
    case "star":
      for (let i = 0; i < 10; i += 1) {
        const [out, angle] = [i % 2 === 0 ? r * 1.3 : r * 0.55, -Math.PI / 2 + (i * Math.PI) / 5];
        ctx.lineTo(x + out * Math.cos(angle), y + out * Math.sin(angle));
      }
      ctx.closePath();
      break;
    case "bar": ctx.rect(x - r * 0.5, y - r * 1.25, r, r * 2.5); break;
    case "cross": {
      const a = r * 0.4;
      const b = r * 1.1;
      const outline: [number, number][] = [
        [-a, -b], [a, -b], [a, -a], [b, -a], [b, a], [a, a], [a, b], [-a, b], [-a, a], [-b, a], [-b, -a], [-a, -a]];
      outline.forEach(([dx, dy], i) => (i === 0 ? ctx.moveTo(x + dx, y + dy) : ctx.lineTo(x + dx, y + dy)));
      ctx.closePath();
      break;
    }
  }
  ctx.fillStyle = filled ? color : paper;
  ctx.strokeStyle = color;
  ctx.lineWidth = size * 0.18;
  ctx.fill();
  ctx.stroke();
}

/** Text with a halo of the paper's color, so that curves under it do not disturb. */
export function drawText(ctx: CanvasRenderingContext2D, text: string, x: number, y: number, color: string, halo: string): void {
  ctx.lineJoin = "round";
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.strokeStyle = halo;
  ctx.strokeText(text, x, y);
  ctx.fillStyle = color;
  ctx.fillText(text, x, y);
}

/** The deadline across a chart whose time runs to the right, at height y. */
export function drawDeadline(
  ctx: CanvasRenderingContext2D, theme: Theme, box: Box, y: number, deadline: number, broken: boolean, pixelRatio: number,
): void {
  const color = broken ? theme.broken : theme.text;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5 * pixelRatio;
  ctx.beginPath();
  ctx.moveTo(box.left, y);
  ctx.lineTo(box.left + box.width, y);
  ctx.stroke();
  ctx.textAlign = "left";
  drawText(ctx, deadlineLabel(deadline, broken), box.left + 5 * pixelRatio, y - 9 * pixelRatio, color, theme.background);
}

export function deadlineLabel(deadline: number, broken: boolean, word = "deadline"): string {
  return `${word} ${format.latency(deadline)}${broken ? ", broken" : ""}`;
}

/** The sign of everything invalid or not known: diagonal lines over it. */
export function hatch(ctx: CanvasRenderingContext2D, box: Box, color: string, pixelRatio: number, alpha = 0.55): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.left, box.top, box.width, box.height);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.globalAlpha = alpha;
  ctx.lineWidth = 1.5 * pixelRatio;
  const step = 10 * pixelRatio;
  ctx.beginPath();
  for (let x = box.left - box.height; x < box.left + box.width; x += step) {
    ctx.moveTo(x, box.top + box.height);
    ctx.lineTo(x + box.height, box.top);
  }
  ctx.stroke();
  ctx.restore();
}

/** The reason on an invalid picture, on paper of its own so that it can be read. */
export function drawNotice(ctx: CanvasRenderingContext2D, lines: string[], box: Box, theme: Theme, pixelRatio: number): void {
  ctx.save();
  const size = 13 * pixelRatio;
  ctx.font = `${size}px ${theme.font}`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  const room = box.width * 0.86;
  const wrapped = lines.flatMap((line) => wrap(line, room, (text) => ctx.measureText(text).width)).slice(0, 8);
  const most = Math.max(2, Math.floor(box.height / (size * 1.5)) - 1);
  if (wrapped.length > most) wrapped.splice(most, Infinity, "\u2026 (see above)");
  const width = Math.max(...wrapped.map((line) => ctx.measureText(line).width)) + size * 2;
  const height = wrapped.length * size * 1.5 + size;
  const x = box.left + box.width / 2;
  const y = box.top + box.height / 2;
  ctx.fillStyle = theme.background;
  ctx.strokeStyle = theme.muted;
  ctx.lineWidth = pixelRatio;
  ctx.fillRect(x - width / 2, y - height / 2, width, height);
  ctx.strokeRect(x - width / 2, y - height / 2, width, height);
  ctx.fillStyle = theme.text;
  wrapped.forEach((line, i) => ctx.fillText(line, x, y + (i - (wrapped.length - 1) / 2) * size * 1.5));
  ctx.restore();
}

/** Breaks a text at spaces into lines no wider than `room`. */
export function wrap(text: string, room: number, widthOf: (text: string) => number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && widthOf(longer) > room) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(line);
  return lines;
}
