// All synopses: sortable by bytes, rate and streams; each leads to what can be done with it.

import { ask, path, synopses } from "./api.js";
import { h, put, say } from "./dom.js";
import { bytes, compact, number } from "./format.js";
import { badge, button, empty, every, failed, heading, input, link, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 5000;

export async function show(view, query, signal) {
  const place = slot(signal), answer = h("div"), shell = new Shell();
  const wanted = input({ type: "search", placeholder: "uid, data set or kind", "aria-label": "Only synopses with this text" });
  const table = new Table("Synopses", columns((uid) => remove(uid, answer, refresh)), { sorted: { name: "bytes", down: true } });
  let before = new Map();
  let all = [];
  const shown = () => {
    const text = wanted.value.toLowerCase();
    return all.filter((one) => `${one.uid}\n${one.dataset}\n${one.kind}`.toLowerCase().includes(text));
  };
  const refresh = () => place.fill(async () => {
    all = rated(await synopses(signal), before);
    before = new Map(all.map((one) => [one.uid, one]));
    if (!all.length) return empty("There are no synopses yet.", link("Create the first", "#/create", "button main"));
    return table.show(shown());
  });
  wanted.addEventListener("input", () => table.show(shown()));
  view.append(heading("Synopses", "What is summarised, and what it costs.", wanted, link("Create", "#/create", "button main")), answer, place.element, shell.element);
  shell.show(curl("GET", "/v1/synopses?limit=100"), sde("list"));
  every(MS, signal, refresh);
}

/** With the tuples a second since the last look. */
function rated(found, before) {
  const now = performance.now();
  return found.map((one) => {
    const last = before.get(one.uid);
    const rate = last ? (1000 * (one.tuples - last.tuples)) / (now - last.seen) : null;
    return { ...one, rate, seen: now };
  });
}

function columns(onremove) {
  const to = (screen, uid) => `#/${screen}?uid=${encodeURIComponent(uid)}`;
  return [
    { name: "uid", value: (row) => row.uid, cell: (row) => [link(row.uid, to("ask", row.uid)), row.state && badge(row.state, "bad")] },
    { name: "data set", value: (row) => row.dataset },
    { name: "kind", value: (row) => row.kind },
    { name: "of", cell: fieldsOf },
    { name: "tuples", number: true, value: (row) => row.tuples, cell: (row) => number(row.tuples) },
    { name: "rate", number: true, value: (row) => row.rate, cell: (row) => (row.rate === null ? "–" : `${compact(row.rate)}/s`) },
    { name: "streams", number: true, value: (row) => row.streams, cell: (row) => (row.scope === "stream" ? link(number(row.streams), to("streams", row.uid)) : "–") },
    { name: "bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
    { name: "", cell: (row) => {
      const remove = button("Delete", () => onremove(row.uid), "quiet");
      remove.setAttribute("aria-label", `Delete ${row.uid}`);
      return remove;
    } },
  ];
}

function fieldsOf(row) {
  const key = [row.key ?? []].flat();
  const parts = [key.length && `key ${key.join(" + ")}`, row.value && `value ${[row.value].flat().join(", ")}`, row.where && `where ${row.where}`];
  return parts.filter(Boolean).join("; ") || "tuples";
}

async function remove(uid, answer, refresh) {
  if (!confirm(`Delete ${uid}? What it holds is lost, but for snapshots.`)) return;
  try {
    await ask("DELETE", path("v1", "synopses", uid));
    put(answer);
    say(`${uid} is deleted`);
    await refresh();
  } catch (problem) {
    put(answer, failed(problem));
  }
}
