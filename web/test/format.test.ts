// The same vectors hold crates/units/src/format.rs (crates/units/tests/format_vectors.rs).
import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../src/format.ts";
import vectors from "./format-vectors.json" with { type: "json" };

for (const [name, pairs] of Object.entries(vectors)) {
  test(`${name} equals the Rust formatter's`, () => {
    const convert = format[name as keyof typeof vectors];
    for (const [value, expected] of pairs as [string, string][]) {
      assert.equal(convert(value), expected, `${name}(${value})`);
      if (Number.isSafeInteger(Number(value))) assert.equal(convert(Number(value)), expected);
    }
  });
}

test("times stand in the node's zone, and in UTC where that is unknown", () => {
  assert.equal(format.wallTime("1772434800125000000", "Europe/Berlin"), "2026-03-02 08:00:00.125");
  assert.equal(format.wallTime("1772434800125000000", "UTC", 0), "2026-03-02 07:00:00");
  assert.equal(format.wallTime("1772434800125000000", "Nowhere/None", 0), "2026-03-02 07:00:00");
  assert.equal(format.wallTime("1772434800125000000", null, 0), "2026-03-02 07:00:00");
});

test("a number in a column of microseconds keeps its sign", () => {
  assert.deepEqual([-11_753, -99_960, -81, 887].map((ns) => format.microseconds(ns)), ["-11.8", "-100", "-0.1", "0.9"]);
});

test("quantiles have their common names", () => {
  assert.equal(format.quantile(0.5), "p50");
  assert.equal(format.quantile(0.9999), "p99.99");
});
