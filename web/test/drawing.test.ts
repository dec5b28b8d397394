import assert from "node:assert/strict";
import { test } from "node:test";
import { binEnd, defaultRange, fullRange, heatFrom, linearGrid, linearTicks, logGrid, logTicks, niceAtLeast, num, quantileOf, regrid } from "../src/bins.ts";
import { beyondText, distribution, plotData, power } from "../src/distribution.ts";
import type { HistogramView, RunView, SeriesView } from "../src/generated/view.d.ts";
import { heat, sequential } from "../src/heat.ts";
import { placeLabels, wrap } from "../src/marks.ts";
import { csv, lanesOf, leavesOf, summaryOf, tracesOf } from "../src/model.ts";
import { fromHash, INITIAL, toHash } from "../src/state.ts";
import { timeline, timeTicks, windowsOf } from "../src/timeline.ts";

function histogram(bins: [number, number][]): HistogramView {
  return {
    count: bins.reduce((sum, [, count]) => sum + count, 0), min_ns: bins[0]?.[0] ?? null, max_ns: bins[bins.length - 1]?.[0] ?? null,
    mean_ns: null, sd_ns: null, quantiles: [], bins: { from_ns: bins.map(([from]) => from), count: bins.map(([, count]) => count) },
  };
}

function series(cpu: number, bins: [number, number][], maxima: number[] = []): SeriesView {
  return {
    name: "scheduled_to_woke", lane: `CPU ${cpu}`, variant: "", cpu, thread: cpu, histogram: histogram(bins), counters: {},
    intervals: {
      start_offset_ns: maxima.map((_, i) => i * 1e9), length_ns: maxima.map(() => 1e9), max_ns: maxima, count: maxima.map(() => 10),
      missed_periods: maxima.map(() => 0), heat: { bin: maxima.map(() => [40]), count: maxima.map(() => [10]) },
    },
  };
}

function run(label: string, all: SeriesView[], state: RunView["state"] = "valid"): RunView {
  return {
    id: label, measurement: "wakeup", label, loaded: label !== "idle", node: "n", state, reasons: [], lacks: [], not_observable: [], started_realtime_ns: "0",
    duration_ns: 2e9, samples: 1, series: all, worst: [], rows: [], manifest: {},
  };
}

test("bins reach to the next one", () => {
  assert.equal(binEnd(100), 101);
  assert.equal(binEnd(511), 512);
  assert.equal(binEnd(512), 514);
  assert.equal(binEnd(65_536), 65_536 + 256);
});

test("heat bins are those of the Rust side", () => {
  // crates/report/src/coarse.rs: 16 an octave, 1 ns wide below 32.
  assert.deepEqual([0, 31, 32, 33, 48].map(heatFrom), [0, 31, 32, 34, 64]);
});

test("no sample is lost between columns, and single ones stay whole", () => {
  const all = histogram([[100, 3], [5_000, 1_000_000], [5_016, 999_999], [77_056, 1], [24_310_000, 2]]);
  for (const grid of [linearGrid(0, 60_000, 240), linearGrid(5_000, 5_100, 240), logGrid(90, 125_000, 100), linearGrid(0, 3e7, 50)]) {
    const { counts, below, beyond } = regrid(all.bins, grid);
    assert.equal(counts.reduce((sum, count) => sum + count, 0) + below + beyond, 2_000_005);
    assert.ok(counts.every(Number.isInteger));
  }
  assert.equal(regrid(all.bins, linearGrid(0, 60_000, 240)).beyond, 3);
});

test("columns are round and no finer than the bins", () => {
  const { edges } = linearGrid(0, 125_000, 240);
  assert.equal(edges[1]! - edges[0]!, 1_000);
  const fine = linearGrid(100_000, 101_000, 240);
  assert.ok(fine.edges[1]! - fine.edges[0]! >= 256);
});

test("the first view shows body, deadline and near maxima, and counts far ones", () => {
  const body: [number, number][] = [[5_000, 1_000_000], [9_984, 1_000]];
  assert.equal(defaultRange([histogram(body)], 100_000)[1], 125_000);
  assert.equal(defaultRange([histogram([...body, [24_310_000, 1]])], 100_000)[1], 125_000);
  const near = defaultRange([histogram([...body, [30_000, 1]])], Number.NaN)[1];
  assert.ok(near > 30_000 && near < 40_000, String(near));
  assert.ok(defaultRange([histogram([...body, [24_310_000, 1]])], Number.NaN)[1] < 20_000);
  assert.ok(fullRange([histogram([...body, [24_310_000, 1]])], 100_000)[1] > 24_310_000);
  assert.deepEqual(defaultRange([], Number.NaN), [0, 100_000]);
});

test("what lies beyond the view is counted in words", () => {
  const runs = [run("idle", [series(0, [[5_000, 10], [24_310_000, 2]])]), run("bad", [series(0, [[5_000, 10], [50_000_000, 1]])], "invalid")];
  const traces = tracesOf(runs, lanesOf(runs), false);
  const shown = distribution(traces, { range: [0, 125_000], log: false, deadline: 100_000, columns: 100 });
  assert.equal(beyondText(shown), "\u25b8 2 samples beyond, worst 24\u202f310 us");
  assert.equal(shown.beyondInvalid, 1);
  const data = plotData(shown);
  assert.equal(data.length, 3);
  assert.ok(data.every((column) => column.length === data[0].length));
});

test("the worst five of many have a colour; an invalid run ranks nobody", () => {
  const cpus = Array.from({ length: 24 }, (_, cpu) => series(cpu, [[5_000, 10], [10_000 + cpu * 100, 1]]));
  const invalid = [...cpus].reverse().map((one, i) => ({ ...one, histogram: histogram([[1_000_000 + (24 - i) * 1e6, 1]]) }));
  const lanes = lanesOf([run("idle", cpus), run("bad", invalid, "invalid")]);
  assert.equal(lanes.length, 24);
  assert.deepEqual(lanes.filter((lane) => lane.rank !== null).map((lane) => lane.key), ["CPU 19", "CPU 20", "CPU 21", "CPU 22", "CPU 23"]);
  assert.equal(lanes.find((lane) => lane.rank === 0)!.key, "CPU 23");
});

test("runs stand side by side and no line joins them", () => {
  const runs = [run("idle", [series(0, [[5_000, 1]], [7_000, 8_000])]), run("load", [series(0, [[5_000, 1]], [9_000, 10_000])])];
  const windows = windowsOf(runs);
  assert.equal(windows[0]!.to, 2);
  assert.ok(windows[1]!.from > 2);
  const shown = timeline(runs, lanesOf(runs), 100_000);
  assert.deepEqual(shown.maxima[0], [7, 8, 8, null, 9, 10, 10, null]);
  assert.equal(shown.log, false);
  assert.equal(timeline(runs, lanesOf(runs), 24_000_000).log, true);
  assert.deepEqual(timeTicks(windows, 0, windows[1]!.to, 5).map(({ text }) => text), ["0", "1 s", "0", "1 s"]);
  const map = heat(windows, null);
  assert.equal(map.columns.length, 4);
  assert.equal(map.columns[3]!.max, 10_000);
  assert.equal(heat(windows, "CPU 7").columns.length, 0);
});

test("labels avoid each other, the curves and the edges, the important first", () => {
  const plot = { left: 0, top: 0, width: 200, height: 100 };
  const wanted = [{ x: 100, y: 95, width: 40, weight: 1 }, { x: 105, y: 95, width: 40, weight: 2 }, { x: 199, y: 95, width: 40, weight: 3 }];
  const places = placeLabels(wanted, 10, plot, () => 100);
  assert.ok(places[1]!.top > places[0]!.top, "the weightier one stands nearer");
  assert.ok(places[2]!.left + 40 <= 200);
  assert.ok(placeLabels(wanted, 10, plot, () => 50).every((place) => place!.top + 10 <= 50));
  assert.equal(placeLabels(wanted, 10, plot, () => 5)[0], null);
});

test("ticks are round", () => {
  assert.deepEqual(linearTicks(0, 125, 10), [0, 20, 40, 60, 80, 100, 120]);
  assert.deepEqual(logTicks(1, 1e6, 8), [1, 10, 100, 1000, 10_000, 100_000, 1_000_000].filter((tick) => tick <= 1e6));
  assert.deepEqual(logTicks(1, 100, 9), [1, 2, 5, 10, 20, 50, 100]);
  assert.deepEqual([0.3, 1, 7, 11].map(niceAtLeast), [0.5, 1, 10, 20]);
  assert.deepEqual([1, 10, 1_000, 1_000_000].map(power), ["1", "10", "10\u00b3", "10\u2076"]);
  assert.deepEqual([100, 200, 500, 2_000, 50_000].map(power), ["10\u00b2", "200", "500", "2\u00b710\u00b3", "5\u00b710\u2074"]);
});

test("the state survives the URL, and nonsense is ignored", () => {
  const state = { ...INITIAL, log: true, corrected: true, range: [0, 125_000] as [number, number], lift: "3", tables: ["latency"], query: "a&b=c", theme: "dark" as const };
  assert.deepEqual(fromHash(`#${toHash(state)}`), state);
  assert.deepEqual(fromHash("#range=9~2&theme=pink&x=1"), INITIAL);
  assert.equal(toHash(INITIAL), "");
});

test("what nobody counted is a dash, and no zero", () => {
  const missed = (one: SeriesView) => {
    const runs = [run("one", [one])];
    return summaryOf(tracesOf(runs, lanesOf(runs), false)[0]!).at(-1);
  };
  assert.equal(missed(series(0, [[100, 3]])), "\u2013");
  assert.equal(missed({ ...series(0, [[100, 3]]), counters: { missed_periods: 0 } }), "0");
});

test("CSV is quoted where it must be, and no text is a formula", () => {
  assert.equal(csv(["a", "b"], [["x,y", 1], ["say \"no\"", null], ["=1+1", -5]]), "a,b\n\"x,y\",1\n\"say \"\"no\"\"\",\n'=1+1,-5\n");
});

test("numbers beyond 2^53 keep their digits in words", () => {
  assert.equal(num("9007199254740993"), 9007199254740992);
  assert.deepEqual(leavesOf({ a: { b: ["x", 1], c: [{ d: "18446744073709551615" }] }, e: null, f: [] }), [
    { path: "a.b", value: "x 1" }, { path: "a.c[0].d", value: "18446744073709551615" }]);
});

test("colours run evenly and reach both ends", () => {
  assert.equal(sequential(0, true), "rgb(0 34 78)");
  assert.equal(sequential(1, true), "rgb(254 232 56)");
  assert.equal(sequential(1, false), "rgb(0 34 78)");
});

test("the quantile of bins and the wrapping of lines", () => {
  assert.equal(quantileOf(histogram([[100, 99], [200, 1]]).bins, 0.5), 101);
  assert.deepEqual(wrap("one two three", 7, (text) => text.length), ["one two", "three"]);
});
