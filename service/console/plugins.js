// Plug-ins: kinds that users wrote, in all their versions.

import { ask, get, path } from "./api.js";
import { h, put } from "./dom.js";
import { moment, number } from "./format.js";
import { badge, button, empty, every, failed, heading, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 5000;
const TONES = { active: "good", quarantined: "bad" };

export async function show(view, query, signal) {
  const place = slot(signal), answer = h("div"), shell = new Shell();
  const table = new Table("Plug-ins", [
    { name: "kind", value: (row) => `${row.name}@${row.version}` },
    { name: "state", value: (row) => row.state, cell: (row) => badge(row.state, TONES[row.state]) },
    { name: "synopses", number: true, value: (row) => row.synopses, cell: (row) => number(row.synopses) },
    { name: "added", value: (row) => row.added, cell: (row) => moment(row.added) },
    { name: "author's key", cell: (row) => (row.key ? `${row.key.slice(0, 12)}…` : "–") },
    { name: "why", cell: (row) => row.reason || "–" },
    { name: "", cell: (row) => row.state === "quarantined" && button("Release", () => release(row.name)) },
  ]);
  const refresh = () => place.fill(async () => {
    const { value } = await get("/v1/plugins", signal);
    if (!value.length) return empty("No plug-in was added yet. “sde plugin new NAME” writes one that works, to be changed.");
    return table.show(value);
  });
  const release = async (name) => {
    try {
      await ask("POST", path("v1", "plugins", name, "release"), {});
      put(answer);
      await refresh();
    } catch (problem) {
      put(answer, failed(problem));
    }
  };
  view.append(heading("Plug-ins", "Kinds in Python, signed by their authors, in processes of their own."), answer, place.element, shell.element);
  shell.show(curl("GET", "/v1/plugins"), sde("plugin", "list"));
  every(MS, signal, refresh);
}
