// A line over time, with the band between lower and upper, and marks of thresholds.

import { fitted, h, put, svg } from "./dom.js";
import { compact, isNumber, number, time } from "./format.js";
import { extent, scale, ticks } from "./scales.js";

const MOST = 300; // points that are kept
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 14, 12, 26];
const HEIGHT = 240;

/** `add({time, value, lower, upper})`; `mark(number, text)` draws a level. */
export class LinePlot {
  constructor(title, signal, { unit = "" } = {}) {
    Object.assign(this, { title, unit, points: [], marks: [], at: null });
    this.svg = svg("svg", { class: "plot", role: "img", height: HEIGHT });
    this.read = h("p", { class: "reading" }, "No values yet.");
    this.element = h("figure", { class: "line-plot" }, this.svg, h("figcaption", {}, this.read));
    const watcher = new ResizeObserver(() => this.draw());
    watcher.observe(this.element);
    signal.addEventListener("abort", () => watcher.disconnect());
    this.svg.addEventListener("pointermove", (event) => this._point(event.offsetX));
    this.svg.addEventListener("pointerleave", () => this._point(null));
  }

  add(point) {
    this.points.push(point);
    if (this.points.length > MOST) this.points.shift();
    this.draw();
  }

  mark(level, text) {
    this.marks = [{ level, text }];
    this.draw();
  }

  clear() {
    this.points = [];
    this.marks = [];
    this.draw();
  }

  draw() {
    const width = fitted(this.svg, this.element, HEIGHT);
    if (!width) return;
    if (!this.points.length) {
      put(this.svg);
      this.read.textContent = "No values yet.";
      return;
    }
    const levels = this.points.flatMap((one) => [one.value, one.lower, one.upper]).concat(this.marks.map((one) => one.level));
    const [low, high] = extent(levels.filter(isNumber));
    const first = this.points[0].time;
    const last = Math.max(this.points.at(-1).time, first + 10_000);
    this.x = scale([first, last], [LEFT, width - RIGHT]);
    this.y = scale([low, high], [HEIGHT - BOTTOM, TOP]);
    put(this.svg, this._grid(low, high, first, last, width), this._band(), this._line(), this._marks(width), this._reading());
    const now = this.at ?? this.points.at(-1);
    const bounds = isNumber(now.lower) ? `, between ${number(now.lower)} and ${number(now.upper)}` : "";
    this.read.textContent = `${time(now.time)}: ${number(now.value)}${this.unit && ` ${this.unit}`}${bounds}`;
    this.svg.setAttribute("aria-label", `${this.title}: ${this.points.length} values, the last ${this.read.textContent}`);
  }

  _grid(low, high, first, last, width) {
    const rows = ticks(low, high, 5).map((level) => [
      svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: this.y(level), y2: this.y(level) }),
      svg("text", { class: "tick", x: LEFT - 8, y: this.y(level) + 4, "text-anchor": "end" }, compact(level)),
    ]);
    const count = Math.max(2, Math.floor(width / 160));
    const moments = Array.from({ length: count }, (_, place) => first + ((last - first) * place) / (count - 1));
    const texts = moments.map((at, place) => svg("text", {
      class: "tick", x: this.x(at), y: HEIGHT - 6,
      "text-anchor": place === 0 ? "start" : place === count - 1 ? "end" : "middle",
    }, time(at)));
    return [rows, texts];
  }

  _band() {
    const banded = this.points.filter((one) => isNumber(one.lower) && isNumber(one.upper));
    if (banded.length < 1) return null;
    const up = banded.map((one) => `${this.x(one.time)},${this.y(one.upper)}`);
    const down = banded.map((one) => `${this.x(one.time)},${this.y(one.lower)}`).reverse();
    return svg("polygon", { class: "band", points: [...up, ...down].join(" ") });
  }

  _line() {
    const places = this.points.map((one) => `${this.x(one.time)},${this.y(one.value)}`);
    const last = this.points.at(-1);
    return [
      svg("polyline", { class: "curve", points: places.join(" ") }),
      svg("circle", { class: "dot", cx: this.x(last.time), cy: this.y(last.value), r: 3.5 }),
    ];
  }

  _marks(width) {
    return this.marks.map(({ level, text }) => [
      svg("line", { class: "mark", x1: LEFT, x2: width - RIGHT, y1: this.y(level), y2: this.y(level) }),
      svg("text", { class: "mark-text", x: width - RIGHT, y: this.y(level) - 5, "text-anchor": "end" }, text),
    ]);
  }

  _reading() {
    if (!this.at) return null;
    return svg("line", { class: "cross", x1: this.x(this.at.time), x2: this.x(this.at.time), y1: TOP, y2: HEIGHT - BOTTOM });
  }

  _point(place) {
    if (!this.points.length || !this.x) return;
    this.at = place === null ? null : this.points.reduce((best, one) => (Math.abs(this.x(one.time) - place) < Math.abs(this.x(best.time) - place) ? one : best));
    this.draw();
  }
}
