// A watch that runs: its state, its plot, and the rows that are no numbers.

import { ask, path } from "./api.js";
import { h, put, say } from "./dom.js";
import { answerView } from "./answers.js";
import { follow } from "./events.js";
import { isNumber, number } from "./format.js";
import { LinePlot } from "./line_plot.js";
import { badge, button, failed } from "./parts.js";

const TEXTS = {
  live: ["live", "good"], away: ["the gateway is away; it goes on where it was", "bad"],
  ended: ["ended", ""], gap: ["some answers may be lost", "bad"],
};

export class WatchCard {
  constructor(signal) {
    this.left = signal;
    this.own = ""; // the watch that this page began, and ends
    this.plot = new LinePlot("Answers", signal);
    this.state = h("span", { role: "status" });
    this.crossed = h("p", { class: "about" });
    this.rows = h("div");
    this.stop = button("Stop", () => this.end(), "quiet");
    this.element = h("section", { class: "card", hidden: true, "aria-label": "Watch" },
      h("div", { class: "actions" }, h("h2", {}, "Watch"), this.state, this.stop), this.plot.element, this.crossed, this.rows);
    const ends = () => this.end();
    addEventListener("pagehide", ends);
    signal.addEventListener("abort", () => {
      removeEventListener("pagehide", ends);
      this.end();
    });
  }

  /** Begin a watch, and follow it. */
  async begin(uid, body, mark) {
    this.end();
    const id = crypto.randomUUID?.() ?? `console-${Date.now()}-${Math.random()}`;
    this.element.hidden = false;
    try {
      const begun = await ask("POST", path("v1", "synopses", uid, "watches"), body, this.left, { "Idempotency-Key": id });
      this.own = begun.watch;
      this.follow(begun.watch, mark);
    } catch (problem) {
      put(this.state, failed(problem));
    }
  }

  /** Draw the answers of a watch that runs. */
  follow(watch, mark = null) {
    this.element.hidden = false;
    this.following?.abort();
    this.following = new AbortController();
    this.left.addEventListener("abort", () => this.following.abort());
    this.mark = mark;
    this.side = null;
    this.plot.clear();
    if (mark) this.plot.mark(mark.level, `${mark.sign} ${number(mark.level)}`);
    put(this.rows);
    this._say("live");
    follow(path("v1", "watches", watch, "events"), {
      answer: (reply) => this._answer(reply), state: (text) => this._say(text), gap: () => this._say("gap"),
      end: () => this._say("ended"), problem: (problem) => put(this.state, failed(problem)),
    }, this.following.signal);
  }

  end() {
    this.following?.abort();
    if (!this.own) return;
    fetch(path("v1", "watches", this.own), { method: "DELETE", keepalive: true }).catch(() => {});
    this.own = "";
    this._say("ended");
  }

  _say(state) {
    const [text, tone] = TEXTS[state];
    if (this.state.textContent !== text) put(this.state, badge(text, tone));
    this.stop.hidden = state === "ended" || !this.own;
  }

  _answer(reply) {
    if (reply.status === "error") {
      put(this.rows, failed({ message: reply.message, code: reply.code }));
      return;
    }
    if (!isNumber(reply.value)) {
      put(this.rows, answerView(reply));
      return;
    }
    put(this.rows);
    this.plot.add({ time: Date.now(), value: reply.value, lower: reply.lower, upper: reply.upper, number: reply.number });
    this._compare(reply);
  }

  /** Where the answer stands with the threshold: its bounds may leave that open. */
  _compare(reply) {
    if (!this.mark) return;
    const { level } = this.mark;
    const [lower, upper] = [reply.lower ?? reply.value, reply.upper ?? reply.value];
    const side = lower > level ? "above" : upper < level ? "below" : "at";
    if (side === this.side) return;
    this.side = side;
    const text = { above: "above the threshold", below: "below the threshold", at: "not to be told from the threshold: it lies within the bounds" }[side];
    this.crossed.textContent = `The answer is ${text}.`;
    say(`The answer is ${text}.`);
  }
}
