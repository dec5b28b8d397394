import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistogramView, RunView, SyncSourceView, SyncView } from "../src/generated/view.d.ts";
import { fromHash, INITIAL, toHash } from "../src/state.ts";
import {
  allanOf, breaksLimit, columnsOf, dotsOf, foldEvents, inOrder, isGap, offsetRange, pointAt, pointWords, ratio, signedColumns, spreadRange, stateAt, stretchesOf, syncFacts,
  trackOf, trackRows, usualSpacing, wedgeOf, type Column,
} from "../src/sync.ts";
import { tick } from "../src/sync_axes.ts";

type Point = [at: number, low: number | null, high: number | null, bound: [number, number] | null, delay?: number];

function histogram(bins: [number, number][]): HistogramView {
  return {
    count: bins.reduce((sum, [, count]) => sum + count, 0), min_ns: bins[0]?.[0] ?? null, max_ns: bins.at(-1)?.[0] ?? null, mean_ns: null, sd_ns: null,
    quantiles: [], bins: { unit_ns: 1, from_ns: bins.map(([from]) => from), count: bins.map(([, count]) => count) },
  };
}

function source(points: Point[], more: Partial<SyncSourceView> = {}): SyncSourceView {
  return {
    name: "ptp4l eth0 domain 0", version: null, place: "eth0 domain 0", clock: "realtime", reference: "grand master a", state: "locked", judged: true,
    bound: { lowest_ns: -100, highest_ns: 100, widest_ns: 200 }, bound_sentence: "within -100 ns to 100 ns", spread: { count: 4, median_ns: 1, lowest_ns: -20, highest_ns: 30, deviation_ns: 3 },
    own_estimate_sentence: null, from_zero: histogram([[0, 1], [30, 1]]), below_zero: histogram([[5, 1], [20, 1]]),
    allan: { averaging_ns: [], deviation: [], count: [] }, states: [], could_be_missed: [],
    track: {
      offset_ns: points.map(([at]) => at * 1e9), count: points.map(([, low]) => (low === null ? 0 : 1)), lowest_ns: points.map(([, low]) => low),
      highest_ns: points.map(([, , high]) => high), lower_bound_ns: points.map(([, , , bound]) => bound?.[0] ?? null),
      upper_bound_ns: points.map(([, , , bound]) => bound?.[1] ?? null), delay_ns: points.map(([, , , , delay]) => delay ?? null),
    },
    ...more,
  };
}

function run(sync: SyncView, state: RunView["state"] = "valid"): RunView {
  return {
    id: "1", measurement: "sync", label: "sync", loaded: false, node: "n", state, reasons: [], lacks: [], not_observable: [], started_realtime_ns: "0",
    duration_ns: 10e9, samples: 1, series: [], worst: [], rows: [], manifest: {}, sync,
  };
}

const at = (offset: number) => ({ offset_ns: offset * 1e9, realtime_ns: "0" });

test("points are joined by their extremes, and none is lost at the ends of a range", () => {
  const track = trackOf(source([[0, -3, 4, [-10, 10], 7], [1, null, null, [-90, 20]], [2, 50, 50, null, 9], [9.99, -8, -8, [-9, 9], 3], [10, 1, 1, [-2, 2], 4]]));
  const columns = columnsOf(track, [0, 10], 2);
  assert.deepEqual(columns.map(({ low, high, lower, upper, delay }) => [low, high, lower, upper, delay]), [[-3, 50, -90, 20, 9], [-8, 1, -9, 9, 4]]);
  assert.deepEqual(columnsOf(track, [1, 2], 10).map(({ x }) => x), [0, 9], "empty columns are left out");
  const [only] = columnsOf(track, [0.5, 1.5], 10);
  assert.ok(only && Number.isNaN(only.low) && only.lower === -90, "a bound without an offset");
});

test("the time of a silent source is a gap, and no band is drawn over it", () => {
  const track = trackOf(source(Array.from({ length: 40 }, (_, i): Point => [i < 20 ? i : i + 60, 0, 0, [-1, 1]])));
  const columns = columnsOf(track, [0, 100], 100);
  const usual = usualSpacing(track);
  assert.equal(usual, 1);
  assert.deepEqual(columns.slice(1).map((column, i) => isGap(columns[i]!, column, usual)).filter(Boolean).length, 1);
});

test("the nearest point is read", () => {
  const track = trackOf(source([[0, -81, 105, [-2_400, 5_400], 2_083], [4, 7, 7, null]]));
  assert.deepEqual([-1, 1.9, 2.1, 99].map((seconds) => pointAt(track, seconds)), [0, 0, 1, 1]);
  assert.equal(pointAt(trackOf(source([])), 1), undefined);
  assert.equal(pointWords(track, 0), "offset -81 ns to 105 ns (1 joined), hard bound -2.4 us to 5.4 us, path delay 2.1 us");
  assert.equal(pointWords(track, 1), "offset 7 ns");
});

test("the first view contains what decides", () => {
  const column = (low: number, high: number, lower: number, upper: number): Column => ({ x: 0, first: 0, last: 0, low, high, lower, upper, delay: NaN });
  const contains = ({ range }: { range: [number, number] }, ...all: number[]) => all.every((ns) => ns > range[0] && ns < range[1]);
  // Bound and limit are near.
  const near = offsetRange([column(-300, 200, -2_000, 3_000)], 5_000, "first");
  assert.ok(contains(near, -5_000, 5_000, -2_000, 3_000));
  assert.deepEqual(near.beyond, []);
  // A limit that is far away would press the rest into a line: it is named.
  const far = offsetRange([column(-300, 200, -2_000, 3_000)], 1_000_000, "first");
  assert.ok(contains(far, -2_000, 3_000) && !contains(far, 1_000_000));
  assert.deepEqual(far.beyond, ["limit, \u00b11 ms"]);
  // So is a bound, unless it reaches beyond the limit: then it decides.
  const wide = offsetRange([column(-300, 200, -900_000, 3_000)], NaN, "first");
  assert.ok(!contains(wide, -900_000));
  assert.deepEqual(wide.beyond, ["hard bound, -900 us to 3.0 us"]);
  assert.ok(contains(offsetRange([column(-300, 200, -900_000, 3_000)], 50_000, "first"), -900_000, 50_000, -50_000));
  assert.ok(contains(offsetRange([column(-300, 200, -2_000, 3_000)], 1_000_000, "all"), -1_000_000, 1_000_000));
  assert.ok(!contains(offsetRange([column(-300, 200, -2_000, 3_000)], 5_000, "offsets"), -2_000));
  // Without anything an axis still has a range.
  assert.ok(offsetRange([], NaN, "first").range[1] > 0);
  const flat = offsetRange([column(0, 0, NaN, NaN)], NaN, "first").range;
  assert.ok(flat[1] > flat[0]);
});

test("each offset is counted once, on its side of zero", () => {
  const shown = source([], { from_zero: histogram([[0, 2], [30, 1], [5_000, 4]]), below_zero: histogram([[1, 3], [20, 1], [700, 5]]), spread: { count: 16, median_ns: 0, lowest_ns: -700, highest_ns: 5_000, deviation_ns: 1 } });
  const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0);
  const all = signedColumns(shown, spreadRange(shown), 50);
  assert.equal(sum(all.counts), 16);
  assert.deepEqual([all.below, all.beyond], [0, 0]);
  const zero = all.edges.indexOf(0);
  assert.ok(zero > 0, "zero is an edge");
  assert.equal(sum(all.counts.slice(0, zero)), 9, "below zero");
  for (const [range, below, beyond] of [[[-40, 40], 5, 4], [[600, 6_000], 12, 0], [[-800, -100], 0, 11], [[-40, -2], 5, 10]] as const) {
    const part = signedColumns(shown, [range[0], range[1]], 20);
    assert.deepEqual([sum(part.counts) + part.below + part.beyond], [16], String(range));
    assert.deepEqual([part.below, part.beyond], [below, beyond], String(range));
  }
  const none = signedColumns(source([], { from_zero: null, below_zero: null, spread: null }), [-10, 10], 5);
  assert.equal(sum(none.counts), 0);
});

test("a state holds until the next one, the last until the end", () => {
  const states = stretchesOf(source([], { states: [{ at: at(0), state: "starting" }, { at: at(2), state: "locked" }, { at: at(7), state: "lost" }] }), 10);
  assert.deepEqual(states.map(({ from, to, state }) => [from, to, state]), [[0, 2, "starting"], [2, 7, "locked"], [7, 10, "lost"]]);
  assert.equal(stateAt(states, 6.9), "locked");
  assert.deepEqual(stretchesOf(source([]), 10), []);
});

test("a step is listed however often the state changed before", () => {
  const events = Array.from({ length: 21 }, (_, i) => ({ at: at(i), source: "a", what: i === 20 ? "step" : "state", detail: String(i) }));
  const [shown, folded] = foldEvents(events, 12);
  assert.deepEqual([shown.length, folded.length, shown.at(-1)!.what, shown[10]!.detail], [12, 9, "step", "10"]);
});

test("the wedge opens at the shortest delay, and joined points without a delay are no dots", () => {
  const dots = dotsOf(trackOf(source([[0, 1, 1, null, 900], [1, null, null, [-5, 5]], [2, 3, 4, null], [3, -70, 80, null, 700]])));
  assert.deepEqual(dots.map(({ delay }) => delay), [900, 700]);
  assert.deepEqual(wedgeOf(dots, 2), { delay: 700, offset: 2 });
  assert.equal(wedgeOf([], 2), undefined);
});

test("a limit is called broken where the verdict says so, and only at the source that broke it", () => {
  const sync: SyncView = { max_drift_ppb: 1, sources: [], events: [], events_left_out: 0, not_followed: [] };
  const judged = (state: "broken" | "cannot-tell") => ({ ...run(sync), verdict: { state, reason: "" } });
  const below = trackOf(source([[0, -90, -90, [-200, -60]]]));
  assert.equal(breaksLimit(judged("broken"), below, 50), true);
  assert.equal(breaksLimit(judged("broken"), trackOf(source([[0, 40, 40, [-20, 200]]])), 50), false);
  assert.equal(breaksLimit(judged("cannot-tell"), below, 50), false, "its bound reaches back");
  assert.equal(breaksLimit({ ...judged("broken"), state: "invalid" }, below, 50), false);
});

test("sources that are judged stand first, and nothing invalid is a number of the verdict", () => {
  const silent = source([], { name: "kernel", judged: false, spread: null, bound: null });
  const believed = source([], { name: "chronyd", judged: false, bound: null });
  const sync: SyncView = { max_drift_ppb: 1, sources: [silent, believed, source([])], events: [], events_left_out: 0, not_followed: [] };
  assert.deepEqual(inOrder(sync).map(({ name }) => name), ["ptp4l eth0 domain 0", "chronyd", "kernel"]);
  const facts = syncFacts([run(sync)]);
  assert.deepEqual(facts.map(({ value }) => value), ["-100 ns to 100 ns", "-20 ns to 30 ns", "0", "valid"]);
  assert.equal(facts[1]!.under, "no hard bound");
  assert.deepEqual(syncFacts([run(sync, "invalid")]).map(({ value }) => value), ["invalid", "invalid", "0", "invalid"]);
});

test("a long track has a table of joined points that lose no offset", () => {
  const points = Array.from({ length: 4_096 }, (_, i): Point => [i, i === 777 ? -9_999 : 1, 2, null]);
  const rows = trackRows(trackOf(source(points)));
  assert.ok(rows.length <= 500);
  assert.equal(rows.reduce((sum, row) => sum + Number(String(row[1]).replace(/\D/g, "")), 0), 4_096);
  assert.ok(rows.some((row) => row[2] === "-10.0 us"));
});

test("numbers of the axes are short, and the range of time is in the URL", () => {
  assert.deepEqual([0, -20_000, 2_500, 1_000_000].map(tick), ["0", "-20 us", "2.5 us", "1 ms"]);
  assert.deepEqual([1.58e-5, 1, 2e-10].map(ratio), ["1.6e-5", "1.0", "2.0e-10"]);
  assert.deepEqual(allanOf(source([], { allan: { averaging_ns: [1, 2], deviation: [0, 1e-6], count: [4, 3] } })).map(({ averaging }) => averaging), [2]);
  const state = { ...INITIAL, clockRange: [12, 34.5] as [number, number] };
  assert.deepEqual(fromHash(toHash(state)), state);
});
