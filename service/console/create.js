// A new synopsis: the form comes from what the kinds declare.

import { ask, kinds, path } from "./api.js";
import { h, prose, put } from "./dom.js";
import { badge, failed, field, heading, input, link, select } from "./parts.js";
import { guarantee } from "./guarantee.js";
import { Parameters } from "./parameters.js";
import { Shell, curl, pairs, sde } from "./shell.js";

export async function show(view, query, signal) {
  const all = await kinds(signal);
  const form = new CreateForm(all, query);
  view.append(heading("Create", "A synopsis begins with the next tuple."), form.element, form.shell.element);
}

class CreateForm {
  constructor(all, query) {
    this.kinds = new Map(all.map((one) => [one.kind, one]));
    const chosen = this.kinds.has(query.get("kind")) ? query.get("kind") : "count_min";
    this.kind = select(all.map((one) => one.kind), chosen, { name: "kind" });
    this.uid = input({ name: "uid", required: true, maxlength: 512 });
    this.dataset = input({ name: "dataset", required: true, maxlength: 512, value: query.get("dataset") ?? "" });
    this.about = h("div", { class: "about-kind" });
    this.fields = h("div", { class: "grid" });
    this.promise = h("div", { "aria-live": "polite" });
    this.answer = h("div");
    this.shell = new Shell();
    this.element = h("form", { class: "columns", onsubmit: (event) => this.send(event), oninput: () => this.changed() },
      h("section", { class: "card", "aria-label": "Definition" },
        h("div", { class: "grid" }, field("Kind", this.kind), field("Data set", this.dataset), field("Name (uid)", this.uid)),
        this.fields, h("div", { class: "actions" }, h("button", { class: "main" }, "Create")), this.answer),
      h("section", { class: "card side", "aria-label": "What it promises" }, this.about, this.promise));
    this.kind.addEventListener("change", () => this.choose());
    this.choose();
  }

  get declared() {
    return this.kinds.get(this.kind.value);
  }

  choose() {
    const kind = this.declared;
    const reads = new Set(kind.reads);
    const needsKey = reads.has("keys") || reads.has("texts");
    const needsValue = reads.has("values");
    this.key = needsKey ? input({ name: "key" }) : null;
    this.value = needsValue ? input({ name: "value" }) : null;
    this.scope = select(kind.mergeable ? [["dataset", "one of all streams"], ["stream", "one for each stream"]] : [["stream", "one for each stream"]], "", { name: "scope" });
    this.window = kind.mergeable ? input({ name: "window", placeholder: "none" }) : null;
    this.where = input({ name: "where", placeholder: "all tuples" });
    this.parameters = new Parameters(kind.parameters);
    const many = typeof kind.value_fields === "string" || kind.value_fields > 1;
    const named = (kind.value_names ?? []).join(", ");
    put(this.about, h("h2", {}, kind.kind, " ", badge(kind.purpose || "plug-in")), h("p", {}, prose(kind.doc)));
    put(this.fields,
      this.key && field("Key field", this.key, "whose values are counted; several with commas"),
      this.value && field(many ? "Value fields" : "Value field", this.value, named ? `in this order: ${named}` : needsKey ? "left out: each tuple counts 1" : "whose values are added"),
      field("Scope", this.scope),
      this.window && field("Window", this.window, "a duration (5m) or a number of tuples"),
      field("Only where", this.where, "an expression: qty > 0"),
      this.parameters.elements);
    this.changed();
  }

  /** The body of the request, without what is left out. */
  get body() {
    const several = (text) => {
      const names = text.split(",").map((one) => one.trim()).filter(Boolean);
      return names.length > 1 ? names : names[0];
    };
    const window = this.window?.value.trim();
    const fields = {
      dataset: this.dataset.value, kind: this.kind.value,
      key: this.key && several(this.key.value), value: this.value && several(this.value.value),
      scope: this.scope.value, where: this.where.value.trim() || undefined,
      window: window ? { size: /^\d+$/.test(window) ? Number(window) : window } : undefined,
      params: this.parameters.values,
    };
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
  }

  changed() {
    const { body } = this;
    put(this.promise, guarantee(this.declared, body.params, body.scope === "stream"));
    const words = ["create", body.kind, "--dataset", body.dataset || "DATASET", "--uid", this.uid.value || "UID"];
    for (const name of ["key", "value"]) [body[name] ?? []].flat().forEach((one) => words.push(`--${name}`, one));
    if (body.where) words.push("--where", body.where);
    if (body.scope === "stream") words.push("--scope", "stream");
    if (body.window) words.push("--window", body.window.size);
    this.shell.show(curl("PUT", path("v1", "synopses", this.uid.value || "UID"), body), sde(...words, ...pairs(body.params)));
  }

  async send(event) {
    event.preventDefault();
    const uid = this.uid.value;
    try {
      await ask("PUT", path("v1", "synopses", uid), this.body);
      put(this.answer, h("p", { class: "done", role: "status" }, badge("created", "good"), " ", link(`Ask ${uid}`, `#/ask?uid=${encodeURIComponent(uid)}`)));
    } catch (problem) {
      put(this.answer, failed(problem));
      const name = problem.field.split(".").at(-1); // params.epsilon
      this.element.querySelector(`[name="${CSS.escape(name)}"]`)?.focus();
    }
  }
}
