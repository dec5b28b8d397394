// Walks through the pages of a hub as a person would, in a real browser: farm.mjs ADDRESS LATE OTHER… where LATE is the node that has to be
// first, and the others are all the rest. Pictures go to the folder that FARM_SHOTS names. `make farm-demo` runs it on its farm.
import assert from "node:assert/strict";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const [address, late, ...others] = process.argv.slice(2);
if (!address || !late) {
  console.error("usage: farm.mjs ADDRESS LATE OTHER…");
  process.exit(2);
}
const shots = process.env.FARM_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const SIZES = [["wide", { width: 1280, height: 900 }, 1], ["phone", { width: 390, height: 844 }, 2]];
const SCHEMES = ["light", "dark"];
/** Without a desktop's window where it is installed. */
const BROWSERS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
assert.ok(executablePath, `no browser at ${BROWSERS.join(" and ")}: install one, or name it in CHROMIUM`);

const browser = await chromium.launch({
  executablePath,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

/** Runs `walk` on the page of all nodes. Nothing may fail there, and nothing may be fetched from anywhere else. */
async function visit(options, walk) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => { if (!request.url().startsWith(address) && !request.url().startsWith("data:")) wrong.push(`request for ${request.url()}`); });
  page.on("response", (response) => { if (response.status() >= 400) wrong.push(`${response.status()} for ${response.url()}`); });
  await page.goto(address);
  await walk(page);
  assert.deepEqual(wrong, []);
  await context.close();
}

const shot = async (page, name) => { if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true }); };
/** Playwright evaluates it also where the page's own scripts are off. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** A page scrolls down, never sideways. */
async function isNoWiderThanItsWindow(page, what) {
  const px = await overflow(page);
  assert.ok(px <= 0, `${what} is ${px} px wider than its window`);
}

const linkTo = (page, name) => page.getByRole("link", { name, exact: true });

/** The page of all nodes: the late one first, with how far it is beyond its limit, and nobody else further. */
async function lookAtFleet(page) {
  const rows = await page.locator("tbody tr").all();
  const names = await Promise.all(rows.map((row) => row.getByRole("link").innerText()));
  assert.equal(names[0], late);
  assert.deepEqual([...names].sort(), [late, ...others].sort());
  const first = await rows[0].innerText();
  assert.match(first, /\d us beyond its limit/);
  assert.match(await page.locator(".lead").innerText(), /beyond the limit/);
  assert.match(await page.title(), /beyond their limit/);
  for (const row of rows) assert.match(await row.innerText(), /monitoring/);
  return first.match(/([\d\s]+us) beyond its limit/)[1].trim();
}

/** The page of the late node: what it says first, its plot with the limit, the worst of the span. */
async function lookAtNode(page, excess) {
  assert.equal(await page.locator("h1").innerText(), late);
  assert.ok((await page.locator(".lead").innerText()).includes(`${excess} beyond its limit`));
  const plot = page.getByRole("img", { name: "CPU 0: maxima over time" });
  assert.ok((await plot.boundingBox()).height > 40, "the plot is not drawn");
  assert.equal(await plot.locator(".limit").count(), 1);
  assert.ok((await plot.locator(".curve").getAttribute("d")).length > 0);
  const worst = page.locator("h2:text-is('Worst') + div tbody tr").first();
  assert.match(await worst.innerText(), /\d us/);
}

/** Of whole hours, so that a farm of some minutes may have none. */
async function lookAtHistogram(page) {
  const pictures = page.getByRole("img", { name: /histogram of wake-ups/ });
  for (const picture of await pictures.all()) assert.ok((await picture.boundingBox()).height > 40, "a histogram is not drawn");
  return pictures.count();
}

let excess;
let histograms = 0;
try {
  for (const [size, viewport, deviceScaleFactor] of SIZES) {
    for (const colorScheme of SCHEMES) {
      const name = `${size}-${colorScheme}`;
      await visit({ viewport, deviceScaleFactor, colorScheme }, async (page) => {
        excess = await lookAtFleet(page);
        await isNoWiderThanItsWindow(page, `the fleet, ${name},`);
        await shot(page, `fleet-${name}`);
        await linkTo(page, late).click();
        await page.waitForURL("**/nodes/*");
        await lookAtNode(page, excess);
        await isNoWiderThanItsWindow(page, `the node, ${name},`);
        await shot(page, `node-${name}`);
        await linkTo(page, "hour").click();
        await page.waitForURL("**/nodes/*?last=1h");
        await lookAtNode(page, excess);
        histograms = await lookAtHistogram(page);
        await isNoWiderThanItsWindow(page, `the node's hour, ${name},`);
        await shot(page, `hour-${name}`);
        await linkTo(page, "Fleet").click();
        await page.waitForURL(address);
      });
    }
  }
  // By keyboard alone: to the filter, what is wanted, and from there to the node.
  await visit({ viewport: SIZES[0][1] }, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.textContent);
    for (let presses = 0; await focused() !== late; presses += 1) {
      assert.ok(presses < 10, `${late} is not reached by the tabulator key`);
      await page.keyboard.press("Tab");
    }
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none", "what has the focus does not show it");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/nodes/*");
    await lookAtNode(page, excess);
    await page.goBack();
    await page.getByLabel("Filter").focus();
    await page.keyboard.type(others[0] ?? late);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/?q=*");
    assert.equal(await page.locator("tbody tr").count(), 1);
  });
  for (const [size, viewport, deviceScaleFactor] of SIZES) {
    await visit({ viewport, deviceScaleFactor, javaScriptEnabled: false }, async (page) => {
      assert.equal(await lookAtFleet(page), excess);
      await isNoWiderThanItsWindow(page, `the fleet, ${size}, without scripts,`);
      await linkTo(page, late).click();
      await page.waitForURL("**/nodes/*");
      await lookAtNode(page, excess);
      await isNoWiderThanItsWindow(page, `the node, ${size}, without scripts,`);
      await shot(page, `node-${size}-without-scripts`);
    });
  }
  console.log(`walk: ${late} is first, ${excess} beyond its limit; its page opens by click, by key and without scripts; ` +
    `light and dark, wide and phone; ${histograms === 0 ? "no hour has ended yet, so there is no histogram" : "its histogram is drawn"}`);
} finally {
  await browser.close();
}
