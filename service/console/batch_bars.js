// A bar for each batch, as high as it was long, divided by phase.

import { h, put, svg } from "./dom.js";
import { duration, time } from "./format.js";
import { scale, ticks } from "./scales.js";

const [LEFT, TOP, BOTTOM, HEIGHT] = [56, 8, 24, 260];
// What Spark reports in the order in which it happens, and how it is called here.
const PHASES = [["latestOffset", "look for data"], ["queryPlanning", "plan"], ["walCommit", "note the plan"], ["addBatch", "run"], ["commitOffsets", "commit"]];

export class BatchBars {
  constructor(signal) {
    this.svg = svg("svg", { class: "plot", role: "img", height: HEIGHT });
    this.batches = [];
    this.element = h("figure", {}, this.svg, h("figcaption", { class: "legend" },
      PHASES.map(([, name], place) => h("span", {}, h("span", { class: `swatch phase-${place}` }), name))));
    const watcher = new ResizeObserver(() => this.draw());
    watcher.observe(this.element);
    signal.addEventListener("abort", () => watcher.disconnect());
  }

  show(batches) {
    this.batches = batches;
    this.draw();
  }

  draw() {
    const width = this.element.clientWidth;
    const shown = this.batches.slice(-Math.floor((width - LEFT) / 5));
    if (!width || !shown.length) return;
    const longest = Math.max(...shown.map((one) => sum(one)));
    const y = scale([0, longest], [HEIGHT - BOTTOM, TOP]);
    const step = Math.min(28, (width - LEFT) / shown.length);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("aria-label", `The last ${shown.length} batches; the longest took ${duration(longest)}. The table below has them.`);
    put(this.svg,
      ticks(0, longest, 4).map((level) => [
        svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(level), y2: y(level) }),
        svg("text", { class: "tick", x: LEFT - 8, y: y(level) + 4, "text-anchor": "end" }, duration(level)),
      ]),
      shown.map((one, place) => this._bar(one, LEFT + place * step, Math.max(1, step - 2), y)),
      svg("text", { class: "tick", x: LEFT, y: HEIGHT - 6 }, time(Date.parse(shown[0].at))),
      svg("text", { class: "tick", x: LEFT + shown.length * step, y: HEIGHT - 6, "text-anchor": "end" }, time(Date.parse(shown.at(-1).at))));
  }

  _bar(batch, x, width, y) {
    let from = 0;
    const parts = PHASES.map(([phase], place) => {
      const to = from + (batch.milliseconds[phase] ?? 0);
      const part = svg("rect", { class: `phase-${place}`, x, width, y: y(to), height: Math.max(0, y(from) - y(to)) });
      from = to;
      return part;
    });
    return svg("g", {}, svg("title", {}, `batch ${batch.batch}: ${duration(from)}`), parts);
  }
}

const sum = (batch) => PHASES.reduce((total, [phase]) => total + (batch.milliseconds[phase] ?? 0), 0);
