// Asks before a page with text that was typed is left, and finds the line of a link.

let sending = false;
addEventListener("submit", () => { sending = true; });
addEventListener("beforeunload", (event) => {
  const typed = [...document.querySelectorAll("textarea[data-unsaved]")].some((t) => t.value !== t.defaultValue);
  if (typed && !sending) event.preventDefault();
});

// A link to a line of another part of a file, or to a line within a block.
const line = Number(location.hash.match(/^#L(\d+)$/)?.[1]);
const parts = [...document.querySelectorAll(".part[id^=L]")];
if (line && parts.length && !document.getElementById(`L${line}`)) {
  const first = (part) => Number(part.id.slice(1));
  const address = new URL(location);
  if (document.querySelector("a[rel=next]") && line > first(parts.at(-1)) && !address.searchParams.has("line")) {
    address.searchParams.set("line", line);
    location.replace(address);
  } else {
    parts.findLast((part) => first(part) <= line)?.scrollIntoView();
  }
}
