// Versions of synopses that are kept outside the engine.

import { ask, get, path } from "./api.js";
import { h, put, say } from "./dom.js";
import { bytes, moment } from "./format.js";
import { button, empty, every, failed, heading, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { pick } from "./synopsis_picker.js";
import { Table } from "./table.js";

const MS = 5000;

export async function show(view, query, signal) {
  const place = slot(signal), answer = h("div"), shell = new Shell();
  const act = async (said, method, to, body) => {
    try {
      await ask(method, to, body);
      put(answer);
      say(said);
      await refresh();
    } catch (problem) {
      put(answer, failed(problem));
    }
  };
  const restore = (row) => confirm(`Put version ${row.version} in the place of what ${row.uid} holds now?`)
    && act("restored", "POST", path("v1", "synopses", row.uid, "restore"), { version: row.version });
  const remove = (row) => confirm(`Remove version ${row.version} of ${row.uid}?`)
    && act("removed", "DELETE", path("v1", "synopses", row.uid, "snapshots", row.version));
  const table = new Table("Snapshots", [
    { name: "uid", value: (row) => row.uid },
    { name: "version", value: (row) => row.version },
    { name: "kind", value: (row) => row.kind },
    { name: "at", value: (row) => row.at, cell: (row) => moment(row.at) },
    { name: "bytes", number: true, value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
    { name: "", cell: (row) => [button("Restore", () => restore(row)), button("Remove", () => remove(row), "quiet")] },
  ], { sorted: { name: "at", down: true } });
  const refresh = () => place.fill(async () => {
    const { value } = await get("/v1/snapshots", signal);
    return value.length ? table.show(value) : empty("No version is kept yet.");
  });
  view.append(heading("Snapshots", "A version can be restored in the place of what runs, or beside it."));
  const picked = await pick(view, query, signal, { screen: "snapshots", none: "There is no synopsis to keep a version of." });
  if (picked) {
    const { uid } = picked.chosen;
    const keep = button("Keep a version", () => act("kept", "POST", path("v1", "synopses", uid, "snapshots"), {}), "main");
    view.append(h("div", { class: "card row" }, picked.element, keep));
    shell.show(curl("GET", "/v1/snapshots"), sde("snapshots"), sde("snapshot", uid));
  }
  view.append(answer, place.element, shell.element);
  every(MS, signal, refresh);
}
