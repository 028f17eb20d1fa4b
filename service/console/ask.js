// A question, once or as a watch that draws its answers with their bounds as they come.

import { ask, kinds, path } from "./api.js";
import { h, put } from "./dom.js";
import { answerView } from "./answers.js";
import { badge, card, failed, field, heading, input, select } from "./parts.js";
import { Parameters } from "./parameters.js";
import { Shell, curl, pairs, sde } from "./shell.js";
import { pick } from "./synopsis_picker.js";
import { WatchCard } from "./watch_card.js";

export async function show(view, query, signal) {
  view.append(heading("Ask and watch", "An answer states its bounds; a watch is asked again and again."));
  const picked = await pick(view, query, signal, { screen: "ask", none: "There is no synopsis to ask yet." });
  if (!picked) return;
  const declared = (await kinds(signal)).find((one) => one.kind === picked.chosen.kind);
  if (!declared) throw new Error(`${picked.chosen.kind} is not among the kinds; is its plug-in active?`);
  const screen = new AskScreen(picked, declared, query, signal);
  view.append(screen.element, screen.watch.element, screen.shell.element);
  if (query.get("watch")) screen.watch.follow(query.get("watch"));
}

class AskScreen {
  constructor(picked, declared, query, signal) {
    Object.assign(this, { synopsis: picked.chosen, declared, signal });
    const questions = declared.questions.map((one) => one.name);
    this.type = select(questions, query.get("type") ?? questions[0], { name: "type" });
    this.stream = picked.chosen.scope === "stream" ? input({ name: "stream", required: true, value: query.get("stream") ?? "" }) : null;
    this.period = input({ name: "every", value: "1s" });
    this.condition = input({ name: "when", placeholder: ">= 1000" });
    this.only = select([["no", "every answer"], ["yes", "only when it becomes true or false"]], "no", { name: "only" });
    this.arguments = h("div", { class: "grid" });
    this.answer = h("div", { "aria-live": "polite" });
    this.shell = new Shell();
    this.watch = new WatchCard(signal);
    this.given = Object.fromEntries([...query].filter(([name]) => name.startsWith("a.")).map(([name, value]) => [name.slice(2), value]));
    this.element = h("div", { class: "columns" },
      h("form", { class: "card", "aria-label": "Question", onsubmit: (event) => this.once(event), oninput: () => this.changed() },
        h("div", { class: "grid" }, picked.element, field("Question", this.type), this.stream && field("Stream", this.stream, "the scope is one for each stream")),
        this.arguments,
        h("div", { class: "grid" }, field("Every", this.period, "of a watch"), field("Threshold", this.condition, "marked in the plot"), field("Answers", this.only)),
        h("div", { class: "actions" }, h("button", { class: "main" }, "Ask"), h("button", { type: "button", onclick: () => this.begin() }, "Watch"))),
      card("Answer", this.answer));
    this.type.addEventListener("change", () => this.choose());
    put(this.answer, h("p", { class: "about" }, "Nothing was asked yet."));
    this.choose();
  }

  get question() {
    return this.declared.questions.find((one) => one.name === this.type.value);
  }

  choose() {
    this.parameters = new Parameters(this.question.arguments, this.given);
    put(this.arguments, h("p", { class: "about wide" }, this.question.doc), this.parameters.elements);
    this.changed();
  }

  get body() {
    const stream = this.stream?.value;
    return { query: { type: this.type.value, ...this.parameters.values }, ...(stream && !this.question.across ? { stream } : {}) };
  }

  get mark() {
    const found = /^\s*(>=|<=|>|<|==|!=)\s*(\S+)\s*$/.exec(this.condition.value);
    return found && Number.isFinite(Number(found[2])) ? { sign: found[1], level: Number(found[2]) } : null;
  }

  changed() {
    if (this.stream) this.stream.required = !this.question.across;
    const { query, ...others } = this.body;
    const { type, ...values } = query;
    const words = [this.synopsis.uid, "--ask", type, ...(others.stream ? ["--stream", others.stream] : []), ...pairs(values)];
    this.shell.show(curl("POST", path("v1", "synopses", this.synopsis.uid, "estimate"), this.body),
      sde("estimate", ...words), sde("watch", ...words, "--every", this.period.value));
  }

  async once(event) {
    event.preventDefault();
    try {
      const reply = await ask("POST", path("v1", "synopses", this.synopsis.uid, "estimate"), this.body, this.signal);
      put(this.answer, answerView(reply, this.question));
    } catch (problem) {
      if (problem.name !== "AbortError") put(this.answer, failed(problem));
    }
  }

  async begin() {
    if (!this.element.querySelector("form").reportValidity()) return;
    const only = this.only.value === "yes" && this.mark ? { when: this.condition.value } : {};
    const body = { ...this.body, every: this.period.value, ...only };
    await this.watch.begin(this.synopsis.uid, body, this.mark);
    put(this.answer, h("p", {}, badge("watching", "good"), " see below"));
  }
}
