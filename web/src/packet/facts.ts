// The tiles of a page about packets.

import { num } from "../bins.ts";
import * as format from "../format.ts";
import type { Exact, PacketFlowView, RunView } from "../generated/view.d.ts";

export interface PacketFact {
  name: string;
  value: string;
  under: string;
  invalid?: boolean;
  broken?: boolean;
}

/** Of more flows the worst have a tile; all stand in the table below. */
const MOST_TILES = 4;

export const arrow = ({ from, to }: { from: string; to: string }) => `${from} \u2192 ${to}`;

const isKnown = (value: Exact | null | undefined): value is Exact => value !== null && value !== undefined;

/** A sum of numbers of which some can be unknown: "19 989", "at least 12", "not known". */
export function sumWords(values: (Exact | null | undefined)[]): string {
  const known = values.filter(isKnown);
  const sum = known.reduce<number>((total, value) => total + num(value), 0);
  if (known.length === values.length) return format.count(sum);
  return known.length === 0 || sum === 0 ? "not known" : `at least ${format.count(sum)}`;
}

export function packetFacts(runs: RunView[]): PacketFact[] {
  const all = runs.flatMap((run) => run.packets!.flows.map((flow) => ({ run, flow })));
  const worst = all.flatMap(({ run, flow }): (PacketFact & { rank: number })[] => {
    if (!flow.delay) return [];
    const invalid = run.state === "invalid";
    const several = [runs.length > 1 ? run.label : "", all.length > 1 || runs.length === 1 ? arrow(flow) : ""].filter((part) => part !== "").join(", ");
    const name = `worst ${flow.delay.way}, ${several}`;
    const highest = num(flow.delay.highest_ns);
    if (invalid) return [{ name, value: "invalid", under: "not a result", invalid, rank: -1 }];
    const error = flow.delay.error_of_highest;
    const limit = num(run.deadline_ns);
    return [{
      name, value: format.latency(highest), under: error ? error.words : "error not known",
      broken: highest - num(error?.below_ns ?? 0) > limit, rank: highest,
    }];
  });
  const shown = all.length <= MOST_TILES ? worst : [...worst].sort((a, b) => b.rank - a.rank).slice(0, MOST_TILES);
  const valid = all.filter(({ run }) => run.state !== "invalid").map(({ flow }) => flow);
  const left = all.length - valid.length;
  const without = left === 0 ? "" : ", without invalid runs";
  const sum = (of: (flow: PacketFlowView) => Exact | null | undefined) => sumWords(valid.map(of));
  const facts: PacketFact[] = shown.map(({ rank: _, ...fact }) => fact);
  if (valid.length > 0) {
    const lost = sum((flow) => flow.lost);
    facts.push(
      { name: "arrived", value: sum((flow) => flow.arrived), under: `of ${sum((flow) => flow.sent)} sent${without}` },
      { name: "lost", value: lost, under: `${sum((flow) => flow.doubled)} doubled, ${sum((flow) => flow.reordered)} out of order` },
      { name: "schedules skipped", value: sum((flow) => flow.skipped), under: "by a sender that was late" },
    );
  }
  facts.push(...offsets(runs).slice(0, 2));
  const state = runs.some((run) => run.state === "invalid") ? "invalid" : runs.some((run) => run.state === "degraded") ? "degraded" : "valid";
  const reasons = new Set(runs.flatMap((run) => run.reasons.map(({ code }) => code))).size;
  facts.push({
    name: "validity", value: state, invalid: state === "invalid",
    under: reasons === 0 ? "nothing spoilt the runs" : `${reasons} ${reasons === 1 ? "reason" : "reasons"}, under Packets`,
  });
  return facts;
}

/** How far the clocks are apart, as the first node of each run saw it: the other node sees the same from its side. */
function offsets(runs: RunView[]): PacketFact[] {
  return runs.flatMap((run): PacketFact[] => {
    const seen = run.packets!.clocks.find(({ source }) => source.spread);
    if (!seen || run.state === "invalid") return [];
    const { spread, bound } = seen.source;
    return [{
      name: `clocks apart, ${seen.node} less ${seen.partner}${runs.length > 1 ? `, ${run.label}` : ""}`, value: format.latency(spread!.median_ns),
      under: bound ? `within ${format.latency(bound.lowest_ns)} to ${format.latency(bound.highest_ns)}` : "no bound",
    }];
  });
}
