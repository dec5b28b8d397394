// Moves to a part of the page, without a word in the URL's hash, which holds the reader's choices.

export function goTo(id: string): void {
  const target = document.getElementById(id);
  if (target === null) return;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
}
