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
  const isBusy = shown.contains(document.activeElement) || !document.getSelection().isCollapsed;
  if (fresh !== null && !isBusy && fresh.innerHTML !== shown.innerHTML) shown.replaceWith(fresh);
}
setInterval(fetchAgain, 10000);
