// Topics that are read as they are, and a preview of what a mapping makes of their records.

import { ask, get } from "./api.js";
import { h, put } from "./dom.js";
import { moment, number, valueText } from "./format.js";
import { badge, card, empty, every, failed, field, heading, input, select, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 5000;
const FORMATS = ["json", "lines", "csv", "arrow", "avro", "protobuf", "tuples"];

export async function show(view, query, signal) {
  const place = slot(signal), preview = new Preview();
  const table = new Table("Sources", [
    { name: "source", value: (row) => row.name },
    { name: "topic", value: (row) => row.topic },
    { name: "format", value: (row) => row.format ?? "json" },
    { name: "data set", value: (row) => row.dataset ?? "–" },
    { name: "stream", cell: (row) => row.stream ?? "–" },
    { name: "dead letters", number: true, value: (row) => row.dead_letters, cell: (row) => number(row.dead_letters) },
    { name: "warnings", cell: (row) => (row.warnings ?? []).map((one) => badge(one, "bad")) },
  ]);
  view.append(heading("Sources", "Topics of other programs, read as they are."), place.element, preview.element, preview.shell.element);
  every(MS, signal, () => place.fill(async () => {
    const { value } = await get("/v1/sources", signal);
    return value.length ? table.show(value) : empty("No source is read yet: try a mapping below, then add it with “sde source add”.");
  }));
}

/** A mapping, tried on the last records of a topic; nothing is counted. */
class Preview {
  constructor() {
    this.controls = {
      topic: input({ name: "topic", required: true }), format: select(FORMATS, "json", { name: "format" }),
      dataset: input({ name: "dataset" }), stream: input({ name: "stream", placeholder: "symbol" }),
      time: input({ name: "time", placeholder: "the message's" }), where: input({ name: "where", placeholder: "all records" }),
    };
    this.answer = h("div", { "aria-live": "polite" });
    this.shell = new Shell();
    const fields = Object.entries(this.controls).map(([name, control]) => field(name === "dataset" ? "Data set" : name[0].toUpperCase() + name.slice(1), control));
    this.element = card("Preview", h("form", { onsubmit: (event) => this.send(event), oninput: () => this.changed() },
      h("div", { class: "grid" }, fields), h("div", { class: "actions" }, h("button", { class: "main" }, "Preview"))), this.answer);
    this.changed();
  }

  get body() {
    return Object.fromEntries(Object.entries(this.controls).map(([name, one]) => [name, one.value]).filter(([, value]) => value));
  }

  changed() {
    const { topic = "TOPIC", ...others } = this.body;
    const words = Object.entries(others).flatMap(([name, value]) => [`--${name}`, value]);
    this.shell.show(curl("POST", "/v1/sources/preview", { topic, ...others }), sde("source", "try", topic, ...words));
  }

  async send(event) {
    event.preventDefault();
    try {
      const { value } = await ask("POST", "/v1/sources/preview", this.body);
      const tuples = new Table("Tuples", [
        { name: "stream", value: (row) => row.stream },
        { name: "time", cell: (row) => moment(row.time) },
        { name: "values", cell: (row) => Object.entries(row.values).map(([name, one]) => badge(`${name} ${valueText(one)}`)) },
      ]);
      const letters = value.dead_letters.map((one) => h("p", {}, badge(one.code, "bad"), ` ${one.message}`));
      put(this.answer, h("p", { class: "about" }, `${value.messages} records became ${value.tuples.length} tuples.`),
        value.tuples.length ? tuples.show(value.tuples) : null, letters);
    } catch (problem) {
      put(this.answer, failed(problem));
    }
  }
}
