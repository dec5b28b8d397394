import assert from "node:assert/strict";
import { test } from "node:test";
import type { FollowedThreadView, ProgramView } from "../src/generated/view.d.ts";
import { costFacts, difference, missedWords, periodRange, periodRowAt, periodRows, periodTicks, preemptionRows, preemptionWords, shortestPeriod, symmetric, threadCells } from "../src/program.ts";

const COST = { events: 10, lost_events: 0, event_ns: 200, return_ns: 2500, events_per_activation: 6.5, own_cpu: 0.0312 };

function thread(name: string, bins: [number, number][], more: Partial<FollowedThreadView> = {}): FollowedThreadView {
  const count = bins.reduce((sum, [, samples]) => sum + samples, 0);
  return {
    thread: 0, tid: 7, name, policy: "fifo", priority: 80, activations: count, period_ns: 1_000_000, missed_periods: 0,
    periods: {
      count, min_ns: bins[0]?.[0] ?? null, max_ns: bins[bins.length - 1]?.[0] ?? null, mean_ns: null, sd_ns: null, quantiles: [],
      bins: { unit_ns: 1, from_ns: bins.map(([from]) => from), count: bins.map(([, samples]) => samples) },
    },
    preempted: 0, preempted_ns: 0, preempted_by: [], ended: false, ...more,
  };
}

function program(...threads: FollowedThreadView[]): ProgramView {
  return { what: "'x'", threads, threads_left_out: 0, looked_for: [], cost: COST };
}

test("periods are drawn by how far they are from what was asked for", () => {
  const rows = periodRows(program(thread("motor", [[998_000, 3], [1_000_500, 90], [2_100_000, 1]], { missed_periods: 1 })));
  assert.equal(rows.length, 1);
  const [row] = rows;
  assert.deepEqual([row!.shortest, row!.longest, row!.lateFrom], [-2_000, 1_100_000, 500_000]);
  assert.equal(row!.stretches.reduce((sum, { count }) => sum + count, 0), 94, "none is lost");
  assert.ok(row!.stretches.every(({ from, to }) => to > from && from >= row!.shortest && to <= row!.longest + 1));
  assert.equal(missedWords(row!), "1 missed");
  const [from, to] = periodRange(rows);
  assert.ok(from < row!.shortest && to > row!.longest);
});

test("the place from which a period is missed is in view where none was", () => {
  const rows = periodRows(program(thread("motor", [[999_999, 3], [1_000_001, 9]])));
  assert.ok(periodRange(rows)[1] > rows[0]!.lateFrom);
  assert.equal(missedWords(rows[0]!), "none missed");
});

test("what has no period, or was not counted, is not made up", () => {
  assert.deepEqual(periodRows(program(thread("a", []), thread("b", [[5, 1]], { period_ns: null }))), []);
  const [row] = periodRows(program(thread("c", [[1_000_000, 4]], { missed_periods: null })));
  assert.equal(missedWords(row!), "missed periods not counted");
  assert.equal(threadCells(thread("c", [], { missed_periods: null, period_ns: null })).filter((cell) => cell === "\u2013").length, 4);
});

test("the axis is even in both directions and its ticks are round", () => {
  assert.equal(symmetric(0), 0);
  assert.equal(symmetric(-5_000), -symmetric(5_000));
  const ticks = periodTicks([-40_000, 2_000_000], 12);
  assert.ok(ticks.includes(0) && ticks.includes(-10_000) && ticks.includes(1_000_000), String(ticks));
  assert.deepEqual([...ticks].sort((a, b) => a - b), ticks);
  assert.deepEqual([difference(-10_000), difference(0), difference(100_000)], ["\u221210.0 us", "0", "+100 us"]);
});

test("a line under the pointer is the one that is drawn there", () => {
  const rows = periodRows(program(thread("a", [[1_000_000, 1]]), thread("b", [[1_000_000, 1]])));
  assert.equal(periodRowAt(rows, 5)?.name, "a (7, fifo 80)");
  assert.equal(periodRowAt(rows, 70)?.name, "b (7, fifo 80)");
  assert.equal(periodRowAt(rows, 500), undefined);
});

test("preemptions name who, how often and how long", () => {
  const by = [{ name: "irq/9", times: 2, total_ns: 61_000, longest_ns: 40_000 }];
  const rows = preemptionRows(program(thread("calm", []), thread("motor", [], { preempted: 2, preempted_ns: 61_000, preempted_by: by })));
  assert.deepEqual(rows.map(preemptionWords), ["motor (7, fifo 80): preempted 2 times, 61.0 us in all", "by irq/9: 2 times, 61.0 us in all, longest 40.0 us"]);
});

test("cost is told against the shortest period, and nothing where it was not measured", () => {
  const two = program(thread("a", []), thread("b", [], { period_ns: 250_000 }), thread("c", [], { period_ns: null }));
  assert.equal(shortestPeriod(two), 250_000);
  const [events, each, way, reading] = costFacts(COST, 250_000);
  assert.deepEqual([events!.under, each!.value, each!.under], ["none lost", "1.3 us", "6.5 events of 200 ns, 0.52 % of the shortest period"]);
  assert.deepEqual([way!.value, reading!.value], ["2.5 us", "3.1 %"]);
  assert.deepEqual(costFacts(COST, Number.NaN).map(({ name }) => name), ["events", "the way back", "reading the events"], "no loop, no activations");
  const blind = costFacts({ events: 1, lost_events: 4, own_cpu: 0 }, Number.NaN);
  assert.deepEqual(blind.map(({ name }) => name), ["events", "reading the events"]);
  assert.match(blind[0]!.under, /^4 lost/);
});
