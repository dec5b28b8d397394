// What the tiles of a page of nodes that act together say.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { TogetherView } from "../generated/view.d.ts";
import { isBeyond, knownPairs, signed, worstWhere } from "./shift.ts";

export interface TogetherFact {
  name: string;
  value: string;
  under: string;
  invalid?: boolean;
  broken?: boolean;
  breach?: string;
}

/** So many nodes have a tile of their own; the tables have all. */
const MOST_TILES = 6;

export function togetherFacts({ shifts, sweeps }: TogetherView): TogetherFact[] {
  const pairs = shifts.flatMap((shift) => knownPairs(shift).map((pair) => ({ shift, pair, figures: pair.figures! })));
  const worstFirst = [...pairs].sort((a, b) => Math.abs(b.figures.worst_ns) - Math.abs(a.figures.worst_ns)).slice(0, MOST_TILES);
  const facts: TogetherFact[] = pairs.filter((one) => worstFirst.includes(one)).map(({ shift, pair, figures }) => {
    const invalid = shift.verdict === "invalid";
    // Where the error leaves it open, the verdict is that it cannot be told.
    const broken = [1, -1].some((side) => isBeyond({ verdict: shift.verdict, pairs: [pair] }, side * num(shift.limit_ns)));
    const name = shifts.length > 1 ? `worst, ${shift.name}` : `worst, ${pair.second}`;
    const against = shifts.length > 1 ? `${pair.second} against ${pair.first}` : `against ${pair.first}`;
    return {
      name, value: invalid ? "invalid" : signed(figures.worst_ns), invalid,
      under: invalid ? "not a result" : `${against}, ${worstWhere(pair)}`,
      breach: "beyond the limit", broken,
    };
  });
  for (const { name, cycles } of sweeps) {
    const held = cycles.filter(({ lead_ns: lead }) => lead !== null && lead !== undefined);
    const of = sweeps.length > 1 ? `, ${name}` : "";
    facts.push({ name: `cycles confirmed${of}`, value: `${held.length} of ${cycles.length}`, under: "", broken: held.length === 0, breach: "none" });
    const [shortest] = [...held].sort((a, b) => num(a.cycle_ns) - num(b.cycle_ns));
    const [soonest] = [...held].sort((a, b) => num(a.lead_ns) - num(b.lead_ns));
    if (shortest) facts.push({ name: `shortest cycle${of}`, value: format.span(shortest.cycle_ns), under: `ordered ${format.span(shortest.lead_ns!)} ahead` });
    if (soonest) facts.push({ name: `shortest lead${of}`, value: format.span(soonest.lead_ns!), under: `at a cycle of ${format.span(soonest.cycle_ns)}` });
  }
  return facts;
}
