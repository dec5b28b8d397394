// A link to a finding further down the page, which is opened; nothing but its name where the page does not hold it.

export function FindingLink({ id }: { id: string }) {
  return (
    <a href={`#finding-${id}`} onClick={(event) => {
      // The URL's hash is the reader's choices: the page scrolls without it.
      event.preventDefault();
      const target = document.getElementById(`finding-${id}`);
      if (target instanceof HTMLDetailsElement) target.open = true;
      target?.scrollIntoView({ block: "start" });
    }}>finding {id}</a>
  );
}
