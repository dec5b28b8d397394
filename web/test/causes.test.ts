import assert from "node:assert/strict";
import { test } from "node:test";
import { explainedAs, explainedNodes, explainedOf, gapsOf, partsOf, percent, pieceAt, piecesOf, placedOf, scaleOf, stretchAt, stretchesOf, stretchText, THINNEST, timelineHeight, windowOf } from "../src/causes.ts";
import type { ExplainedSampleView, ExplanationView, RunView } from "../src/generated/view.d.ts";
import { fromHash, toHash } from "../src/state.ts";

function sample(latency: number, part: Partial<ExplainedSampleView> = {}): ExplainedSampleView {
  return {
    thread: 0, cpu: 2, latency_ns: latency, scheduled: { offset_ns: 7000, realtime_ns: "7" }, class: "softirq", words: "softirq", name: "NET_RX",
    certainty: "shown", evidence: "", parts: [{ words: "softirq", name: "NET_RX", net_ns: latency - 1000 }], parts_left_out: 0, left_out: null, stack: [],
    // A thread, a softirq over it, an interrupt of 3 us within that.
    timeline: { stretch: [0, 1, 2], from_ns: [-40_000, -4000, 100_000], to_ns: [latency - 2000, latency - 9000, 103_000], depth: [0, 1, 2], net_ns: [1, 2, 3000] },
    ...part,
  };
}

function explanation(samples: ExplainedSampleView[], part: Partial<ExplanationView> = {}): ExplanationView {
  const cause = { class: "softirq", words: "softirq", name: "NET_RX", certainty: "shown", samples: 1, worst_ns: 1, took_ns: 1, remedy: "" } as const;
  return {
    sentence: "", begin: "schedule", sources: ["a"], missing: [], looked_at: "samples", outliers: 200, explained: 2, not_recorded: 198, causes: [{ ...cause }, { ...cause, name: "TIMER" }], samples,
    shares: [{ of: "samples", total: 200, causes: [1, 1], percents: ["1 %", "<1 %"], not_explained: 198, not_explained_percent: "99 %" }],
    stretches: [{ activity: "thread", name: "iperf3" }, { activity: "softirq", name: "NET_RX" }, { activity: "interrupt", name: "eth0" }], ...part,
  };
}

function run(label: string, samples: ExplainedSampleView[], state: RunView["state"] = "valid"): RunView {
  return {
    id: label, measurement: "wakeup", label, loaded: false, node: "n", state, reasons: [], lacks: [], not_observable: [], started_realtime_ns: "0", duration_ns: 1, samples: 1,
    series: [], worst: [], rows: [], manifest: {}, explanation: explanation(samples),
  };
}

test("the worst come first and those of invalid runs last, whatever their latency", () => {
  const all = explainedOf([run("idle", [sample(300_000), sample(200_000)]), run("broken", [sample(9_000_000)], "invalid"), run("load", [sample(400_000)])]);
  assert.deepEqual(all.map(({ key }) => key), ["2.0", "0.0", "0.1", "1.0"]);
  const worst = { place: "CPU 2", cpu: 2, thread: 0, latency_ns: 200_000, sample: 1, missed_periods: 0, from: { offset_ns: 7000, realtime_ns: "7" } };
  assert.equal(explainedAs(all, all[1]!.run, worst)?.key, "0.1");
  assert.equal(explainedAs(all, all[1]!.run, { ...worst, latency_ns: 200_001 }), undefined);
});

test("a stretch of 3 us in 5 ms stays visible and can be pointed at", () => {
  const [explained] = explainedOf([run("idle", [sample(5_000_000)])]);
  const stretches = stretchesOf(explained!);
  const range = windowOf(explained!);
  assert.deepEqual(range, [-40_000, 5_000_000]);
  const height = timelineHeight(stretches);
  const placed = placedOf(stretches, range, 360, height);
  const short = placed.find(({ name }) => name === "eth0")!;
  assert.equal(short.box.width, THINNEST);
  assert.equal(placed.at(-1), short, "drawn last, so that no neighbor hides it");
  const { toX, toNs } = scaleOf(range, 360);
  assert.ok(Math.abs(toNs(toX(123_456)) - 123_456) < 1);
  assert.equal(stretchAt(placed, { x: toX(101_500), y: short.box.top + 5 })?.name, "eth0");
  assert.equal(stretchAt(placed, { x: toX(101_500), y: short.box.top + 35 })?.name, "NET_RX");
  assert.equal(stretchAt(placed, { x: 1, y: 1 }), undefined);
  assert.match(stretchText(short), /3\.0 us gross, 3\.0 us net/);
});

test("what nothing covers is a gap, and the parts sum up to the latency", () => {
  const [explained] = explainedOf([run("idle", [sample(5_000_000)])]);
  assert.deepEqual(gapsOf(stretchesOf(explained!), windowOf(explained!)), [[4_998_000, 5_000_000]]);
  assert.deepEqual(gapsOf([], [0, 10]), [[0, 10]]);
  assert.equal(partsOf(explained!).reduce((sum, { net }) => sum + net, 0), 5_000_000);
  assert.doesNotMatch(partsOf(explained!).at(-1)!.what, /smaller/);
  const [cut] = explainedOf([run("idle", [sample(5_000_000, { parts_left_out: 7 })])]);
  assert.match(partsOf(cut!).at(-1)!.what, /none of these: 7 smaller, idle/);
});

test("pieces fill their bar, the unexplained with them, and no share is rounded to all or nothing", () => {
  const one = explanation([]);
  const pieces = piecesOf(one, 400);
  assert.deepEqual(pieces.map(({ cause, samples }) => [cause, samples]), [[0, 1], [1, 1], [null, 198]]);
  assert.ok(Math.abs(pieces.reduce((sum, { box }) => sum + box.width, 0) - 400) < 1e-6);
  assert.equal(pieceAt(pieces, { x: 300, y: 30 })?.cause, null);
  assert.equal(pieceAt(pieces, { x: 1, y: 30 })?.cause, 0);
  assert.deepEqual([percent(1, 1000), percent(999, 1000), percent(0, 9), percent(9, 9), percent(1, 3)], ["<1 %", ">99 %", "0 %", "100 %", "33 %"]);
});

test("the sample and its range before the schedule survive the URL", () => {
  const state = { ...fromHash(""), sample: "1.3", sampleRange: [-40_000, 5000] as [number, number] };
  assert.deepEqual(fromHash(toHash(state)), state);
});

test("what nodes explain of their packets is drawn like a run's own explanation, each node by itself", () => {
  const of = (node: string, latency: number) => ({ node, latency: "arrived_to_received", words: `arrived_to_received on ${node}`, explanation: explanation([sample(latency)], { begin: "arrival" }) });
  const packets = { ...run("udp", []), explanation: null, packets: { flows: [], worst: [], clocks: [], hardware: [], explanations: [of("a", 100_000), of("b", 200_000)] } };
  const nodes = explainedNodes([packets, run("idle", [sample(1)])]);
  assert.deepEqual(nodes.map(({ label }) => label), ["udp: arrived_to_received on a", "udp: arrived_to_received on b"]);
  assert.equal(new Set(nodes.map(({ id }) => id)).size, 2);
  const [worst] = explainedOf(nodes);
  assert.equal(worst!.key, "1.0");
  assert.match(partsOf({ ...worst!, sample: { ...worst!.sample, parts: [] } }).at(-1)!.what, /the receiver itself/);
});
