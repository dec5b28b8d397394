import assert from "node:assert/strict";
import { test } from "node:test";
import { ROUTES } from "../src/generated/pages.ts";
import { resultsOf, type Results } from "../src/model.ts";

test("each kind of page has a path of its own", () => {
  const paths = Object.values(ROUTES);
  assert.equal(new Set(paths).size, paths.length);
  assert.ok(paths.every((path) => /^\/[a-z]+$/.test(path)), paths.join(" "));
});

test("pages of runs hold results, and others none", () => {
  const results: Results = { runs: [], tails: [], findings: [] };
  assert.equal(resultsOf({ kind: "program", results }), results);
  assert.equal(resultsOf({ kind: "comparison", comparison: null }), null);
});
