// The tokens of style.css as a canvas needs them; charts subscribe, since a canvas does not follow CSS.

export interface Theme {
  text: string;
  muted: string;
  line: string;
  faint: string;
  background: string;
  surface: string;
  broken: string;
  series: string[];
  /** The same hues and three more, each of which has a shape and a dash too. */
  groups: string[];
  font: string;
  dark: boolean;
  /** Curves differ by dashes too. */
  paper: boolean;
}

const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");
const print = matchMedia("print");
let chosen: "auto" | "light" | "dark" = "auto";
let current: Theme | null = null;

function isDark(): boolean {
  return !print.matches && (chosen === "dark" || (chosen === "auto" && dark.matches));
}

function refresh(): void {
  // Paper is white whatever the screen is.
  document.documentElement.dataset["theme"] = isDark() ? "dark" : "light";
  current = null;
  for (const listener of listeners) listener();
}

dark.addEventListener("change", refresh);
print.addEventListener("change", refresh);

export function choose(theme: "auto" | "light" | "dark"): void {
  if (theme === chosen && current !== null) return;
  chosen = theme;
  refresh();
}

export function theme(): Theme {
  if (current === null) {
    const style = getComputedStyle(document.documentElement);
    const token = (name: string) => style.getPropertyValue(name).trim();
    current = {
      text: token("--text"), muted: token("--muted"), line: token("--line"), faint: token("--faint"),
      background: token("--background"), surface: token("--surface"), broken: token("--broken"),
      series: [1, 2, 3, 4, 5].map((i) => token(`--series-${i}`)),
      groups: [1, 2, 3, 4, 5, 6, 7, 8].map((i) => token(`--series-${i}`)),
      font: token("--font"), dark: isDark(), paper: print.matches,
    };
  }
  return current;
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
