// The histories that were visited, as a tree; what may be observed next hangs on as hollow nodes.

const COLUMN = 132, ROW = 46, MARGIN = 26, LEFT = 100;
const MOST_DRAWN = 300; // histories that are remembered, and next observations that are drawn
const MOST_NEXT = 12;

/** Remembers where a side has been. */
class Visited {
  constructor() {
    this.moves = new Map(); // path as text -> the moves that led there first
  }
  add(place, moves) {
    const key = place.path.join(".");
    if (!this.moves.has(key)) this.moves.set(key, moves);
    if (this.moves.size > MOST_DRAWN) this.moves.delete(this.moves.keys().next().value);
  }
  clear() {
    this.moves.clear();
  }
}

/** The tree of visited histories of a side, laid out in columns by step: [node], the root first. */
function tree(visited, first, current) {
  const root = { place: first, children: new Map(), visited: true, here: false, onWay: true };
  const grow = (path) => {
    let at = root;
    for (const o of path) {
      if (!at.children.has(o)) {
        const place = nextPlace(at.place, o);
        if (!place) return null;
        at.children.set(o, { place, children: new Map(), o, visited: true });
      }
      at = at.children.get(o);
    }
    return at;
  };
  for (const key of visited.moves.keys()) grow(key === "" ? [] : key.split(".").map(Number));
  let at = root;
  for (const o of current.path) {
    grow(at.place.path.concat(o));
    at = at.children.get(o);
    at.onWay = true;
  }
  at.here = true;
  const next = [...nodeOf(current.side, current.node).edges].sort((x, y) => y.p - x.p).slice(0, MOST_NEXT);
  for (const edge of next) {
    if (at.children.has(edge.o)) continue;
    const place = edge.node === NOT_EXPLORED ? null : nextPlace(current, edge.o);
    at.children.set(edge.o, { place, children: new Map(), o: edge.o, visited: false, p: edge.p });
  }
  // Leaves take a row each, in order of observations; a parent stands in the middle of its children.
  const nodes = [];
  let row = 0;
  const stack = [[root, null, 0, false]];
  while (stack.length) {
    const [node, parent, depth, leaving] = stack.pop();
    const children = [...node.children.values()].sort((x, y) => x.o - y.o);
    if (!leaving) {
      node.x = LEFT + depth * COLUMN;
      node.parent = parent;
      nodes.push(node);
      stack.push([node, parent, depth, true]);
      for (const child of children.reverse()) stack.push([child, node, depth + 1, false]);
    } else {
      node.y = children.length ? (children[0].y + children[children.length - 1].y) / 2 : MARGIN + ROW * row++;
    }
  }
  return { nodes, rows: row, here: at };
}

/** Arrows go from one node to the next; all of them together are one stop of the tabulator. */
function along(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const open = [...event.currentTarget.parentNode.querySelectorAll(".node:not([aria-disabled])")];
  const next = step && open[open.indexOf(event.currentTarget) + step];
  if (next) next.focus();
  return Boolean(step);
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** Draw the tree; `go` is called with a visited path, `choose` with a next observation. */
function graph(visited, first, current, go, choose) {
  const { nodes, rows, here } = tree(visited, first, current);
  const width = Math.max(...nodes.map((n) => n.x)) + MARGIN;
  const height = MARGIN * 2 + ROW * Math.max(rows - 1, 0) + 12;
  const edges = [], circles = [];
  for (const n of nodes) {
    const open = n.place === null;
    const action = open ? null : nodeOf(n.place.side, n.place.node).action;
    if (n.parent) {
      const { x, y } = n.parent; // the bend comes first, so that words above the straight rest stay clear of it
      edges.push(
        s("path", { class: `edge${n.onWay ? " way" : ""}`, d: `M${x} ${y} C${x + 26} ${y} ${x + 14} ${n.y} ${x + 40} ${n.y} L${n.x} ${n.y}` }),
        s("text", { class: "seen", x: n.x - 12, y: n.y - 7, "text-anchor": "end" }, cut(MODEL.observations[n.o], 14)),
      );
    }
    const broken = !open && n.place.broken !== null;
    const begins = broken && n.place.broken.step === n.place.step;
    const kinds = ["node", n.visited ? "" : "next", open ? "open" : "", n.here ? "here" : "", broken ? "broken" : "", action === ENDED ? "ended" : ""];
    const words = open ? "not explored further" : action === ENDED ? "ended" : MODEL.actions[action];
    const name =
      (n.o === undefined ? "Start" : `After ${MODEL.observations[n.o]}`) + `: ${words}` + (begins ? ", self-destruction" : "") + (n.here ? ", current" : n.visited ? "" : ", not visited");
    const act = open || n.here ? null : () => (n.visited ? go(n.place.path) : choose(n.o));
    circles.push(
      s("g",
        {
          class: kinds.filter(Boolean).join(" "),
          role: "button",
          "aria-label": name,
          "aria-disabled": act ? null : "true",
          "aria-current": n.here ? "step" : null,
          tabindex: -1,
          "data-path": open ? null : n.place.path.join("."),
          onclick: act,
          onkeydown: act && ((event) => {
            if (event.key === "Enter" || event.key === " ") act();
            else if (!along(event)) return;
            event.preventDefault();
          }),
        },
        s("title", {}, name),
        s("rect", { class: "touch", x: n.x - 14, y: n.y - 14, width: 28, height: 28 }),
        s("circle", { cx: n.x, cy: n.y, r: n.here ? 9 : 6.5 }),
        begins ? s("path", { class: "cross", d: `M${n.x - 3.5} ${n.y - 3.5}l7 7m0 -7l-7 7` }) : null,
        n.visited ? s("text", { class: "does", x: n.x + 8, y: n.y + 23, "text-anchor": "end" }, cut(words, 17)) : null,
      ),
    );
  }
  const drawn = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Histories visited so far" }, edges, circles);
  const frame = h("div", { class: "scroll" }, drawn);
  drawn.querySelector(".node:not([aria-disabled])")?.setAttribute("tabindex", "0");
  requestAnimationFrame(() => {
    frame.scrollLeft = Math.max(0, here.x - frame.clientWidth / 2);
    frame.scrollTop = Math.max(0, here.y - frame.clientHeight / 2);
  });
  return frame;
}
