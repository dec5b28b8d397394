// The key of a chart and its readout: one line a CPU, always in the same place, so that nothing covers the curves.

import { useChoices } from "../figure.tsx";
import type { RunView } from "../generated/view.d.ts";
import { shapeOf, SHAPES, type Shape } from "../marks.ts";
import type { Lane } from "../model.ts";

/** So many stand open: a server has hundreds of CPUs. */
const MOST_LANES = 16;

interface Props {
  lanes: Lane[];
  runs: RunView[];
  head: string;
  values: (lane: Lane) => string[];
  readout: (lane: Lane) => string[];
}

export function Swatch({ shape, rank }: { shape: Shape; rank: number | null }) {
  const style = { color: rank === null ? "var(--faint)" : `var(--series-${(rank % SHAPES.length) + 1})` };
  const path = {
    circle: "M7 2.5a4.5 4.5 0 1 0 .01 0z", square: "M3 3h8v8H3z", triangle: "M7 2l5 9H2z", diamond: "M7 1l5 6-5 6-5-6z",
    cross: "M5.2 2h3.6v3.2H12v3.6H8.8V12H5.2V8.8H2V5.2h3.2z", down: "M7 12L2 3h10z", bar: "M4.5 1.5h5v11h-5z",
    star: "M7 1l1.6 3.9 4.2.3-3.2 2.7 1 4.1L7 9.8l-3.6 2.2 1-4.1L1.2 5.2l4.2-.3z",
  }[shape];
  return <svg class="swatch" width="14" height="14" viewBox="0 0 14 14" style={style} aria-hidden><path d={path} fill="currentColor" /></svg>;
}

export function Legend({ lanes, runs, head, values, readout }: Props) {
  const [state, store] = useChoices();
  // Names may be those of conditions, longer than any CPU's.
  const name = Math.min(17, Math.max(6, ...lanes.map((lane) => lane.name.length * 0.5 + 2)));
  // Where not all stand open, those that the picture colors come first: they are the worst.
  const ordered = lanes.length > MOST_LANES ? [...lanes].sort((a, b) => Number(a.rank === null) - Number(b.rank === null)) : lanes;
  const row = (lane: Lane) => (
    <button
      class="lane" data-lane={lane.key} aria-pressed={state.lift === lane.key} title={`Lift ${lane.name} (arrow up and down)`}
      onMouseEnter={() => store.set({ hover: lane.key })} onMouseLeave={() => store.set({ hover: null })}
      onClick={() => store.set({ lift: state.lift === lane.key ? null : lane.key })}
    >
      <Swatch shape={shapeOf(lane.rank)} rank={lane.rank} />
      <span class="name">{lane.name}</span>
      {values(lane).map((value, i) => (
        <span class={`number ${runs[i]!.state === "invalid" ? "invalid-text" : ""}`}>
          {value}<span class="at">{readout(lane)[i]}</span>
        </span>
      ))}
    </button>
  );
  return (
    <div class="legend" style={{ "--runs": runs.length, "--name": `${name}rem` }}>
      <p class="note">{head}</p>
      <div class="lanes">{ordered.slice(0, MOST_LANES).map(row)}</div>
      {lanes.length > MOST_LANES && (
        <details open={ordered.slice(MOST_LANES).some((lane) => lane.key === state.lift)}>
          <summary>{lanes.length - MOST_LANES} more</summary>
          <div class="lanes">{ordered.slice(MOST_LANES).map(row)}</div>
        </details>
      )}
    </div>
  );
}
