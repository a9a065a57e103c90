// Moves the threshold: by its slider, or by dragging its line. Shows what would be given then.

const slider = document.getElementById("threshold");
const would = document.getElementById("would");
const rows = [...document.querySelectorAll("tr[data-score]")];
const answered = new Map(rows.map((row) => [row, { given: row.classList.contains("given"), text: row.querySelector(".verdict bdi")?.textContent }]));
const number = (value) => Number(value) || 0;

const start = number(slider.defaultValue);

// given returns the rows that a threshold lets in. What other rules decided stays.
function given(least) {
  const limit = number(would.dataset.limit) || Infinity, budget = number(would.dataset.budget) || Infinity;
  const order = [...rows].sort((a, b) => answered.get(b).given - answered.get(a).given || b.dataset.score - a.dataset.score);
  const taken = new Set();
  let tokens = 0;
  for (const row of order) {
    const score = number(row.dataset.score), was = answered.get(row).given;
    if (row.dataset.fixed !== "always") {
      if (was ? least > Math.max(score, start) : row.dataset.fixed === "never" || least >= start || score < least) continue;
      if (!was && (taken.size >= limit || taken.size > 0 && tokens + number(row.dataset.tokens) > budget)) continue;
    }
    taken.add(row);
    tokens += number(row.dataset.tokens);
  }
  return { taken, tokens };
}

function show() {
  const least = number(slider.value);
  const { taken, tokens } = given(least);
  for (const row of rows) {
    row.classList.toggle("given", taken.has(row));
    row.classList.toggle("rejected", !taken.has(row));
    const verdict = row.querySelector(".verdict bdi"), before = answered.get(row);
    if (verdict) verdict.textContent = taken.has(row) === before.given ? before.text : taken.has(row) ? "would be given" : "would be left out";
    const line = row.querySelector(".least");
    line?.setAttribute("x1", least);
    line?.setAttribute("x2", least);
  }
  document.getElementById("least").value = least.toFixed(3);
  would.value = `${taken.size} of ${rows.length} would be given, about ${tokens} tokens.`;
}

slider.addEventListener("input", show);
for (const cell of document.querySelectorAll("td.score")) {
  const move = (event) => {
    const box = cell.getBoundingClientRect();
    slider.value = (event.clientX - box.left) / box.width;
    show();
  };
  cell.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    cell.setPointerCapture(event.pointerId);
    move(event);
  });
  cell.addEventListener("pointermove", (event) => {
    if (cell.hasPointerCapture(event.pointerId)) move(event);
  });
}
