// A token becomes a cookie that no script can read; the token itself is kept nowhere.

import { request } from "./api.js";
import { h, put } from "./dom.js";
import { failed, field, heading, input } from "./parts.js";
import { Shell } from "./shell.js";

export async function show(view) {
  const token = input({ type: "password", required: true, autocomplete: "current-password" });
  const dataset = input({ name: "dataset" });
  const answer = h("div");
  const shell = new Shell();
  const form = h("form", { class: "card login", onsubmit: (event) => begin(event, token, dataset, answer) },
    field("Token", token, "It is sent once, and becomes a cookie of 12 hours."),
    field("Data set", dataset, "of a token that is for some data sets only; left out: all"),
    h("button", { class: "main" }, "Log in"), answer);
  view.append(heading("Log in", "This gateway lets in only those who have a token."), form, shell.element);
  shell.show("sde gateway token NAME --scopes read,write", `curl -sS ${location.origin}/v1/synopses -H 'Authorization: Bearer TOKEN'`);
  token.focus();
}

async function begin(event, token, dataset, answer) {
  event.preventDefault();
  try {
    await request("POST", "/v1/session", { headers: { Authorization: `Bearer ${token.value.trim()}` } });
    localStorage.setItem("session", "cookie");
    localStorage.setItem("dataset", dataset.value.trim());
    location.reload();
  } catch (problem) {
    put(answer, failed(problem));
    token.focus();
  }
}
