// Runs all tests: unit tests are TypeScript, bundled by esbuild first, since Node 20 does not read it.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "punctual-viewer-test-"));
const units = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: units.map((name) => join(here, name)),
  outdir: folder, bundle: true, platform: "node", format: "esm", outExtension: { ".js": ".mjs" },
  jsx: "automatic", jsxImportSource: "preact", loader: { ".json": "json" }, logLevel: "warning",
});
const files = units.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
// Playwright's own least; Debian 12 has an older one.
const hasNode = Number(process.versions.node.split(".")[0]) >= 20;
const wantsBrowser = !process.argv.includes("--unit");
if (wantsBrowser && hasNode) files.push(join(here, "browser.mjs"));
const done = spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...files], { stdio: "inherit" });
rmSync(folder, { recursive: true });
if (wantsBrowser && !hasNode) console.log(`viewer: the tests in a browser were not run: they need Node.js 20, and this is ${process.versions.node}`);
process.exit(done.status ?? 1);
