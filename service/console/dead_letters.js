// What was refused, by code, with the bytes as they came.

import { get } from "./api.js";
import { h, put } from "./dom.js";
import { moment, number } from "./format.js";
import { badge, button, card, empty, every, heading, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";

const MS = 4000;
const LIMIT = 100;

export async function show(view, query, signal) {
  const screen = new LettersScreen(query.get("code") ?? "", signal);
  view.append(heading("Dead letters", "Messages that could not be read, or were not allowed, and why."), screen.place.element, screen.shell.element);
  every(MS, signal, () => screen.refresh());
}

class LettersScreen {
  constructor(code, signal) {
    Object.assign(this, { code, signal, shown: "" });
    this.place = slot(signal);
    this.codes = h("div", { class: "chips", role: "group", "aria-label": "Only this code" });
    this.letters = h("div", { class: "letters" });
    this.filled = [this.codes, card("The last ones", this.letters)];
    this.shell = new Shell();
  }

  async refresh() {
    const path = `/v1/dead-letters?limit=${LIMIT}${this.code ? `&code=${encodeURIComponent(this.code)}` : ""}`;
    this.shell.show(curl("GET", path), sde("tail", "--dead-letters", "--from-beginning"));
    await this.place.fill(async () => {
      const { value, codes } = await get(path, this.signal);
      const now = JSON.stringify([value, codes, this.code]);
      if (now === this.shown) return [...this.place.element.children]; // open letters stay open
      this.shown = now;
      if (!Object.keys(codes).length) return empty("Nothing was refused: there are no dead letters.");
      this._chips(codes);
      put(this.letters, value.length ? value.map(letter) : h("p", { class: "about" }, "None with this code."));
      return this.filled;
    });
  }

  _chips(codes) {
    const all = Object.values(codes).reduce((sum, count) => sum + count, 0);
    put(this.codes, [["", all], ...Object.entries(codes)].map(([code, count]) => {
      const chip = button(`${code || "all"} ${number(count)}`, () => {
        this.code = code;
        this.refresh();
      }, "chip");
      chip.setAttribute("aria-pressed", String(this.code === code));
      return chip;
    }));
  }
}

function letter(one) {
  const place = `${one.source ? `${one.source}/` : ""}${one.topic} · partition ${one.partition} · offset ${one.offset} · line ${one.line}`;
  return h("details", {}, h("summary", {}, badge(one.code, "bad"), h("span", { class: "why" }, one.message), h("time", {}, moment(one.at))),
    h("p", { class: "about" }, `${place} · ${number(one.bytes)} bytes${one.field ? ` · field ${one.field}` : ""}`),
    h("pre", { class: "bytes", tabindex: "0", "aria-label": "as text" }, one.text),
    h("pre", { class: "bytes hex", tabindex: "0", "aria-label": "as bytes" }, hexadecimal(one.excerpt)));
}

const SHOWN = 128;

function hexadecimal(base64) {
  const bytes = [...atob(base64)].slice(0, SHOWN).map((one) => one.charCodeAt(0).toString(16).padStart(2, "0"));
  const rows = [];
  for (let at = 0; at < bytes.length; at += 16) rows.push(`${at.toString(16).padStart(4, "0")}  ${bytes.slice(at, at + 16).join(" ")}`);
  return rows.join("\n");
}
