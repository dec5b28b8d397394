// The list of contents of a long page: links to its sections.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { goTo } from "./go_to.ts";

/** From so many heights of the window on a page has a list of its contents. */
const LONG = 3;

interface Entry {
  id: string;
  title: string;
  /** What stands in the list: a title as far as its first comma, so that the list is one line. */
  name: string;
}

/** What stands on the page: its sections with a heading, but for the verdict, below which the list stands. */
function entries(main: HTMLElement): Entry[] {
  return [...main.querySelectorAll<HTMLElement>(":scope > section[id]")].flatMap((section) => {
    const title = section.id === "verdict" ? null : section.querySelector(":scope > h2")?.textContent ?? section.getAttribute("aria-label");
    return title === null || title === undefined ? [] : [{ id: section.id, title, name: title.split(",")[0]! }];
  });
}

/** Links to all sections of a page longer than three windows. Read anew whenever the page is drawn, before it is seen. */
export function Contents() {
  const nav = useRef<HTMLElement>(null);
  const [found, setFound] = useState<Entry[]>([]);
  // A page that was long keeps its list: nothing jumps when something is folded.
  const [long, setLong] = useState(false);
  useLayoutEffect(() => {
    const main = nav.current?.closest("main");
    if (!main) return;
    const now = entries(main);
    if (JSON.stringify(now) !== JSON.stringify(found)) setFound(now);
    if (!long && main.scrollHeight > LONG * innerHeight) setLong(true);
  });
  return (
    <nav ref={nav} class="contents" aria-label="Contents" hidden={!long || found.length < 2}>
      <ul>
        {found.map(({ id, title, name }) => (
          <li><a href={`#${id}`} title={title} onClick={(event) => { event.preventDefault(); goTo(id); }}>{name}</a></li>
        ))}
      </ul>
    </nav>
  );
}
