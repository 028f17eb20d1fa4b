// Tiles, one for each stream, coloured by a value; the darkest is the largest.

import { h, put, svg } from "./dom.js";
import { compact } from "./format.js";

const SHADES = 6; // classes in plots.css
const [SMALLEST, LARGEST, GAP] = [14, 92, 3];
const AREA = 240; // the height that few streams fill
const NAMED = 60; // a tile this wide has its name

/** `show([{name, value}], text)`; a tile is chosen with a pointer, the table has all by keyboard. */
export class HeatMap {
  constructor(title, signal, onpick) {
    Object.assign(this, { title, onpick, items: [] });
    this.svg = svg("svg", { class: "plot heat", role: "img" });
    this.legend = h("figcaption", { class: "legend" });
    this.element = h("figure", {}, this.svg, this.legend);
    const watcher = new ResizeObserver(() => this.draw());
    watcher.observe(this.element);
    signal.addEventListener("abort", () => watcher.disconnect());
  }

  show(items, text) {
    Object.assign(this, { items, text });
    this.draw();
  }

  draw() {
    const width = this.element.clientWidth;
    if (!width || !this.items.length) return;
    const tile = Math.min(LARGEST, Math.max(SMALLEST, Math.floor(Math.sqrt((width * AREA) / this.items.length)) - GAP));
    const columns = Math.max(1, Math.floor(width / (tile + GAP)));
    const rows = Math.ceil(this.items.length / columns);
    const values = this.items.map((one) => one.value).sort((a, b) => a - b);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", rows * (tile + GAP));
    this.svg.setAttribute("aria-label", `${this.title}: ${this.items.length} streams from ${compact(values[0])} to ${compact(values.at(-1))}; the table below has them`);
    put(this.svg, this.items.map((one, place) => {
      const [x, y] = [(place % columns) * (tile + GAP), Math.floor(place / columns) * (tile + GAP)];
      const step = shade(one.value, values[0], values.at(-1));
      return svg("g", { class: "tile", onclick: () => this.onpick(one.name) },
        svg("title", {}, `${one.name}: ${this.text(one.value)}`),
        svg("rect", { class: `shade-${step}`, x, y, width: tile, height: tile, rx: 4 }),
        tile >= NAMED && [one.name.slice(0, 10), this.text(one.value)].map((text, line) => svg("text", {
          class: step > 3 ? "tile-text on-dark" : "tile-text", x: x + 7, y: y + 19 + 15 * line,
        }, text)));
    }));
    put(this.legend, this.text(values[0]), Array.from({ length: SHADES }, (_, step) => h("span", { class: `swatch shade-${step}` })), this.text(values.at(-1)));
  }
}

function shade(value, low, high) {
  const share = high > low ? (value - low) / (high - low) : 0.5;
  return Math.min(SHADES - 1, Math.floor(share * SHADES));
}
