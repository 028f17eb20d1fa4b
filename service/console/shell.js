// The same request from a shell: each screen shows its `curl` and its `sde` line.

import { h, put, say } from "./dom.js";

const PLAIN = /^[A-Za-z0-9_./:=@%+,-]+$/;

/** A word for bash: whatever is in it, it stays one word, and no character of it moves a cursor. */
export function quoted(text) {
  const word = String(text);
  if (PLAIN.test(word)) return word;
  if (!/[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  const escaped = word.replace(/[\\']/g, "\\$&").replace(/[\x00-\x1f\x7f-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `$'${escaped}'`;
}

export function curl(method, path, body) {
  const parts = ["curl", "-sS"];
  if (method !== "GET") parts.push("-X", method);
  parts.push(quoted(location.origin + path));
  if (body !== undefined) parts.push("-H", "'Content-Type: application/json'", "-d", quoted(JSON.stringify(body)));
  return parts.join(" ");
}

/** Words of a command; `sde("describe", uid)`. */
export const sde = (...words) => ["sde", ...words.map(quoted)].join(" ");

/** `name=value` words of an object, as `sde create` and `sde estimate` take them. */
export function pairs(fields) {
  return Object.entries(fields).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
}

/** The lines at the end of a screen; `show(...)` says others. */
export class Shell {
  constructor() {
    this.lines = h("div", { class: "lines" });
    this.element = h("section", { class: "shell", "aria-label": "The same from a shell" },
      h("h2", {}, "From a shell"), this.lines);
  }

  show(...lines) {
    const now = lines.join("\n");
    if (now === this.now) return;
    this.now = now;
    put(this.lines, lines.map((line) => h("div", { class: "line" },
      h("pre", { tabindex: "0", "aria-label": "command" }, h("code", {}, line)),
      h("button", { class: "quiet", "aria-label": `Copy: ${line.slice(0, 40)}`, onclick: () => copy(line) }, "Copy"))));
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("copied");
  } catch {
    say("the browser does not let a page copy here");
  }
}
