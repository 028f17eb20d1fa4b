// Parts that screens are made of: heading, cards, fields, and what stands where nothing is.

import { AWAY } from "./api.js";
import { h, newId } from "./dom.js";

const REMEDIES = {
  [AWAY]: "Is the service running? This page goes on by itself when it answers again.",
  401: "Log in with a token that is known.",
  403: "Log in with a token that may do this.",
  404: "It may have been deleted, or the engine is on another machine.",
  429: "Too many requests: wait a moment.",
  503: "The engine starts, or its Kafka is away: `sde status` tells more. It is asked again.",
  504: "The engine is busy or away: `sde status` tells more.",
  507: "Delete synopses, or raise the limit in the settings.",
};

export function heading(title, about, ...actions) {
  return h("div", { class: "heading" },
    h("div", {}, h("h1", { tabindex: "-1" }, title), about && h("p", { class: "about" }, about)),
    actions.length ? h("div", { class: "actions" }, actions) : null);
}

export function card(title, ...children) {
  const id = newId("card");
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), children);
}

/** A figure with its name and a line below. */
export function figure(name, value, below, tone = "") {
  return h("div", { class: `figure ${tone}` }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), below && h("small", {}, below)));
}

export const badge = (text, tone = "") => h("span", { class: `badge ${tone}` }, text);

/** What to do where there is nothing yet. */
export function empty(text, ...actions) {
  return h("div", { class: "empty" }, h("p", {}, text), actions);
}

/** What went wrong, and what to do. */
export function failed(problem) {
  const code = problem.code ? badge(problem.code, "bad") : null;
  const remedy = REMEDIES[problem.status];
  return h("div", { class: "failed", role: "alert" },
    h("p", {}, code, " ", problem.message), remedy && h("p", { class: "about" }, remedy));
}

/** A label with its control, and what is expected of it. */
export function field(label, control, hint = "") {
  const id = newId("field");
  control.id = id;
  const below = hint ? h("small", { id: `${id}-hint` }, hint) : null;
  if (below) control.setAttribute("aria-describedby", below.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, below);
}

export function select(options, chosen, attributes = {}) {
  return h("select", attributes, options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === chosen }, text);
  }));
}

export const input = (attributes = {}) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
export const button = (text, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, text);
export const link = (text, to, kind = "") => h("a", { href: to, class: kind }, text);

/** Do it now and every so many ms, one at a time, until the screen is left. */
export async function every(ms, signal, work) {
  while (!signal.aborted) {
    if (!document.hidden) await work();
    await new Promise((go) => setTimeout(go, ms));
  }
}

/** A place that shows what `make` gives, and what went wrong in its stead. */
export function slot(signal) {
  const element = h("div", { class: "slot" }, h("p", { class: "about" }, "Loading…"));
  let shown = ""; // an alert that is put there again would be read out again
  return {
    element,
    async fill(make) {
      try {
        const made = await make();
        if (!signal.aborted) element.replaceChildren(...[made].flat().filter(Boolean));
        shown = "";
        return true;
      } catch (problem) {
        if (problem.name === "AbortError" || signal.aborted || shown === problem.message) return false;
        shown = problem.message;
        element.replaceChildren(failed(problem));
        return false;
      }
    },
  };
}
