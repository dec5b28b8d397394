// Pages of many runs in a real browser: groups, the table, one run at a time, and how long and heavy they are.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { it, open, overflow, PHONE, samples, settled, shot, url, wants, WIDE } from "./harness.mjs";

const digits = (text) => Number(text.replace(/[^0-9.]/g, ""));
/** The overview inside of a page. */
const overviewOf = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent).page.results.overview);
/** The texts of a column, from above. */
const column = (page, name) => page.locator(`.many tbody td.${name}`).evaluateAll((cells) => cells.map((cell) => cell.textContent));
const keys = (page) => page.locator(".many tbody tr").evaluateAll((rows) => rows.map((row) => row.dataset.run));
const sorted = (page, name) => page.click(`.many [data-sort='${name}']`);

describe("many runs", () => {
  it("are a page of at most five screens, with its contents", { skip: !wants("many") }, async () => {
    for (const name of ["many", "several", "few"].filter(wants)) {
      const { page, wrong, close } = await open(name, { viewport: { width: 1280, height: 800 } });
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      console.log(`${name}: ${height} px, ${(height / 800).toFixed(1)} screens`);
      assert.ok(height <= 5 * 800, `${name}: ${height} px`);
      assert.deepEqual(wrong, []);
      await close();
    }
  });

  it("stand worst first, each number exactly that of the view, and invalid ones last without numbers", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many");
    const { rows, groups, tally } = await overviewOf(page);
    assert.deepEqual(await keys(page), rows.map(({ key }) => key));
    assert.equal(rows.length, 52);
    const worst = (await page.locator(".many td.worst").evaluateAll((cells) => cells.map((cell) => cell.querySelector("b")?.textContent ?? "")));
    rows.forEach((row, i) => {
      if (row.worst === null) assert.equal(worst[i], "", row.key);
      else assert.ok(Math.abs(digits(worst[i]) * 1000 - row.worst.latency_ns) <= (row.worst.latency_ns < 1e5 ? 50 : 500), `${row.key}: ${worst[i]} of ${row.worst.latency_ns} ns`);
    });
    const ranked = rows.map((row) => row.worst?.latency_ns ?? -1);
    assert.deepEqual(ranked, [...ranked].sort((a, b) => b - a));
    const invalid = await page.locator(".many tr.invalid").allTextContents();
    assert.equal(invalid.length, tally.invalid);
    for (const text of invalid) assert.match(text, /no result.*cannot be told\u2298 invalid: /);
    assert.equal(await page.locator(".many tr.invalid td:is(.basis, .missed)").evaluateAll((cells) => cells.filter((cell) => cell.textContent !== "\u2013").length), 0);
    // The groups say the same numbers beside their plots, in their table, and in the tiles at the top.
    const named = await page.locator(".strip-worst b").allTextContents();
    groups.forEach((group, i) => assert.ok(Math.abs(digits(named[i]) * 1000 - group.worst.latency_ns) <= 500, group.name));
    assert.match(await page.textContent(".facts"), new RegExp(`broken${tally.broken}of 51 judged.*${tally.invalid} invalid`));
    await page.click("[data-figure='groups'] button:has-text('Table')");
    const table = await page.locator("[data-figure='groups'] table tbody tr").allTextContents();
    groups.forEach((group, i) => assert.ok(table[i].includes(group.tally_words), table[i]));
    // No group is told from others by its color alone.
    const looks = await page.locator(".many tbody td.group .swatch").evaluateAll((all) => [...new Set(all.map((one) => `${one.style.color} ${one.querySelector("path").getAttribute("d")}`))]);
    assert.equal(looks.length, groups.length);
    assert.equal(new Set(looks.map((look) => look.split(") ")[1])).size, groups.length, "each has a shape of its own");
    assert.deepEqual(wrong, []);
    await close();
  });

  it("can be sorted by every column, both ways, and the URL keeps it", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many");
    const columns = await page.locator(".many [data-sort]").evaluateAll((all) => all.map((one) => one.dataset.sort));
    assert.deepEqual(columns, ["group", "run", "node", "kernel", "start", "load", "worst", "basis", "missed", "verdict", "validity"], "the kind is that of all and said once");
    assert.match(await page.textContent(".many .note"), /All of them: kind wakeup/);
    const worstFirst = await keys(page);
    for (const name of columns.filter((one) => one !== "worst")) {
      await sorted(page, name);
      await url(page, new RegExp(`sort=${name}`));
      const once = await keys(page);
      const direction = await page.getAttribute(".many th[aria-sort]", "aria-sort");
      await sorted(page, name);
      await url(page, new RegExp(`sort=-${name}`));
      const twice = await keys(page);
      assert.notDeepEqual(once, twice, name);
      assert.notEqual(await page.getAttribute(".many th[aria-sort]", "aria-sort"), direction);
      assert.deepEqual([...once].sort(), [...worstFirst].sort(), `${name} loses no run`);
    }
    await sorted(page, "basis");
    const basis = (await column(page, "basis")).filter((text) => text !== "\u2013").map(digits);
    assert.deepEqual(basis, [...basis].sort((a, b) => b - a));
    assert.equal((await column(page, "basis")).findIndex((text) => text === "\u2013"), basis.length, "what is not known stands at the end");
    await sorted(page, "basis");
    assert.equal((await column(page, "basis")).findIndex((text) => text === "\u2013"), basis.length, "the other way round too");
    await sorted(page, "validity");
    assert.match((await column(page, "validity"))[0], /invalid/, "the worst validity first");
    await sorted(page, "worst");
    assert.deepEqual(await keys(page), worstFirst);
    const linked = await open("many", { hash: "#sort=-worst" });
    assert.equal(digits((await column(linked.page, "worst"))[0]), 15);
    await linked.close();
    assert.deepEqual(wrong, []);
    await close();
  });

  it("show the details of one run at a time, and the runs of one group", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many");
    assert.equal(await page.locator("#latency, #time, #worst").count(), 0);
    await page.locator(".many tbody tr").first().locator("a").click();
    await page.waitForSelector("#latency canvas");
    await url(page, /run=/);
    assert.match(await page.textContent("#run h2"), /^Run PREEMPT_RT \(5\)$/);
    assert.match(await page.textContent("#run .about"), /worst24.310 us on CPU 2.*verdictdoes not hold 100 us: /);
    assert.match(await page.getAttribute("#latency .chart", "aria-label"), /^Scheduled to woke: CPU 0/);
    await page.waitForFunction(() => document.activeElement?.id === "run" && Math.abs(document.getElementById("run").getBoundingClientRect().top) < 60);
    assert.ok((await page.locator(".contents a").allTextContents()).includes("Worst case over time"), "the contents have what was opened");
    await shot(page, "many-open.png", { fullPage: true });
    await page.click("#run button:has-text('Run after')");
    await page.waitForFunction(() => /virtual machine/.test(document.querySelector("#run h2").textContent));
    assert.equal(await page.locator(".many tr.open").count(), 1);
    await page.click("#run button:has-text('Close')");
    await page.waitForFunction(() => document.getElementById("latency") === null);
    await page.click("[data-group='RT, idle']");
    await url(page, /group=/);
    assert.equal(await page.locator(".many tbody tr").count(), 10);
    assert.match(await page.textContent(".many .note"), /^10 of 52 runs: RT, idle/);
    await page.click(".many button:has-text('List all')");
    assert.equal(await page.locator(".many tbody tr").count(), 52);
    // An invalid run that is opened says so before its numbers.
    await page.locator(".many tr.invalid a").first().click();
    await page.waitForSelector("#latency .caveat.invalid");
    assert.match(await page.textContent("#run .about"), /no result: the run is invalid/);
    assert.match(await page.textContent("#latency .legend"), /invalid/);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("are drawn on one axis, read by pointing, and together in one plot on demand", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many");
    const chart = page.locator("[data-figure='groups'] canvas");
    const box = await chart.boundingBox();
    const seen = new Set();
    for (let x = 300; x < box.width - 230; x += 15) {
      await page.mouse.move(box.x + x, box.y + 50);
      seen.add(await page.textContent("[data-figure='groups'] .note"));
    }
    assert.ok([...seen].some((text) => /PREEMPT_RT: [\d\u202f]+ wake-ups from [\d.]+ us to [\d.]+ us$/.test(text)), [...seen].join("\n"));
    // A picture that leaves the page has the names that stand beside it there: something is written left of the plots.
    const [picture] = await Promise.all([page.waitForEvent("download"), page.click("[data-figure='groups'] button:has-text('PNG')")]);
    assert.equal(picture.suggestedFilename(), "groups.png");
    const written = await page.evaluate(async (bytes) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0))], { type: "image/png" }));
      const ctx = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      ctx.drawImage(bitmap, 0, 0);
      const [left, below] = [Math.round(bitmap.width * 0.2), Math.round(bitmap.height * 0.2)];
      return new Set(new Uint32Array(ctx.getImageData(0, below, left, bitmap.height - below).data.buffer)).size;
    }, readFileSync(await picture.path()).toString("base64"));
    assert.ok(written > 20, `${written} colors left of the plots`);
    await page.click("[data-figure='groups'] button:has-text('One plot')");
    await page.waitForSelector("[data-figure='groups'] .u-over");
    assert.match(await page.getAttribute("[data-figure='groups'] .chart", "aria-label"), /PREEMPT_RT all runs of each: maximum 24.310 us/);
    await shot(page.locator("#groups"), "many-one-plot.png");
    await page.click("[data-figure='groups'] button:has-text('One plot')");
    await page.waitForSelector(".strips canvas");
    assert.deepEqual(wrong, []);
    await close();
  });

  it("have contents that the keyboard reaches, and that work without scripts", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many", { viewport: PHONE });
    const link = page.locator(".contents a", { hasText: "Runs" });
    await link.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "runs" && Math.abs(document.getElementById("runs").getBoundingClientRect().top) < 60);
    assert.doesNotMatch(page.url(), /#runs/, "the URL holds the choices alone");
    assert.deepEqual(wrong, []);
    await close();
    const plain = await open("many", { javaScriptEnabled: false });
    assert.deepEqual(await plain.page.locator(".contents a").allTextContents(), ["Groups", "Runs", "Each run"]);
    await plain.page.click(".contents a:has-text('Runs')");
    assert.match(plain.page.url(), /#section-2$/);
    const text = (await plain.page.textContent("main")).replace(/\s+/g, " ");
    assert.match(text, /By label, worst first\. Invalid runs are in no number\..*PREEMPT_RT 10 runs: 1 broken, 9 hold; 1 degraded.*24.310 us/);
    const targets = await plain.page.locator(".many a").evaluateAll((all) => all.map((one) => {
      const target = document.getElementById(one.hash.slice(1));
      return [one.textContent, target?.tagName === "SUMMARY" ? target.textContent : ""];
    }));
    assert.equal(new Set(targets.map(([, run]) => run)).size, 52);
    assert.ok(targets.every(([name, run]) => run === name || run.endsWith(`(${name})`)), "every row leads to its run");
    await shot(plain.page, "many-no-script.png", { fullPage: true });
    await plain.close();
  });

  it("are cards on a phone, sorted by a list", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many", { viewport: PHONE, colorScheme: "dark" });
    assert.equal(await page.locator(".many thead").isVisible(), false);
    assert.equal(await page.locator(".many tbody tr").count(), 20);
    await page.click(".many .more-rows button");
    assert.equal(await page.locator(".many tbody tr").count(), 52);
    await page.selectOption(".sort-by select", "basis");
    await url(page, /sort=basis/);
    assert.ok(await overflow(page) <= 0);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("of 200 are drawn soon, and listed whole on demand", { skip: !wants("many-200") }, async () => {
    const { page, wrong, close } = await open("many-200", { viewport: { width: 1280, height: 800 } });
    const { paint, ready, height } = await page.evaluate(() => ({
      paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, ready: performance.getEntriesByName("drawn")[0].startTime,
      height: document.documentElement.scrollHeight,
    }));
    const size = statSync(join(samples, "many-200.html")).size;
    console.log(`many-200: ${(size / 1e6).toFixed(1)} MB, first contentful paint ${Math.round(paint)} ms, drawn ${Math.round(ready)} ms, ${height} px`);
    assert.ok(height <= 5 * 800, `${height} px`);
    assert.equal(await page.locator(".many tbody tr").count(), 60);
    await page.click(".many .more-rows button");
    assert.equal(await page.locator(".many tbody tr").count(), 200);
    // The head stays in view while its rows go by.
    await page.locator(".many tbody tr").nth(150).scrollIntoViewIfNeeded();
    const top = await page.locator(".many th").first().evaluate((head) => head.getBoundingClientRect().top);
    assert.ok(Math.abs(top) < 2, `the head is at ${top}`);
    assert.deepEqual(wrong, []);
    await close();
  });

  it("that are few are drawn one by one", { skip: !wants("several") }, async () => {
    const { page, wrong, close } = await open("several", { viewport: WIDE });
    const { rows } = await overviewOf(page);
    assert.equal(await page.locator(".strip-name").count(), rows.length);
    await page.locator(".strip-worst a").first().click();
    await page.waitForSelector("#latency canvas");
    assert.equal(await page.locator(".many tr.open").getAttribute("data-run"), rows[0].key);
    await settled(page);
    assert.deepEqual(wrong, []);
    await close();
  });
});
