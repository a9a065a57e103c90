// Pages read without this script. It reports changes and adds keys.
import "./changes.js";

const changed = document.getElementById("changed");
if (changed) {
  const events = new EventSource("events");
  events.addEventListener("open", () => document.dispatchEvent(new Event("memcore-open"))); // also after a pause
  for (const kind of ["indexed", "turn", "problem"]) {
    events.addEventListener(kind, () => {
      // A page that shows the change itself says so.
      if (document.dispatchEvent(new Event(`memcore-${kind}`, { cancelable: true }))) changed.hidden = false;
    });
  }
  let gone; // a short interruption is no end
  events.onerror = () => { gone ??= setTimeout(() => { document.getElementById("away").hidden = false; }, 8000); };
  events.onopen = () => { clearTimeout(gone); gone = undefined; document.getElementById("away").hidden = true; };
  addEventListener("pagehide", () => events.close());
}

document.getElementById("keys").hidden = false;
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.matches("#ask textarea")) {
    event.preventDefault(); // with Shift it breaks the line
    event.target.form.requestSubmit();
    return;
  }
  if (event.target.closest("input, textarea, select")) return;
  document.querySelectorAll("header nav a")[Number(event.key) - 1]?.click();
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("textarea, main input")?.focus();
  }
});
