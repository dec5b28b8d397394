import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceText, effectAt, effectsOf, intervalText, percentText, pText, rangeOf } from "../src/comparison.ts";
import type { Comparison, QuantityComparison } from "../src/generated/view.d.ts";

function row(part: Partial<QuantityComparison>): QuantityComparison {
  return { name: "mean", a_ns: 10_000, b_ns: 11_000, difference_ns: 1_000, difference_percent: 10, interval: { low_ns: 500, high_ns: 1_500 }, p: 0.01, p_together: 0.02, ...part };
}

function document(quantities: QuantityComparison[], worse: string[] = [], better: string[] = []): Comparison {
  return { quantities, verdict: { state: "worse", reason: "", worse, better } } as unknown as Comparison;
}

test("effects are parts of A, with the verdict on each row", () => {
  const effects = effectsOf(document([row({}), row({ name: "p99", interval: null }), row({ name: "p50", a_ns: 0 })], ["mean"], ["p99"]));
  assert.deepEqual(effects.map(({ name, low, high, verdict }) => [name, low, high, verdict]), [["mean", 5, 15, "worse"], ["p99", null, null, "better"]]);
  assert.equal(effects[0]?.words, "+1.0 us (+10.0 %)");
  assert.equal(effectAt(effects, 50)?.name, "p99");
  assert.equal(effectAt(effects, 500), undefined);
});

test("the axis holds zero and every bar, but for what would press the others flat", () => {
  const [low, high] = rangeOf(effectsOf(document([row({}), row({ name: "p99", difference_percent: -2, interval: { low_ns: -900, high_ns: 400 } })])));
  assert.ok(low < -9 && low > -12 && high > 15 && high < 18, `${low} ${high}`);
  const cut = rangeOf(effectsOf(document([row({ difference_percent: 35_000, interval: { low_ns: 3e6, high_ns: 4e6 } })])));
  assert.ok(cut[0] < 0 && cut[1] > 200 && cut[1] < 250, String(cut));
});

test("numbers carry their sign, and what is unknown is a dash", () => {
  assert.deepEqual([1_820, -740, 0].map(differenceText), ["+1.8 us", "-740 ns", "+0 ns"]);
  assert.equal(intervalText(row({})), "+500 ns to +1.5 us");
  assert.equal(intervalText(row({ interval: null })), "\u2013");
  assert.deepEqual([percentText(-3.26), percentText(null)], ["-3.3 %", ""]);
  assert.deepEqual([pText(0.0004), pText(0.25), pText(undefined)], ["<0.001", "0.250", "\u2013"]);
});
