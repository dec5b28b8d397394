import assert from "node:assert/strict";
import { test } from "node:test";
import type { RhythmView } from "../src/generated/view.d.ts";
import { decades, foldedAt, foldedOf, foldedText, HEIGHT, scaleOf } from "../src/rhythm.ts";

const rhythm: RhythmView = {
  sentence: "", period: "100.00 ms (±0.02)", period_ns: 100e6, width_ns: 2e6, end: "end",
  folded_ns: [50_000_000, 50_900_000, 12_000_000], folded_latency_ns: [4_100_000, "3000000", 2_500_000],
};

test("what lies in the shaded part is in the rhythm", () => {
  assert.deepEqual(foldedOf(rhythm).map(({ inside }) => inside), [true, true, false]);
  assert.deepEqual(foldedOf({ ...rhythm, width_ns: 1_000_000 }).map(({ inside }) => inside), [true, false, false]);
});

test("the scale holds every sample, however many decades it takes", () => {
  assert.deepEqual(decades(2_500_000, 4_300_000), [2e6, 5e6]);
  assert.deepEqual(decades(900, 11_000), [500, 1000, 2000, 5000, 10_000, 20_000]);
  const folded = foldedOf(rhythm);
  const { toX, toY } = scaleOf(folded, rhythm.period_ns, 600);
  for (const one of folded) {
    assert.ok(toX(one.at) > 0 && toX(one.at) < 600 && toY(one.latency) > 0 && toY(one.latency) < HEIGHT);
  }
  assert.ok(toY(4_100_000) < toY(2_500_000), "later is higher");
});

test("the sample under the pointer is read, and none far from it", () => {
  const folded = foldedOf(rhythm);
  const scale = scaleOf(folded, rhythm.period_ns, 600);
  const at = { x: scale.toX(12_000_000) + 3, y: scale.toY(2_500_000) - 2 };
  assert.equal(foldedAt(folded, scale, at), folded[2]);
  assert.equal(foldedAt(folded, scale, { x: scale.toX(80_000_000), y: at.y }), undefined);
  assert.equal(foldedText(folded[2]!, rhythm), "2\u202f500 us, 38 ms before the middle of the rhythm, outside of it");
  assert.equal(foldedText(folded[0]!, rhythm), "4\u202f100 us, in the middle of the rhythm");
});
