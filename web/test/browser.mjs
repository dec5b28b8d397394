// Opens the sample reports from disk in a real browser: nothing may fail, nothing may be fetched, all must be drawn.
// SHOTS=1 also takes screenshots of all pages, into web/shots. CHROMIUM names another browser; SAMPLES a folder of reports made
// before; CASES some of the reports.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { pathToFileURL } from "node:url";
import { blankCanvases, isNoWiderThanNarrow, it, NARROW, ONLY, open, overflow, PHONE, running, samples, settled, shot, shots, url, wants, WIDE } from "./harness.mjs";
import "./many.mjs";
import "./data.mjs";

const CASES = ["holds", "broken", "invalid", "doubtful", "degraded", "many-cpus", "empty", "no-samples", "no-intervals", "no-deadline", "cpus-64", "imported", "imported-64", "same-name", "long", "few", "several", "many", "many-kinds", "many-200", "calibration", "calibration-failed", "comparison", "comparison-runs", "comparison-few", "comparison-invalid", "comparison-clocks", "tail", "tail-refused", "campaign", "campaign-running", "campaign-empty", "campaign-many", "causes", "causes-blind", "causes-invalid", "rhythm", "spoiled", "load", "program", "program-quiet", "program-invalid", "sync", "sync-lost", "sync-unbounded", "packets", "packets-lost", "packets-paths", "packets-invalid", "packets-none", "events", "responses", "answers", "costs", "orders", "orders-missed", "together", "together-contradicted", "together-unknown", "together-scenarios", "together-sweep", "together-none"];

/** A page that is longer than three windows lists its sections, each with a link to it. */
async function hasContents(page, height) {
  const { tall, listed, sections } = await page.evaluate(() => {
    const nav = document.querySelector(".contents");
    const links = nav.hidden ? [] : [...nav.querySelectorAll("a")];
    const titles = [...document.querySelectorAll("main > section[id]:not(#verdict)")].map((one) => one.id);
    return { tall: document.querySelector("main").scrollHeight, listed: links.map((one) => one.hash.slice(1)), sections: titles };
  });
  if (tall > 3 * height && sections.length > 1) assert.deepEqual(listed, sections);
}

for (const name of CASES.filter((one) => !ONLY || ONLY.includes(one))) {
  describe(name, () => {
    // A page is opened wide and light, and on a phone and dark; the other scheme is then put on as a reader's desktop does it.
    for (const [size, viewport, schemes] of [["wide", WIDE, ["light", "dark"]], ["phone", PHONE, ["dark", "light"]]]) {
      it(`is drawn without an error or a request, ${size}, light and dark`, async () => {
        const { page, wrong, close } = await open(name, { viewport, colorScheme: schemes[0] });
        for (const colorScheme of schemes) {
          if (colorScheme !== schemes[0]) {
            await page.emulateMedia({ colorScheme });
            await settled(page);
          }
          assert.notEqual((await page.textContent(".verdict .word")).trim(), "");
          assert.notEqual((await page.textContent(".verdict .sentence")).trim(), "");
          const areBlank = await page.evaluate(blankCanvases);
          assert.deepEqual(areBlank.flatMap((isBlank, i) => (isBlank ? [i] : [])), [], `${colorScheme}: blank canvases`);
          if (!["empty", "campaign-empty", "packets-none"].includes(name)) assert.ok(areBlank.length > 0);
          assert.ok(await overflow(page) <= 0, `${colorScheme}: ${await overflow(page)} px too wide`);
          await hasContents(page, viewport.height);
          await shot(page, `${name}-${size}-${colorScheme}.png`, { fullPage: true });
        }
        if (size === "phone") {
          await page.setViewportSize(NARROW);
          await settled(page);
          await isNoWiderThanNarrow(page);
        } else {
          const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
          const drawn = await page.evaluate(() => performance.getEntriesByName("chart").at(-1)?.startTime);
          console.log(`${name}: first contentful paint ${Math.round(paint)} ms, all charts drawn ${drawn ? `${Math.round(drawn)} ms` : "(none)"}`);
        }
        assert.deepEqual(wrong, []);
        await close();
      });
    }

    it("is as wide as a narrow phone without scripts, and lists its contents", async () => {
      const { page, close } = await open(name, { viewport: NARROW, javaScriptEnabled: false });
      const sections = await page.locator("main > section[id^='section-'] > h2").count();
      const links = await page.locator(".contents a").evaluateAll((all) => all.filter((one) => document.getElementById(one.hash.slice(1)) !== null).length);
      assert.equal(links, sections >= 3 ? sections : 0);
      await isNoWiderThanNarrow(page);
      await close();
    });
  });
}

describe("behavior", () => {
  it("stays within its size: 16 CPUs of 100 million samples in 2 MB", { skip: !wants("long") }, () => {
    assert.ok(statSync(join(samples, "long.html")).size <= 2_000_000);
  });

  it("draws the shift of each node with its worst order, zooms into it and reads it out", { skip: !wants("together") }, async () => {
    const { page, wrong, close } = await open("together");
    assert.equal(await page.textContent(".verdict .word"), "Does not hold 50.0 us against press-1");
    assert.match(await page.textContent(".facts"), /worst, press-2\+50\.6.usagainst press-1, order 85.403, beyond the limit.*worst, press-3-11\.0.us/);
    const rows = await page.locator("#shift .scroll").first().locator("tbody tr").allTextContents();
    assert.equal(rows.length, 2);
    assert.match(rows[0], /^press-2120.000\+901 ns.*\+50\.6 usorder 85.403\u00b110 ns$/);
    const figure = page.locator("[data-figure='shift-time']");
    const canvas = figure.locator("canvas");
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForFunction(() => /^At [0-9.]+ s: press-2 \+.* orders\); press-3 -.*orders\)\.$/.test(document.querySelector("[data-figure='shift-time'] .readout").textContent));
    assert.ok(await figure.locator("button:has-text('Reset')").isDisabled());
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2 + 80, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    await figure.locator("button:has-text('Reset'):not([disabled])").click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='shift-time']")]);
    const lines = readFileSync(await download.path(), "utf8").trim().split("\n").map((line) => line.split(","));
    assert.equal(lines[0].join(), "node,against,validity,from_ns,orders,min_ns,mean_ns,max_ns,error_ns");
    assert.equal((Math.max(...lines.slice(1).filter(([node]) => node === "press-2").map((line) => Number(line[7]))) / 1000).toFixed(1), "50.6");
    await page.click("[data-figure='shift-parts'] button:has-text('Table')");
    assert.match(await page.textContent("[data-figure='shift-parts'] table"), /press-2clocks\+3\.0 us\+583 ns\+5\.4 us/);
    assert.match(await page.textContent("table[data-rows='shift'] .published"), /^OSIE \(published\)shift between two boards, by a logic analyzer14.hsocket5004000265.*10\.6/);
    assert.equal(await page.locator("table[data-rows='shift'] .published").count(), 3);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("begins with what a witness contradicts, and hatches its numbers", { skip: !wants("together-contradicted") }, async () => {
    const { page, wrong, close } = await open("together-contradicted");
    assert.equal(await page.textContent(".verdict .word"), "Invalid");
    assert.match(await page.textContent(".verdict .sentence"), /^press-2 was 41\.0.us later than press-1 in the mean, of which what both nodes say leaves 38\.9.us without a reason/);
    assert.match(await page.textContent("#shift .caveat.invalid"), /do not agree.*leaves 38\.9.us without a reason/);
    assert.match(await page.textContent(".facts .hatched"), /invalidnot a result/);
    assert.equal(await page.locator("#shift .acting > .scroll tr.invalid").count(), 1);
    assert.equal(await page.locator("table[data-rows='shift'] tr.invalid").count(), 1);
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("together-contradicted", { javaScriptEnabled: false });
    assert.match(await plain.page.textContent("main"), /a clock that is off \(invalid: not a result\)/);
    await plain.close();
    const unknown = await open("together-unknown");
    assert.match(await unknown.page.textContent("#shift .nothing"), /Nothing can be said of a shift: the reason stands above/);
    await unknown.page.click("#shift button:has-text('without marks')");
    assert.match(await unknown.page.textContent("#shift"), /paired by time alone/);
    assert.match(await unknown.page.textContent("#shift tbody"), /pulse [0-9]/, "without marks no order has a number");
    assert.match(await unknown.page.textContent("[data-figure='shift-time']"), /How exact each is, the capture does not say/);
    assert.deepEqual(unknown.wrong, []);
    await unknown.close();
  });

  it("shows the lead that each run of a sweep needed, and the distribution of a chosen cycle", { skip: !wants("together-sweep") }, async () => {
    const { page, wrong, close } = await open("together-sweep");
    assert.match(await page.textContent(".verdict .word"), /^Confirmed: 303 us ahead at a cycle of 500 us$/);
    assert.match(await page.textContent(".facts"), /cycles confirmed2 of 3.*shortest cycle500.us.*shortest lead161.us/);
    assert.match(await page.textContent("[data-figure='needed']"), /heavy: confirmed, 303 us ahead, light: explored/);
    await page.click("#leads button:has-text('cycle 250 us')");
    await page.waitForFunction(() => /heavy: tried, 223 us ahead/.test(document.querySelector("[data-figure='needed']").textContent));
    assert.match(await page.textContent("#leads"), /No lead is confirmed at this cycle/);
    await page.click("[data-figure='sweep-leads'] button:has-text('Table')");
    const rows = await page.locator("[data-figure='sweep-leads'] tbody tr").allTextContents();
    assert.equal(rows.length, 10);
    assert.match(rows[6], /^500 usconfirmed303 us66.8470/);
    assert.match(await page.textContent("#beside .nothing"), /No shift of these nodes was seen by a witness/);
    assert.equal(await page.locator("table[data-rows='shift'] tbody tr:not(.published)").count(), 0, "no other quantity stands among shifts");
    assert.match(await page.textContent("table[data-rows='own']"), /three cycles, confirmedpress-1: ordered time to the act/);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("sets scenarios beside the paper's, as far as its text prints them", { skip: !wants("together-scenarios") }, async () => {
    const { page, wrong, close } = await open("together-scenarios");
    await page.click("[data-figure='scenarios'] button:has-text('Table')");
    const rows = await page.locator("[data-figure='scenarios'] tbody tr").allTextContents();
    assert.equal(rows.length, 7);
    assert.match(rows[0], /^RT-SMSpress-2 against press-1120.000\u2013/);
    assert.match(rows[4], /^paper, Test 4 \(published\).*\u20131\.0 us\u2013\u2013$/);
    assert.match(rows[5], /^paper, RT-SMS \(published\).*3\.2 us\u201360\.0 us$/);
    await page.click("[data-figure='line-costs'] button:has-text('Table')");
    assert.match(await page.textContent("[data-figure='line-costs'] tbody"), /paper, Test 4 \(published\)up and down, a million times\u201322\.0 us24\.0 us\u2013\u201350\.0 us/);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("names what a calibration found wrong in words", { skip: !wants("calibration-failed") }, async () => {
    const { page, wrong, close } = await open("calibration-failed");
    assert.match(await page.textContent(".verdict .word"), /Not calibrated/);
    assert.match(await page.textContent("#calibration"), /not found/);
    assert.equal(await page.locator("#latency").count(), 0);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("t");
    assert.match(await page.textContent("[data-figure='calibration-wakeup'] table"), /37 of 40/);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("sets two groups side by side, and concludes nothing from an invalid run", { skip: !wants("comparison") }, async () => {
    const { page, wrong, close } = await open("comparison");
    assert.match(await page.textContent(".verdict .word"), /^B is worse in the body$/);
    const text = await page.textContent("#comparison");
    assert.match(text, /CONFIG_E1000Eym/);
    assert.equal(await page.locator("[data-figure='time'] .lane").count(), 2);
    assert.match(text, /kernel6\.12\.43-rt126\.12\.48-rt13/);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='maxima']")]);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, 11, "five maxima of each side");
    assert.deepEqual(wrong, []);
    await close();
    const few = await open("comparison-few");
    assert.match(await few.page.textContent("#verdict"), /Too few runs to tell ?B - A: p50 .* in these 3 and 3 runs\. It says what these runs did/);
    assert.match(await few.page.textContent("#reasons"), /with 3 and 3 repetitions no p below 0\.05/);
    await few.close();
    const invalid = await open("comparison-invalid");
    assert.match(await invalid.page.textContent(".verdict .word"), /^Invalid$/);
    assert.equal(await invalid.page.locator("[data-figure='effects']").count(), 0);
    assert.equal(await invalid.page.locator("#comparison tr.invalid").count(), 9);
    await invalid.close();
  });

  it("shows clocks on opposite sides of their reference apart, and names both", { skip: !wants("comparison-clocks") }, async () => {
    const { page, wrong, close } = await open("comparison-clocks");
    assert.match(await page.textContent(".verdict .word"), /lay elsewhere/);
    assert.match(await page.textContent(".verdict .sentence"), /^B - A: p50 \+\d+ us \(\+50\.0 us against -50\.0 us\), farthest from zero/);
    assert.match(await page.textContent("#reasons"), /-50\.0 us of A and \+50\.0 us of B/);
    // The bars of A are left of the line of zero, those of B right of it.
    const drawn = page.locator("[data-figure='comparison'] canvas");
    const colored = await drawn.evaluate((canvas) => {
      const { width, height } = canvas;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
      const found = { blue: [Infinity, -1], gold: [Infinity, -1] };
      for (let i = 0; i < data.length; i += 4) {
        const [red, , blue] = [data[i], data[i + 1], data[i + 2]];
        if (Math.abs(red - blue) < 90) continue;
        const ends = blue > red ? found.blue : found.gold;
        const x = ((i / 4) % width) / width;
        [ends[0], ends[1]] = [Math.min(ends[0], x), Math.max(ends[1], x)];
      }
      return found;
    });
    assert.ok(colored.blue[1] < 0.45 && colored.gold[0] > 0.6, JSON.stringify(colored));
    await drawn.scrollIntoViewIfNeeded();
    const canvas = await drawn.boundingBox();
    await page.mouse.move(canvas.x + canvas.width * 0.92, canvas.y + 240);
    await page.waitForFunction(() => /^B: .* us to .* us: [1-9]/.test(document.querySelector("[data-figure='comparison'] .readout").textContent));
    await page.click("[data-figure='signed-time'] button:has-text('Table')");
    assert.match(await page.textContent("[data-figure='signed-time'] table"), /A 10 ns-[0-9.]+ us-[0-9.]+ us/);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='signed-time']")]);
    const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
    assert.ok(lines.length > 100 && lines[1].split(",").slice(3).every((ns) => Number(ns) < 0) && lines.at(-1).split(",").slice(3).every((ns) => Number(ns) > 0), lines[1]);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("draws a followed program's periods, preemptions and cost", { skip: !wants("program") }, async () => {
    const { page, wrong, close } = await open("program");
    const label = (figure) => page.getAttribute(`[data-figure='${figure}'] .chart`, "aria-label");
    assert.match(await label("periods"), /motor \(4711, fifo 80\): 60.000 activations, .* about 1.000 us, 5 missed; sensor .* none missed/);
    assert.match(await label("preemptions"), /by irq\/24-eth0: 112 times, 7\.1 ms in all, longest 310 us/);
    assert.match(await page.textContent("[data-facts='cost']"), /1.234.567none lost.*6\.4 events of 205 ns, 0\.13 % of the shortest period.*0\.4 %/);
    const drawn = page.locator("[data-figure='periods'] canvas");
    await drawn.scrollIntoViewIfNeeded();
    const canvas = await drawn.boundingBox();
    await page.mouse.move(canvas.x + 200, canvas.y + 90);
    await page.waitForFunction(() => /^sensor/.test(document.querySelector("[data-figure='periods'] .readout").textContent));
    await page.click("[data-figure='periods'] button:has-text('Table')");
    const table = await page.textContent("[data-figure='periods'] table");
    assert.match(table, /a logger: <b> \(4713, other\)no loop recognized/, "a thread without a loop is told, its name as text");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='preemptions']")]);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n")[1], "motor,4711,valid,irq/24-eth0,112,7100000,310000");
    assert.deepEqual(wrong, []);
    await close();
    const quiet = await open("program-quiet");
    const text = await quiet.page.textContent("#program");
    assert.match(text, /No loop was recognized in any thread/);
    assert.match(text, /None: no followed thread lost its CPU/);
    assert.equal(await quiet.page.locator("#program canvas").count(), 0);
    await quiet.close();
    const invalid = await open("program-invalid");
    assert.match(await invalid.page.textContent("#program"), /The run is invalid: nothing below is a result\..*81.233 lost/);
    assert.equal(await invalid.page.locator("#program .fact:not(.hatched)").count(), 0);
    await invalid.close();
    const plain = await open("program", { javaScriptEnabled: false });
    assert.match(await plain.page.textContent("main"), /The program's threads.*irq\/24-eth0.*Cost of following: 1.234.567 events, none lost/s);
    await plain.close();
  });

  it("shows how far clocks are apart: bound, states, offsets, and what changed", { skip: !wants("sync") }, async () => {
    const { page, wrong, close } = await open("sync");
    assert.match(await page.textContent(".verdict .word"), /^Holds 400.us$/);
    assert.match(await page.textContent(".verdict .sentence"), /^The hard bound of chronyd, -137 us to 144 us, stayed within \u00b1400 us/);
    assert.equal(await page.locator("#latency, #time, #worst").count(), 0, "there is no wake-up to show");
    assert.equal(await page.evaluate(() => [...document.querySelectorAll("main > section")].find((one) => !["verdict", "reasons"].includes(one.id)).id), "clocks");
    assert.match(await page.textContent(".about"), /limit400 us/);
    const text = (await page.textContent("#clocks")).replace(/\s+/g, " ");
    assert.match(text, /ptp4l eth0 domain 0 4\.2.*Clock phc:ptp0 against grand master 0cc47a.*within -12\.7 us to 87\.7 us.*trusts that no message was received before it was sent/);
    assert.match(text, /its own estimate, which cannot see an asymmetric path/);
    assert.match(text, /Beyond this view: limit, \u00b1400 us/);
    const chart = page.locator("[data-figure='offsets-1'] canvas");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.65, box.y + 150);
    await page.waitForFunction(() => /^At .*offset .*hard bound .*path delay .*; locked\.$/.test(document.querySelector("[data-figure='offsets-1'] .readout").textContent));
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 150, { steps: 3 });
    await page.mouse.up();
    await url(page, /clocks=/);
    await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 150);
    await page.waitForURL((address) => !/clocks=/.test(address.hash), { timeout: 3000 });
    await page.locator("#clocks").focus();
    await page.keyboard.press("b");
    assert.equal(await page.getAttribute("[data-figure='offsets-1'] [data-key='b']", "aria-pressed"), "true");
    await page.keyboard.press("f");
    assert.equal(await page.getAttribute("[data-figure='offsets-1'] [data-key='b']", "aria-pressed"), "false");
    for (const [figure, pattern] of [["offsets-1", /path delay/], ["offset-distribution-1", /offsets/], ["wedge-2", /path delay/], ["allan-2", /averaging time/]]) {
      await page.click(`[data-figure='${figure}'] button:has-text('Table')`);
      assert.match(await page.textContent(`[data-figure='${figure}'] table`), pattern, figure);
    }
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='offsets-2']")]);
    assert.ok(readFileSync(await download.path(), "utf8").trim().split("\n").length > 1000, "the CSV file has every point");
    assert.match(await page.textContent("[data-events]"), /08:33:20.*chronyd.*leap second/);
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("sync", { javaScriptEnabled: false });
    assert.match((await plain.page.textContent("main")).replace(/\s+/g, " "), /Clocks.*ptp4l eth0 domain 0 ?phc:ptp0.*-12\.7 us ?87\.7 us.*leap second/);
    await plain.close();
  });

  it("never lets clocks that were lost, or have no bound, look like a result", { skip: !wants("sync-lost") }, async () => {
    const { page, wrong, close } = await open("sync-lost");
    assert.match(await page.textContent(".verdict .word"), /Cannot be told/);
    assert.match(await page.textContent(".fact.hatched"), /hard bound, ptp4l eth0 domain 0invalid/);
    assert.match(await page.textContent("#clocks h3"), /invalid: not a result/);
    const rows = page.locator("[data-events] > .scroll tbody tr");
    assert.equal(await rows.count(), 12);
    assert.equal(await page.locator("[data-events] tr:not(.invalid)").count(), 2, "the heads alone");
    assert.match(await page.textContent("[data-events] summary"), /^8 more changes of state$/);
    assert.match(await rows.allTextContents().then((all) => all.join("")), /reference.*step/);
    // What told another time is a figure of its own.
    const labels = await page.locator("[data-figure^='offsets'] .chart").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")).join(" "));
    assert.match(labels, /locked from 0 ns.*holdover from 3 min.*lost from 3 min 40 s/s);
    assert.deepEqual(wrong, []);
    await close();
    const unbounded = await open("sync-unbounded");
    assert.match(await unbounded.page.textContent(".verdict"), /Offsets without a hard bound.*as far as the services know/);
    assert.match(await unbounded.page.textContent("#clocks"), /no hard bound: ptp4l passes no raw time stamps on/);
    assert.match(await unbounded.page.textContent("#clocks"), /kernel.*no hard bound: the kernel passes on/);
    await unbounded.close();
  });

  it("shows packets from program to program: the worst with its error, parts of the way, loss and order, both clocks", { skip: !wants("packets") }, async () => {
    const { page, wrong, close } = await open("packets");
    assert.match(await page.textContent(".verdict .word"), /^Holds 2.ms$/);
    assert.match(await page.textContent(".verdict .sentence"), /^The worst of 60.000 packets took \d+.us \u00b1.*one way, from press-7 to camera-2; none was lost\.$/);
    assert.match(await page.textContent(".about"), /kernelpress-7: 6\.12\.48-rt, PREEMPT_RT; camera-2: 6\.18\.2-rt/);
    assert.deepEqual(await page.locator(".fact dt").allTextContents(), [
      "worst one way, press-7 \u2192 camera-2", "worst one way, camera-2 \u2192 press-7", "arrived", "lost", "schedules skipped", "clocks apart, press-7 less camera-2", "validity"]);
    assert.equal(await page.locator("#time, #worst").count(), 0, "there is no wake-up to show");
    const chart = page.locator("[data-figure='packet-delays-flow0'] canvas");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 150);
    await page.waitForFunction(() => /^from .* packets, median .*, worst .*, both \u00b1/.test(document.querySelector("[data-figure='packet-delays-flow0'] .readout").textContent));
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 150, { steps: 3 });
    await page.mouse.up();
    await url(page, /clocks=/);
    for (const figure of ["packet-arrivals-flow1", "offsets-node1", "packet-delays-flow1"]) {
      assert.equal(await page.locator(`[data-figure='${figure}'] [data-key='f']`).isDisabled(), false, `${figure} has the same range of time`);
    }
    await page.mouse.dblclick(box.x + box.width * 0.5, box.y + 150);
    await page.waitForURL((address) => !/clocks=/.test(address.hash), { timeout: 3000 });
    for (const [figure, pattern] of [["packet-delays-flow0", /median.*error/s], ["packet-parts-flow0", /network.*receiving kernel to program/s], ["packet-arrivals-flow1", /missing since the start/], ["latency", /press-7/]]) {
      await page.click(`[data-figure='${figure}'] button:has-text('Table')`);
      assert.match(await page.textContent(`[data-figure='${figure}'] table`), pattern, figure);
    }
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='packet-arrivals-flow0']")]);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, 301, "30 s in tenths");
    assert.match(await page.getAttribute("[data-figure='packet-parts-flow1'] .chart", "aria-label"), /the worst packet: .*sending program to driver: .*network: .*receiving kernel to program/);
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("packets", { javaScriptEnabled: false });
    assert.match((await plain.page.textContent("main")).replace(/\s+/g, " "), /Packets from program to program.*press-7 to camera-2: UDP over IPv4, receiver: block.*30.000 sent, 30.000 arrived, 0 lost.*network.*Clock of press-7 less that of camera-2/);
    await plain.close();
  });

  it("sets runs of packets side by side, and lets no invalid or empty one look like a result", { skip: !wants("packets-paths") }, async () => {
    const { page, wrong, close } = await open("packets-paths");
    const rows = await page.locator("#packets table").first().locator("tbody tr").allTextContents();
    assert.equal(rows.length, 3);
    assert.match(rows[2], /xdp.*AF_XDP on eth0, zero-copy.*poll.*30.000.*\u00b1/);
    assert.deepEqual(wrong, []);
    await close();
    const lost = await open("packets-lost");
    assert.match(await lost.page.textContent(".verdict .word"), /^Does not hold/);
    assert.match(await lost.page.textContent(".verdict .sentence"), /beyond the limit by more than their error; \d+ were lost\.$/);
    await lost.close();
    const invalid = await open("packets-invalid");
    assert.match(await invalid.page.textContent(".verdict .word"), /Cannot be told/);
    assert.match(await invalid.page.textContent(".fact.hatched"), /worst one way, press-7 \u2192 camera-2invalid/);
    assert.equal(await invalid.page.locator("#worst-packets tbody tr:not(.invalid)").count(), 0);
    await invalid.close();
    const none = await open("packets-none");
    assert.match(await none.page.textContent("#packets"), /No packet of this flow has a delay.*Loss and order over time are not known/s);
    assert.match(await none.page.textContent("#between"), /none was complete/);
    await none.close();
  });

  it("tells which condition helps, in words", { skip: !wants("campaign") }, async () => {
    const { page, wrong, close } = await open("campaign");
    assert.match(await page.textContent(".verdict .word"), /^Something harms the body$/);
    const label = (figure) => page.getAttribute(`[data-figure='${figure}'] .chart`, "aria-label");
    assert.match(await label("knobs-wakeup"), /governor=performance HELPS THE BODY.*ksm=on not beyond the margin.*irqs=here HARMS THE BODY.*watchdog=off no difference shown.*rt-throttling=on cannot be told/);
    assert.match(await label("anew-wakeup"), /governor=performance,idle-states=shallow HELPS THE BODY/);

    assert.match(await page.textContent("#anew"), /measured again/);
    assert.equal(await page.locator("#runs tr.invalid").count(), 9, "eight that were throttled and one that was disturbed");
    assert.match(await page.textContent("#runs"), /somebody else changed \/sys\/ksm meanwhile/);
    assert.match(await page.textContent("#conditions"), /\/sys\/governor: 0 -> 1/);
    assert.match(await page.textContent("#judged"), /at most 1 %/);
    await page.locator("[data-figure='knobs-wakeup'] canvas").evaluate((one) => one.scrollIntoView({ block: "center" }));
    const canvas = await page.locator("[data-figure='knobs-wakeup'] canvas").boundingBox();
    // Down the rows until the first one is under the pointer.
    let readout = "";
    for (let y = 20; y < canvas.height && !/^governor=performance, mean/.test(readout); y += 5) {
      await page.mouse.move(canvas.x + 400, canvas.y + y);
      readout = await page.textContent("[data-figure='knobs-wakeup'] .readout");
    }
    assert.match(readout, /^governor=performance, mean: first condition/);
    await page.mouse.down();
    await page.mouse.move(canvas.x + 700, canvas.y + 60, { steps: 3 });
    await page.mouse.up();
    assert.equal(await page.isEnabled("[data-figure='knobs-wakeup'] button >> text=Reset"), true);
    await page.locator("#knobs").focus();
    await page.keyboard.press("t");
    assert.match(await page.textContent("[data-figure='knobs-wakeup'] table"), /HELPS THE BODY/);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='figure-1']")]);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, 7, "six conditions have a usable run");
    assert.deepEqual(wrong, []);
    await close();
  });

  it("says what is missing of a campaign", { skip: !wants("campaign-running") }, async () => {
    const running = await open("campaign-running");
    assert.match(await running.page.textContent(".verdict .word"), /^Not complete yet$/);
    assert.match(await running.page.textContent(".facts"), /22 of 112/);
    await running.close();
    const { page, wrong, close } = await open("campaign-empty");
    assert.match(await page.textContent(".verdict .word"), /^Nothing measured yet$/);
    assert.match(await page.textContent("#runs"), /punctual campaign resume/);
    assert.equal(await page.locator("[id^='figure-']").count(), 0);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("tells what made samples late, and draws the timeline of each", { skip: !wants("causes") }, async () => {
    const { page, wrong, close } = await open("causes");
    const text = await page.textContent("#causes");
    assert.match(text, /No cause stands out among the 6 samples above the deadline of 100.us\. The worst, 24.310.us on CPU 2: hypervisor, likely, but not shown/);
    assert.match(text, /9 came while an earlier one was being read/);
    assert.equal(await page.locator("#causes tr.hatched").count(), 1, "what was not explained stands in the table, hatched");
    const label = await page.getAttribute("[data-figure='causes-1'] .chart", "aria-label");
    assert.match(label, /hypervisor: 1 of 21 samples that were among the worst.*not explained: 9 of 21.*not explained: 0 of 6 samples above the deadline/);
    assert.match(await page.textContent("[data-figure='timeline'] figcaption"), /^24.310.us on CPU 2, under paper load$/);
    // From the table of the worst samples to its timeline.
    await page.click("#worst a >> text=softirq NET_RX");
    await url(page, /sample=1\.3/);
    const canvas = page.locator("[data-figure='timeline'] canvas");
    assert.ok(!(await canvas.page().evaluate(blankCanvases)).includes(true));
    await canvas.scrollIntoViewIfNeeded();
    const box = await canvas.boundingBox();
    const readout = () => page.textContent("[data-figure='timeline'] .readout");
    // Three rows: the thread at the foot, the softirq over it, the interrupts within that over both.
    const rowAt = (depth) => box.y + box.height - 42 - depth * 30 - 17;
    const rightOf = (us) => box.x + 8 + ((box.width - 16) * (us + 42)) / (311.3 + 42);
    await page.mouse.move(rightOf(200), rowAt(0));
    assert.match(await readout(), /^iperf3 \(thread 902, other\), thread: from -42\.0.us to 30\d.us; 3[45]\d.us gross, [\d.]+.us net of what interrupted it/);
    await page.mouse.move(rightOf(200), rowAt(1));
    assert.match(await readout(), /^softirq NET_RX, softirq: from -4\.1.us to 30\d.us; 30\d.us gross, (299|300).us net of what interrupted it/);
    await page.mouse.move(rightOf(157), rowAt(2));
    assert.match(await readout(), /^eth0 \(interrupt 126\), interrupt: from 15\d.us to 15\d.us; 3\.1.us gross, 3\.1.us net/);
    await page.mouse.move(box.x + 20, box.y + 5);
    assert.match(await readout(), /^Point at a stretch/);
    // Zoom and back.
    const calm = await canvas.evaluate((one) => one.toDataURL());
    await page.mouse.move(rightOf(90), rowAt(1));
    await page.mouse.down();
    await page.mouse.move(rightOf(180), rowAt(1), { steps: 4 });
    await page.mouse.up();
    await url(page, /around=(89|90)/);
    await page.mouse.move(box.x + 20, box.y + 5);
    await page.waitForTimeout(150);
    assert.notEqual(await canvas.evaluate((one) => one.toDataURL()), calm);
    await shot(page, "causes-zoomed.png");
    await canvas.dblclick({ position: { x: 400, y: 10 } });
    await page.waitForFunction(() => !location.hash.includes("around="));
    assert.equal(await page.locator("#causes .left-out").count(), 0, "nothing of this one was left out");
    // Keys: another sample, and the table.
    await page.locator("#causes").focus();
    await page.keyboard.press("ArrowUp");
    await url(page, /sample=1\.2/);
    assert.match(await page.textContent("#causes pre"), /^text_poke_bp_batch\n/);
    assert.match(await page.textContent("#causes .left-out"), /^34 shorter stretches were not kept in the record and are not drawn\.$/);
    await page.click("[data-figure='timeline'] button >> text=Table");
    assert.match(await page.textContent("[data-figure='timeline'] table"), /modprobe \(thread 811, other\)thread0-50\.0.us/);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='timeline']")]);
    const view = JSON.parse(await page.textContent("#data"));
    const stretches = view.page.results.runs.flatMap((run) => run.explanation?.samples ?? []).reduce((sum, sample) => sum + sample.timeline.from_ns.length, 0);
    assert.equal(readFileSync(await download.path(), "utf8").trim().split("\n").length, stretches + 1);
    // To the finding.
    await page.click("#causes table.causes a >> nth=0");
    assert.ok(await page.locator("#finding-interrupts-on-isolated-cpu").evaluate((finding) => finding.open));
    assert.deepEqual(wrong, []);
    await close();
  });

  it("reads a stretch under a tap, and reads it without scripts", { skip: !wants("causes") }, async () => {
    const context = await (await running()).newContext({ viewport: PHONE, hasTouch: true, isMobile: true });
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(samples, "causes.html")).href + "#sample=1.1");
    await page.waitForSelector("html[data-ready]");
    const canvas = page.locator("[data-figure='timeline'] canvas");
    await canvas.scrollIntoViewIfNeeded();
    const { height } = await canvas.boundingBox();
    await canvas.tap({ position: { x: 150, y: height - 60 } });
    assert.match(await page.textContent("[data-figure='timeline'] .readout"), /^irq\/126-eth0/);
    await context.close();
    const plain = await open("causes", { javaScriptEnabled: false });
    const text = await plain.page.textContent("main");
    assert.match(text, /What made the worst late/);
    assert.match(text, /12 of 21 samples that were among the worst when they came are explained; 9 came while/);
    await plain.close();
  });

  it("says where nothing could be seen, and lets nothing of an invalid run look explained", { skip: !wants("causes-blind") }, async () => {
    const blind = await open("causes-blind");
    assert.match(await blind.page.textContent("#causes"), /No evidence was available.*this needs CONFIG_BPF_SYSCALL/);
    assert.equal(await blind.page.locator("#causes canvas").count(), 0);
    assert.equal(await blind.page.locator("#causes .caveat").count(), 1, "what both runs lack is said once");
    await blind.close();
    const invalid = await open("causes-invalid");
    assert.match(await invalid.page.textContent("#causes .explained.is-invalid"), /Invalid: not a result/);
    assert.doesNotMatch(await invalid.page.textContent("#causes .explained.is-invalid .asked"), /What to change/);
    assert.equal(await invalid.page.locator("#causes .is-invalid table.causes tbody tr:not(.invalid)").count(), 0);
    await invalid.close();
    const none = await open("holds");
    assert.equal(await none.page.locator("#causes").count(), 0, "nobody asked for causes");
    await none.close();
  });

  it("prints on white paper whatever the screen is", { skip: !wants("broken") }, async () => {
    const { page, wrong, close } = await open("broken", { colorScheme: "dark" });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await page.waitForTimeout(200);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await page.pdf({ path: join(shots, "broken-print.pdf") });
    await shot(page, "broken-print.png", { fullPage: true });
    assert.deepEqual(wrong, []);
    await close();
  });

  it("answers to keys and keeps its state in the URL", { skip: !wants("broken") }, async () => {
    const { page, wrong, close } = await open("broken");
    await page.keyboard.press("?");
    assert.ok(await page.isVisible(".help"));
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".help").count(), 0);
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.id), "reasons");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.id), "latency");
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.getAttribute("#latency [data-lane='CPU 0']", "aria-pressed"), "true");
    await url(page, /lift=CPU\+0/);
    await page.keyboard.press("t");
    assert.ok(await page.isVisible("[data-figure='latency'] table"));
    await url(page, /tables=latency/);
    await page.keyboard.press("t");
    assert.doesNotMatch(await page.textContent("[data-figure='latency'] .note"), /beyond/, "the first view holds what decides");
    assert.equal(await page.getAttribute("#latency [data-key='l']", "aria-pressed"), "true", "on a logarithmic axis");
    await page.keyboard.press("b");
    await url(page, /x=linear&range=/);
    await page.waitForTimeout(100);
    assert.match(await page.textContent("[data-figure='latency'] .note"), /samples beyond, worst 24.310 us/);
    await shot(page, "broken-body.png");
    await page.keyboard.press("b");
    await page.waitForFunction(() => !/range=|x=/.test(location.hash));
    await page.keyboard.press("l");
    await url(page, /x=linear/);
    await page.keyboard.press("f");
    await page.waitForFunction(() => !/range=|x=/.test(location.hash));
    await page.keyboard.press("c");
    await url(page, /view=corrected/);
    assert.match(await page.textContent("[data-figure='latency'] .note"), /Corrected view/);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("h");
    await url(page, /heat=1/);
    await page.waitForTimeout(100);
    await shot(page.locator("#time"), "broken-heat.png");
    await page.keyboard.press("/");
    await page.keyboard.type("governor");
    assert.match(await page.textContent("#details"), /schedutil/);
    await url(page, /q=governor/);
    const before = page.url();
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    assert.equal(page.url(), before);
    assert.equal(await page.inputValue("#search"), "governor");
    assert.deepEqual(wrong, []);
    await close();
  });

  it("zooms by dragging, goes back by a double click, reads out under the pointer", { skip: !wants("holds") }, async () => {
    const { page, wrong, close } = await open("holds");
    const chart = page.locator("#latency .u-over");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + 40, box.y + 100);
    await page.mouse.move(box.x + 60, box.y + 100);
    assert.match(await page.textContent("#latency .legend .note"), /samples from/);
    await page.mouse.down();
    await page.mouse.move(box.x + 260, box.y + 120, { steps: 5 });
    await page.mouse.up();
    await page.waitForTimeout(100);
    assert.match(page.url(), /range=/);
    await shot(page, "holds-zoomed.png");
    await page.locator("#latency .u-over").dblclick({ position: { x: 100, y: 100 } });
    await page.waitForTimeout(100);
    assert.doesNotMatch(page.url(), /range=/);
    const picture = () => page.locator("#latency canvas").evaluate((canvas) => canvas.toDataURL());
    const calm = await picture();
    await page.hover("#latency [data-lane='CPU 2']");
    await page.waitForTimeout(150);
    assert.notEqual(await picture(), calm, "a series under the pointer is lifted");
    assert.doesNotMatch(page.url(), /lift=/);
    const heat = await open("holds", { hash: "#heat=1" });
    const map = heat.page.locator("#time canvas");
    await map.scrollIntoViewIfNeeded();
    const area = await map.boundingBox();
    await heat.page.mouse.move(area.x + 200, area.y + 100);
    assert.match(await heat.page.textContent("#time .legend .note"), /Worst .* of .* samples in 10 s/);
    await heat.page.mouse.down();
    await heat.page.mouse.move(area.x + 500, area.y + 100, { steps: 5 });
    await heat.page.mouse.up();
    await url(heat.page, /time=/);
    await map.dblclick({ position: { x: 300, y: 100 } });
    await heat.page.waitForFunction(() => !location.hash.includes("time="));
    assert.deepEqual(heat.wrong, []);
    await heat.close();
    assert.deepEqual(wrong, []);
    await close();
  });

  it("zooms under a finger", { skip: !wants("holds") }, async () => {
    const context = await (await running()).newContext({ viewport: PHONE, hasTouch: true, isMobile: true });
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(samples, "holds.html")).href);
    await page.waitForSelector("html[data-ready]");
    const chart = page.locator("#latency .u-over");
    await chart.scrollIntoViewIfNeeded();
    const { x, y } = await chart.boundingBox();
    const client = await context.newCDPSession(page);
    const touch = (type, at) => client.send("Input.dispatchTouchEvent", { type, touchPoints: at === null ? [] : [{ x: x + at, y: y + 60 }] });
    await touch("touchStart", 30);
    for (const at of [50, 80, 110, 140]) await touch("touchMove", at);
    await touch("touchEnd", null);
    await url(page, /range=/);
    await context.close();
  });

  it("hands out its data as CSV, whole", { skip: !wants("broken") }, async () => {
    const { page, close } = await open("broken");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='latency']")]);
    const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
    assert.equal(lines[0], "run,validity,series,view,bin_from_ns,count");
    const view = JSON.parse(await page.textContent("#data"));
    const samples = view.page.results.runs.filter((run) => run.measurement === "wakeup").reduce((sum, run) => sum + Number(run.samples), 0);
    assert.equal(lines.slice(1).reduce((sum, line) => sum + Number(line.split(",")[5]), 0), samples);
    const [time] = await Promise.all([page.waitForEvent("download"), page.click("[data-csv='time']")]);
    assert.match(readFileSync(await time.path(), "utf8"), /^run,validity,series,start_offset_ns,length_ns,max_ns,count,missed_periods\nidle,valid,CPU 0,0,10000000000,\d+,\d+,0\n/);
    await close();
  });

  it("says the same numbers in sentence, tiles, tables and plots", { skip: !wants("broken") }, async () => {
    for (const name of ["broken", "holds", "program", "no-deadline", "doubtful", "imported"]) {
      const { page, wrong, close } = await open(name);
      const digits = (text) => Number(text.replace(/[^0-9]/g, ""));
      const totals = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent).page.results.totals);
      const tile = async (title) => (await page.locator(".fact", { has: page.locator(`dt:text-is("${title}")`) }).locator("dd").first().textContent());
      assert.equal(digits(await tile(totals.what)), totals.samples, name);
      assert.match((await page.textContent(".verdict .sentence")).replace(/\u202f/g, ""), name === "doubtful" ? /invalid/ : new RegExp(`(^|\\D)${totals.samples}\\D`), name);
      await page.locator("#latency").focus();
      await page.keyboard.press("t");
      const table = await page.locator("[data-figure='latency'] tbody tr:not(.invalid)").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
      const column = (index) => table.reduce((sum, row) => sum + digits(row[index]), 0);
      assert.equal(column(2), totals.samples, `${name}: samples of the table`);
      if (totals.missed_periods === null) assert.equal(await tile("missed periods"), "\u2013");
      else {
        assert.equal(column(table[0].length - 1), totals.missed_periods, `${name}: missed periods of the table`);
        assert.equal(digits(await tile("missed periods")), totals.missed_periods, name);
        await page.locator("#time").focus();
        await page.keyboard.press("t");
        const times = await page.locator("[data-figure='time'] tbody tr:not(.invalid)").evaluateAll((rows) => rows.map((row) => [row.cells[4].textContent, row.cells[5].textContent]));
        assert.deepEqual([0, 1].map((index) => times.reduce((sum, row) => sum + digits(row[index]), 0)), [totals.samples, totals.missed_periods], `${name}: over time`);
      }
      if (totals.beyond !== null) assert.equal(digits(await tile("beyond the deadline")), totals.beyond, name);
      assert.deepEqual(wrong, []);
      await close();
    }
  });

  it("draws no bin finer than its source, at every zoom and on both axes", { skip: !wants("imported-64") }, async () => {
    for (const [name, hash] of [
      ["imported-64", ""], ["imported-64", "#x=linear"], ["imported-64", "#x=linear&range=0~48000"], ["imported-64", "#range=6000~9000"],
      ["imported-64", "#x=log&range=6000~9000"], ["imported", ""], ["imported", "#x=log"], ["imported", "#range=40000~41000"],
    ]) {
      const { page, wrong, close } = await open(name, { hash });
      const chart = page.locator("#latency .u-over");
      await chart.scrollIntoViewIfNeeded();
      const box = await chart.boundingBox();
      const seen = new Set();
      for (let at = 0.01; at < 1; at += 0.014) {
        await page.mouse.move(box.x + box.width * at, box.y + 60);
        seen.add(await page.textContent("#latency .legend .note"));
      }
      const us = (text) => (text.endsWith("ns") ? Number.parseFloat(text) / 1000 : Number(text.replace(/[^0-9.]/g, "")));
      const read = [...seen].map((text) => /samples from (.+? [un]s) to (.+? us)/.exec(text)).filter((match) => match !== null);
      assert.ok(read.length > 0, `${name}${hash}: nothing was read`);
      for (const [whole, from, to] of read) {
        assert.ok(us(to) - us(from) >= 0.999, `${name}${hash}: ${whole}`);
        assert.equal(us(from) % 1, 0, `${name}${hash}: ${whole} begins inside a bin of the source`);
      }
      assert.deepEqual(wrong, []);
      await close();
    }
    // The body of 64 threads is full in each microsecond: no curve may fall to nothing between the least and 100 us.
    const { page, close } = await open("imported-64");
    assert.match(await page.textContent("[data-figure='latency'] .note"), /The source counted in bins of 1\.0 us; none is drawn finer/);
    await shot(page.locator("#latency"), "imported-64-latency.png");
    await close();
    const small = await open("imported");
    assert.match(await small.page.textContent("[data-figure='latency'] .note"), /361 samples lie somewhere from 60\.0 us to 238 us \(hatched\)/);
    await small.close();
  });

  it("names the conditions and the causes at the top, and no cause where the deadline holds", { skip: !wants("causes") }, async () => {
    const { page, wrong, close } = await open("causes");
    assert.match(await page.title(), /^Does not hold 100 us on CPU 0-3 \u00b7 press-7$/);
    assert.match(await page.textContent(".about"), /kernel6\.12\.48-rt13, PREEMPT_RTprocessorIntel Atom.*loadnone; paperpolicyFIFO 98 on CPU 0-3, every 1 msdeadline100 us/);
    const rows = await page.locator("[data-late] tbody tr").allTextContents();
    assert.match(rows[0], /^hypervisor29 % \(2\)24.310 us.*likely.*bare metal/);
    assert.match(await page.textContent("[data-late] .note"), /^Shares are of 7 wake-ups beyond 100 us/);
    assert.doesNotMatch(await page.textContent("#verdict"), /What makes it late:/);
    // What is read first stands first: a screen reader follows this order.
    const order = await page.evaluate(() => [...document.querySelectorAll("h1, .word, .sentence, .about, .facts, [data-late], .lines, .changes, main > section")].map((one) => one.id || one.className.split(" ")[0] || one.tagName));
    assert.deepEqual(order.slice(0, 10), ["H1", "verdict", "word", "sentence", "facts", "latency", "reasons", "about", "late", "lines"]);
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("causes", { javaScriptEnabled: false });
    const text = (await plain.page.textContent("main")).replace(/\s+/g, " ");
    assert.match(text, /Does not hold 100 us.*kernel.*deadline ?100 us.*7 beyond the deadline, 34 periods missed\..*What makes it late.*hypervisor.*What to change first.*Runs/);
    await plain.close();
    const holds = await open("holds");
    assert.equal(await holds.page.locator("[data-late]").count(), 0);
    assert.doesNotMatch(await holds.page.textContent("#verdict"), /worst ones late|makes it late/);
    await holds.close();
    const free = await open("no-deadline");
    assert.match(await free.page.textContent(".verdict .word"), /^Worst 2.990 us; no limit stated$/);
    assert.match(await free.page.title(), /^Worst 2.990 us; no limit stated \u00b7 /);
    await free.close();
  });

  it("folds bursts beyond a dozen, sorted over all runs", { skip: !wants("cpus-64") }, async () => {
    const { page, wrong, close } = await open("cpus-64");
    const bursts = page.locator("[data-bursts] > .scroll tbody tr");
    assert.equal(await bursts.count(), 12);
    const worst = (await bursts.evaluateAll((rows) => rows.map((row) => Number(row.cells[0].textContent.replace(/[^0-9]/g, "")))));
    assert.deepEqual(worst, [...worst].sort((a, b) => b - a));
    assert.match(await page.textContent("[data-bursts] summary"), /^28 more$/);
    assert.doesNotMatch(await page.textContent("[data-bursts]"), /not within the run/);
    assert.ok((await page.getAttribute("#latency .chart", "aria-label")).length < 1000, "a screen reader is not read 128 maxima");
    assert.deepEqual(wrong, []);
    await close();
    const same = await open("same-name");
    assert.match(await same.page.textContent("#latency .legend"), /night \(1\), night \(2\)/);
    await same.close();
  });

  it("never lets an invalid run look like a result", { skip: !wants("invalid") }, async () => {
    for (const name of ["invalid", "doubtful"]) {
      const { page, close } = await open(name);
      assert.match(await page.textContent(".verdict .word"), /Cannot be told/);
      assert.ok(await page.locator(".caveat.invalid").count() >= 1);
      assert.ok(await page.locator(".fact.hatched").count() >= 1);
      assert.match(await page.textContent(".fact.hatched"), /invalid/);
      assert.match(await page.textContent("#latency .legend"), /invalid/);
      assert.match(await page.textContent("#worst"), /\(invalid\)/);
      await page.keyboard.press("t");
      await close();
    }
  });

  it("says which part of the load made it late, with a bar for each turn", { skip: !wants("load") }, async () => {
    const { page, wrong, close } = await open("load");
    const text = await page.textContent("#load");
    assert.match(text, /Latest in a turn: 24.310.us on CPU 2 with scheduler\./);
    assert.match(text, /reclaim: did not run: no memory control group/);
    assert.equal(await page.locator("#load .part-bar span").count(), 6, "five turns, and the time between them");
    const style = await page.locator("#load tr", { hasText: "scheduler" }).locator(".part-bar span").getAttribute("style");
    assert.match(style, /width: ?100(\.0)?%/);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("says what could not be observed, and calls no run worse for it", { skip: !wants("holds") }, async () => {
    const { page, wrong, close } = await open("holds");
    assert.match(await page.textContent("#latency [data-not-observable]"), /Not observable.*no counter of system management interrupts/);
    assert.equal(await page.locator("#others [data-not-observable]").count(), 0, "these runs lack nothing");
    assert.match(await page.textContent(".facts"), /validityvalid/);
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("holds", { javaScriptEnabled: false });
    assert.match(await plain.page.textContent("main"), /not observable.*no counter of system management interrupts/);
    await plain.close();
  });

  it("says what to do where there is nothing", { skip: !wants("empty") }, async () => {
    const { page, close } = await open("empty");
    assert.match(await page.textContent("main"), /punctual assess/);
    assert.match(await page.textContent("#latency"), /punctual measure wakeup/);
    await close();
    const stopped = await open("no-samples");
    assert.equal(await stopped.page.textContent("h1"), "<b>press</b> & co");
    assert.match(await stopped.page.textContent("#latency"), /Not a single sample was taken/);
    await stopped.close();
    const bare = await open("no-intervals");
    assert.match(await bare.page.textContent("#time"), /keep no intervals/);
    await bare.close();
  });

  it("can be read without scripts", { skip: !wants("holds") }, async () => {
    const { page, close } = await open("holds", { javaScriptEnabled: false });
    assert.match(await page.textContent(".verdict .word"), /^Holds 100 us on CPU 0-3$/);
    assert.match(await page.textContent(".verdict .sentence"), /^Worst of/);
    assert.ok(await page.locator("table tbody tr").count() >= 8);
    await shot(page, "holds-no-script.png", { fullPage: true });
    await close();
  });

  it("says what is wrong with a damaged page", { skip: !wants("holds") }, async () => {
    const context = await (await running()).newContext();
    const page = await context.newPage();
    const html = readFileSync(join(samples, "holds.html"), "utf8").replace("\"schema\":\"punctual/view\"", "\"schema\":\"other\"");
    await page.setContent(html);
    assert.match(await page.textContent("[role=alert]"), /Make the page again/);
    await context.close();
  });
});
