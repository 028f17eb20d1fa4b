// The sites that this engine asks, whether they answer, and what went to and from them.

import { get } from "./api.js";
import { bytes, number } from "./format.js";
import { badge, every, heading, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 10_000; // each look asks all of them

export async function show(view, query, signal) {
  const place = slot(signal), shell = new Shell();
  const table = new Table("Sites", [
    { name: "site", value: (row) => row.site, cell: (row) => [row.site, " ", row.here && badge("this one")] },
    { name: "answers", value: (row) => String(row.answers), cell: (row) => badge(row.answers ? "yes" : "no", row.answers ? "good" : "bad") },
    { name: "sent", number: true, value: (row) => row.sent, cell: (row) => bytes(row.sent) },
    { name: "received", number: true, value: (row) => row.received, cell: (row) => bytes(row.received) },
    { name: "late", number: true, value: (row) => row.late, cell: (row) => number(row.late) },
  ]);
  view.append(heading("Sites", "One answer from several engines: summaries travel, data does not."), place.element, shell.element);
  shell.show(curl("GET", "/v1/sites"), sde("sites"));
  every(MS, signal, () => place.fill(async () => table.show((await get("/v1/sites", signal)).value)));
}
