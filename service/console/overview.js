// Whether all is well: the engine's state, rate and lag, state against limits, the last faults.

import { get, synopses } from "./api.js";
import { h } from "./dom.js";
import { bytes, compact, duration, number, time } from "./format.js";
import { badge, card, empty, every, figure, heading, link, slot } from "./parts.js";
import { LinePlot } from "./line_plot.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 2000;
const SYNOPSES_EVERY = 5; // lists are larger than a status
const SILENT_MS = 15_000;
const FEW = 6;

export async function show(view, query, signal) {
  const health = slot(signal), state = slot(signal), faults = slot(signal);
  const rate = new LinePlot("Messages a second", signal, { unit: "messages/s" });
  const shell = new Shell();
  view.append(heading("Overview"), health.element,
    h("div", { class: "columns" }, card("Rate", rate.element), card("State against limits", state.element)),
    card("Last faults", faults.element), shell.element);
  shell.show(curl("GET", "/v1/status"), sde("status"));
  let turn = 0;
  let limits = {};
  every(MS, signal, async () => {
    await health.fill(async () => {
      const { value } = await get("/v1/status", signal);
      limits = value.limits;
      if (value.messages_per_second !== null) rate.add({ time: Date.now(), value: value.messages_per_second });
      return figures(value);
    });
    if (turn++ % SYNOPSES_EVERY) return;
    await state.fill(async () => against(await synopses(signal), limits));
    await faults.fill(async () => lastFaults(await get(`/v1/dead-letters?limit=${FEW}`, signal)));
  });
}

function figures(status) {
  const silent = Date.now() - status.written;
  const isWell = status.state === "running" && status.kafka_away_since === null && silent < SILENT_MS;
  const kafka = status.kafka_away_since === null ? `site ${status.site}` : `Kafka is away since ${time(status.kafka_away_since)}`;
  return h("dl", { class: "figures" },
    figure("Engine", status.state, silent < SILENT_MS ? kafka : `silent for ${duration(silent)}`, isWell ? "good" : "bad"),
    figure("Rate", status.messages_per_second === null ? "–" : compact(status.messages_per_second), "messages a second"),
    figure("Lag", status.lag === null ? "–" : compact(status.lag), "messages wait", status.lag > 1e6 ? "bad" : ""),
    figure("Batches", number(status.batches), status.last_batch ? `the last at ${time(Date.parse(status.last_batch))}` : "none yet"),
    figure("Passed over", number(status.passed_over), "messages that killed", status.passed_over ? "bad" : ""),
    figure("Up", duration(Date.now() - status.since), "since the start"));
}

function against(synopses, limits) {
  if (!synopses.length) return empty("There are no synopses yet.", link("Create the first", "#/create", "button main"));
  const sum = (name) => synopses.reduce((total, one) => total + (one[name] ?? 0), 0);
  const most = synopses.reduce((found, one) => Math.max(found, one.streams ?? 0), 0);
  return h("ul", { class: "gauges" },
    gauge("synopses", synopses.length, limits.max_synopses, number),
    gauge("bytes", sum("bytes"), limits.max_bytes, bytes),
    byDataset(synopses).slice(0, 4).map(([name, size]) => gauge(`data set ${name}`, size, limits.max_dataset_bytes, bytes)),
    gauge("streams of one synopsis", most, limits.max_streams, number));
}

function byDataset(synopses) {
  const sizes = new Map();
  for (const one of synopses) sizes.set(one.dataset, (sizes.get(one.dataset) ?? 0) + one.bytes);
  return [...sizes].sort((a, b) => b[1] - a[1]);
}

function gauge(name, value, limit, text) {
  const known = limit > 0;
  const share = known ? value / limit : 0;
  const said = known ? `${text(value)} of ${text(limit)}` : text(value);
  return h("li", {}, h("span", { class: "name" }, name), h("span", { class: "value" }, said),
    h("meter", { min: 0, max: 1, high: 0.8, value: share, "aria-label": `${name}: ${said}` }));
}

function lastFaults({ value, codes }) {
  if (!value.length) return empty("Nothing was refused: there are no dead letters.");
  const table = new Table("Last faults", [
    { name: "code", cell: (row) => badge(row.code, "bad") },
    { name: "what", cell: (row) => row.message },
    { name: "at", cell: (row) => time(row.at) },
  ]);
  const total = Object.values(codes).reduce((sum, count) => sum + count, 0);
  return [table.show(value), h("p", {}, link(`All ${number(total)} of late`, "#/dead-letters"))];
}
