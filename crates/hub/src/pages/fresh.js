// Fetches the page again every 10 s while somebody looks at it, and shows what has changed in its place.
"use strict";
let tag = null;
async function fetchAgain() {
  if (document.visibilityState !== "visible") return;
  const headers = tag === null ? {} : { "If-None-Match": tag };
  let answer;
  try {
    answer = await fetch(location.href, { headers, cache: "no-store" });
  } catch {
    return; // The hub is away: what is shown stays, with its times.
  }
  if (answer.status !== 200) return;
  tag = answer.headers.get("ETag");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("page");
  const shown = document.getElementById("page");
  // Nothing moves under the hands of a person who types or selects.
  const active = document.activeElement;
  const isFolding = active !== null && active.tagName === "SUMMARY";
  const isBusy = (shown.contains(active) && !isFolding) || !document.getSelection().isCollapsed;
  if (fresh === null || isBusy || fresh.innerHTML === closed(shown)) return;
  // What was opened stays open, and the keyboard stays where it was.
  const open = new Set([...shown.querySelectorAll("details[open] > summary")].map((summary) => summary.textContent));
  const focused = isFolding ? active.textContent : null;
  shown.replaceWith(fresh);
  for (const summary of fresh.querySelectorAll("details > summary")) {
    if (open.has(summary.textContent)) summary.parentElement.open = true;
    if (summary.textContent === focused) summary.focus();
  }
}
// The page as it was fetched: whether something is opened is the reader's.
function closed(shown) {
  const copy = shown.cloneNode(true);
  for (const details of copy.querySelectorAll("details[open]")) details.removeAttribute("open");
  return copy.innerHTML;
}
setInterval(fetchAgain, 10000);
