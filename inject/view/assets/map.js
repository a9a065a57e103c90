// The map of chunks: WebGL draws its points, or canvas 2D where there is no WebGL.

const $ = (id) => document.getElementById(id);
const canvas = $("map-canvas"), mark = document.querySelector("#map-mark circle");
const side = 65536, cells = 256, others = 8;
const hidden = new Set(); // groups
const here = { x: side / 2, y: side / 2, scale: 0, chosen: -1 };
let begun, data, painter, groups, names, grid, least;

const numbers = (text, Type) => new Type(Uint8Array.from(atob(text ?? ""), (c) => c.charCodeAt(0)).buffer);
const clean = (text) => text.replace(/\p{C}/gu, "\uFFFD");

// take keeps new points and sorts them into a grid.
function take(m) {
  data = { n: m.points, x: numbers(m.x, Uint16Array), y: numbers(m.y, Uint16Array), lines: numbers(m.lines, Uint32Array),
    days: numbers(m.days, Uint16Array), documents: m.documents ?? [], sources: m.sources ?? [], of: new Uint32Array(m.points) };
  let at = 0;
  data.documents.forEach((d, i) => { data.of.fill(i, at, at += d.points); });
  const cell = (i) => (data.y[i] >> 8) * cells + (data.x[i] >> 8);
  grid = { from: new Uint32Array(cells * cells + 1), points: new Uint32Array(data.n) };
  for (let i = 0; i < data.n; i++) grid.from[cell(i) + 1]++;
  for (let c = 0; c < cells * cells; c++) grid.from[c + 1] += grid.from[c];
  const step = data.n % 7919 ? 7919 : 7907; // a prime, so that the first points are from everywhere
  data.order = Uint32Array.from({ length: data.n }, (_, k) => k * step % data.n);
  const next = grid.from.slice();
  for (let i = 0; i < data.n; i++) grid.points[next[cell(i)]++] = i;
  here.chosen = -1;
  if (!begun && data.sources.length < 2) $("map-colour").value = "folder";
  begun = true;
  colour();
}

const ages = [[1, "last 24 hours"], [7, "last week"], [31, "last month"], [92, "last 3 months"], [366, "last year"], [Infinity, "older"]];

// namesOf returns the name of a point's group.
function namesOf(by) {
  if (by === "age") {
    const today = Date.now() / 864e5;
    return (i) => data.days[i] ? ages.find(([days]) => today - data.days[i] <= days + 1)[1] : "not known";
  }
  const of = data.documents.map((d) => by === "source" ? data.sources[d.source].replace(/^\.$/, "this workspace") : by === "kind" ? d.kind : d.path.split("/").slice(0, -1).slice(0, 2).join("/") || "no folder");
  return (i) => of[data.of[i]];
}

// colour sorts points into groups: the eight largest, and others.
function colour() {
  const nameOf = namesOf($("map-colour").value), counts = new Map();
  for (let i = 0; i < data.n; i++) counts.set(nameOf(i), (counts.get(nameOf(i)) ?? 0) + 1);
  names = [...counts].sort((a, b) => b[1] - a[1]).slice(0, others);
  if ($("map-colour").value === "age") names.sort((a, b) => ages.findIndex((g) => g[1] === a[0]) - ages.findIndex((g) => g[1] === b[0]));
  const number = new Map(names.map(([name], i) => [name, i]));
  groups = new Uint8Array(data.n);
  let rest = 0;
  for (let i = 0; i < data.n; i++) {
    groups[i] = number.get(nameOf(i)) ?? others;
    rest += groups[i] === others;
  }
  hidden.clear();
  $("map-legend").replaceChildren(...names.map(([name, count], i) => legend(name, count, i)), ...(rest ? [legend("others", rest, others)] : []));
  painter.load();
  draw();
}

// legend returns the button that shows or hides a group.
function legend(name, count, group) {
  const button = document.createElement("button"), bdi = document.createElement("bdi");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  for (const [key, value] of Object.entries({ width: 12, height: 12, "aria-hidden": true })) svg.setAttribute(key, value);
  for (const [key, value] of Object.entries({ cx: 6, cy: 6, r: 6, class: `group${group}` })) dot.setAttribute(key, value);
  svg.append(dot);
  bdi.textContent = clean(name);
  button.type = "button";
  button.setAttribute("aria-pressed", "true");
  button.append(svg, " ", bdi, ` ${count.toLocaleString("en")}`);
  button.addEventListener("click", () => {
    hidden.has(group) ? hidden.delete(group) : hidden.add(group);
    button.setAttribute("aria-pressed", String(!hidden.has(group)));
    draw();
  });
  return button;
}

// palette reads the colours of the style, as numbers from 0 to 1.
function palette() {
  const probe = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  $("map-legend").append(probe);
  const all = Array.from({ length: others + 1 }, (_, i) => {
    probe.setAttribute("class", `group${i}`);
    return getComputedStyle(probe).fill.match(/\d+/g).slice(0, 3).map((v) => v / 255);
  });
  probe.remove();
  return all;
}

// radius is that of a point, in pixels: smaller if there are many, larger when zoomed in.
const radius = () => Math.min(8, Math.min(6, Math.max(1.3, 130 / Math.sqrt(data.n))) * (here.scale / least) ** .35);

// byWebGL returns a painter, or nothing.
function byWebGL() {
  const gl = canvas.getContext("webgl", { antialias: false });
  if (!gl) return undefined;
  const program = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, `
    attribute vec2 at; attribute float group; uniform vec2 centre, scale; uniform float size, shown[9]; uniform vec3 colours[9]; varying vec3 colour;
    void main() {
      colour = colours[int(group)];
      gl_Position = vec4((at - centre) * scale, shown[int(group)] > 0. ? 0. : 2., 1.);
      gl_PointSize = size;
    }`], [gl.FRAGMENT_SHADER, `
    precision mediump float; varying vec3 colour;
    void main() { if (length(gl_PointCoord - .5) > .5) discard; gl_FragColor = vec4(colour, 1.); }`]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return undefined;
  gl.useProgram(program);
  const buffers = {}, uniform = (name) => gl.getUniformLocation(program, name);
  const attribute = (name, size, type, values) => {
    const place = gl.getAttribLocation(program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name] ??= gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, false, 0, 0);
  };
  return {
    name: "webgl",
    load() {
      const at = new Uint16Array(2 * data.n);
      data.order.forEach((i, k) => { at[2 * k] = data.x[i]; at[2 * k + 1] = data.y[i]; });
      attribute("at", 2, gl.UNSIGNED_SHORT, at);
      attribute("group", 1, gl.UNSIGNED_BYTE, Uint8Array.from(data.order, (i) => groups[i]));
      gl.uniform3fv(uniform("colours"), palette().flat());
    },
    paint(n) {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT);
      gl.uniform2f(uniform("centre"), here.x, here.y);
      gl.uniform2f(uniform("scale"), 2 * here.scale / canvas.clientWidth, 2 * here.scale / canvas.clientHeight);
      gl.uniform1f(uniform("size"), 2 * radius() * devicePixelRatio);
      gl.uniform1fv(uniform("shown"), Array.from({ length: others + 1 }, (_, i) => Number(!hidden.has(i))));
      gl.drawArrays(gl.POINTS, 0, n);
    },
  };
}

function byCanvas() {
  const context = canvas.getContext("2d");
  let colours;
  return {
    name: "canvas",
    load() { colours = palette().map((c) => `rgb(${c.map((v) => v * 255)})`); },
    paint(n) {
      const s = here.scale * devicePixelRatio, size = 1.8 * radius() * devicePixelRatio;
      const left = canvas.width / 2 - here.x * s, bottom = canvas.height / 2 + here.y * s;
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (let group = 0; group <= others; group++) {
        if (hidden.has(group)) continue;
        context.fillStyle = colours[group];
        for (let k = 0; k < n; k++) {
          const i = data.order[k];
          if (groups[i] !== group) continue;
          const x = left + data.x[i] * s, y = bottom - data.y[i] * s;
          if (x > -size && y > -size && x < canvas.width && y < canvas.height) context.fillRect(x - size / 2, y - size / 2, size, size);
        }
      }
    },
  };
}

// draw paints before the next frame: while that is slow fewer points, and all of them at rest.
let waits = false, share = 1, last = 0, rest;
function draw() {
  if (waits) return;
  waits = true;
  requestAnimationFrame((now) => {
    waits = false;
    const took = now - last;
    last = now;
    if (took < 250) share = took > 34 ? Math.max(1 / 32, share / 2) : took < 20 ? Math.min(1, share * 1.1) : share;
    paint(Math.min(data.n, Math.max(Math.ceil(data.n * share), 2000))); // fewer save nothing
    clearTimeout(rest);
    if (share < 1) rest = setTimeout(() => { paint(data.n); }, 200);
  });
}

function paint(n) {
  painter.paint(n);
  const i = here.chosen;
  mark.setAttribute("cx", i < 0 ? -99 : canvas.clientWidth / 2 + (data.x[i] - here.x) * here.scale);
  mark.setAttribute("cy", i < 0 ? -99 : canvas.clientHeight / 2 - (data.y[i] - here.y) * here.scale);
}

function fit() {
  const ratio = devicePixelRatio, before = least;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  least = .94 * Math.min(canvas.clientWidth, canvas.clientHeight) / side;
  here.scale = before ? here.scale * least / before : least;
  if (data) draw();
}

// zoom keeps the place below (x, y), in pixels from the middle.
function zoom(factor, x = 0, y = 0) {
  const scale = Math.min(least * 400, Math.max(least / 2, here.scale * factor));
  here.x += x / here.scale - x / scale;
  here.y -= y / here.scale - y / scale;
  here.scale = scale;
  draw();
}

function move(x, y) {
  here.x = Math.min(side, Math.max(0, here.x - x / here.scale));
  here.y = Math.min(side, Math.max(0, here.y + y / here.scale));
  draw();
}

// nearest returns the shown point nearest to (x, y), in pixels from the middle, or -1.
function nearest(x, y, within) {
  const wx = here.x + x / here.scale, wy = here.y - y / here.scale, reach = within / here.scale;
  const cell = (v) => Math.min(cells - 1, Math.max(0, Math.floor(v) >> 8));
  let best = -1, least = reach * reach;
  for (let row = cell(wy - reach); row <= cell(wy + reach); row++) {
    for (let c = row * cells + cell(wx - reach); c <= row * cells + cell(wx + reach); c++) {
      for (let k = grid.from[c]; k < grid.from[c + 1]; k++) {
        const i = grid.points[k], d = (data.x[i] - wx) ** 2 + (data.y[i] - wy) ** 2;
        if (d < least && !hidden.has(groups[i])) [best, least] = [i, d];
      }
    }
  }
  return best;
}

const placeOf = (i) => `path=${encodeURIComponent(data.documents[data.of[i]].path)}`;
const addressOf = (i) => `document?${placeOf(i)}&line=${data.lines[i]}#L${data.lines[i]}`;

// choose shows the text of a point, a moment later.
let later, request;
function choose(i) {
  if (i === here.chosen) return;
  here.chosen = i;
  draw();
  clearTimeout(later);
  if (i >= 0) later = setTimeout(() => { tell(i); }, 80);
}

async function tell(i) {
  request?.abort();
  request = new AbortController();
  try {
    const answer = await fetch(`map-text?${placeOf(i)}&line=${data.lines[i]}`, { signal: request.signal });
    const said = answer.ok ? await answer.json() : { source: "This chunk is not there any more.", time: "", text: "" };
    const box = $("map-text"), link = box.querySelector("a");
    link.href = addressOf(i);
    link.textContent = said.source;
    box.querySelector("h2").hidden = false;
    box.querySelector("p").textContent = said.time;
    box.querySelector("bdi").textContent = said.text;
  } catch {
    // Another point was chosen meanwhile, or the daemon has ended, as the page says.
  }
}

const open = (i) => { if (i >= 0) location.assign(addressOf(i)); };

function listen() {
  const fingers = new Map();
  let dragged = 0, spread = 0;
  const at = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left - box.width / 2, e.clientY - box.top - box.height / 2]; };
  const apart = () => { const [a, b] = fingers.values(); return Math.hypot(a[0] - b[0], a[1] - b[1]); };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, at(e));
    dragged = fingers.size > 1 ? Infinity : 0;
    if (fingers.size === 2) spread = apart();
  });
  canvas.addEventListener("pointermove", (e) => {
    const now = at(e), before = fingers.get(e.pointerId);
    if (!before) return choose(nearest(...now, 14));
    fingers.set(e.pointerId, now);
    dragged += Math.hypot(now[0] - before[0], now[1] - before[1]);
    move((now[0] - before[0]) / fingers.size, (now[1] - before[1]) / fingers.size);
    if (fingers.size === 2) {
      const [a, b] = fingers.values();
      zoom(apart() / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      spread = apart();
    }
  });
  const lift = (e) => {
    if (!fingers.delete(e.pointerId) || dragged > 5 || e.type === "pointercancel") return;
    const found = nearest(...at(e), 14);
    e.pointerType === "touch" ? choose(found) : open(found);
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-e.deltaY / (e.deltaMode ? 10 : 400)), ...at(e)); }, { passive: false });
  const keys = { ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: () => { Object.assign(here, { x: side / 2, y: side / 2, scale: least }); draw(); } };
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "Enter") return open(nearest(0, 0, 80));
    if (!keys[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    keys[e.key]();
    choose(nearest(0, 0, 80));
  });
  $("map-colour").addEventListener("change", colour);
  new ResizeObserver(fit).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { painter.load(); draw(); });
}

// follow gets the points, and again while a map is being computed.
async function follow(known = "") {
  const answer = await fetch(`map-data?known=${encodeURIComponent(known)}`).catch(() => ({ ok: false }));
  if (!answer.ok) {
    $("map-said").textContent = "The map could not be computed. Load this page again to try once more.";
    return;
  }
  const m = await answer.json();
  if ($("map-said").textContent !== m.said) $("map-said").textContent = m.said;
  if (m.points && m.stamp !== known) {
    $("map").hidden = false;
    document.querySelector(".map-still")?.remove();
    if (!painter) {
      fit();
      painter = byWebGL() ?? byCanvas();
      canvas.dataset.painter = painter.name;
      listen();
    }
    take(m);
  }
  if (m.state === "computing") setTimeout(() => { follow(m.stamp); }, 1000);
  else if ($("map-wait")) await showPairs();
}

// showPairs shows the pairs that the page lacked when it was made.
async function showPairs() {
  const answer = await fetch("map");
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const pairs = page.getElementById("map-pairs");
  if (pairs && !page.getElementById("map-wait")) $("map-pairs").replaceWith(pairs);
}

if (canvas) follow();
