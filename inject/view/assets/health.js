// While cases are asked, the page follows how far that is.

const every = 1000; // milliseconds

async function follow() {
  const running = document.getElementById("running");
  if (!running) return;
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = next.getElementById("running");
    if (!now) {
      location.reload();
      return;
    }
    if (now.dataset.done !== running.dataset.done) running.replaceWith(document.adoptNode(now));
  } catch {
    return; // the daemon has ended
  }
  setTimeout(follow, every);
}

setTimeout(follow, every);
