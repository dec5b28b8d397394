import assert from "node:assert/strict";
import { test } from "node:test";
import type { TailView } from "../src/generated/view.d.ts";
import { heightOf, horizonRange, horizonTicks, placeOf, refusalOf, refusedFrom } from "../src/tail.ts";

const HOUR = 3600e9;

function tail(answered: number[], refused: number[], refusals: string[] = []): TailView {
  const expectation = (ns: number, told: boolean) => ({
    horizon_ns: ns, low_ns: told ? 1 : null, typical_ns: told ? 2 : null, high_ns: told ? 3 : null,
    words: { within: `${ns / HOUR} h`, typical: null, interval: null, beyond_worst_seen: null, by: null, refusal: told ? null : "too far" },
  });
  return {
    run: "r", label: "l", sentence: "", model_free: "", stationary: true, stationarity: "", change_ns: null, refusals,
    expectations: [...answered.map((ns) => expectation(ns, true)), ...refused.map((ns) => expectation(ns, false))], claim: null, level: 0.9, interval: "90 % interval",
    how: "", notes: [], maxima: { start_ns: [0], max_ns: [5000], length_ns: 60e9, part_start_ns: [0], part_median_ns: [5000] },
    seen: { horizon_ns: [60e9, HOUR], max_ns: [4000, 5000] },
    curve: { horizon_ns: answered, low_ns: answered.map(() => 1), typical_ns: answered.map(() => 2), high_ns: answered.map(() => 3) },
  };
}

test("what is refused is grayed from where the answer ends", () => {
  assert.equal(refusedFrom(tail([HOUR, 24 * HOUR], [])), null);
  assert.equal(refusedFrom(tail([HOUR], [24 * HOUR])), HOUR);
  assert.equal(refusedFrom(tail([], [HOUR])), 0);
  assert.equal(refusalOf(tail([], [HOUR], ["two regimes"])), "two regimes");
  assert.equal(refusalOf(tail([HOUR], [24 * HOUR])), "too far");
});

test("the picture spans what was seen, what is told and what is refused", () => {
  const [from, to] = horizonRange(tail([HOUR], [8760 * HOUR]));
  assert.ok(from <= 60e9 && to >= 8760 * HOUR);
});

test("times bear round ticks that leave room", () => {
  const texts = horizonTicks(60e9, 8760 * HOUR, 800, 55).map(({ text }) => text);
  assert.ok(texts.includes("1 min") && texts.includes("1 d") && texts.includes("1 year"), texts.join());
  assert.ok(horizonTicks(60e9, 8760 * HOUR, 100, 55).length <= 3);
});

test("a hundredfold range is logarithmic, and every value has its place", () => {
  const box = { left: 0, top: 10, width: 100, height: 100 };
  for (const values of [[5000, 9000], [1000, 900_000], []]) {
    const height = heightOf(values);
    assert.equal(height.log, values.length > 0 && Math.max(...values) / Math.min(...values) > 60);
    for (const value of values) assert.ok(placeOf(height, value, box) > 10 && placeOf(height, value, box) < 110);
  }
  assert.equal(placeOf(heightOf([5000]), Infinity, box), 10);
});
