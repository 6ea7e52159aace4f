// The walk: what was observed, the address that tells it, the buttons and keys that move it.

const STEP_MILLISECONDS = 800; // of a run that is played
const MOST_RISKY_STEPS = 300;
const by = (id) => document.getElementById(id);
const SIDES = DATA.sides.map((_, i) => i);
const state = { moves: [], draws: SIDES.map(likeliest), statesOpen: false };
const visited = SIDES.map(() => new Visited());
let timer = null, runs = 0, expected = null; // the fragment that the page wrote itself

function likeliest(side) {
  const draws = DATA.sides[side].draws;
  return draws.reduce((best, draw, i) => (draw[0] > draws[best][0] ? i : best), 0);
}

const placesNow = () => SIDES.map((side) => placesAlong(side, state.draws[side], state.moves).at(-1));

// The address: "#w=0-0.1-x&d=0-1" has a move for each step, an observation for each side, x where one waits.

function fragment() {
  const moves = state.moves.map((move) => move.map((o) => (o === null ? "x" : o)).join("-")).join(".");
  const mixed = DATA.sides.some((side) => side.draws.length > 1) ? `&d=${state.draws.join("-")}` : "";
  return `#w=${moves}${mixed}`;
}

function readFragment() {
  const words = new URLSearchParams(location.hash.slice(1));
  const draws = (words.get("d") || "").split("-").map(Number);
  state.draws = SIDES.map((side) => (words.has("d") && DATA.sides[side].draws[draws[side]] ? draws[side] : likeliest(side)));
  state.moves = [];
  visited.forEach((v) => v.clear());
  for (const word of (words.get("w") || "").split(".").filter(Boolean)) {
    const given = word.split("-"), places = placesNow();
    const move = SIDES.map((side) => (given[side] === undefined || given[side] === "x" ? null : Number(given[side])));
    if (move.every((o, side) => o === null || nextPlace(places[side], o) === null)) break; // no such history
    remember();
    state.moves.push(move.map((o, side) => (o !== null && nextPlace(places[side], o) ? o : null)));
  }
}

function remember() {
  placesNow().forEach((place, side) => visited[side].add(place, state.moves.slice()));
}

// Moving

function moveTo(moves, focusSide) {
  state.moves = moves;
  render(focusSide);
}

/** Make an observation at a side; the other one sees it too if it can. */
function choose(side, o, focus = true) {
  const places = placesNow();
  if (!nextPlace(places[side], o)) return false;
  const move = SIDES.map((other) => (other === side ? o : seenBy(places[other], o)));
  moveTo([...state.moves, move], focus ? side : null);
  return true;
}

const walk = {
  choose: (side, o) => { stop(); choose(side, o); },
  go: (side, path) => {
    stop();
    const known = visited[side].moves.get(path.join("."));
    const along = placesAlong(side, state.draws[side], state.moves).findIndex((place) => place.path.length === path.length);
    const onWay = along >= 0 && path.every((o, i) => placesNow()[side].path[i] === o);
    moveTo(onWay ? state.moves.slice(0, along) : known || state.moves, side);
  },
  draw: (side, i) => {
    stop();
    state.draws[side] = i;
    visited[side].clear();
    // The same observations again, as far as they can be made.
    const again = state.moves.map((move) => move[side] ?? move.find((o) => o !== null));
    const others = state.moves;
    state.moves = [];
    for (const [step, o] of again.entries()) {
      const places = placesNow();
      const move = SIDES.map((other) => (other === side ? seenBy(places[side], o) : others[step][other]));
      if (move.every((x) => x === null)) break;
      state.moves.push(move);
    }
    render(null);
  },
  statesOpen: () => state.statesOpen,
  openStates: (open) => { state.statesOpen = open; },
};

function back() { stop(); if (state.moves.length) moveTo(state.moves.slice(0, -1), null); }
function restart() { stop(); moveTo([], null); }

/** Before the first step a mixture's riskiest policy is the one to follow. */
function riskiestDraw(side) {
  const excess = DATA.sides[side].draws.map((_, i) => riskAt(firstPlace(side, i)).excess);
  const worst = excess.indexOf(Math.max(...excess));
  if (worst >= 0 && worst !== state.draws[side]) {
    state.draws[side] = worst;
    visited[side].clear();
  }
}

/** Follow the riskiest branch of the policy for which it is worst. */
function riskiest() {
  stop();
  if (!state.moves.length) SIDES.forEach(riskiestDraw);
  const risks = placesNow().map(riskAt);
  const side = risks.reduce((best, risk, i) => (risk.excess > risks[best].excess ? i : best), 0);
  const k = risks[side].k;
  let steps = 0;
  for (; steps < MOST_RISKY_STEPS; steps++) {
    const places = placesNow();
    const o = riskyStep(places[side], k);
    if (o === null || !nextPlace(places[side], o)) break;
    remember();
    state.moves.push(SIDES.map((other) => (other === side ? o : seenBy(places[other], o))));
  }
  render(null);
  const known = DATA.sides[side].complete ? "" : ", of those explored";
  note(steps ? `${steps} ${steps === 1 ? "step" : "steps"} along the riskiest branch${known}` : `nothing riskier follows from here${known && ", as far as explored"}`);
}

// Playing: observations are drawn for the first policy that goes on.

function random(seed) { // mulberry32
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function play() {
  if (timer !== null) return stop();
  const draw = random(++runs);
  const goesOn = () => placesNow().findIndex((place) => nodeOf(place.side, place.node).edges.some((e) => e.node !== NOT_EXPLORED));
  if (goesOn() < 0) state.moves = [];
  if (!state.moves.length) {
    state.draws = SIDES.map((side) => {
      let u = draw();
      const i = DATA.sides[side].draws.findIndex(([w]) => (u -= w) < 0);
      if (i >= 0 && i !== state.draws[side]) visited[side].clear();
      return i < 0 ? likeliest(side) : i;
    });
  }
  by("play").textContent = "Stop";
  by("play").setAttribute("aria-pressed", "true");
  const step = () => {
    const side = goesOn();
    if (side < 0) return stop();
    let u = draw();
    const { edges } = nodeOf(side, placesNow()[side].node);
    const edge = edges.find((e) => (u -= e.p) < 0) || edges.at(-1);
    if (!choose(side, edge.o, false)) return stop("this branch is not explored further");
    if (goesOn() < 0) return stop("the run is over");
    timer = setTimeout(step, STEP_MILLISECONDS);
  };
  note(`run ${runs}`);
  render(null);
  timer = setTimeout(step, STEP_MILLISECONDS / 2);
}

function stop(why) {
  if (timer !== null) clearTimeout(timer);
  timer = null;
  by("play").textContent = "Play a run";
  by("play").setAttribute("aria-pressed", "false");
  note(typeof why === "string" ? why : "");
}

// Showing

function note(text) { by("note").textContent = text; }

function render(focusSide) {
  remember();
  const places = placesNow();
  const before = SIDES.map((side) => placesAlong(side, state.draws[side], state.moves.slice(0, -1)).at(-1));
  const move = state.moves.at(-1);
  const meant = move && move.find((o) => o !== null);
  const views = SIDES.map((side) => ({
    place: places[side],
    first: firstPlace(side, state.draws[side]),
    visited: visited[side],
    draw: state.draws[side],
    instead: move && SIDES.length > 1 && side > 0 && move[side] !== null && move[0] !== null && move[side] !== meant ? move[side] : null,
    waiting: Boolean(move && move[side] === null && nodeOf(side, before[side].node).edges.length),
  }));
  by("sides").replaceChildren(...views.map((view) => panel(view, walk)));
  by("back").disabled = by("restart").disabled = !state.moves.length;
  expected = fragment();
  try { history.replaceState(null, "", expected); } catch { location.hash = expected; }
  by("live").textContent = views.map(spoken).join(" ");
  if (focusSide !== null && focusSide !== undefined) {
    const panelNow = by("sides").children[focusSide];
    (panelNow.querySelector(".observe:not(:disabled)") || by("back")).focus({ preventScroll: true });
  }
}

/** A place in one sentence, for those who listen. */
function spoken({ place }) {
  const node = nodeOf(place.side, place.node);
  const name = SIDES.length > 1 ? `${DATA.sides[place.side].title}: ` : "";
  const does = node.action === ENDED ? "ended" : `action ${MODEL.actions[node.action]}`;
  const left = MODEL.costs.map((cost, k) => `, ${shown(place.left[k])} of ${cost} left, ${range(node.costs[k])} expected`).join("");
  return `${name}${place.oneDraw ? "one draw, " : ""}step ${place.step}, ${does}${left}${place.broken ? `, self-destruction${place.oneDraw ? " of this draw" : ""} at step ${place.broken.step}` : ""}.`;
}

function theme(change) {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  if (change) {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("rcpomdp-theme", root.dataset.theme); } catch { /* a page without storage forgets it */ }
  }
  by("theme").textContent = dark() ? "Light theme" : "Dark theme";
}

async function share() {
  try {
    await navigator.clipboard.writeText(location.href);
    note("link copied");
  } catch {
    note("the address of this page tells where you are: copy it");
  }
}

function key(event) {
  const typing = event.target.closest("input, select, textarea");
  if (!by("shortcuts").checked || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  const digit = /^[1-9]$/.test(event.key) ? event.key : null;
  const side = Number(event.target.closest("[data-side]")?.dataset.side ?? placesNow().findIndex((p) => nodeOf(p.side, p.node).edges.length));
  const actions = { ArrowLeft: back, Backspace: back, Home: restart, p: play, r: riskiest, t: () => theme(true) };
  if (digit) {
    const button = by("sides").children[Math.max(side, 0)].querySelector(`.observe[data-key="${digit}"]:not(:disabled)`);
    if (button) button.click();
  } else if (actions[event.key] && !(event.key === "ArrowLeft" && event.target.closest(".scroll"))) actions[event.key]();
  else return;
  event.preventDefault();
}

function start() {
  const [states, actions, seen] = MODEL.size;
  const budget = MODEL.costs.map((name, k) => `${K > 1 ? `${name} ` : ""}${shown(MODEL.budget[k] ?? Infinity)}`).join(", ");
  by("name").textContent = MODEL.name || "A policy";
  by("about").textContent = `${states.toLocaleString("en")} states · ${actions} actions · ${seen} observations · discount ${Number(MODEL.discount.toPrecision(7))}${K ? ` · budget ${budget}` : ""}`;
  const counts = DATA.sides.map((side) => `${side.action.length.toLocaleString("en")} nodes${side.complete ? "" : ", the likeliest"}`).join(" and ");
  by("made").textContent = `Made by rcpomdp ${DATA.version}; ${counts}. Nothing leaves this page.`;
  by("risk").hidden = !K;
  if (!DATA.sides.every((side) => side.complete)) by("risk").textContent = "Riskiest explored branch";
  document.body.classList.toggle("plain", !DATA.drawing);
  document.body.classList.toggle("compare", SIDES.length > 1);
  try { const kept = localStorage.getItem("rcpomdp-theme"); if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept; } catch { /* nothing kept */ }
  theme(false);
  for (const [id, act] of Object.entries({ restart, back, play, risk: riskiest, share, theme: () => theme(true) })) by(id).addEventListener("click", act);
  document.addEventListener("keydown", key);
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); by("sides").focus(); }); // the address stays
  addEventListener("hashchange", () => { if (location.hash !== expected && new URLSearchParams(location.hash.slice(1)).has("w")) { stop(); readFragment(); render(null); } });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(false));
  readFragment();
  render(null);
}
start();
