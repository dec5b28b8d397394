// Findings, profile and manifest: folded evidence with a search over all of it.

import { useMemo } from "preact/hooks";
import { useChoices } from "../figure.tsx";
import type { Finding } from "../generated/view.d.ts";
import { leavesOf, type Fact, type Results } from "../model.ts";

const SIGNS = { problem: "\u25a0", warning: "\u25b2", note: "\u25cb" } as const;

function matches(finding: Finding, query: string): boolean {
  const text = [finding.id, finding.title, finding.why, ...finding.remedy, ...finding.evidence.flatMap(({ source, value }) => [source, value])].join("\n");
  return text.toLowerCase().includes(query);
}

export function Findings({ findings }: { findings: Finding[] }) {
  const [state] = useChoices();
  const query = state.query.trim().toLowerCase();
  if (findings.length === 0) return <p class="nothing">Nothing was found, or the machine was not audited. Audit it with: punctual check</p>;
  const shown = findings.filter((finding) => query === "" || matches(finding, query));
  if (shown.length === 0) return <p class="nothing">No finding holds "{state.query}".</p>;
  return (
    <div class="findings">
      {shown.map((finding) => (
        <details id={`finding-${finding.id}`} class={`finding severity-${finding.severity}`} open={query !== "" || undefined}>
          <summary><span class="severity">{SIGNS[finding.severity]} {finding.severity}</span> {finding.title}</summary>
          <p>{finding.why}</p>
          {finding.evidence.length > 0 && (
            <table class="evidence"><tbody>
              {finding.evidence.map(({ source, value }) => <tr><td>{source}</td><td>{value}</td></tr>)}
            </tbody></table>
          )}
          {finding.remedy.length > 0 && <><p class="muted">Remedy</p>{finding.remedy.map((line) => <pre>{line}</pre>)}</>}
          <p class="muted">{finding.id}</p>
        </details>
      ))}
    </div>
  );
}

/** More manifests are folded into one. */
const MOST_OPEN = 12;

/** More would only slow the page; the search narrows. */
const MOST = 400;

function Facts({ facts }: { facts: Fact[] }) {
  return (
    <div class="scroll">
      <table class="evidence"><tbody>
        {facts.slice(0, MOST).map(({ path, value }) => <tr><td>{path}</td><td>{value}</td></tr>)}
      </tbody></table>
      {facts.length > MOST && <p class="muted">{facts.length - MOST} more: narrow the search.</p>}
    </div>
  );
}

export function Details({ results }: { results: Results }) {
  const [state, store] = useChoices();
  const groups = useMemo(() => {
    const manifests = results.runs.map((run) => ({ name: `Manifest: ${run.label}`, facts: leavesOf({ id: run.id, ...(run.manifest as object) }) }));
    return results.profile ? [...manifests, { name: "Profile", facts: leavesOf(results.profile) }] : manifests;
  }, [results]);
  const query = state.query.trim().toLowerCase();
  const found = groups.map(({ name, facts }) => ({
    name, facts: query === "" ? facts : facts.filter(({ path, value }) => `${path} ${value}`.toLowerCase().includes(query)),
  }));
  const total = found.reduce((sum, { facts }) => sum + facts.length, 0);
  const listed = found.filter(({ facts }) => query === "" || facts.length > 0).map(({ name, facts }) => (
    <details open={query !== "" || undefined}>
      <summary>{name} <span class="muted">{facts.length}</span></summary>
      <Facts facts={facts} />
    </details>
  ));
  return (
    <>
      <div class="search">
        <label for="search">Find in findings, profile and manifests</label>
        <input id="search" type="search" value={state.query} placeholder="for example governor" spellcheck={false}
          onInput={(event) => store.set({ query: event.currentTarget.value })} />
        <span class="note" role="status">{query === "" ? "" : `${total} found`}</span>
      </div>
      {groups.length === 0 && <p class="nothing">No run and no profile is in this report. Make one with: punctual assess</p>}
      {query === "" && found.length > MOST_OPEN
        ? <details><summary>{results.profile ? `${found.length - 1} manifests and the profile` : `${found.length} manifests`}</summary>{listed}</details>
        : listed}
      {!results.profile && groups.length > 0 && <p class="muted">No profile of the node was read. Read one with: punctual check</p>}
    </>
  );
}
