import assert from "node:assert/strict";
import { test } from "node:test";
import { carried } from "../src/carry.ts";
import { VERSION } from "../src/generated/pages.ts";
import type { GroupView, HistogramView, RunRowView, View } from "../src/generated/view.d.ts";
import { basisText, columnsOf, COLUMNS, commonYear, sortChoice, sortedRows, sortOf, stripColumns, stripsOf, type Overview } from "../src/overview.ts";
import { read } from "../src/read.ts";
import { fromHash, INITIAL, toHash } from "../src/state.ts";
import { columnsIn, NARROW, scaleOf, stripAt, stripText, WIDE } from "../src/strips.ts";

function histogram(bins: [number, number][], unit = 1): HistogramView {
  return {
    count: bins.reduce((sum, [, count]) => sum + count, 0), min_ns: bins[0]?.[0] ?? null, max_ns: bins[bins.length - 1]?.[0] ?? null,
    mean_ns: null, sd_ns: null, quantiles: [], bins: { unit_ns: unit, from_ns: bins.map(([from]) => from), count: bins.map(([, count]) => count) },
  };
}

const tally = { runs: 2, broken: 0, cannot_tell: 0, holds: 2, not_judged: 0, degraded: 0, invalid: 0 };

function group(name: string, slot: number | null, bins: [number, number][] | null = null): GroupView {
  return { name, slot, what: "wake-ups", tally, tally_words: "2 runs: 2 hold", samples: 1, missed_periods: 0, worst: null, histogram: bins && histogram(bins) };
}

function row(key: string, group: number, worst: number | null, more: Partial<RunRowView> = {}): RunRowView {
  return {
    key, run: 0, group, name: key, node: "n", kernel: "6.12", started_realtime_ns: "1772434800000000000", started_utc: "2026-03-02 07:00", measurement: "wakeup", load: "none",
    worst: worst === null ? null : { latency_ns: worst, place: "CPU 0", run: key }, basis: null, samples: 1, missed_periods: 0, state: "valid", validity: "valid", verdict: "holds",
    verdict_words: "holds 100 us", histogram: null, ...more,
  };
}

const overview: Overview = {
  grouped_by: "label", tally: { ...tally, runs: 5 }, groups: [group("b", 0), group("a10", 1), group("a9", null)],
  rows: [
    row("far", 0, 24_310_123), row("x", 1, -90_000, { verdict: "no-deadline" }), row("y", 2, 80_000), row("z", 1, 80_000, { verdict: "broken", state: "degraded" }),
    row("spoilt", 2, null, { state: "invalid", verdict: "cannot-tell", missed_periods: null }),
  ],
};
const order = (choice: string | null) => sortedRows(overview, choice).map(({ key }) => key).join(" ");

test("runs are sorted by every column, and those that are alike in it stay worst first", () => {
  assert.equal(order(null), "far x y z spoilt");
  assert.equal(order("-worst"), "y z x far spoilt", "what is no result is at the end either way");
  assert.equal(order("group"), "y spoilt x z far", "by the numbers in names");
  assert.equal(order("-group"), "far x z y spoilt");
  assert.equal(order("verdict"), "z spoilt far y x");
  assert.equal(order("validity"), "spoilt z far x y");
  assert.equal(order("nonsense"), order(null), "whatever a URL says");
  for (const { id } of COLUMNS) assert.deepEqual(order(id).split(" ").sort(), ["far", "spoilt", "x", "y", "z"], id);
});

test("a second click on a column turns it round", () => {
  assert.equal(sortChoice(null, "worst"), "-worst");
  assert.equal(sortChoice("-worst", "worst"), null, "the first order has no word in the URL");
  assert.equal(sortChoice(null, "node"), "node");
  assert.equal(sortChoice("node", "node"), "-node");
  assert.equal(sortChoice("-node", "worst"), null);
  assert.deepEqual([sortOf("node").descending, sortOf("-node").descending, sortOf("missed").descending], [false, true, true]);
});

test("what all runs have in common is said once", () => {
  const { columns, common } = columnsOf(overview.rows);
  assert.deepEqual(common, ["node n", "kernel 6.12", "kind wakeup", "load none"]);
  assert.ok(columns.every(({ id }) => !["node", "kernel", "kind", "load"].includes(id)));
  const mixed = columnsOf([...overview.rows, row("m", 0, 1, { node: null, measurement: "noise" })]);
  assert.deepEqual(mixed.common, ["kernel 6.12", "load none"]);
  assert.deepEqual(columnsOf([row("i", 0, 1, { load: null })]).common, ["node n", "kernel 6.12", "kind wakeup"], "what is not known is not in common");
  assert.equal(commonYear(overview.rows), "2026");
  assert.equal(commonYear([...overview.rows, row("n", 0, 1, { started_utc: "2025-12-31 23:59" })]), null);
});

test("a lower quantile is never shown as the one that the column is named after", () => {
  assert.equal(basisText({ name: "p99.99", value_ns: 41_849 }), "41.8");
  assert.equal(basisText({ name: "p99.9", value_ns: 41_849 }), "p99.9: 41.8");
});

test("small plots have one axis, lose no sample, and the column of the maximum holds it", () => {
  const own: [number, number][] = [[3_000, 5], [5_000, 1_000_000], [77_056, 3], [24_248_320, 1]];
  const counted: [number, number][] = [[2_000, 4], [3_000, 996], [9_000, 1]];
  const groups = [group("own", 0, own), { ...group("import", 1), histogram: histogram(counted, 1000) }, group("none", 2)];
  const strips = stripsOf({ ...overview, groups, rows: overview.rows.map((one) => ({ ...one })) });
  for (const width of [360, 800, 1232]) {
    const layout = width < 760 ? NARROW : WIDE;
    const shown = stripColumns(strips, 100_000, columnsIn(width, layout))!;
    assert.deepEqual(shown.counts.map((counts) => counts.reduce((sum, count) => sum + count, 0)), [1_000_009, 1_001, 0], `${width} px`);
    const { toX, toNs } = scaleOf(shown, width, layout);
    for (const ns of [3_000, 100_000, 24_248_320]) assert.ok(Math.abs(toNs(toX(ns)) / ns - 1) < 1e-9);
    // The farthest sample stands alone in its column, within the plot.
    const edges = shown.grids[0]!.edges;
    const last = edges.findLastIndex((edge) => edge <= 24_248_320);
    assert.equal(shown.counts[0]![last], 1);
    assert.ok(toX(24_248_320) < width - layout.right && toX(shown.from) >= layout.left);
    // No more than one column for two pixels, and none finer than the bins of an import.
    assert.ok(edges.length <= width / 2 + 1);
    const wide = shown.grids[1]!.edges;
    assert.ok(wide.every((edge, i) => i === 0 || i + 1 >= wide.length || edge - wide[i - 1]! >= 999 || i === 1), wide.slice(0, 5).join(" "));
    const at = stripAt(shown, { x: toX(5_050), y: 30 }, width, layout)!;
    assert.equal(at.place, 0);
    assert.match(stripText(strips, shown, at), /^own: 1\u202f000\u202f000 wake-ups from /);
    assert.equal(stripAt(shown, { x: toX(5_050), y: 20 + 2.5 * layout.row }, width, layout), null, "nothing to read where nothing is drawn");
  }
  assert.equal(stripColumns(stripsOf({ ...overview, groups: [group("a", 0)], rows: [] }), Number.NaN, 100), null);
  // What is far below the axis is in its first column; the axis is that of all plots, wherever they stand.
  const both = stripsOf({ ...overview, groups: [group("offsets", 0, [[0, 7], [40, 9], [900, 1]]), group("own", 1, own)] });
  const near = stripColumns(both.slice(0, 1), Number.NaN, 200, both)!;
  const far = stripColumns(both.slice(1), Number.NaN, 200, both)!;
  assert.deepEqual([near.from, near.to, near.highest], [far.from, far.to, 1_000_000]);
  assert.equal(near.counts[0]!.reduce((sum, count) => sum + count, 0), 17);
  assert.equal(near.counts[0]![0], 16);
});

test("a deadline is drawn for what has one, and late is what exceeds its own", () => {
  const judged = stripsOf({ ...overview, groups: [{ ...group("packets", 0), tally: { ...tally, not_judged: 2 }, worst: { latency_ns: 9e9, place: "flow 0", run: "x" } }] });
  assert.deepEqual([judged[0]!.judged, judged[0]!.late], [false, false]);
  const singly = stripsOf({ ...overview, rows: overview.rows.map((one) => ({ ...one, histogram: histogram([[5_000, 9]]) })) });
  assert.deepEqual(singly.map(({ judged: has, late }) => [has, late]), [[true, false], [false, false], [true, false], [true, true], [true, false]]);
  const late = stripsOf({ ...overview, groups: [{ ...group("g", 0), worst: { latency_ns: 80_000, place: "CPU 0", run: "z" } }] });
  assert.deepEqual([late[0]!.judged, late[0]!.late], [true, true]);
});

function view(over: Overview | null, kind: "runs" | "program" = "runs"): View {
  const runs = ["far", "x", "y"].map((id) => ({ id, label: `label of ${id}`, series: [{ lane: "CPU 0" }] }));
  return { schema: "punctual/view", version: VERSION, headline: { word: "w" }, conditions: [], page: { kind, results: { runs, overview: over } } } as unknown as View;
}

test("choices stay while they mean something", () => {
  const chosen = { ...INITIAL, run: "x", group: "b", sort: "node", range: [0, 5] as [number, number], timeRange: [1, 2] as [number, number] };
  assert.deepEqual(carried(chosen, view(overview), view(overview)), { change: {}, notice: "" });
  const more = { ...overview, rows: [row("new", 0, 1), ...overview.rows] };
  assert.deepEqual(carried(chosen, view(overview), view(more)).change, {});
  const gone = carried(chosen, view(overview), view({ ...overview, rows: overview.rows.filter(({ key }) => key !== "x") }));
  assert.match(gone.notice, /^The run label of far, which was open, is no longer among the data\.$/);
  assert.deepEqual([gone.change.run, gone.change.range, gone.change.timeRange, "sort" in gone.change, "group" in gone.change], [null, null, null, false, false]);
  assert.equal(carried(chosen, view(overview), view({ ...overview, groups: overview.groups.slice(1) })).change.group, null);
  const other = carried(chosen, view(overview), view(overview, "program")).change;
  assert.deepEqual([other.run, other.sort, other.range], [null, null, null]);
  // On a page of few runs late samples are named by the place of their run.
  const few = { ...INITIAL, lift: "CPU 0", sample: "1.3" };
  assert.deepEqual(carried(few, view(null), view(null)).change, {});
  const shifted = view(null);
  (shifted.page as { results: { runs: unknown[] } }).results.runs.shift();
  assert.deepEqual(carried(few, view(null), shifted).change, { sample: null, sampleRange: null });
});

test("data of another form are refused in words", () => {
  assert.equal(read(view(null)).problem, "");
  assert.equal(read(JSON.stringify(view(null))).view?.version, VERSION);
  for (const [data, pattern] of [
    ["{", /cannot be read/], ["", /cannot be read/], [undefined, /no schema/], [17, /no schema/], [{ ...view(null), version: VERSION + 1 }, /of version \d+, and this viewer draws version \d+/],
    [{ ...view(null), schema: "x" }, /but x/], [{ ...view(null), page: undefined }, /incomplete/],
  ] as const) assert.match(read(data).problem, pattern);
});

test("what is chosen of many runs is in the URL", () => {
  const state = { ...INITIAL, run: "2026-03-02T07-00-00Z-wakeup-1~2", sort: "-node", group: "RT, idle & co", overlay: true };
  assert.deepEqual(fromHash(toHash(state)), state);
});
