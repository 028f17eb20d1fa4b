// The frame: which screen is shown, the login, the theme, and whether the engine answers.

import { get, onUnauthorized, request } from "./api.js";
import { h, put } from "./dom.js";
import { failed } from "./parts.js";
import * as login from "./login.js";
import * as overview from "./overview.js";
import * as synopses from "./synopses.js";
import * as create from "./create.js";
import * as ask from "./ask.js";
import * as streams from "./streams.js";
import * as correlation from "./correlation.js";
import * as batches from "./batches.js";
import * as letters from "./dead_letters.js";
import * as plugins from "./plugins.js";
import * as sites from "./sites.js";
import * as snapshots from "./snapshots.js";
import * as sources from "./sources.js";

const SCREENS = [
  ["", "Overview", overview], ["synopses", "Synopses", synopses], ["create", "Create", create],
  ["ask", "Ask and watch", ask], ["streams", "Streams", streams], ["correlation", "Correlation", correlation],
  ["batches", "Batches", batches], ["dead-letters", "Dead letters", letters], ["sources", "Sources", sources],
  ["snapshots", "Snapshots", snapshots], ["plugins", "Plug-ins", plugins], ["sites", "Sites", sites],
];
const HEALTH_MS = 5000;
const THEMES = ["auto", "light", "dark"];
const main = document.getElementById("main");
const nav = document.getElementById("nav");
const menu = document.getElementById("menu");
let leave = new AbortController();
let isFirst = true;

function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, query: new URLSearchParams(query) };
}

async function show(screen = null) {
  leave.abort();
  leave = new AbortController();
  const { path, query } = here();
  const [, title, module] = screen ?? SCREENS.find(([name]) => name === path) ?? SCREENS[0];
  document.title = `${title} · Synopses Data Engine`;
  for (const each of nav.querySelectorAll("a")) {
    if (each.dataset.path === path) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  close();
  const view = h("div", { class: "screen" });
  put(main, view);
  scrollTo(0, 0);
  try {
    await module.show(view, query, leave.signal);
  } catch (problem) {
    if (problem.name !== "AbortError") view.append(failed(problem));
  }
  if (!isFirst) view.querySelector("h1")?.focus({ preventScroll: true });
  isFirst = false;
}

function close() {
  menu.setAttribute("aria-expanded", "false");
  nav.classList.remove("open");
}

async function health() {
  const element = document.getElementById("health");
  let [text, tone] = ["ready", "good"];
  try {
    await get("/readyz");
  } catch (problem) {
    [text, tone] = problem.status ? ["engine away", "bad"] : ["gateway away", "bad"];
  }
  if (element.textContent !== text) element.textContent = text;
  element.className = `badge ${tone}`;
  setTimeout(health, HEALTH_MS);
}

function theme(step) {
  const now = localStorage.getItem("theme") ?? "auto";
  const next = step ? THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] : now;
  localStorage.setItem("theme", next);
  document.documentElement.dataset.theme = next;
  const button = document.getElementById("theme");
  put(button, h("span", {}, "Theme: "), next);
  button.setAttribute("aria-label", `Theme: ${next}`);
}

function start() {
  put(nav, h("ul", {}, SCREENS.map(([path, title]) => h("li", {}, h("a", { href: `#/${path}`, "data-path": path }, title)))));
  menu.addEventListener("click", () => {
    const open = nav.classList.toggle("open");
    menu.setAttribute("aria-expanded", String(open));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && nav.classList.contains("open")) {
      close();
      menu.focus();
    }
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // its address would be taken for that of a screen
    main.focus();
  });
  document.getElementById("theme").addEventListener("click", () => theme(1));
  const logout = document.getElementById("logout");
  logout.addEventListener("click", async () => {
    await request("DELETE", "/v1/session");
    localStorage.removeItem("session");
    localStorage.removeItem("dataset");
    location.reload();
  });
  logout.hidden = localStorage.getItem("session") === null;
  onUnauthorized(() => {
    if (!main.querySelector(".login")) show(["", "Log in", login]);
  });
  addEventListener("hashchange", () => show());
  theme(0);
  health();
  show();
}

start();
