// What the keyboard does.

import { useEffect } from "preact/hooks";
import type { Store } from "./state.ts";

export const KEYS: [string, string][] = [
  ["\u2190 \u2192", "section before, section after"],
  ["\u2191 \u2193", "lift a series of the section's chart, or pick a late sample"],
  ["t", "table of the section's chart"],
  ["b", "the body alone, or the offsets of a clock alone, and back"],
  ["f", "all samples again, the first view"],
  ["l", "logarithmic latency axis"],
  ["c", "corrected view, where periods were missed"],
  ["h", "heat map over time"],
  ["d", "light, dark, as the system"],
  ["/", "find"],
  ["Esc", "let go of series, search and this list"],
  ["?", "show these keys"],
];

function sections(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main > section")];
}

/** The focused section, or else the one that fills the upper part of the window. */
function current(): HTMLElement | undefined {
  const focused = document.activeElement?.closest<HTMLElement>("main > section");
  if (focused) return focused;
  return sections().findLast((section) => section.getBoundingClientRect().top < innerHeight * 0.4) ?? sections()[0];
}

function move(step: number): void {
  const all = sections();
  const now = current();
  const next = all[Math.min(all.length - 1, Math.max(0, all.indexOf(now!) + step))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "start" });
}

/** Lifts the series before or after; false where the section has none. */
function lift(store: Store, step: number): boolean {
  const focused = document.activeElement?.closest<HTMLElement>("main > section");
  const picks = [...(focused?.querySelectorAll<HTMLElement>("[data-pick]") ?? [])];
  if (picks.length > 0) {
    const picked = picks.findIndex((pick) => pick.getAttribute("aria-pressed") === "true");
    picks[(picked + step + picks.length) % picks.length]!.click();
    return true;
  }
  const keys = [...(focused?.querySelectorAll<HTMLElement>("[data-lane]") ?? [])].map((lane) => lane.dataset["lane"]!);
  if (keys.length === 0) return false;
  const at = keys.indexOf(store.get().lift ?? "");
  store.set({ lift: keys[at < 0 ? (step > 0 ? 0 : keys.length - 1) : (at + step + keys.length) % keys.length]! });
  return true;
}

/** The first figure of a section that is not above the window's upper part. */
function figureOf(section: HTMLElement | undefined): HTMLElement | undefined {
  const all = [...(section?.querySelectorAll<HTMLElement>("[data-figure]") ?? [])];
  return all.find((figure) => figure.getBoundingClientRect().bottom > innerHeight * 0.4) ?? all[0];
}

/** Presses the button that a key stands for: in this section, or else the first on the page. */
function press(key: string): boolean {
  const selector = `[data-key="${key}"]`;
  const button = current()?.querySelector<HTMLElement>(selector) ?? document.querySelector<HTMLElement>(selector);
  button?.click();
  return button !== null;
}

const THEMES = { auto: "light", light: "dark", dark: "auto" } as const;

export function useKeys(store: Store, toggleHelp: () => void, closeHelp: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const search = document.getElementById("search") as HTMLInputElement | null;
      if (event.key === "Escape") {
        closeHelp();
        store.set({ lift: null, query: "" });
        search?.blur();
        return;
      }
      if (event.target instanceof HTMLInputElement) return;
      let done = true;
      switch (event.key) {
        case "ArrowLeft": move(-1); break;
        case "ArrowRight": move(1); break;
        case "ArrowUp": done = lift(store, -1); break;
        case "ArrowDown": done = lift(store, 1); break;
        case "t": {
          const figure = figureOf(current())?.dataset["figure"];
          if (figure) store.toggleTable(figure);
          break;
        }
        case "b": case "f": case "l": case "c": case "h": done = press(event.key); break;
        case "d": store.set({ theme: THEMES[store.get().theme] }); break;
        case "/": search?.scrollIntoView({ block: "center" }); search?.focus(); break;
        case "?": toggleHelp(); break;
        default: done = false;
      }
      if (done) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [store]);
}
