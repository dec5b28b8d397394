// Takes the README's pictures of a page: picture.mjs PAGE.html FOLDER writes page-light.png and page-dark.png, the page's
// first screen as it opens.
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [page, folder] = process.argv.slice(2);
if (!page || !folder) {
  console.error("usage: picture.mjs PAGE.html FOLDER");
  process.exit(2);
}
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
for (const colorScheme of ["light", "dark"]) {
  const context = await browser.newContext({ viewport: { width: 1120, height: 1180 }, colorScheme });
  const shown = await context.newPage();
  await shown.goto(pathToFileURL(resolve(page)).href);
  await shown.waitForSelector("html[data-ready=yes]");
  await shown.waitForTimeout(300);
  await shown.screenshot({ path: join(folder, `page-${colorScheme}.png`) });
  await context.close();
}
await browser.close();
