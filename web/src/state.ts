// What the reader has chosen, kept in the URL's hash so that a link or a reload shows the same.

export interface State {
  theme: "auto" | "light" | "dark";
  /** Logarithmic x axis of the latency plot; null: as its range asks for it. */
  log: boolean | null;
  /** Show the corrected view of stalls. */
  corrected: boolean;
  /** Range of the latency plot (ns). */
  range: [number, number] | null;
  /** Range of the plot over time (s from its left edge). */
  timeRange: [number, number] | null;
  /** Range of the offsets of clocks over time (s from the start of the run). */
  clockRange: [number, number] | null;
  /** The late sample whose timeline is drawn: run and place in it. */
  sample: string | null;
  /** Range of that timeline (ns from the schedule). */
  sampleRange: [number, number] | null;
  /** The lifted series. */
  lift: string | null;
  /** The series under the pointer, lifted while it is there; not kept in the URL. */
  hover: string | null;
  /** Draw the heat map over time. */
  heat: boolean;
  /** Figures that show their table. */
  tables: string[];
  /** What is searched for. */
  query: string;
  /** Of many runs the one whose details are shown, by its key. */
  run: string | null;
  /** The column by which many runs are sorted, behind a minus if it is turned round; null: the worst first. */
  sort: string | null;
  /** Of many runs the group whose runs alone are listed, by its name. */
  group: string | null;
  /** Draw the groups of many runs in one plot. */
  overlay: boolean;
}

export const INITIAL: State = {
  theme: "auto", log: null, corrected: false, range: null, timeRange: null, clockRange: null, sample: null, sampleRange: null, lift: null, hover: null, heat: false, tables: [], query: "",
  run: null, sort: null, group: null, overlay: false,
};

function rangeOf(text: string | null, least = 0): [number, number] | null {
  const parts = (text ?? "").split("~").map(Number);
  return parts.length === 2 && parts[0]! >= least && parts[1]! > parts[0]! ? [parts[0]!, parts[1]!] : null;
}

const rounded = (range: [number, number]) => range.map((value) => Number(value.toPrecision(6))).join("~");

/** Whatever a hash says that is not understood is ignored. */
export function fromHash(hash: string): State {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const theme = fields.get("theme");
  const axis = fields.get("x");
  return {
    theme: theme === "light" || theme === "dark" ? theme : "auto",
    log: axis === "log" ? true : axis === "linear" ? false : null,
    corrected: fields.get("view") === "corrected",
    range: rangeOf(fields.get("range")),
    timeRange: rangeOf(fields.get("time")),
    clockRange: rangeOf(fields.get("clocks")),
    sample: fields.get("sample"),
    sampleRange: rangeOf(fields.get("around"), -Infinity),
    lift: fields.get("lift"),
    hover: null,
    heat: fields.get("heat") === "1",
    tables: (fields.get("tables") ?? "").split(",").filter((name) => name !== ""),
    query: fields.get("q") ?? "",
    run: fields.get("run"),
    sort: fields.get("sort"),
    group: fields.get("group"),
    overlay: fields.get("plot") === "one",
  };
}

export function toHash(state: State): string {
  const fields = new URLSearchParams();
  if (state.theme !== "auto") fields.set("theme", state.theme);
  if (state.log !== null) fields.set("x", state.log ? "log" : "linear");
  if (state.corrected) fields.set("view", "corrected");
  if (state.range) fields.set("range", rounded(state.range));
  if (state.timeRange) fields.set("time", rounded(state.timeRange));
  if (state.clockRange) fields.set("clocks", rounded(state.clockRange));
  if (state.sample !== null) fields.set("sample", state.sample);
  if (state.sampleRange) fields.set("around", rounded(state.sampleRange));
  if (state.lift !== null) fields.set("lift", state.lift);
  if (state.heat) fields.set("heat", "1");
  if (state.tables.length > 0) fields.set("tables", state.tables.join(","));
  if (state.query !== "") fields.set("q", state.query);
  if (state.run !== null) fields.set("run", state.run);
  if (state.sort !== null) fields.set("sort", state.sort);
  if (state.group !== null) fields.set("group", state.group);
  if (state.overlay) fields.set("plot", "one");
  return fields.toString();
}

/** A value with listeners. */
export class Store {
  private listeners = new Set<() => void>();
  private state: State;

  constructor(hash: string) {
    this.state = fromHash(hash);
  }

  get(): State {
    return this.state;
  }

  set(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }

  toggleTable(figure: string): void {
    const { tables } = this.state;
    this.set({ tables: tables.includes(figure) ? tables.filter((name) => name !== figure) : [...tables, figure] });
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
