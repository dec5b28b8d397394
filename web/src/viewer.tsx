// The viewer in an element of a page: it is given its data, and other data later. What the reader chose stays where it still
// means something, and data that cannot be shown leave the picture as it is, with the reason above it.

import { Component, render, type ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { App } from "./app.tsx";
import { carried } from "./carry.ts";
import * as format from "./format.ts";
import type { View } from "./generated/view.d.ts";
import { read } from "./read.ts";
import { Store } from "./state.ts";
import { choose } from "./theme.ts";

export interface Viewer {
  /** Shows other data, as an object or as JSON. Returns why they are not shown, if that is known at once. */
  update: (data: unknown) => string | null;
  /** Takes the viewer out of its element, with everything that it listens to. */
  unmount: () => void;
}

interface GuardProps {
  /** Called at once. */
  onError: (error: unknown) => void;
  /** Called when the tree that failed has been left. */
  onLeft: () => void;
  children: ComponentChildren;
}

/** Catches what fails while data are drawn, also in effects, and leaves the tree that failed. */
class Guard extends Component<GuardProps, { failed: boolean }> {
  override state = { failed: false };
  private hasFailed = false;

  override componentDidCatch(error: unknown): void {
    // One failure often brings others with it.
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.props.onError(error);
    this.setState({ failed: true }, this.props.onLeft);
  }

  render() {
    return this.state.failed ? null : this.props.children;
  }
}

/** Says once all of a page was drawn: effects of children run before those of their parent. */
function Drawn({ onDrawn, children }: { onDrawn: () => void; children: ComponentChildren }) {
  useEffect(onDrawn);
  return <>{children}</>;
}

function failureText(problem: string, kept: View | null): string {
  if (kept === null) return problem;
  return `New data are not shown: ${problem} What is shown is from ${format.wallTime(kept.generated.realtime_ns, "UTC", 0)} UTC.`;
}

/** Puts the viewer into an element. Where the data cannot be shown, what stood in the element stays, below the reason. */
export function mount(element: HTMLElement, data: unknown): Viewer {
  const store = new Store(location.hash);
  const before = [...element.childNodes];
  let shown: View | null = null;
  /** What is shown again should the data that are being drawn fail. */
  let previous: View | null = null;
  let isMounted = false;
  /** Changes when a tree that failed has to be made anew. */
  let attempt = 0;
  /** Why data could not be drawn; empty where they could. */
  let failed = "";

  const clear = () => {
    if (isMounted) render(null, element);
    isMounted = false;
    element.replaceChildren();
  };
  /** Only the reason and what stood there first. */
  const fail = (problem: string) => {
    clear();
    const note = document.createElement("p");
    note.className = "page failure";
    note.setAttribute("role", "alert");
    note.textContent = problem;
    element.replaceChildren(note, ...before);
  };
  const onError = (error: unknown) => {
    failed = `The data cannot be drawn (${String(error)}).`;
    [shown, previous] = [previous, null];
    attempt += 1;
  };
  const onLeft = () => {
    if (shown === null) fail(failed);
    else draw(failureText(failed, shown), "");
  };
  const onDrawn = () => {
    previous = null;
    if (shown !== null) document.title = `${shown.headline.word} \u00b7 ${shown.title}`;
  };
  const draw = (failure: string, notice: string) => {
    if (shown === null) return;
    if (!isMounted) clear();
    isMounted = true;
    render(
      <Guard key={attempt} onError={onError} onLeft={onLeft}>
        <Drawn onDrawn={onDrawn}><App view={shown} store={store} failure={failure} notice={notice} /></Drawn>
      </Guard>, element);
  };
  const update = (given: unknown): string | null => {
    const { view, problem } = read(given);
    if (view === null) {
      if (shown === null) fail(problem);
      else draw(failureText(problem, shown), "");
      return problem;
    }
    let notice = "";
    if (shown !== null) {
      const kept = carried(store.get(), shown, view);
      notice = kept.notice;
      store.set(kept.change);
    }
    [previous, shown] = [shown, view];
    failed = "";
    draw("", notice);
    return failed === "" ? null : failed;
  };

  choose(store.get().theme);
  update(data);
  return { update, unmount: () => { clear(); shown = null; } };
}
