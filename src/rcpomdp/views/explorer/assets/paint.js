// Small tools to make elements, numbers in words, and maps.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) element.append(child);
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A number as a person reads it: four or five digits, and a true minus sign. */
function shown(x) {
  if (x === null || x === undefined) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "unlimited" : "–";
  if (Math.abs(x) < 1e-9) return "0";
  const digits = Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(2) : String(Number(x.toPrecision(4)));
  return digits.replace("-", "−");
}
/** A probability in percent. */
function percent(p) {
  if (p > 0 && p < 1e-4) return "< 0.01 %";
  const digits = p >= 0.9995 || p >= 0.1 ? 1 : 2;
  return `${Number((100 * p).toFixed(digits))} %`;
}
/** A range, one number if its ends agree. */
const range = ([low, high]) => (Math.abs(high - low) <= 1e-7 * Math.max(1, Math.abs(low)) ? shown(low) : `${shown(low)} to ${shown(high)}`);
/** A number that can be read back by programs. */
const number = (what, value, text) =>
  h("span", { class: "number", "data-what": what, "data-value": Number.isFinite(value) ? value : null }, text ?? shown(value));

function shape(item) {
  const [kind, ...f] = item;
  const paint = (i) => ({ fill: `var(--${f[i]})`, "fill-opacity": f[i + 1] });
  let made;
  if (kind === "rect") made = s("rect", { x: f[0], y: f[1], width: f[2], height: f[3], ...paint(4) });
  else if (kind === "circle") {
    // A faint outline keeps an unlikely place visible.
    made = s("circle", { cx: f[0], cy: f[1], r: f[2], ...paint(3), stroke: `var(--${f[3]})`, "stroke-width": 0.03, "stroke-opacity": 0.6 });
  } else if (kind === "line") {
    made = s("line", { x1: f[0], y1: f[1], x2: f[2], y2: f[3], stroke: `var(--${f[4]})`, "stroke-opacity": f[5], "stroke-width": f[7] });
  } else {
    made = s("text", { x: f[0], y: f[1], "font-size": f[6], "text-anchor": "middle", "dominant-baseline": "central", ...paint(3) }, f[2]);
  }
  const title = kind === "rect" || kind === "line" ? f[6] : f[5];
  if (title) made.append(s("title", {}, title));
  return made;
}

/** The problem's map with a belief on it, or null if it has none. */
function map(belief) {
  const drawing = DATA.drawing;
  if (!drawing) return null;
  const overlay = belief[2].map((i) => DATA.shapes[i]);
  return s(
    "svg",
    {
      class: "map",
      viewBox: `-0.05 -0.05 ${drawing.width + 0.1} ${drawing.height + 0.1}`,
      role: "img",
      "aria-label": "Map of the problem, with the belief drawn in",
      style: `aspect-ratio: ${drawing.width} / ${drawing.height}`,
    },
    drawing.scene.map(shape),
    s("g", { class: "overlay" }, overlay.map(shape)),
  );
}

/** The likeliest states as bars, and what is believed of each part of a state. */
const bars = (belief) => [barsOf(belief[0], belief[1]), ...belief[4].map(([place, beyond, ...flat]) =>
  h("div", { class: "part", "data-part": place }, h("h4", {}, `Part ${place} of the state`), barsOf(flat, beyond, "values")))];

function barsOf(flat, beyond, what = "states") {
  const rows = [];
  let rest = 1;
  for (let i = 0; i < flat.length; i += 2) {
    const label = DATA.states[flat[i]], p = flat[i + 1];
    rest -= p;
    rows.push(
      h("li", { "data-state": label, "data-value": p },
        h("span", { class: "label", title: label }, label),
        h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: `width:${100 * p}%` })),
        h("span", { class: "number" }, percent(p))),
    );
  }
  if (beyond > 0) rows.push(h("li", { class: "muted" }, `and ${beyond} more ${what}, ${percent(Math.max(rest, 0))} together`));
  return h("ol", { class: "bars" }, rows);
}
