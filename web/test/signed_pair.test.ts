import assert from "node:assert/strict";
import { test } from "node:test";
import type { SignedRunView, SignedSamplesView } from "../src/generated/view.d.ts";
import { pairAt, pairColumns, pairRange, pairRows, partsOf, strokeAt, strokeWords, type Lane } from "../src/signed_pair.ts";

function sides(above: [number, number][], below: [number, number][]) {
  const histogram = (bins: [number, number][]) => ({
    count: bins.reduce((sum, [, count]) => sum + count, 0), quantiles: [],
    bins: { unit_ns: 1, from_ns: bins.map(([from]) => from), count: bins.map(([, count]) => count) },
  });
  return { from_zero: histogram(above), below_zero: below.length > 0 ? histogram(below) : null };
}

const SAMPLES = { a: sides([], [[50_000, 7]]), b: sides([[50_000, 9]], []), runs: [] } as unknown as SignedSamplesView;

test("zero is always in the range, so that a sign can be seen", () => {
  assert.deepEqual(pairRange(40_000, 60_000).map((ns) => Math.sign(ns)), [-1, 1]);
  const [low, high] = pairRange(-60_000, -40_000);
  assert.ok(low < -60_000 && high > 0 && high < 5_000);
});

test("samples of opposite sign are in columns on opposite sides of zero", () => {
  const [a, b] = pairColumns(SAMPLES, pairRange(-50_000, 50_000), 100);
  const center = (signed: typeof a) => signed.counts.reduce((sum, count, i) => sum + count * (signed.edges[i]! + signed.edges[i + 1]!) / 2, 0) / signed.counts.reduce((sum, count) => sum + count, 0);
  assert.deepEqual(a.edges, b.edges);
  assert.ok(center(a) < -48_000 && center(b) > 48_000, `${center(a)} ${center(b)}`);
  const lanes: [Lane, Lane] = [{ name: "A: x", signed: a, median: -50_000 }, { name: "B: y", signed: b, median: 50_000 }];
  const rows = pairRows(lanes);
  assert.deepEqual(rows.map(([, , ofA, ofB]) => [ofA, ofB]), [["7", "0"], ["0", "9"]]);
  assert.equal(pairAt({ x: 300, y: 100 }, 600, lanes)?.lane.name, "A: x");
  assert.equal(pairAt({ x: 300, y: 200 }, 600, lanes)?.lane.name, "B: y");
  assert.equal(pairAt({ x: 2, y: 200 }, 600, lanes), undefined);
  assert.equal(pairAt({ x: 300, y: 2_000 }, 600, lanes), undefined);
});

test("runs share the width by their length, and each stroke is read with its signs", () => {
  const run = (label: string, count: number): SignedRunView => ({
    label, of_a: label.startsWith("A"), start_offset_ns: Array.from({ length: count }, (_, i) => i * 1e9), length_ns: new Array(count).fill(1e9),
    lowest_ns: new Array(count).fill(-1_500), highest_ns: [null, ...new Array(count - 1).fill(740)],
  });
  const parts = partsOf([run("A 1", 10), run("B 1", 30)], 800);
  assert.ok(Math.abs(parts[1]!.width / parts[0]!.width - 3) < 1e-9);
  const found = strokeAt(parts, parts[0]!.left + parts[0]!.width * 0.55)!;
  assert.equal(strokeWords(found.run, found.i), "A 1, from 5 s on: -1.5 us to +740 ns");
  assert.equal(strokeWords(found.run, 0), "A 1, from 0 ns on: no sample");
  assert.equal(strokeAt(parts, 2), undefined);
});
