import assert from "node:assert/strict";
import { test } from "node:test";
import { boundOf, groupAt, groupsOf, laneHeight, lanesOf, rangeOf, signed, summaryOf, ticksOf } from "../src/calibration.ts";
import type { CalibrationRowView } from "../src/generated/view.d.ts";

function row(part: Partial<CalibrationRowView>): CalibrationRowView {
  return {
    boot: "idle-0", condition: "idle", measurement: "wakeup", kind: "irqs-off", asked_length_ns: 20000, truth_ns: 10000, baseline_ns: 8000,
    reading_ns: 18000, difference_ns: 0, least_ns: -1000, most_ns: 5000, exception_ns: 20000, missed: null, outcome: "within", ...part,
  };
}

test("wake-ups come first, short before long, idle before load", () => {
  const groups = groupsOf([
    row({ measurement: "noise" }), row({ asked_length_ns: 1_000_000 }), row({ kind: "hog" }), row({ condition: "load" }), row({}),
  ]);
  assert.deepEqual(groups.map(({ measurement, kind, lengthNs, condition }) => `${measurement} ${kind} ${lengthNs} ${condition}`), [
    "wakeup irqs-off 20000 idle", "wakeup irqs-off 20000 load", "wakeup irqs-off 1000000 idle", "wakeup hog 20000 idle", "noise irqs-off 20000 idle",
  ]);
  const lanes = lanesOf(groups);
  assert.deepEqual(lanes.map(({ groups: of }) => of.length), [2, 1, 1, 1]);
  assert.equal(groupAt(lanes, 25)?.condition, "idle");
  assert.equal(groupAt(lanes, 45)?.condition, "load");
  assert.equal(groupAt(lanes, laneHeight(lanes[0]!) + 1)?.lengthNs, 1_000_000);
  assert.equal(groupAt(lanes, 1e6), undefined);
});

test("a summary leaves nothing out: what was not found counts as wrong", () => {
  const [group] = groupsOf([
    row({ difference_ns: -47, missed: { reading: 2, least: 2, most: 2 } }),
    row({ difference_ns: 12389, outcome: "exception", missed: { reading: 3, least: 4, most: 5 } }),
    row({ difference_ns: null, reading_ns: null, outcome: "not-found" }),
    row({ difference_ns: -2000, outcome: "outside" }),
  ]);
  const summary = summaryOf(group!);
  assert.deepEqual([summary.found, summary.within, summary.exceptions, summary.wrong], [3, 1, 1, 2]);
  assert.deepEqual([summary.least, summary.most], [-2000, 12389]);
  assert.deepEqual([summary.missedRight, summary.missedOf], [1, 2]);
  assert.equal(boundOf(group!), "-1 to +5 us");
});

test("numbers carry their sign and the axis holds all readings", () => {
  assert.deepEqual([0, -47, 2600, 10755, -3000].map(signed), ["0", "0", "+2.6", "+10.8", "-3"]);
  const lanes = lanesOf(groupsOf([row({ difference_ns: 32870 }), row({ difference_ns: -9000, outcome: "outside" })]));
  const [low, high] = rangeOf(lanes);
  assert.ok(low < -9000 && high > 32870);
  const ticks = ticksOf([low, high], 8);
  assert.ok(ticks.includes(0) && ticks.length <= 9 && ticks.length >= 4, String(ticks));
});
