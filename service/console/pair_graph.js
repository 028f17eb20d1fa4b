// Streams that correlate as a graph: nearer and thicker is stronger, dashed is negative.

import { fitted, h, put, svg } from "./dom.js";
import { number } from "./format.js";
import { scale } from "./scales.js";

const STEPS = 250;
const HEIGHT = 460;
export const MOST_NODES = 150; // the strongest pairs come first

export class PairGraph {
  constructor(signal) {
    this.svg = svg("svg", { class: "plot graph", role: "img", height: HEIGHT });
    this.caption = h("figcaption", { class: "about" });
    this.element = h("figure", {}, this.svg, this.caption);
    this.pairs = [];
    const watcher = new ResizeObserver(() => this.draw());
    watcher.observe(this.element);
    signal.addEventListener("abort", () => watcher.disconnect());
  }

  /** `pairs`: {a, b, correlation}. */
  show(pairs) {
    const before = this.places ?? new Map();
    const names = new Set();
    this.pairs = [...pairs].sort((x, y) => Math.abs(y.correlation) - Math.abs(x.correlation)).filter((pair) => {
      const grown = new Set([...names, pair.a, pair.b]);
      if (grown.size > MOST_NODES) return names.has(pair.a) && names.has(pair.b);
      names.add(pair.a).add(pair.b);
      return true;
    });
    this.places = settled([...names], this.pairs, before);
    this.draw();
  }

  draw() {
    const width = fitted(this.svg, this.element, HEIGHT);
    if (!width) return;
    const nodes = [...(this.places ?? new Map())];
    const at = ({ x, y }) => [24 + x * (width - 110), 24 + y * (HEIGHT - 48)];
    this.svg.setAttribute("aria-label", `${nodes.length} streams in ${this.pairs.length} pairs; the table below has them`);
    put(this.svg,
      this.pairs.map((pair) => {
        const [x1, y1] = at(this.places.get(pair.a));
        const [x2, y2] = at(this.places.get(pair.b));
        const strength = Math.abs(pair.correlation);
        return svg("line", { class: pair.correlation < 0 ? "edge negative" : "edge", x1, y1, x2, y2, "stroke-width": 0.8 + 3 * strength ** 8 },
          svg("title", {}, `${pair.a} – ${pair.b}: ${number(pair.correlation)}`));
      }),
      nodes.map(([name, place]) => {
        const [x, y] = at(place);
        return svg("g", {}, svg("circle", { class: "node", cx: x, cy: y, r: 5 }, svg("title", {}, name)),
          nodes.length <= 60 && svg("text", { class: "node-name", x: x + 8, y: y + 4 }, name.length > 16 ? `${name.slice(0, 15)}…` : name));
      }));
    this.caption.textContent = `${nodes.length} streams, ${this.pairs.length} pairs.`;
  }
}

/** Places between 0 and 1: springs pull pairs together, all others push each other away. */
function settled(names, pairs, before) {
  const count = names.length;
  const places = names.map((name, i) => ({ ...(before.get(name) ?? { x: 0.5 + 0.4 * Math.cos((6.283 * i) / count), y: 0.5 + 0.4 * Math.sin((6.283 * i) / count) }) }));
  const index = new Map(names.map((name, i) => [name, i]));
  const springs = pairs.map((pair) => [places[index.get(pair.a)], places[index.get(pair.b)]]);
  const rest = 0.7 / Math.sqrt(count || 1);
  for (let step = 0; step < STEPS; step += 1) {
    const heat = 0.08 * (1 - step / STEPS);
    for (const one of places) Object.assign(one, { dx: (0.5 - one.x) * 1.5, dy: (0.5 - one.y) * 1.5 });
    for (let i = 0; i < count; i += 1) for (let j = 0; j < i; j += 1) push(places[i], places[j], -rest * rest, rest);
    for (const [a, b] of springs) push(a, b, 1, rest);
    for (const one of places) {
      const size = Math.hypot(one.dx, one.dy) || 1;
      one.x += (one.dx / size) * Math.min(size, heat);
      one.y += (one.dy / size) * Math.min(size, heat);
    }
  }
  const [x, y] = ["x", "y"].map((axis) => {
    const found = places.map((one) => one[axis]);
    return scale([Math.min(...found), Math.max(...found)], [0, 1]);
  });
  return new Map(names.map((name, i) => [name, { x: x(places[i].x), y: y(places[i].y) }]));
}

function push(a, b, sign, rest) {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const distance = Math.hypot(dx, dy) || 1e-3;
  const force = sign < 0 ? sign / distance : (distance * distance) / rest;
  a.dx += (dx / distance) * force;
  a.dy += (dy / distance) * force;
  b.dx -= (dx / distance) * force;
  b.dy -= (dy / distance) * force;
}
