// Shows new turns at the top as they happen. Nothing else on the page moves or closes.

const live = document.getElementById("live");
const list = live.querySelector("ol");

// A turn is recorded a moment after the event.
const waits = [150, 500, 1500, 4000];

async function refresh() {
  const response = await fetch(location.href);
  if (!response.ok) return 0;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  let fresh = 0;
  for (const turn of [...page.querySelectorAll("section.session li[id]")].reverse()) {
    const known = document.getElementById(turn.id);
    if (!known) {
      insert(document.adoptNode(turn));
      fresh++;
    } else if (known.textContent !== turn.textContent && !known.querySelector("details[open]") && !known.contains(document.activeElement)) {
      known.replaceWith(document.adoptNode(turn)); // such as what was opened
    }
  }
  return fresh;
}

// insert puts a turn first, and keeps what a person looks at where it is.
function insert(turn) {
  const anchor = document.querySelector("section.session");
  const before = anchor?.getBoundingClientRect().top;
  live.hidden = false;
  list.prepend(turn);
  const name = turn.querySelector(".of")?.textContent ?? "";
  document.getElementById("live-said").textContent = `A new turn${name}, ${turn.querySelector("time").textContent}.`;
  if (anchor && scrollY > 0) scrollBy(0, anchor.getBoundingClientRect().top - before);
}

let running = Promise.resolve();
let next; // waits of the look that comes after the running one

// look asks for new turns after each wait, until there is one. One look that waits sees all turns.
function look(waits) {
  const queued = next !== undefined;
  if (!queued || waits.length > next.length) next = waits;
  if (queued) return;
  running = running.then(async () => {
    const mine = next;
    next = undefined;
    for (const wait of mine) {
      await new Promise((done) => setTimeout(done, wait));
      try {
        if (await refresh() > 0) return;
      } catch {
        return; // the daemon has ended; the next visit tells
      }
    }
  });
}

document.addEventListener("memcore-turn", (event) => {
  event.preventDefault();
  look(waits);
});
document.addEventListener("memcore-open", () => look([0])); // what came before the page listened
// A hook that found the daemon late has answered by itself, and no event tells.
setInterval(() => { if (document.visibilityState === "visible") look([0]); }, 10_000);
