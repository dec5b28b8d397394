import assert from "node:assert/strict";
import { test } from "node:test";
import { forestOf, forestRange, forestScale, lineAt, lineText, ranksOf, shortened } from "../src/campaign.ts";
import type { Answer, AnswerRows, Bar, BarRow, CampaignResult, ComparedRow, Comparison, QuantityComparison } from "../src/generated/view.d.ts";
import { barAt, barText, layoutOf, leastWidth, scenarioRange } from "../src/scenario.ts";

function quantity(part: Partial<QuantityComparison>): QuantityComparison {
  return { name: "p50", a_ns: 10_000, b_ns: 8_000, difference_ns: -2_000, difference_percent: -20, interval: { low_ns: -2_500, high_ns: -1_500 }, p: 0.001, p_together: 0.002, ...part };
}

function comparison(quantities: QuantityComparison[], worse: string[] = [], better: string[] = []): Comparison {
  return {
    quantities, verdict: { state: "better", reason: "", worse, better },
    worst: { unit: "run", a_maxima_ns: [40_000], b_maxima_ns: [60_000], a_median_ns: 40_000, b_median_ns: 60_000, median_difference_ns: 20_000, median_difference_percent: 50, p: 0.3, p_together: 0.5, note: "" },
  } as unknown as Comparison;
}

function answer(part: Partial<Answer>): Answer {
  return { condition: "governor=performance", place: 1, measurement: "wakeup", state: "helps", sentence: "", comparison: comparison([quantity({})], [], ["p50"]), ...part };
}

function words(part: Partial<ComparedRow>): ComparedRow {
  return { name: "p50", a: "10.0 us", b: "8.0 us", difference: "-2.0 us", percent: "-20.0 %", interval: "-2.5 us to -1.5 us", p: "0.002", shown: null, ...part };
}

/** The words of an answer whose comparison has these quantities. */
function rowsOf({ comparison: compared }: Answer, shown: Record<string, string> = {}): AnswerRows {
  const names = [...(compared?.quantities ?? []).map(({ name }) => name), "median of maxima"];
  const rows = names.map((name) => words({ name, shown: shown[name] ?? null, ...(name === "median of maxima" && { interval: null }) }));
  return { word: "HELPS", compared: compared ? { of: "scheduled_to_woke", interval: "95 % interval", is_judged: true, rows } : null };
}

const forest = (answers: Answer[], shown?: Record<string, string>) => forestOf(answers, answers.map((one) => rowsOf(one, shown)));

function bar(part: Partial<Bar>): Bar {
  return { condition: "baseline", runs: 2, samples: 2000, min_ns: 1_000, mean_ns: 4_000, sd_ns: 500, max_ns: 60_000, maxima_ns: [60_000, 41_800], ...part };
}

test("a row has median, tail and worst case, and whatever else its word rests on", () => {
  const both = comparison([quantity({ name: "mean" }), quantity({}), quantity({ name: "p90" }), quantity({ name: "p99", interval: null })], ["p90"], ["p50"]);
  const { unit, rows } = forest([answer({ comparison: both })], { p50: "better", p90: "worse" });
  assert.equal(unit, "%");
  assert.deepEqual(rows[0]!.lines.map(({ name, at, low, high, words: { shown } }) => [name, at, low, high, shown]), [
    ["p50", -20, -25, -15, "better"], ["p90", -20, -25, -15, "worse"], ["p99", -20, null, null, null], ["worst", 50, null, null, null]]);
  assert.match(lineText(rows[0]!.lines[0]!), /first condition 10\.0 us, this one 8\.0 us, -2\.0 us \(-20\.0 %\), interval -2\.5 us to -1\.5 us, p 0\.002, shown: earlier$/);
  assert.doesNotMatch(lineText(rows[0]!.lines[3]!), /interval|shown/);
});

test("where the first condition has a quantity of 0 there is no per cent of it", () => {
  const { unit, interval, rows } = forest([answer({ comparison: comparison([quantity({ a_ns: 0, b_ns: 50, difference_ns: 50, difference_percent: null, interval: { low_ns: 10, high_ns: 90 } })]) }), answer({})]);
  assert.equal(unit, "ns");
  assert.deepEqual(rows.map(({ lines }) => lines[0]!.at), [50, -2_000]);
  const [low, high] = forestRange({ unit, interval, rows });
  assert.ok(low < -2_500 && high > 20_000);
});

test("what was not measured has no numbers, whatever is behind it", () => {
  const drawn = forest([answer({ state: "not-measured" }), answer({ comparison: null, state: "not-measured" })]);
  assert.ok(drawn.rows.every(({ lines }) => lines.length === 0));
  assert.ok(forestRange(drawn)[0] < 0 && forestRange(drawn)[1] > 0);
});

test("one row far off does not press the others flat", () => {
  const far = comparison([quantity({ difference_ns: 900_000, interval: { low_ns: 1, high_ns: 2e6 } })]);
  const [low, high] = forestRange(forest([answer({ comparison: far })]));
  assert.ok(low < 0 && high > 200 && high < 250, `${low} ${high}`);
  const { toX, toValue, box } = forestScale(1000, [low, high]);
  assert.equal(toX(9_000), box.left + box.width);
  assert.ok(Math.abs(toValue(toX(50)) - 50) < 1e-9);
});

test("the pointer finds row and line", () => {
  const drawn = forest([answer({}), answer({ condition: "ksm=on" })]);
  assert.equal(lineAt(drawn, 2), undefined);
  assert.equal(lineAt(drawn, 30)!.line, undefined);
  assert.equal(lineAt(drawn, 24 + 26 + 3)!.line!.name, "p50");
  assert.equal(lineAt(drawn, 24 + 26 + 25)!.line!.name, "worst");
  assert.equal(lineAt(drawn, 24 + 26 + 40 + 12 + 5)!.row.answer.condition, "ksm=on");
});

test("the first condition and those that differ have the colors", () => {
  const names = ["baseline", "a", "b", "c", "d", "e", "f"];
  const document = {
    conditions: names.map((name, i) => ({ name, is_baseline: i === 0 })),
    answers: [answer({ condition: "f", state: "harms" }), answer({ condition: "a", state: "no-difference-shown" }), answer({ condition: "e" })],
  } as unknown as CampaignResult;
  const ranks = ranksOf(document);
  assert.deepEqual(["baseline", "e", "f", "a", "b", "c", "d"].map((name) => ranks.get(name)), [0, 1, 2, 3, 4, null, null]);
});

test("names that begin alike stay apart when they are cut", () => {
  const cut = (text: string) => shortened(text, 20, (part) => part.length);
  assert.equal(cut("short"), "short");
  assert.notEqual(cut("governor=performance,ksm=on"), cut("governor=performance,ksm=off"));
  assert.ok(cut("governor=performance,ksm=on").length <= 20);
});

test("the paper's form holds every value that a logarithmic axis can, and says the rest", () => {
  assert.deepEqual(scenarioRange([]), [1, 10]);
  const [low, high] = scenarioRange([bar({}), bar({ min_ns: -12, mean_ns: 300 })]);
  assert.ok(low > 0 && low < 300 && high > 60_000);
  const row: BarRow = { condition: "baseline", runs: "2", samples: "2\u202f000", min: "-12 ns", mean: "4.0 us", sd: null, max: "60.0 us", maxima: ["60.0 us", "41.8 us"] };
  assert.equal(barText(row), "baseline: min -12 ns, mean 4.0 us, max 60.0 us; 2\u202f000 samples of 2 runs, their maxima 60.0 us, 41.8 us");
  assert.match(barText({ ...row, sd: "500 ns", runs: "1" }), /mean 4\.0 us, sd 500 ns, .* of 1 run, /);
});

test("names lie flat where they fit; many conditions are wider than a phone", () => {
  const many = Array.from({ length: 32 }, (_, i) => bar({ condition: `governor=performance,n=${i}` }));
  assert.equal(layoutOf([bar({})], 400).slanted, false);
  assert.equal(layoutOf(many, 1000).slanted, true);
  assert.ok(leastWidth(many) > 390);
  assert.equal(barAt(many, 5, 1000), undefined);
  assert.equal(barAt(many, 999 - 8, 1000)!.condition, many[31]!.condition);
});
