import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunView } from "../src/generated/view.d.ts";
import { burstsOf, noBursts, recoveryText } from "../src/bursts.ts";

type Row = RunView["rows"][number];

const row = (missed: number, worst: number, recovery: string | null = null): Row => ({
  place: "CPU 0", first_scheduled: { offset_ns: 0, realtime_ns: "0" }, periods: missed + 1, missed_periods: missed, worst_ns: worst, recovery_ns: null, recovery,
});

const run = (label: string, state: RunView["state"], rows: Row[]) => ({ label, state, rows }) as RunView;

test("bursts are sorted over all runs, worst first, and those of invalid runs come last", () => {
  const runs = [run("idle", "valid", [row(2, 2_000), row(0, 900_000)]), run("load", "valid", [row(5, 5_000)]), run("bad", "invalid", [row(99, 1)])];
  assert.deepEqual(burstsOf(runs).map(({ run: { label }, row: { missed_periods: missed } }) => [label, missed]), [["load", 5], ["idle", 2], ["idle", 0], ["bad", 99]]);
});

test("a burst in which nothing was missed says nothing of recovery", () => {
  assert.equal(recoveryText(row(0, 900_000)), "\u2013");
  assert.equal(recoveryText(row(2, 2_000, "not within the run")), "not within the run");
  assert.equal(recoveryText(row(2, 2_000, "3 ms")), "3 ms");
});

test("an empty list of bursts does not contradict the counters", () => {
  const counted = (part: { missed_periods?: number }) => ({ ...run("app", "valid", []), series: [part, part] }) as unknown as RunView;
  assert.match(noBursts([counted({ missed_periods: 0 })]), /^None/);
  assert.match(noBursts([counted({ missed_periods: 5 })]), /^10 periods were missed/);
  assert.match(noBursts([counted({})]), /did not count/);
});
