// Makes src/generated/view.d.ts from src/view.schema.json; with --check it only compares.
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { compile } from "json-schema-to-typescript";

const target = new URL("src/generated/view.d.ts", import.meta.url);
const schema = JSON.parse(await readFile(new URL("src/view.schema.json", import.meta.url), "utf8"));
const text = await compile(schema, "View", {
  additionalProperties: false,
  bannerComment: "/* Generated from view.schema.json by `npm run types`. Do not edit. */",
  format: true,
});
if (process.argv.includes("--check")) {
  const committed = await readFile(target, "utf8").catch(() => "");
  if (committed !== text) {
    console.error("src/generated/view.d.ts is not what view.schema.json gives: run npm run types");
    process.exit(1);
  }
} else {
  await mkdir(new URL("src/generated/", import.meta.url), { recursive: true });
  await writeFile(target, text);
}
