// One policy at one place: status, action, budget, observations, belief, alternatives, graph.

const WORDS = { taken: "taken", open: "not proven worse", less: "earns less within the budget", worse: "worse", breaks: "would break the budget" };
const HOW = { kept: "", now: " by breaking the budget", later: " by breaking the budget later", unknown: "" };
/** Whose values are shown: those of one draw are not those of a randomised policy. */
const who = (place) => (place.oneDraw ? "this draw" : "the policy");
const verdictWords = (row, place) => WORDS[row.verdict] + (place.oneDraw && ["open", "less", "worse"].includes(row.verdict) ? " than this draw" : "");

/** Why an action was not taken, with the numbers behind it. */
function reason(row, place, node) {
  const keeps = keeping(place), unknown = keeps === "unknown" ? ", not explored far enough to tell whether it keeps the budget" : "";
  if (row.verdict === "taken") return `earns ${range(node.reward)}${HOW[keeps]}`;
  if (row.verdict === "worse" || row.verdict === "less") return `at most ${shown(row.most)}; ${who(place)} earns ${shown(node.reward[0])}${HOW[keeps]}${unknown}`;
  if (row.verdict === "breaks") {
    for (let k = 0; k < K; k++) {
      const d = place.left[k], limit = d + place.slack[k], name = MODEL.costs[k];
      if (limit < 0) return "more is spent already than there was";
      if (row.costs[k] > limit) return `expects ${name} ${shown(row.costs[k])} or more, ${shown(d)} is left`;
      if (row.needs[k] > limit) return `to keep the budget takes ${name} ${shown(row.needs[k])} or more, ${shown(d)} is left`;
    }
  }
  return "";
}

/** What is left of one cost's budget, beside what is expected to be spent. */
function gauge(place, node, k) {
  const left = place.left[k], [expected, most] = node.costs[k], name = MODEL.costs[k];
  const line = h("p", { class: "gauge-words" },
    h("span", {}, h("b", { class: left + place.slack[k] < 0 ? "gone" : null }, K > 1 ? `${name}: ` : "", number(`left-${k}`, left), Number.isFinite(left) ? " left" : "")),
    h("span", { class: "muted" }, "expects to spend ", number(`expected-${k}`, expected, range([expected, most]))));
  if (!Number.isFinite(left)) return h("div", { class: "gauge" }, line);
  const over = expected > left + place.slack[k];
  const scale = Math.max(place.budget[k], left, expected) * 1.04 || 1;
  const at = (x) => `${Math.max(0, Math.min(100, (100 * x) / scale))}%`;
  const words = `${shown(left)} of ${name} left, ${range([expected, most])} expected${over ? ": more than is left" : ""}`;
  return h("div", { class: `gauge${over ? " over" : ""}` },
    line,
    h("div", { class: "track", role: "meter", "aria-label": `Budget for ${name}`, "aria-valuemin": 0, "aria-valuemax": scale, "aria-valuenow": Math.max(0, left), "aria-valuetext": words },
      h("span", { class: "fill", style: `width:${at(left)}` }),
      over ? h("span", { class: "excess", style: `left:${at(left)};width:calc(${at(expected)} - ${at(left)})` }) : null,
      h("span", { class: "tick", style: `left:${at(expected)}`, title: "expected" })),
    h("p", { class: "gauge-ends muted" }, `budget at the start: ${shown(place.budget[k])}`));
}

/** The buttons that make an observation. */
function observations(place, node, choose) {
  if (node.action === ENDED) return h("p", { class: "muted" }, "The run is over: nothing more is earned or spent.");
  const rows = [...node.edges].sort((x, y) => y.p - x.p).map((edge, i) => {
    const open = edge.node === NOT_EXPLORED, label = MODEL.observations[edge.o];
    return h("li", {},
      h("button",
        {
          type: "button", class: "observe", "data-o": edge.o, "data-value": edge.p, "data-key": i + 1, disabled: open,
          "aria-label": `Observe ${label}, probability ${percent(edge.p)}${open ? ", not explored further" : ""}`,
          onclick: () => choose(edge.o),
        },
        h("span", { class: "label" }, label, open ? h("small", {}, " not explored further") : null),
        h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: `width:${100 * edge.p}%` })),
        h("span", { class: "number" }, percent(edge.p))));
  });
  return h("ul", { class: "observations" }, rows);
}

/** All actions with their bounds and why they were not taken. */
function table(place, node) {
  const cells = (row) => [
    h("th", { scope: "row" }, MODEL.actions[row.action]),
    h("td", { "data-label": K ? "Reward in budget" : "Reward" }, row.most === null ? "–" : `≤ ${shown(row.most)}`),
    h("td", { "data-label": "Without budget", class: "muted" }, range([row.low, row.high])),
    ...row.costs.map((c, k) => h("td", { "data-label": MODEL.costs[k] }, `≥ ${shown(c)}`)),
    h("td", { class: "why" }, h("span", { class: `verdict ${row.verdict}` }, verdictWords(row, place)), h("small", {}, reason(row, place, node))),
  ];
  const head = ["Action", K ? "Reward in budget" : "Reward", "Without budget", ...MODEL.costs, "Why not"];
  return h("table", { class: "actions" },
    h("caption", { class: "hidden" }, "All actions, with proven bounds on reward and cost"),
    h("thead", {}, h("tr", {}, head.map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, alternatives(place).map((row) =>
      h("tr", { class: row.verdict, "data-action": MODEL.actions[row.action], "data-verdict": verdictWords(row, place), "data-most": row.most, "data-least": row.costs.join(" ") }, cells(row)))));
}

/** The sentence at the moment of self-destruction. */
function alarm(place, goTo) {
  const { step, k, expected, left } = place.broken;
  const unit = K > 1 ? ` of ${MODEL.costs[k]}` : "";
  return h("div", { class: "alarm", "data-step": step },
    h("b", {}, `Self-destruction${place.oneDraw ? " of this draw" : ""} at step ${step}`),
    h("span", {}, ` ${place.oneDraw ? "This draw" : "The policy"} expects to spend ${shown(expected)}${unit} where ${shown(left)} is left.`),
    place.step > step ? h("button", { type: "button", class: "quiet", onclick: goTo }, "Go to that step") : null);
}

function status(place, node, waiting) {
  if (waiting) return ["waits", "muted"];
  if (node.action === ENDED) return ["ended", "calm"];
  if (place.left.some((d, k) => d < -place.slack[k])) return ["overspent", "bad"];
  if (place.broken) return ["over budget", "bad"];
  if (!place.left.some(Number.isFinite)) return ["no budget", "calm"];
  return keeping(place) === "later" ? ["within budget so far", "calm"] : ["within budget", "good"];
}

const section = (name, title, ...children) => h("section", { class: `card ${name}` }, h("h3", {}, title), ...children);

/** The whole panel of a side. `walk` tells what can be done: choose, go, draw. */
function panel(view, walk) {
  const { place, first, visited, instead, waiting, draw } = view;
  const side = DATA.sides[place.side], node = nodeOf(place.side, place.node);
  const [state, tone] = status(place, node, waiting);
  const seen = place.path.length ? `after ${MODEL.observations[place.path[place.path.length - 1]]}` : "at the start";
  const start = side.draws.reduce((sum, [w, n]) => nodeOf(place.side, n).reward.map((v, i) => sum[i] + w * v), [0, 0]);
  const spend = MODEL.costs.map((name, k) => {
    const total = side.draws.reduce((sum, [w, n]) => nodeOf(place.side, n).costs[k].map((v, i) => sum[i] + w * v), [0, 0]);
    return ` · ${name}\u00a0${range(total)}`;
  });
  const drawn = map(node.belief);
  return h("article", { class: "side", "aria-labelledby": `title-${place.side}`, "data-side": place.side },
    h("div", { class: "side-head" },
      h("h2", { id: `title-${place.side}` }, side.title),
      h("p", { class: "muted" }, `${side.about} · ${side.draws.some(([, , one]) => one) ? "the draw shown " : ""}expects reward\u00a0${range(start)}${spend.join("")}`),
      side.draws.length > 1
        ? h("label", { class: "draw" }, "Drawn policy ",
            h("select", { onchange: (event) => walk.draw(place.side, Number(event.target.value)) },
              side.draws.map(([w], i) => h("option", { value: i, selected: i === draw }, `${i + 1} of ${side.draws.length}, drawn with ${percent(w)}`))))
        : null,
      place.oneDraw ? h("p", { class: "remark one-draw" }, h("b", {}, `One draw (seed ${side.seed}) of a randomised policy.`), " Actions, probabilities, values and verdicts are of this draw, not of the policy.") : null),
    h("div", { class: "status" },
      h("p", { class: "where" }, h("b", {}, "Step ", number("step", place.step)), ` ${seen} · probability `, number("probability", place.probability, percent(place.probability))),
      h("span", { class: `badge ${tone}` }, place.oneDraw ? `this draw: ${state}` : state)),
    instead ? h("p", { class: "remark" }, `It could only see “${MODEL.observations[instead]}” here, and saw that.`) : null,
    waiting ? h("p", { class: "remark" }, "That observation cannot be made here: this policy waits. Choose one of its own below.") : null,
    place.broken ? alarm(place, () => walk.go(place.side, place.path.slice(0, place.broken.step))) : null,
    h("div", { class: "cards" },
      section("act", "Action",
        h("p", { class: "action", "data-what": "action", "data-value": node.action === ENDED ? "" : MODEL.actions[node.action] }, node.action === ENDED ? "none" : MODEL.actions[node.action]),
        h("p", { class: "muted" }, "Reward to come: ", number("reward", node.reward[0], range(node.reward))),
        K ? h("h3", {}, "Budget") : null,
        MODEL.costs.map((_, k) => gauge(place, node, k))),
      section("see", "Next observation", observations(place, node, (o) => walk.choose(place.side, o))),
      section("believe", "Belief", drawn,
        drawn ? h("details", { class: "states", open: walk.statesOpen() ? true : null, ontoggle: (event) => walk.openStates(event.target.open) }, h("summary", {}, "Likeliest states"), bars(node.belief)) : bars(node.belief)),
      section("why", node.action === ENDED ? "Actions" : "Why this action", node.action === ENDED ? h("p", { class: "muted" }, "No action matters any more.") : [table(place, node), h("p", { class: "muted judged" }, `Actions are judged by ${DATA.judgedBy}.`)]),
      section("tree", "Visited histories", graph(visited, first, place, (path) => walk.go(place.side, path), (o) => walk.choose(place.side, o))),
      side.controller ? section("nodes", `Controller, node ${side.controller.at[place.node] + 1 || "–"} of ${side.controller.nodes.length}`, controller(side.controller, side.controller.at[place.node])) : null));
}
