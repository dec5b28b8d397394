import assert from "node:assert/strict";
import { test } from "node:test";
import type { LeadRowView, RunView, ScenarioColumn, ShiftPairView, ShiftView, SweepCycleView, TogetherView } from "../src/generated/view.d.ts";
import type { Results } from "../src/model.ts";
import { columnRows, columnsRange, columnText } from "../src/together/columns.ts";
import { togetherFacts } from "../src/together/facts.ts";
import { leadRows, leadsRange, leadText, linesOf, neededRuns } from "../src/together/leads.ts";
import { partsRange, stackOf, stepsOf } from "../src/together/parts.ts";
import { isBeyond, lengthOf, readout, shiftColumns, shiftRange, shiftRows, signed } from "../src/together/shift.ts";

const EMPTY = { count: 0, quantiles: [], bins: { unit_ns: 1, from_ns: [], count: [] } };

/** A second of stretches of 1 ms, each from -1 to 1 us, and one of them to 90 us. */
function pair(more: Partial<ShiftPairView> = {}): ShiftPairView {
  const from = Array.from({ length: 1000 }, (_, i) => i * 1e6);
  return {
    first: "b", second: "c", paired: "by their numbers", counted: "order",
    figures: {
      orders: 4000, min_ns: -1000, median_ns: 40, mean_ns: 22.5, max_ns: 90_000, sd_ns: 1400, within_p99_ns: 1000, worst_ns: 90_000, worst_order: 3108, worst_at_ns: 777e6,
      error_ns: 10, exactness: "Each shift is right to within 10 ns", span_ns: 1e9,
    },
    parts: [
      { words: "clocks", likely_ns: -3000, lower_ns: -5000, upper_ns: -1000 }, { words: "ordered time to the act", likely_ns: 4000, lower_ns: 3900, upper_ns: 4100 },
      { words: "output", likely_ns: 0, lower_ns: -600, upper_ns: 600 }, { words: "rest", likely_ns: -977.5, lower_ns: -3700, upper_ns: 1700 },
    ],
    over_time: { length_ns: 1e6, from_ns: from, orders: from.map(() => 4), min_ns: from.map(() => -1000), mean_ns: from.map(() => 0), max_ns: from.map((_, i) => (i === 777 ? 90_000 : 1000)) },
    from_zero: EMPTY, below_zero: null, ...more,
  };
}

function shift(more: Partial<ShiftView> = {}): ShiftView {
  return { name: "night", about: "", verdict: "holds", sentence: "", contradictions: [], limit_ns: null, lines: [], pairs: [pair()], ...more };
}

test("a single far order stands in its column however many share it, and no column is a mean", () => {
  for (const width of [40, 300, 1000, 5000]) {
    const columns = shiftColumns(pair(), [0, 1], width);
    assert.ok(columns.length <= width);
    assert.equal(Math.max(...columns.map(({ high }) => high)), 90_000, String(width));
    assert.equal(columns.filter(({ high }) => high > 1000).length, 1);
    assert.ok(columns.every(({ low }) => low === -1000));
    assert.equal(columns.reduce((sum, { orders }) => sum + orders, 0), 4000);
  }
  const near = shiftColumns(pair(), [0.7, 0.75], 300);
  assert.ok(near.every(({ high }) => high === 1000), "the far one is out of view");
  assert.equal(lengthOf(shift()), 1);
});

test("the vertical axis holds every shift with its error, none, and a limit that does not hide them", () => {
  const columns = [shiftColumns(pair(), [0, 1], 300)];
  const { range: [low, high], limitBeyond } = shiftRange(shift(), columns);
  assert.ok(low < -1010 && high > 90_010 && !limitBeyond, `${low} ${high}`);
  const coarse = pair({ figures: { ...pair().figures!, error_ns: 20_000 } });
  const wide = shiftRange(shift({ pairs: [coarse] }), columns).range;
  assert.ok(wide[0] < -21_000 && wide[1] > 110_000, "the error of each is in view");
  const limited = shiftRange(shift({ limit_ns: 100_000 }), columns);
  assert.ok(limited.range[0] < -100_000 && limited.range[1] > 100_000 && !limited.limitBeyond);
  const far = shiftRange(shift({ limit_ns: 1_000_000 }), columns);
  assert.ok(far.range[1] < 200_000 && far.limitBeyond);
  // 90 us later and 1 us earlier: a limit of 80 us is broken on one side.
  const broken = shift({ verdict: "broken" });
  assert.deepEqual([80_000, -80_000, 89_990, 89_989, -999, -989].map((at) => isBeyond(broken, at)), [true, false, false, true, false, true]);
  assert.ok(!isBeyond(shift({ verdict: "cannot-tell" }), 80_000), "what the verdict leaves open");
  // Of a node that is always later, none is in view too.
  const late = pair({ over_time: { ...pair().over_time, min_ns: pair().over_time.min_ns.map(() => 40_000) } });
  assert.ok(shiftRange(shift({ pairs: [late] }), [shiftColumns(late, [0, 1], 300)]).range[0] < 0);
});

test("figures have their signs, and what is not known is not said", () => {
  const [row] = shiftRows(shift());
  assert.deepEqual(row, ["c", "4\u202f000", "-1.0 us", "+40 ns", "+23 ns", "1.4 us", "+90.0 us", "1.0 us", "+90.0 us", "order 3\u202f108", "\u00b110 ns"]);
  const unknown = pair({ counted: "pulse", figures: { ...pair().figures!, error_ns: null, within_p99_ns: null } });
  assert.deepEqual(shiftRows(shift({ pairs: [unknown] }))[0]!.slice(7), [null, "+90.0 us", "pulse 3\u202f108", "not known"]);
  const silent = shiftRows(shift({ pairs: [pair({ figures: null })] }))[0]!;
  assert.ok(silent[0] === "c" && silent.slice(1).every((cell) => cell === null));
  assert.deepEqual([signed(0), signed(0.3), signed(-0.3), signed(-1500)], ["0 ns", "0 ns", "0 ns", "-1.5 us"]);
  assert.equal(readout(shift(), [shiftColumns(pair(), [0, 1], 1000)], 0.777), "At 777 ms: c -1.0 us to +90.0 us (4 orders).");
  const single = pair({ over_time: { ...pair().over_time, orders: pair().over_time.orders.map(() => 1) } });
  assert.equal(readout(shift(), [shiftColumns(single, [0, 1], 1000)], 0.777), "At 777 ms: c -1.0 us to +90.0 us (1 order).");
});

test("the parts follow each other to the mean, and no part of the stack covers another", () => {
  const steps = stepsOf(pair());
  assert.deepEqual(steps.map(({ from, to }) => [from, to]), [[0, -3000], [-3000, 1000], [1000, 1000], [1000, 22.5]]);
  assert.deepEqual([steps[3]!.lower, steps[3]!.upper], [-2700, 2700]);
  const pieces = stackOf(pair());
  assert.deepEqual(pieces.map(({ from, to }) => [from, to]), [[-3000, 0], [0, 4000], [4000, 4000], [-3977.5, -3000]]);
  const [low, high] = partsRange([pair()]);
  assert.ok(low < -5000 && high > 4000, `${low} ${high}`);
});

function column(more: Partial<ScenarioColumn> = {}): ScenarioColumn {
  return { name: "RT-SMS", about: "c against b", published: false, invalid: false, min_ns: null, mean_ns: -1200, sd_ns: 800, max_ns: 60_000, samples: "4\u202f000", ...more };
}

test("a column keeps the sign of its mean in words, and says what is published and what is no result", () => {
  const paper = column({ name: "paper", published: true, mean_ns: null, samples: null, sd_ns: 3200 });
  const rows = columnRows([column(), paper, column({ invalid: true })]);
  assert.deepEqual(rows[0], ["RT-SMS", "c against b", "4\u202f000", null, "-1.2 us", "800 ns", "2.0 us", "60.0 us"]);
  assert.deepEqual(rows[1], ["paper (published)", "c against b", null, null, null, "3.2 us", null, "60.0 us"]);
  assert.equal(rows[2]![0], "RT-SMS (invalid)");
  assert.match(columnText(paper), /^paper, c against b: sd 3\.2 us; max 60\.0 us; published$/);
  const [low, high] = columnsRange([column(), column({ mean_ns: null, max_ns: null })]);
  assert.ok(low < 1200 && low > 0 && high > 60_000);
  assert.deepEqual(columnsRange([column({ mean_ns: null, max_ns: null })]), [1, 1000]);
});

function lead(more: Partial<LeadRowView> = {}): LeadRowView {
  return { words: "explored, largest lead", confirmed: false, lead_ns: 1e7, orders: 1000, missed: 0, p50_ns: 60_000, p99_ns: 90_000, p99_9_ns: 120_000, worst_ns: 310_000, ...more };
}

function cycle(more: Partial<SweepCycleView> = {}): SweepCycleView {
  const confirmed = lead({ words: "confirmed", confirmed: true, lead_ns: 320_000, orders: 52_984 });
  return { cycle_ns: 500_000, word: "confirmed", sentence: "It holds.", lead_ns: 320_000, leads: [lead(), confirmed], runs: [], ...more };
}

test("each run of a sweep has a row with what was given and what was needed", () => {
  const failed = cycle({ cycle_ns: 250_000, word: "loses orders", lead_ns: null, leads: [lead({ words: "attempt that failed", missed: 7, p50_ns: null, p99_ns: null, p99_9_ns: null, worst_ns: null })] });
  const rows = leadRows([failed, cycle()]);
  assert.deepEqual(rows[0], ["250 us", "attempt that failed", "10 ms", "1\u202f000", "7", null, null, null, null]);
  assert.deepEqual(rows[2], ["500 us", "confirmed", "320 us", "52\u202f984", "0", "60.0 us", "90.0 us", "120 us", "310 us"]);
  const lines = linesOf([failed, cycle()]);
  assert.deepEqual(lines.map(({ row }) => row?.words ?? null), [null, "attempt that failed", null, "explored, largest lead", "confirmed"]);
  assert.ok(lines.every(({ top }, i) => i === 0 || top > lines[i - 1]!.top));
  assert.match(leadText(lines[1]!), /^Cycle 250 us, attempt that failed: 10 ms ahead, 7 of 1\u202f000 missed; needed: not known\.$/);
  assert.equal(leadText(lines[0]!), "It holds.");
  const [low, high] = leadsRange([cycle()]);
  assert.ok(low < 60_000 && high > 1e7);
  assert.deepEqual(leadsRange([]), [1e5, 1e7]);
});

test("the distribution is of the run that confirmed and the last one that explored, against the confirmed lead", () => {
  const series = [0, 1].map((i) => ({ name: "scheduled_to_armed", lane: `flow ${i}` }));
  const nodes = ["b", "c"].map((node, i) => ({ node, needed_series: i === 1 ? null : i }));
  const run = (label: string) => ({ label, pulses: { nodes }, series, deadline_ns: 100_000 }) as unknown as RunView;
  const results = { runs: ["a", "b", "c", "d"].map(run) } as unknown as Results;
  const runs = [
    { step: "explore", number: 1, lead_ns: 1e7, run: 0 }, { step: "explore", number: 2, lead_ns: 5e6, run: 1 },
    { step: "confirm", number: 3, lead_ns: 300_000, run: 2 }, { step: "confirm", number: 4, lead_ns: 320_000, run: 3 },
  ] as SweepCycleView["runs"];
  const shown = neededRuns(cycle({ runs }), results);
  assert.deepEqual(shown.map(({ label }) => label), ["explored, 5 ms ahead", "confirmed, 320 us ahead"]);
  assert.ok(shown.every(({ deadline_ns: limit }) => limit === 320_000));
  assert.deepEqual(shown[0]!.series.map(({ lane }) => lane), ["b"], "of c nothing is known");
  const tried = neededRuns(cycle({ runs, lead_ns: null }), results);
  assert.deepEqual(tried.map(({ label, deadline_ns: limit }) => [label, limit]), [["explored, 5 ms ahead", null], ["tried, 320 us ahead", null]]);
  assert.deepEqual(neededRuns(cycle(), results), [], "without records nothing is drawn");
});

test("the tiles state the worst of each node and what a sweep confirmed", () => {
  const view = (more: Partial<TogetherView>): TogetherView => ({ shifts: [], sweeps: [], shift_rows: [], own_rows: [], rows_source: "", costs: [], apart: [], columns_source: "", ...more });
  const [worst] = togetherFacts(view({ shifts: [shift({ limit_ns: 80_000, verdict: "broken" })] }));
  assert.deepEqual([worst!.name, worst!.value, worst!.under, worst!.broken, worst!.breach], ["worst, c", "+90.0 us", "against b, order 3\u202f108", true, "beyond the limit"]);
  const tile = (verdict: ShiftView["verdict"], limit_ns: number, error_ns: number | null) => {
    const known = pair({ figures: { ...pair().figures!, error_ns } });
    return togetherFacts(view({ shifts: [shift({ verdict, limit_ns, pairs: [known] })] }))[0]!.broken;
  };
  assert.deepEqual([tile("broken", 89_989, 10), tile("broken", 89_995, 10)], [true, false], "another node is what broke it");
  assert.deepEqual([tile("cannot-tell", 50_000, null), tile("cannot-tell", 89_995, 10), tile("holds", 100_000, 10)], [false, false, false]);
  const [invalid] = togetherFacts(view({ shifts: [shift({ limit_ns: 1, verdict: "invalid" })] }));
  assert.deepEqual([invalid!.value, invalid!.invalid, invalid!.broken], ["invalid", true, false], "what is no result has no number");
  const none = cycle({ lead_ns: null });
  const longer = cycle({ cycle_ns: 1e6, lead_ns: 161_000 });
  const facts = togetherFacts(view({ sweeps: [{ name: "s", sentence: "", cycles: [none, cycle(), longer] }] }));
  assert.deepEqual(facts.map(({ name, value, under }) => [name, value, under]), [
    ["cycles confirmed", "2 of 3", ""], ["shortest cycle", "500 us", "ordered 320 us ahead"], ["shortest lead", "161 us", "at a cycle of 1 ms"]]);
  assert.equal(togetherFacts(view({ sweeps: [{ name: "s", sentence: "", cycles: [none] }] }))[0]!.broken, true);
});
