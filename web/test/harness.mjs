// What tests in a real browser share: the sample reports, the browser, a page with what went wrong on it, pictures.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it as test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const web = fileURLToPath(new URL("..", import.meta.url));
export const shots = join(web, "shots");
export const TAKES_SHOTS = process.env.SHOTS === "1";
if (TAKES_SHOTS) mkdirSync(shots, { recursive: true });

export const WIDE = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
/** Phones have no more than this; a page as wide as it scrolls only down. */
export const NARROW = { width: 360, height: 740 };
export const ONLY = process.env.CASES?.split(",");
export const wants = (name) => !ONLY || ONLY.includes(name);

/** Without a desktop's window where it is installed: it takes a third of the CPU time. */
const BROWSERS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));
let browser;
export let samples = process.env.SAMPLES;

before(async () => {
  if (!samples) {
    samples = mkdtempSync(join(tmpdir(), "punctual-samples-"));
    // As the tests in Rust have built it, for the whole workspace and not optimized: anything else is built anew, for minutes.
    const inherited = { cwd: join(web, ".."), stdio: ["ignore", "ignore", "inherit"] };
    execFileSync("cargo", ["build", "--quiet", "--locked", "--workspace", "--example", "sample_report"], inherited);
    const target = join(process.env.CARGO_TARGET_DIR ?? "target", process.env.CARGO_BUILD_TARGET ?? "");
    execFileSync(join(target, "debug", "examples", "sample_report"), [samples], inherited);
  }
  const looked = process.env.CHROMIUM ?? BROWSERS.join(" and ");
  assert.ok(executablePath && existsSync(executablePath), `no browser at ${looked}: install one, or name it in CHROMIUM`);
});
after(() => browser?.close());

/** The browser; another one where it ended by itself, so that one crash does not cost all tests that follow. */
export async function running() {
  if (browser?.isConnected()) return browser;
  if (browser) console.log("the browser ended by itself, and is started again");
  browser = await chromium.launch({
    executablePath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  return browser;
}

/** A test that is done once more where the browser itself ended under it; a page that ends every browser still fails. */
export function it(name, ...rest) {
  const body = rest.pop();
  test(name, ...rest, async () => {
    try {
      await body();
    } catch (error) {
      if (!browser || browser.isConnected()) throw error;
      console.log(`${name}: ${String(error).split("\n")[0]}`);
      await body();
    } finally {
      // Pages that a failed test leaves would slow down all that follow.
      await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
    }
  });
}

/** A page with what went wrong on it; `first` runs in it before any of its own scripts. */
export async function open(name, { viewport = WIDE, colorScheme = "light", hash = "", javaScriptEnabled = true, first } = {}) {
  const context = await (await running()).newContext({ viewport, colorScheme, deviceScaleFactor: TAKES_SHOTS ? 2 : 1, acceptDownloads: true, javaScriptEnabled });
  const page = await context.newPage();
  if (first) await page.addInitScript(first);
  const wrong = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  const address = pathToFileURL(join(samples, `${name}.html`)).href;
  page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url()) || (request.url().startsWith("file:") && !request.url().startsWith(address))) wrong.push(`request for ${request.url()}`); });
  await page.goto(address + hash);
  if (javaScriptEnabled) {
    await page.waitForSelector("html[data-ready]");
    await settled(page);
  }
  return { page, wrong, close: () => context.close() };
}

/** Keeps a picture of a page or of a part of it, where pictures are wanted. */
export async function shot(what, name, options = {}) {
  if (TAKES_SHOTS) await what.screenshot({ path: join(shots, name), ...options });
}

/** Waits until the URL says what was chosen: effects run after the key. */
export const url = (page, pattern) => page.waitForURL(pattern, { timeout: 3000 });

/** Of each canvas, whether it shows hardly any colors: it is blank then. */
export const blankCanvases = () => [...document.querySelectorAll("canvas")].map((canvas) => {
  const { width, height } = canvas;
  if (width === 0 || height === 0) return true;
  const colors = new Set();
  // Of a copy: a canvas that is read more than once is made a slow one by the browser, which complains of it.
  const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  for (const pixel of new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer)) {
    colors.add(pixel);
    if (colors.size > 4) return false;
  }
  return true;
});

/** Waits until what a change of size or colors draws again is drawn: two frames, and what these ask for. */
export const settled = (page) => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))); }));

/** A page scrolls down, never sideways, with all that is folded open too. */
export async function isNoWiderThanNarrow(page) {
  const width = () => page.evaluate(() => document.scrollingElement.scrollWidth);
  assert.ok(await width() <= NARROW.width, `${await width()} px`);
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
  assert.ok(await width() <= NARROW.width, `unfolded ${await width()} px`);
}

export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
