// The controller itself, once it is small enough to look at: nodes stand in columns by their steps from the start.

/** Steps from the first node to each. */
function stepsFromStart(count, edges) {
  const steps = Array(count).fill(-1);
  steps[0] = 0;
  for (let queue = [0]; queue.length;) {
    const node = queue.shift();
    for (const [source, target] of edges) {
      if (source === node && steps[target] < 0) {
        steps[target] = steps[node] + 1;
        queue.push(target);
      }
    }
  }
  return steps;
}

/** An arrow to the right is straight, one back goes below, one to the node itself round it. */
function arrow(from, to) {
  if (from === to) return `M${from.x - 5} ${from.y - 5} C${from.x - 22} ${from.y - 26} ${from.x + 22} ${from.y - 26} ${from.x + 5} ${from.y - 5}`;
  const low = Math.max(from.y, to.y) + 34;
  if (to.x <= from.x) return `M${from.x} ${from.y} C${from.x + 30} ${low} ${to.x - 30} ${low} ${to.x} ${to.y}`;
  return `M${from.x} ${from.y} C${from.x + 40} ${from.y} ${to.x - 40} ${to.y} ${to.x} ${to.y}`;
}

/** Draw nodes and edges; `here` is the node of the current history, or -1. */
function controller({ nodes, edges }, here) {
  const steps = stepsFromStart(nodes.length, edges), rows = [];
  const spots = steps.map((step) => {
    rows[step] = (rows[step] ?? -1) + 1;
    return { x: LEFT + step * COLUMN, y: MARGIN + 12 + ROW * rows[step] };
  });
  const width = Math.max(...spots.map(({ x }) => x)) + MARGIN * 2;
  const height = Math.max(...spots.map(({ y }) => y)) + MARGIN * 2;
  const lines = edges.map(([source, target, seen]) =>
    s("path", { class: `edge${source === here ? " way" : ""}`, d: arrow(spots[source], spots[target]) },
      s("title", {}, `${nodes[source]} → ${nodes[target]} after ${seen.join(", ")}`)));
  const circles = nodes.map((action, i) =>
    s("g", { class: `node${i === here ? " here" : ""}`, "aria-disabled": "true", "data-node": i },
      s("title", {}, `Node ${i + 1}: ${action}`),
      s("circle", { cx: spots[i].x, cy: spots[i].y, r: i === here ? 9 : 6.5 }),
      s("text", { class: "does", x: spots[i].x + 8, y: spots[i].y + 23, "text-anchor": "end" }, cut(action, 17))));
  const name = `Controller of ${nodes.length} nodes` + (here < 0 ? "" : `; at node ${here + 1}, ${nodes[here]}`);
  const drawn = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name }, lines, circles);
  const frame = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, drawn);
  if (here >= 0) requestAnimationFrame(() => { frame.scrollLeft = Math.max(0, spots[here].x - frame.clientWidth / 2); });
  return frame;
}
