// Streams that move together, by dft or lsh: a graph of the pairs beyond a threshold.

import { ask, path } from "./api.js";
import { h } from "./dom.js";
import { number } from "./format.js";
import { PairGraph } from "./pair_graph.js";
import { card, empty, every, field, heading, input, select, slot } from "./parts.js";
import { Shell, curl, pairs, sde } from "./shell.js";
import { pick } from "./synopsis_picker.js";
import { Table } from "./table.js";

const MS = 5000;
const PAUSE = 150; // ms after the slider was moved
const MOST = 2000; // pairs

export async function show(view, query, signal) {
  view.append(heading("Correlation", "Which streams move together, by their sliding windows."));
  const picked = await pick(view, query, signal, {
    screen: "correlation", fits: (one) => one.kind === "dft" || one.kind === "lsh",
    none: "Pairs are found by synopses of the kinds dft and lsh: there is none yet.",
  });
  if (!picked) return;
  const slider = input({ type: "range", min: "0.5", max: "0.99", step: "0.01", value: "0.9", name: "threshold" });
  const level = h("output", {}, slider.value);
  const negative = select([["true", "both signs"], ["false", "positive only"]], "true", { name: "negative" });
  const place = slot(signal), shell = new Shell(), graph = new PairGraph(signal), table = new Table("Pairs", COLUMNS, { most: 50 });
  const filled = h("div", {}, card("Graph", graph.element), card("Pairs", table.element));
  const uid = picked.chosen.uid;
  const refresh = () => place.fill(async () => {
    const query = { type: "pairs", threshold: Number(slider.value), negative: negative.value === "true", limit: MOST };
    const { type, ...values } = query;
    shell.show(curl("POST", path("v1", "synopses", uid, "estimate"), { query }), sde("estimate", uid, "--ask", type, ...pairs(values)));
    const { value } = await ask("POST", path("v1", "synopses", uid, "estimate"), { query }, signal);
    if (!value.length) return empty(`No pair is at or beyond ${slider.value}: lower the threshold, or wait until a window is full.`);
    const found = value.map(([a, b, correlation, lower, upper]) => ({ a, b, correlation, lower, upper }));
    graph.show(found);
    table.show(found);
    return filled;
  });
  let soon;
  slider.addEventListener("input", () => {
    level.textContent = slider.value;
    clearTimeout(soon);
    soon = setTimeout(refresh, PAUSE);
  });
  negative.addEventListener("change", refresh);
  const threshold = field("Threshold", slider);
  threshold.querySelector("label").append(" ", level);
  view.append(h("form", { class: "card", "aria-label": "What is shown", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "grid" }, picked.element, threshold, field("Sign", negative))), place.element, shell.element);
  every(MS, signal, refresh);
}

const COLUMNS = [
  { name: "stream", value: (row) => row.a },
  { name: "with", value: (row) => row.b },
  { name: "correlation", number: true, value: (row) => row.correlation, cell: (row) => number(row.correlation) },
  { name: "bounds", number: true, cell: (row) => `${number(row.lower)} – ${number(row.upper)}` },
];
