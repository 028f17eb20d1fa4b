// The streams of one synopsis: a heat map of all, and the largest of them.

import { ask, get, kinds, path } from "./api.js";
import { h, put } from "./dom.js";
import { bytes, isNumber, number } from "./format.js";
import { HeatMap } from "./heat_map.js";
import { Parameters } from "./parameters.js";
import { card, empty, every, field, heading, link, select, slot } from "./parts.js";
import { Shell, curl, pairs, sde } from "./shell.js";
import { pick } from "./synopsis_picker.js";
import { Table } from "./table.js";

const MS = 4000;
const MOST = 2000; // tiles
const FIGURES = { tuples: number, bytes };

export async function show(view, query, signal) {
  view.append(heading("Streams", "A summary of its own for each: which are the largest?"));
  const picked = await pick(view, query, signal, {
    screen: "streams", fits: (one) => one.scope === "stream", none: "No synopsis has a summary for each stream yet: create one with that scope.",
  });
  if (!picked) return;
  const declared = (await kinds(signal)).find((one) => one.kind === picked.chosen.kind);
  const screen = new StreamsScreen(picked, declared, signal);
  view.append(screen.element, screen.shell.element);
  every(MS, signal, () => screen.refresh());
}

class StreamsScreen {
  constructor(picked, declared, signal) {
    Object.assign(this, { uid: picked.chosen.uid, signal });
    this.questions = (declared?.questions ?? []).filter((one) => !one.across && !one.others);
    this.by = select([...Object.keys(FIGURES), ...this.questions.map((one) => [`?${one.name}`, `answer: ${one.name}`])], "tuples", { name: "by" });
    this.top = select(["10", "20", "50", "100"], "20", { name: "top" });
    this.arguments = h("div", { class: "grid" });
    this.shell = new Shell();
    this.place = slot(signal);
    const open = (name) => { location.hash = this.ask(name); };
    this.map = new HeatMap("Streams", signal, open);
    const stream = { name: "stream", value: (row) => row.name, cell: (row) => link(row.name, this.ask(row.name)) };
    const tuples = { name: "tuples", number: true, value: (row) => row.tuples, cell: (row) => number(row.tuples) };
    this.figures = new Table("The largest streams", [stream, tuples,
      { name: "bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) }]);
    this.answers = new Table("The largest answers", [stream,
      { name: "value", number: true, value: (row) => row.value, cell: (row) => number(row.value) },
      { name: "bounds", number: true, cell: (row) => (isNumber(row.lower) ? `${number(row.lower)} – ${number(row.upper)}` : "–") }, tuples]);
    this.largest = h("div");
    this.element = h("div", {},
      h("form", { class: "card", "aria-label": "What is shown", onchange: () => this.changed(), onsubmit: (event) => event.preventDefault() },
        h("div", { class: "grid" }, picked.element, field("By", this.by), field("Top", this.top)), this.arguments), this.place.element);
    this.filled = h("div", {}, card("All streams", this.map.element), card("Top", this.largest));
    this.changed();
  }

  get question() {
    return this.questions.find((one) => `?${one.name}` === this.by.value);
  }

  ask(stream) {
    const type = this.question ? `&type=${encodeURIComponent(this.question.name)}` : "";
    return `#/ask?uid=${encodeURIComponent(this.uid)}&stream=${encodeURIComponent(stream)}${type}`;
  }

  text(value) {
    return (FIGURES[this.by.value] ?? number)(value);
  }

  changed() {
    if (this.shown !== this.by.value) {
      this.shown = this.by.value;
      this.parameters = new Parameters(this.question?.arguments ?? []);
      put(this.arguments, this.parameters.elements);
    }
    const { question } = this;
    const streams = path("v1", "synopses", this.uid, "streams");
    if (!question) this.shell.show(curl("GET", streams), sde("streams", this.uid));
    else {
      this.body = { query: { type: question.name, ...this.parameters.values }, stream: "*", top: MOST };
      this.shell.show(curl("POST", path("v1", "synopses", this.uid, "estimate"), { ...this.body, top: Number(this.top.value) }),
        sde("estimate", this.uid, "--ask", question.name, "--stream", "*", "--top", this.top.value, ...pairs(this.parameters.values)));
    }
    this.refresh();
  }

  async refresh() {
    if (!this.element.querySelector("form").checkValidity()) return;
    await this.place.fill(async () => {
      const found = await this.rows();
      if (!found.length) return empty("No stream has a tuple yet, or no answer is a number.");
      this.map.show([...found].sort((a, b) => a.name.localeCompare(b.name)), (value) => this.text(value));
      const table = this.question ? this.answers : this.figures;
      put(this.largest, table.show(found.sort((a, b) => b.value - a.value).slice(0, Number(this.top.value))));
      return this.filled;
    });
  }

  async rows() {
    if (!this.question) {
      const { value } = await get(`${path("v1", "synopses", this.uid, "streams")}?limit=${MOST}`, this.signal);
      return value.map((one) => ({ name: one.stream, value: one[this.by.value], tuples: one.tuples, bytes: one.bytes }));
    }
    const { value } = await ask("POST", path("v1", "synopses", this.uid, "estimate"), this.body, this.signal);
    return value.filter((one) => isNumber(one.value)).map((one) => ({ ...one, name: one.stream }));
  }
}
