import assert from "node:assert/strict";
import { test } from "node:test";
import { binEnd, binWidth, bodyRange, commonUnit, firstView, fullRange, heatFrom, linearGrid, linearTicks, logGrid, logTicks, niceAtLeast, num, quantileOf, regrid } from "../src/bins.ts";
import { beyondText, distribution, plotData, power, widthOfBins } from "../src/distribution.ts";
import type { HistogramView, RunView, SeriesView } from "../src/generated/view.d.ts";
import { heat, sequential } from "../src/heat.ts";
import { placeLabels, wrap } from "../src/marks.ts";
import { csv, lanesOf, leavesOf, summaryOf, tracesOf, weightsText } from "../src/model.ts";
import { fromHash, INITIAL, toHash } from "../src/state.ts";
import { timeline, timeTicks, windowsOf } from "../src/timeline.ts";

function histogram(bins: [number, number][], unit = 1): HistogramView {
  return {
    count: bins.reduce((sum, [, count]) => sum + count, 0), min_ns: bins[0]?.[0] ?? null, max_ns: bins[bins.length - 1]?.[0] ?? null,
    mean_ns: null, sd_ns: null, quantiles: [], bins: { unit_ns: unit, from_ns: bins.map(([from]) => from), count: bins.map(([, count]) => count) },
  };
}

function series(cpu: number, bins: [number, number][], maxima: number[] = []): SeriesView {
  return {
    name: "scheduled_to_woke", lane: `CPU ${cpu}`, variant: "", judged: true, place: `CPU ${cpu}`, cpu, thread: cpu, histogram: histogram(bins), counters: {}, spoiled: [],
    figures: { samples: histogram(bins).count, quantiles: [] },
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

/** A table as cyclictest counts it: whole microseconds, each row full. */
function table(rows: number, far: number[] = []): HistogramView {
  const all: [number, number][] = Array.from({ length: rows }, (_, us) => [(us + 1) * 1000, 1000]);
  return histogram([...all, ...far.map((us): [number, number] => [us * 1000, 1])], 1000);
}

test("no column is narrower than the bins of the source, and each holds whole ones, at every zoom", () => {
  const far = [300, 511, 514, 900, 1024, 1991];
  // As crates/report bins them: 2 us wide from 512 us on, 4 us from 1024.
  const { bins } = table(200, far.map((us) => us - (us % (us < 512 ? 1 : us < 1024 ? 2 : 4))));
  const total = 200_006;
  for (const columns of [120, 240]) {
    for (const [from, to] of [[0, 2_110_000], [0, 48_000], [3_000, 20_000], [6_000, 9_000], [7_400, 7_700], [0, 300_000]] as const) {
      for (const grid of [linearGrid(from, to, columns, 1000), logGrid(Math.max(from, 800), to, columns, 1000)]) {
        const { edges } = grid;
        const { counts, below, beyond } = regrid(bins, grid);
        assert.equal(counts.reduce((sum, count) => sum + count, 0) + below + beyond, total);
        counts.forEach((count, i) => {
          const [left, right] = [edges[i]!, edges[i + 1]!];
          if (left < 1000) return;
          assert.ok(right - left >= binWidth(left, 1000), `${left} to ${right} ns is finer than the source`);
          assert.equal(left % 1000, 0, `${left} ns is inside a bin of the source`);
          // Flat data stay flat: a column holds 1000 samples for each microsecond that it covers.
          if (right <= 200_000) assert.equal(count, right - left, `${left} to ${right} ns`);
        });
      }
    }
  }
});

test("columns of our own records are no narrower than their bins, on both axes", () => {
  for (const grid of [linearGrid(100_000, 101_000, 240), logGrid(40, 3e7, 240), logGrid(5_000, 5_040, 240), linearGrid(0, 30, 240)]) {
    grid.edges.slice(1).forEach((edge, i) => {
      const left = grid.edges[i]!;
      assert.ok(edge - left >= binWidth(left) - 1e-6, `${left} to ${edge}`);
    });
  }
});

test("sources of different resolutions share columns that suit all", () => {
  assert.equal(commonUnit([histogram([]).bins, histogram([], 1000).bins, histogram([], 10_000).bins]), 10_000);
  assert.equal(commonUnit([histogram([], 2000).bins, histogram([], 3000).bins]), 6000);
  assert.equal(commonUnit([histogram([], 9973).bins, histogram([], 10_007).bins]), 10_007);
  assert.equal(commonUnit([]), 1);
});

test("a sample of zero has a place on a logarithmic axis", () => {
  const zero = { ...series(0, []), histogram: histogram([[0, 7], [1000, 3], [40_000, 1]], 1000) };
  const runs = [run("idle", [zero])];
  const shown = distribution(tracesOf(runs, lanesOf(runs), false), { range: [0, 42_400], log: true, deadline: Number.NaN, columns: 100 });
  assert.deepEqual([shown.grid.edges[0], shown.columns[0]!.counts[0], shown.below], [500, 7, 0]);
  assert.equal(widthOfBins(shown), "of 1.0 us and more");
});

test("the first view shows everything, logarithmic where the bulk would have no room else", () => {
  const body: [number, number][] = [[5_000, 1_000_000], [9_984, 1_000]];
  const far = firstView([histogram([...body, [24_310_000, 1]])], 100_000);
  assert.ok(far.range[1] > 24_310_000 && far.log);
  const near = firstView([histogram([...body, [30_000, 1]])], Number.NaN);
  assert.ok(near.range[1] > 30_000 && near.range[1] < 40_000 && !near.log);
  assert.ok(firstView([histogram(body)], 10_000_000).log, "a far deadline asks for it too");
  assert.ok(firstView([histogram([[100, 1000]]), histogram([[5_000, 1000]])], Number.NaN).log, "so do bodies far apart");
  assert.deepEqual(firstView([], Number.NaN), { range: [0, 100_000], log: false });
});

test("the body is one key away: with near maxima, and without far ones", () => {
  const body: [number, number][] = [[5_000, 1_000_000], [9_984, 1_000]];
  assert.equal(bodyRange([histogram(body)], 100_000)[1], 125_000);
  assert.equal(bodyRange([histogram([...body, [24_310_000, 1]])], 100_000)[1], 125_000);
  const near = bodyRange([histogram([...body, [30_000, 1]])], Number.NaN)[1];
  assert.ok(near > 30_000 && near < 40_000, String(near));
  assert.ok(bodyRange([histogram([...body, [24_310_000, 1]])], Number.NaN)[1] < 20_000);
  assert.ok(bodyRange([histogram(body)], 50_000_000)[1] < 20_000, "a far deadline is no part of the body");
  assert.ok(fullRange([histogram([...body, [24_310_000, 1]])], 100_000)[1] > 24_310_000);
  assert.deepEqual(bodyRange([], Number.NaN), [0, 100_000]);
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

test("the worst five of many have a color; an invalid run ranks nobody", () => {
  const cpus = Array.from({ length: 24 }, (_, cpu) => series(cpu, [[5_000, 10], [10_000 + cpu * 100, 1]]));
  const invalid = [...cpus].reverse().map((one, i) => ({ ...one, histogram: histogram([[1_000_000 + (24 - i) * 1e6, 1]]) }));
  const lanes = lanesOf([run("idle", cpus), run("bad", invalid, "invalid")]);
  assert.equal(lanes.length, 24);
  assert.deepEqual(lanes.filter((lane) => lane.rank !== null).map((lane) => lane.key), ["CPU 19", "CPU 20", "CPU 21", "CPU 22", "CPU 23"]);
  assert.equal(lanes.find((lane) => lane.rank === 0)!.key, "CPU 23");
});

test("runs of one kind are told apart by weight, and nothing is called idle that is not", () => {
  const one = [series(0, [[5_000, 1]])];
  const heavy = (...labels: string[]) => {
    const runs = labels.map((label) => run(label, one));
    return [tracesOf(runs, lanesOf(runs), false).sort((a, b) => a.runIndex - b.runIndex).map((trace) => trace.heavy), weightsText(runs)];
  };
  assert.deepEqual(heavy("idle", "load"), [[false, true], "heavy: under load, light: idle"]);
  assert.deepEqual(heavy("a", "b"), [[false, true], "heavy: b, light: a"]);
  assert.deepEqual(heavy("a"), [[true], ""]);
  assert.deepEqual(heavy("a", "b", "c"), [[true, true, true], ""]);
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
  const written = { left: 60, top: 50, width: 90, height: 50 };
  const kept = placeLabels(wanted.slice(0, 1), 10, plot, () => 100, [written])[0]!;
  assert.ok(kept.top + kept.height <= written.top, "a label keeps off what is written");
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
  assert.equal(fromHash(`#${toHash({ ...INITIAL, log: false })}`).log, false);
  assert.equal(toHash(INITIAL), "");
});

test("what nobody counted is a dash, and no zero", () => {
  const missed = (one: SeriesView) => {
    const runs = [run("one", [one])];
    return summaryOf(tracesOf(runs, lanesOf(runs), false)[0]!).at(-1);
  };
  assert.equal(missed(series(0, [[100, 3]])), "\u2013");
  assert.equal(missed({ ...series(0, [[100, 3]]), missed_periods: 0 }), "0");
});

test("the table has the samples below zero that no plot draws", () => {
  const figures = { samples: 4, lowest_ns: -11_753, mean_ns: -2710.5, sd_ns: null, quantiles: [{ share: 0.5, value_ns: -81 }], highest_ns: 887 };
  const runs = [run("one", [{ ...series(0, [[105, 1], [887, 1]]), figures }])];
  const cells = summaryOf(tracesOf(runs, lanesOf(runs), false)[0]!);
  assert.deepEqual(cells, ["4", "-11.8", "-2.7", "\u2013", "-0.1", "\u2013", "\u2013", "0.9", "\u2013"]);
});

test("CSV is quoted where it must be, and no text is a formula", () => {
  assert.equal(csv(["a", "b"], [["x,y", 1], ["say \"no\"", null], ["=1+1", -5]]), "a,b\n\"x,y\",1\n\"say \"\"no\"\"\",\n'=1+1,-5\n");
});

test("numbers beyond 2^53 keep their digits in words", () => {
  assert.equal(num("9007199254740993"), 9007199254740992);
  assert.deepEqual(leavesOf({ a: { b: ["x", 1], c: [{ d: "18446744073709551615" }] }, e: null, f: [] }), [
    { path: "a.b", value: "x 1" }, { path: "a.c[0].d", value: "18446744073709551615" }]);
});

test("colors run evenly and reach both ends", () => {
  assert.equal(sequential(0, true), "rgb(0 34 78)");
  assert.equal(sequential(1, true), "rgb(254 232 56)");
  assert.equal(sequential(1, false), "rgb(0 34 78)");
});

test("the quantile of bins and the wrapping of lines", () => {
  assert.equal(quantileOf(histogram([[100, 99], [200, 1]]).bins, 0.5), 101);
  assert.deepEqual(wrap("one two three", 7, (text) => text.length), ["one two", "three"]);
});
