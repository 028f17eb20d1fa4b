// Server-sent events by fetch: unlike EventSource it shows why it was refused, and it says with
// which answer to go on after the gateway, or this machine's network, was away.

import { request } from "./api.js";

const PAUSE = 1500; // ms before it is tried again
const LONGEST_PAUSE = 10_000;

/**
 * Follow a watch until `signal` aborts, or it ends. Calls `on.answer(reply)`, `on.gap()`,
 * `on.state(text)`, `on.end(reply)`, `on.problem(problem)`; a problem that waiting does not mend
 * ends it.
 */
export async function follow(path, on, signal) {
  let last = "";
  let pause = PAUSE;
  while (!signal.aborted) {
    try {
      const headers = last ? { "Last-Event-ID": last } : {};
      const response = await request("GET", path, { headers, signal });
      on.state("live");
      pause = PAUSE;
      for await (const event of events(response.body, signal)) {
        if (event.id) last = event.id;
        if (event.name === "end") {
          on.end(event.data);
          return;
        }
        if (event.name === "gap") on.gap();
        else on.answer(event.data);
      }
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.status && problem.status < 500 && problem.status !== 429) {
        on.problem(problem);
        return;
      }
    }
    on.state("away");
    await new Promise((go) => setTimeout(go, pause));
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}

async function* events(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  signal.addEventListener("abort", () => reader.cancel().catch(() => {}), { once: true });
  let rest = "";
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parsed(block);
      if (event) yield event;
    }
  }
}

function parsed(block) {
  const event = { id: "", name: "", data: null };
  for (const line of block.split("\n")) {
    if (line.startsWith("id: ")) event.id = line.slice(4);
    else if (line.startsWith("event: ")) event.name = line.slice(7);
    else if (line.startsWith("data: ")) event.data = JSON.parse(line.slice(6));
  }
  return event.data === null ? null : event;
}
