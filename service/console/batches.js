// What each batch did: how long by phase, how far it read; and the watermarks of windows.

import { get, synopses } from "./api.js";
import { BatchBars } from "./batch_bars.js";
import { duration, isNumber, moment, number, time } from "./format.js";
import { card, empty, every, heading, slot } from "./parts.js";
import { Shell, curl, sde } from "./shell.js";
import { Table } from "./table.js";

const MS = 3000;
const LIMIT = 200;

export async function show(view, query, signal) {
  const place = slot(signal), marks = slot(signal), shell = new Shell(), bars = new BatchBars(signal);
  const table = new Table("Batches", COLUMNS, { sorted: { name: "batch", down: true }, most: 15 });
  const clocks = new Table("Watermarks", MARKS);
  const filled = [card("How long each took", bars.element), card("The last of them", table.element)];
  view.append(heading("Batches", "Everything happens in batches: short when idle, larger under load."), place.element, card("Watermarks", marks.element), shell.element);
  shell.show(curl("GET", `/v1/batches?limit=${LIMIT}`), sde("status"));
  every(MS, signal, async () => {
    await place.fill(async () => {
      const { value } = await get(`/v1/batches?limit=${LIMIT}`, signal);
      if (!value.length) return empty("No batch is in the log: the engine has not run one yet, or it is on another machine.");
      bars.show(value);
      table.show(withRead(value));
      return filled;
    });
    await marks.fill(async () => {
      const timed = (await synopses(signal)).filter((one) => isNumber(one.watermark));
      return timed.length ? clocks.show(timed) : empty("No synopsis has windows by time, or no tuple of them has come.");
    });
  });
}

/** With how many messages each read: offsets less those of the batch before. */
function withRead(batches) {
  return batches.map((one, place) => {
    const total = reached(one);
    const before = place ? reached(batches[place - 1]) : null;
    return { ...one, read: before === null || total < before ? null : total - before };
  });
}

const reached = (batch) => Object.values(batch.offsets ?? {}).reduce((sum, parts) => sum + Object.values(parts).reduce((a, b) => a + (isNumber(b) ? b : 0), 0), 0);

const COLUMNS = [
  { name: "batch", number: true, value: (row) => row.batch, cell: (row) => number(row.batch) },
  { name: "at", value: (row) => row.at, cell: (row) => time(Date.parse(row.at)) },
  { name: "messages", number: true, value: (row) => row.read, cell: (row) => number(row.read) },
  { name: "all", number: true, value: (row) => row.milliseconds?.triggerExecution, cell: (row) => duration(row.milliseconds?.triggerExecution) },
  { name: "run", number: true, value: (row) => row.milliseconds?.addBatch, cell: (row) => duration(row.milliseconds?.addBatch) },
  { name: "plan", number: true, value: (row) => row.milliseconds?.queryPlanning, cell: (row) => duration(row.milliseconds?.queryPlanning) },
  { name: "passed over", number: true, value: (row) => row.passed_over, cell: (row) => number(row.passed_over) },
];
const MARKS = [
  { name: "synopsis", value: (row) => row.uid },
  { name: "data set", value: (row) => row.dataset },
  { name: "watermark", value: (row) => row.watermark, cell: (row) => moment(row.watermark) },
  { name: "behind", number: true, value: (row) => Date.now() - row.watermark, cell: (row) => duration(Math.max(0, Date.now() - row.watermark)) },
];
