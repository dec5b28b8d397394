// The viewer is given other data after it has drawn some, as a page does that asks for them again and again.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { blankCanvases, it, open, settled, url, wants } from "./harness.mjs";

/** Counts what a page listens to and observes, beside its own elements. Runs in the page, before its scripts. */
const counting = () => {
  const live = { listeners: 0, observers: 0 };
  globalThis.live = live;
  for (const owner of [Window.prototype, Document.prototype, MediaQueryList.prototype, EventTarget.prototype]) {
    for (const [name, step] of [["addEventListener", 1], ["removeEventListener", -1]]) {
      if (!Object.hasOwn(owner, name)) continue;
      const original = owner[name];
      owner[name] = function count(...rest) {
        if (this === undefined || this === globalThis || this === document || this instanceof MediaQueryList) live.listeners += step;
        return original.apply(this ?? globalThis, rest);
      };
    }
  }
  const { observe, disconnect } = ResizeObserver.prototype;
  ResizeObserver.prototype.observe = function count(...rest) { live.observers += 1; return observe.apply(this, rest); };
  ResizeObserver.prototype.disconnect = function count() { live.observers -= 1; return disconnect.call(this); };
};

/** What would grow if something stayed behind. */
const held = (page) => page.evaluate(() => ({
  ...globalThis.live, elements: document.querySelectorAll("*").length, canvases: document.querySelectorAll("canvas").length, marks: performance.getEntriesByType("mark").length,
}));

/** Gives the page the data inside of it, changed by a function that runs in the page. Returns why they are refused. */
async function give(page, change, argument) {
  const problem = await page.evaluate(([body, given]) => {
    const view = JSON.parse(document.getElementById("data").textContent);
    // eslint-disable-next-line no-eval
    const changed = (0, eval)(`(${body})`)(view, given);
    return globalThis.punctual.viewer.update(changed ?? view);
  }, [change.toString(), argument]);
  await settled(page);
  return problem;
}

/** One more run, the worst of all. */
const withOneMore = (view) => {
  const { runs, overview } = view.page.results;
  const row = overview.rows[0];
  runs.push({ ...runs[row.run], id: "new", label: "the new one" });
  const worst = { latency_ns: 55_555_000, place: "CPU 1", run: "new" };
  overview.rows.unshift({ ...row, key: "new", run: runs.length - 1, name: "new", worst });
  overview.groups[0].worst = worst;
  overview.tally.runs += 1;
};
/** Without a run. */
const without = (view, key) => {
  const { overview } = view.page.results;
  overview.rows = overview.rows.filter((row) => row.key !== key);
  overview.tally.runs -= 1;
};
const rows = (page) => page.locator(".many tbody tr").count();
const alert = (page) => page.locator("[role=alert]");

describe("data that are given later", () => {
  it("take the place of the others, and what the reader chose stays", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many");
    const key = await page.locator(".many tbody tr").nth(2).getAttribute("data-run");
    await page.click(".many [data-sort='start']");
    await page.locator(`[data-run='${key}'] a`).click();
    await page.waitForSelector("#latency .u-over");
    const box = await page.locator("#latency .u-over").boundingBox();
    await page.mouse.move(box.x + 60, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(box.x + 260, box.y + 120, { steps: 5 });
    await page.mouse.up();
    await url(page, /range=/);
    await page.click("[data-figure='groups'] button:has-text('Table')");
    const [before, scrolled] = [page.url(), await page.evaluate(() => scrollY)];
    assert.equal(await give(page, withOneMore), null);
    assert.equal(await rows(page), 53);
    assert.equal(page.url(), before, "run, order, zoom and tables are those from before");
    assert.equal(await page.evaluate(() => scrollY), scrolled, "nothing jumps");
    assert.equal(await page.locator(".many tr.open").getAttribute("data-run"), key);
    assert.match(await page.textContent("[data-figure='groups'] table"), /55.555 us on CPU 1/);
    assert.equal(await page.locator("#latency [data-key='f']").isDisabled(), false, "it is zoomed still");
    assert.equal(await page.locator(".notice").count(), 0);
    // A run is gone, but not the one that is open.
    const other = await page.locator(".many tbody tr:not(.open)").last().getAttribute("data-run");
    assert.equal(await give(page, without, other), null);
    assert.equal(await rows(page), 51);
    assert.equal(page.url(), before);
    // The one that is open.
    assert.equal(await give(page, without, key), null);
    assert.equal(await rows(page), 51);
    assert.match(await page.textContent(".notice"), /^The run virtual machine \(3\), which was open, is no longer among the data\.$/);
    await page.waitForFunction(() => !/run=|range=/.test(location.hash) && /sort=start/.test(location.hash));
    assert.equal(await page.locator("#latency").count(), 0);
    // And data of which nothing is chosen any more.
    await page.click(".many [data-sort='node']");
    assert.equal(await give(page, () => undefined), null);
    assert.equal(await page.locator(".notice").count(), 0, "what was said of other data is gone");
    assert.deepEqual(wrong, []);
    await close();
  });

  it("that cannot be shown leave the picture and say why, until others come", { skip: !wants("many") }, async () => {
    const { page, close } = await open("many", { hash: "#sort=node" });
    const picture = () => page.locator(".strips canvas").evaluate((canvas) => canvas.toDataURL());
    const first = await picture();
    const stays = async (pattern) => {
      await page.waitForSelector("[role=alert]");
      assert.match(await alert(page).textContent(), pattern);
      assert.match(await alert(page).textContent(), /^New data are not shown: .* What is shown is from 2026-03-02 07:31:40 UTC\.$/s);
      assert.equal(await rows(page), 52);
      assert.equal(await picture(), first);
      assert.match(page.url(), /sort=node/);
      assert.equal(await alert(page).count(), 1, "once, however often");
      assert.equal(await give(page, () => undefined), null);
      assert.equal(await alert(page).count(), 0, "good data take the message away");
    };
    for (const [change, pattern] of [
      [(view) => { view.version = 2; }, /The data are of version 2, and this viewer draws version \d+\./],
      [(view) => { view.version = 99; }, /The data are of version 99/],
      [(view) => { view.schema = "punctual/record"; }, /not those of a page, but punctual\/record/],
      [() => "{\"schema\":", /cannot be read/],
      [() => "null", /of no schema/],
      [(view) => { delete view.headline; }, /incomplete/],
    ]) {
      assert.match(await give(page, change), pattern);
      await stays(pattern);
      assert.equal(await page.locator("main").count(), 1);
    }
    // What fails only while it is drawn, in a component and in an effect.
    assert.match(await give(page, (view) => { view.page.results.overview.rows[7].group = 99; }), /cannot be drawn/);
    await stays(/cannot be drawn \(TypeError/);
    assert.equal(await give(page, () => {
      const { prototype } = CanvasRenderingContext2D;
      const { fill } = prototype;
      prototype.fill = () => { prototype.fill = fill; throw new Error("no ink"); };
    }), null);
    await stays(/cannot be drawn \(Error: no ink\)/);
    await close();
  });

  it("leave nothing behind, however often they come", { skip: !wants("many") }, async () => {
    const { page, wrong, close } = await open("many", { first: counting });
    await page.locator(".many tbody tr a").first().click();
    await page.waitForSelector("#latency canvas");
    const round = async (times) => {
      for (let i = 0; i < times; i += 1) {
        await give(page, withOneMore);
        await give(page, () => undefined);
      }
    };
    await round(2);
    const before = await held(page);
    assert.ok(before.listeners > 0 && before.observers > 0, JSON.stringify(before));
    await round(12);
    assert.deepEqual(await held(page), before);
    assert.deepEqual((await page.evaluate(blankCanvases)).filter((isBlank) => isBlank), []);
    // One key press is one step: no listener is there twice.
    await page.keyboard.press("d");
    await page.waitForFunction(() => /theme=light/.test(location.hash));
    assert.deepEqual(wrong, []);
    await close();
  });

  it("come to a viewer in an element of another page, which can be taken out again", { skip: !wants("holds") }, async () => {
    const { page, wrong, close } = await open("holds", { first: counting });
    const bare = await page.evaluate(async () => {
      globalThis.punctual.viewer.unmount();
      await new Promise((done) => { setTimeout(done, 300); });
      return { ...globalThis.live, left: document.getElementById("viewer").childNodes.length };
    });
    assert.deepEqual([bare.left, bare.observers], [0, 0]);
    const again = await page.evaluate(async () => {
      const place = document.createElement("div");
      place.textContent = "loading";
      document.body.prepend(place);
      // Data of a wrong version first: the element keeps what it had, below the reason.
      const view = JSON.parse(document.getElementById("data").textContent);
      const viewer = globalThis.punctual.mount(place, { ...view, version: 1 });
      const refused = place.textContent;
      const problem = viewer.update(view);
      await new Promise((done) => { setTimeout(done, 300); });
      const word = place.querySelector(".word").textContent;
      const alerts = place.querySelectorAll("[role=alert]").length;
      viewer.unmount();
      await new Promise((done) => { setTimeout(done, 300); });
      return { refused, problem, word, alerts, left: place.childNodes.length, live: { ...globalThis.live } };
    });
    assert.match(again.refused, /The data are of version 1, .*loading$/);
    assert.deepEqual([again.problem, again.word, again.alerts, again.left], [null, "Holds 100 us on CPU 0-3", 0, 0]);
    assert.deepEqual(again.live, { listeners: bare.listeners, observers: bare.observers });
    assert.deepEqual(wrong, []);
    await close();
  });

  it("of a page of few runs keep its zoom and its lifted series while these are there", { skip: !wants("holds") }, async () => {
    const { page, wrong, close } = await open("holds", { hash: "#range=0~20000&lift=CPU+2&heat=1" });
    assert.equal(await give(page, (view) => { view.title = "press-8"; }), null);
    assert.match(page.url(), /range=0%7E20000|range=0~20000/);
    assert.match(page.url(), /lift=CPU\+2/);
    assert.equal(await page.textContent("h1"), "press-8");
    assert.match(await page.title(), /^Holds 100 us on CPU 0-3 \u00b7 press-8$/);
    assert.equal(await give(page, (view) => { for (const run of view.page.results.runs) run.series = run.series.filter(({ lane }) => lane !== "CPU 2"); }), null);
    await page.waitForFunction(() => !/lift=/.test(location.hash));
    assert.match(page.url(), /range=/);
    assert.deepEqual(wrong, []);
    await close();
  });
});
