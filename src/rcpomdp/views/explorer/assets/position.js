// Where a walk is: nodes, what is left of the budget, and what is proven of the actions there.
// The rules are those of explanation.py and alternatives.py.

const DATA = JSON.parse(document.getElementById("data").textContent);
const MODEL = DATA.model;
for (const side of DATA.sides) { // JSON has no infinity
  for (const key of ["low", "high", "most"]) side[key] = side[key] && side[key].map((x) => x ?? Infinity);
}
const K = MODEL.costs.length;
const BETA = MODEL.costDiscount.map((beta) => beta || 1); // of each cost
const ENDED = -1, NOT_EXPLORED = -1, NO_WAY = -1;
const WORSE_BY = 1e-7; // relative

/** The node's belief, action, values and edges, by name. */
function nodeOf(side, n) {
  const s = DATA.sides[side];
  const range = (i) => {
    const low = s.low[n * (K + 1) + i];
    return [low, s.high ? s.high[n * (K + 1) + i] : low];
  };
  const flat = s.edges[n];
  const edges = [];
  for (let i = 0; i < flat.length; i += 3) edges.push({ o: flat[i], p: flat[i + 1], node: flat[i + 2] });
  return {
    belief: DATA.beliefs[s.belief[n]],
    action: s.action[n],
    reward: range(0),
    costs: MODEL.costs.map((_, k) => range(k + 1)),
    edges,
  };
}

/** The first place of a side: its drawn policy's root, with the whole budget. */
function firstPlace(side, draw) {
  const [weight, node, oneDraw] = DATA.sides[side].draws[draw];
  const budget = MODEL.budget.map((limit) => (limit === null ? Infinity : limit));
  return finished({ side, node, oneDraw: Boolean(oneDraw), path: [], step: 0, probability: weight, spent: budget.map(() => 0), scale: budget.map(() => 1), budget, broken: null });
}

/** What follows from where a place is: what is left, and whether more is expected than that. */
function finished(place) {
  place.left = place.budget.map((limit, k) => (limit - place.spent[k]) / place.scale[k]);
  place.slack = MODEL.slack.map((slack, k) => slack / place.scale[k]);
  if (place.broken === null) {
    const s = DATA.sides[place.side];
    for (let k = 0; k < K; k++) {
      const expected = s.low[place.node * (K + 1) + k + 1];
      if (expected > place.left[k] + place.slack[k]) {
        place.broken = { step: place.step, k, expected, left: place.left[k] };
        break;
      }
    }
  }
  return place;
}

/** The place after an observation, or null if it cannot be made or was not explored. */
function nextPlace(place, o) {
  const { belief, action, edges } = nodeOf(place.side, place.node);
  const edge = edges.find((e) => e.o === o);
  if (!edge || edge.node === NOT_EXPLORED) return null;
  const now = belief[3][action][2];
  return finished({
    side: place.side,
    oneDraw: place.oneDraw,
    node: edge.node,
    path: [...place.path, o],
    step: place.step + 1,
    probability: place.probability * edge.p,
    spent: place.spent.map((w, k) => w + place.scale[k] * now[k]),
    scale: place.scale.map((weight, k) => weight * BETA[k]),
    budget: place.budget,
    broken: place.broken,
  });
}

/** What a side sees when an observation is made: it, the only one it can see, or null if it has to wait. */
function seenBy(place, o) {
  const { edges } = nodeOf(place.side, place.node);
  const same = edges.find((e) => e.o === o);
  const edge = same || (edges.length === 1 ? edges[0] : null);
  return edge && edge.node !== NOT_EXPLORED ? edge.o : null;
}

/** All places of a side along moves, each of which has an observation, or null, for every side. */
function placesAlong(side, draw, moves) {
  const places = [firstPlace(side, draw)];
  for (const move of moves) {
    const last = places[places.length - 1];
    const next = move[side] === null ? null : nextPlace(last, move[side]);
    places.push(next || last);
  }
  return places;
}

/** The most that can be earned by an alternative within what is left; null if none keeps it. */
function within(option, place) {
  let most = option[1];
  for (let k = 0; k < K; k++) {
    const stairs = option[4][k], d = place.left[k] + place.slack[k];
    let reached = null;
    for (let i = 0; i < stairs.length && stairs[i] <= d; i += 2) reached = stairs[i + 1];
    if (reached === null) return null;
    most = Math.min(most, reached);
  }
  return most;
}

/** Whether what is left is kept from here on: "kept", broken "now" or "later", or "unknown" for want of exploring. */
function keeping(place) {
  const s = DATA.sides[place.side];
  const over = (promise) => place.left.some((d, k) => promise(k) > d + place.slack[k]);
  if (over((k) => s.low[place.node * (K + 1) + k + 1])) return "now";
  if (over((k) => s.most[place.node * K + k])) return "later";
  return !s.whole || s.whole[place.node] || !place.left.some(Number.isFinite) ? "kept" : "unknown";
}

/** Every action with its bounds and a verdict, the one taken first. */
function alternatives(place) {
  const { belief, action, reward } = nodeOf(place.side, place.node);
  if (action === ENDED) return [];
  const order = { taken: 0, open: 1, less: 2, worse: 3, breaks: 4 };
  const keeps = keeping(place) === "kept";
  const rows = belief[3].map((option, a) => {
    const most = within(option, place);
    let verdict = "open";
    if (a === action) verdict = "taken";
    else if (most === null) verdict = "breaks";
    else if (most < reward[0] - WORSE_BY * Math.max(1, Math.abs(reward[0]))) verdict = keeps ? "worse" : "less";
    return { action: a, low: option[0], high: option[1], most, costs: option[3], needs: option[4].map((s) => s[0]), verdict };
  });
  return rows.sort((x, y) => order[x.verdict] - order[y.verdict] || y.high - x.high || x.action - y.action);
}

/** How far the riskiest branch goes beyond what is left, by the cost where it goes furthest. */
function riskAt(place) {
  const s = DATA.sides[place.side];
  let worst = { excess: -Infinity, k: -1 };
  for (let k = 0; k < K; k++) {
    if (!Number.isFinite(place.left[k])) continue;
    const beyond = (s.most[place.node * K + k] - place.left[k]) * place.scale[k];
    const excess = beyond && beyond / place.budget[k]; // beyond a budget of 0 all is infinitely far
    if (excess > worst.excess) worst = { excess, k };
  }
  if (worst.k < 0 && K) worst = { excess: -Infinity, k: 0 };
  return worst;
}

/** The observation on the way to the riskiest branch for a cost, or null where nothing riskier follows. */
function riskyStep(place, k) {
  const s = DATA.sides[place.side];
  const way = k < 0 ? NO_WAY : s.way[place.node * K + k];
  return way === NO_WAY ? null : s.edges[place.node][3 * way];
}
