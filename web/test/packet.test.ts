import assert from "node:assert/strict";
import { test } from "node:test";
import type { PacketFlowView, RunView } from "../src/generated/view.d.ts";
import { arrivalRows, arrivalsOf, laneColumns, lanesOf, newlyMissing } from "../src/packet/arrivals.ts";
import { delayRows, delaysOf, errorWords, intervalAt, intervalWords, toYOf, verticalOf } from "../src/packet/delays.ts";
import { packetFacts, sumWords } from "../src/packet/facts.ts";
import { barsOf, barWords, missingWords, partRows } from "../src/packet/parts.ts";

type Delay = NonNullable<PacketFlowView["delay"]>;

function delay(median: number, highest: number, error?: string): Delay {
  const view = error === undefined ? null : { below_ns: 9_000, above_ns: 9_000, words: error };
  return { count: 20_000, lowest_ns: 1, median_ns: median, mean_ns: median, way: "one way", p99_9_ns: highest / 2, highest_ns: highest, error: view, error_of_highest: view };
}

function flow(more: Partial<PacketFlowView> = {}): PacketFlowView {
  const part = (name: string, words: string, median: number, ofWorst: number | null, error?: string) =>
    ({ name, words, delay: delay(median, 10 * median, error), missing: 0, of_worst_ns: ofWorst });
  return {
    flow: 0, from: "a", to: "b", path: "UDP over IPv4", receiver: "block", size_bytes: 128, interval_ns: 1e6, schedule: "128 bytes every 1 ms", sent: 20_003, skipped: 1, refused: 0, arrived: 20_000, lost: 3,
    doubled: 2, reordered: 1, too_old: 0, foreign: 0, forged: 0, counts_sentence: "", series: 0, delay: delay(47_000, 6_000_000, "\u00b19.0 us"),
    parts: [part("sent_to_transmitted", "sending program to driver", 8_000, 9_000), part("transmitted_to_arrived", "network", 500, -400, "\u00b19.0 us"),
      part("arrived_to_received", "receiving kernel to program", 38_000, 5_991_400)],
    parts_sentence: null, lateness: null, launch: null, launched: null,
    over_time: { start_offset_ns: [0, 1e9, 2e9], length_ns: [1e9, 1e9, 1e9], count: [5, 0, 7], median_ns: [47_000, null, 45_000], highest_ns: [90_000, null, 6_000_000], below_ns: [9_000, null, 4_000], above_ns: [9_000, null, 4_000] },
    arrivals: {
      start_offset_ns: [0, 1e8, 3e8], length_ns: [1e8, 1e8, 1e8], sent: [100, 50, 10], arrived: [97, 51, 10], missing: [3, 2, 2], doubled: [0, 2, 0], reordered: [0, 1, 0],
    },
    ...more,
  };
}

function run(flows: PacketFlowView[], more: Partial<RunView> = {}): RunView {
  return {
    id: "1", measurement: "packet", label: "udp", loaded: false, node: "a", state: "valid", reasons: [], lacks: [], not_observable: [], started_realtime_ns: "0",
    duration_ns: 3e9, samples: 1, series: [], worst: [], rows: [], manifest: {}, packets: { flows, worst: [], clocks: [], hardware: [], explanations: [] }, ...more,
  };
}

test("an interval without a packet is a gap, and is read out as one", () => {
  const delays = delaysOf(flow());
  assert.deepEqual([intervalAt(delays, 0.5), intervalAt(delays, 2.9), intervalAt(delays, 3.1)], [0, 2, undefined]);
  assert.equal(intervalWords(delays, 1), "from 1 s: no packet");
  assert.ok(intervalWords(delays, 0).endsWith("median 47.0 us, worst 90.0 us, both \u00b19.0 us"), intervalWords(delays, 0));
  assert.equal(delayRows(delays).length, 3);
  assert.equal(errorWords(1_000, 2_000), "-1.0 us +2.0 us");
  assert.equal(errorWords(Number.NaN, 1), "");
});

test("worst and median with their errors are in view, and a limit that decides is too", () => {
  const delays = delaysOf(flow());
  const whole = verticalOf(delays, [0, 3], Number.NaN);
  assert.ok(whole.log && whole.range[0] > 0 && whole.range[0] < 38_000 && whole.range[1] > 6_004_000, JSON.stringify(whole));
  const near = verticalOf(delays, [0, 1], Number.NaN);
  assert.ok(!near.log && near.range[0] === 0 && near.range[1] > 99_000 && near.range[1] < 200_000, JSON.stringify(near));
  assert.ok(verticalOf(delays, [0, 3], 2_000_000).range[1] > 6_000_000, "a broken limit is between");
  assert.ok(verticalOf(delays, [0, 1], 200_000).range[1] > 200_000);
  assert.deepEqual(verticalOf(delays, [0, 1], 1e12).beyond, ["limit 16 min 40 s"]);
  // Within the error, a delay can be below zero.
  const early = verticalOf(delaysOf(flow({ over_time: { ...flow().over_time, median_ns: [-2_000, null, -1_000], highest_ns: [3_000, null, 2_000] } })), [0, 3], Number.NaN);
  assert.ok(!early.log && early.range[0] < -11_000, JSON.stringify(early));
  const box = { left: 0, top: 0, width: 100, height: 100 };
  assert.ok(toYOf(box, whole)(-5) <= 100 && Number.isFinite(toYOf(box, whole)(0)), "what a logarithmic axis cannot hold ends at its foot");
});

test("the parts of the worst packet add up to its delay, and missing stamps are counted", () => {
  const [median, worst] = barsOf(flow());
  assert.equal(median!.segments.length, 3);
  assert.equal(worst!.segments.reduce((sum, { ns }) => sum + ns, 0), 6_000_000);
  assert.ok(barWords(worst!).includes("network: -400 ns \u00b19.0 us") && barWords(worst!).endsWith("the whole way: 6 000 us \u00b19.0 us".replace(" 000", "\u202f000")), barWords(worst!));
  const unknown = flow();
  unknown.parts[1] = { ...unknown.parts[1]!, of_worst_ns: null, missing: 12 };
  const undivided = barsOf(unknown)[1]!.segments;
  assert.deepEqual(undivided.map(({ ns }) => ns), [9_000, -400, 5_991_400], "what is not known is what is left of the whole");
  assert.equal(undivided[1]!.words, "network, not divided for want of stamps");
  const bare = flow();
  bare.parts = bare.parts.map((part) => ({ ...part, of_worst_ns: null }));
  assert.ok(barsOf(bare)[1]!.title.startsWith("what 99.9 %"));
  assert.equal(missingWords(unknown), "network: not known of 12 packets, whose stamp is missing or cannot be used");
  assert.equal(partRows(unknown).length, 4);
  const withoutFirst = flow({ parts: flow().parts.map((one, at) => (at === 0 ? { ...one, delay: null, of_worst_ns: null } : one)) });
  assert.ok(!barWords(barsOf(withoutFirst)[0]!).includes("%"), "shares of a part of the way say nothing");
  assert.ok(barWords(barsOf(flow())[0]!).includes("%"));
  assert.deepEqual(barsOf(flow({ delay: null })), []);
});

test("stamps of interfaces split the network, and each part keeps the error that it has of its own", () => {
  const part = (name: string, words: string, median: number, ofWorst: number | null, error?: string) =>
    ({ name, words, delay: delay(median, 10 * median, error), missing: 0, of_worst_ns: ofWorst });
  const kernels = flow().parts;
  const split = [part("transmitted_to_hw_transmitted", "driver to sending interface", 200, 300, "\u00b11.0 us"), part("hw_transmitted_to_hw_arrived", "interface to interface", 100, -900, "\u00b110.0 us"),
    part("hw_arrived_to_arrived", "receiving interface to kernel", 200, 200, "\u00b11.0 us")];
  const parts = [kernels[0]!, ...split, kernels[2]!];
  const [median, worst] = barsOf(flow({ parts }));
  assert.deepEqual([median!.segments.length, new Set(median!.segments.map((one) => one.part)).size], [5, 5]);
  assert.equal(worst!.segments.reduce((sum, { ns }) => sum + ns, 0), 6_000_000);
  assert.deepEqual(worst!.segments.map(({ error }) => error), ["", "\u00b11.0 us", "\u00b110.0 us", "\u00b11.0 us", ""]);
  // The sending interface did not stamp this packet.
  const unknown = barsOf(flow({ parts: parts.map((one, i) => (i === 1 || i === 2 ? { ...one, of_worst_ns: null } : one)) }))[1]!.segments;
  assert.deepEqual(unknown.map(({ ns }) => ns), [9_000, -600, 200, 5_991_400]);
  assert.equal(unknown[1]!.words, "driver to sending interface and interface to interface, not divided for want of stamps");
});

test("no missing, doubled or late packet is lost between columns", () => {
  const arrivals = arrivalsOf(flow());
  assert.deepEqual(newlyMissing(arrivals), [3, 0, 0]);
  const lanes = lanesOf(arrivals);
  for (const columns of [1, 7, 1000]) {
    for (const lane of lanes) {
      const found = laneColumns(lane, arrivals, [0, 0.4], columns);
      assert.equal(Math.max(...found) > 0, lane.values.some((value) => value > 0), `${lane.name}, ${columns}`);
    }
  }
  assert.deepEqual(laneColumns(lanes[0]!, arrivals, [0, 0.4], 4), [97, 51, 0, 10]);
  assert.deepEqual(laneColumns(lanes[2]!, arrivals, [0, 0.4], 4), [3, 2, 2, 2], "where nothing comes, what is missing stays missing");
  assert.equal(arrivalRows(arrivals).length, 3);
});

test("the tiles say worst, arrived, lost and skipped, and nothing of an invalid run", () => {
  const facts = packetFacts([run([flow()], { deadline_ns: 1_000_000 })]);
  assert.deepEqual(facts.map(({ name }) => name), ["worst one way, a \u2192 b", "arrived", "lost", "schedules skipped", "validity"]);
  assert.ok(facts[0]!.broken && facts[0]!.under === "\u00b19.0 us");
  assert.equal(facts[2]!.under, "2 doubled, 1 out of order");
  const within = packetFacts([run([flow()], { deadline_ns: 5_995_000 })]);
  assert.ok(!within[0]!.broken, "within its error nothing is shown to be late");
  const invalid = packetFacts([run([flow()], { state: "invalid" })]);
  assert.deepEqual(invalid.map(({ value }) => value), ["invalid", "invalid"]);
  assert.equal(sumWords([3, null]), "at least 3");
  assert.equal(sumWords([null]), "not known");
});
