import assert from "node:assert/strict";
import { test } from "node:test";
import { apartText, comparedTable, effectAt, effectsOf, rangeOf } from "../src/comparison.ts";
import type { ComparedRow, ComparedRows, Comparison, QuantityComparison } from "../src/generated/view.d.ts";

function row(part: Partial<QuantityComparison>): QuantityComparison {
  return { name: "mean", a_ns: 10_000, b_ns: 11_000, difference_ns: 1_000, difference_percent: 10, interval: { low_ns: 500, high_ns: 1_500 }, p: 0.01, p_together: 0.02, ...part };
}

function document(quantities: QuantityComparison[]): Comparison {
  return { quantities } as unknown as Comparison;
}

function words(part: Partial<ComparedRow>): ComparedRow {
  return { name: "mean", a: "10.0 us", b: "11.0 us", difference: "+1.0 us", percent: "+10.0 %", interval: "+500 ns to +1.5 us", p: "0.020", shown: null, ...part };
}

const compared = (rows: ComparedRow[]): ComparedRows => ({ of: "scheduled_to_woke", interval: "95 % interval", is_judged: true, rows });

test("effects are parts of A, with the verdict on each row", () => {
  const effects = effectsOf(
    document([row({}), row({ name: "p99", interval: null }), row({ name: "p50", a_ns: 0 })]),
    compared([words({ shown: "worse" }), words({ name: "p99", shown: "better" }), words({ name: "p50" })]),
  );
  assert.deepEqual(effects.map(({ name, low, high, verdict }) => [name, low, high, verdict]), [["mean", 5, 15, "worse"], ["p99", null, null, "better"]]);
  assert.equal(effects[0]?.words, "+1.0 us (+10.0 %)");
  assert.equal(effectAt(effects, 50)?.name, "p99");
  assert.equal(effectAt(effects, 500), undefined);
});

test("the axis holds zero and every bar, but for what would press the others flat", () => {
  const [low, high] = rangeOf(effectsOf(document([row({}), row({ name: "p99", difference_percent: -2, interval: { low_ns: -900, high_ns: 400 } })]), compared([words({}), words({ name: "p99" })])));
  assert.ok(low < -9 && low > -12 && high > 15 && high < 18, `${low} ${high}`);
  const cut = rangeOf(effectsOf(document([row({ difference_percent: 35_000, interval: { low_ns: 3e6, high_ns: 4e6 } })]), compared([words({})])));
  assert.ok(cut[0] < 0 && cut[1] > 200 && cut[1] < 250, String(cut));
});

test("a table has every row as it was said, and what is unknown is a dash", () => {
  const table = comparedTable(compared([words({ shown: "worse" }), words({ name: "beyond 100 us", difference: null, percent: null, interval: null, p: null })]), "quantity", true);
  assert.deepEqual(table.head, ["quantity", "shown", "A", "B", "B \u2212 A", "in %", "95 % interval", "p"]);
  assert.deepEqual(table.rows[0], ["mean", "worse", "10.0 us", "11.0 us", "+1.0 us", "+10.0 %", "+500 ns to +1.5 us", "0.020"]);
  assert.deepEqual(table.rows[1], ["beyond 100 us", "", "10.0 us", "11.0 us", null, null, null, null]);
  assert.deepEqual(table.invalid, [true, true]);
  const plain = comparedTable({ ...compared([words({})]), is_judged: false }, "with sign");
  assert.deepEqual([plain.head, plain.rows[0], plain.words], [
    ["with sign", "A", "B", "B \u2212 A", "95 % interval", "p"], ["mean", "10.0 us", "11.0 us", "+1.0 us", "+500 ns to +1.5 us", "0.020"], 1]);
  assert.deepEqual([apartText(words({})), apartText(words({ percent: null }))], ["+1.0 us (+10.0 %)", "+1.0 us"]);
});
