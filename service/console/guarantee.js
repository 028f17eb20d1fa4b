// What a kind promises, and about how much memory it takes, with the parameters of a form.

import { h, prose } from "./dom.js";
import { bytes, number } from "./format.js";

/** The bytes of one synopsis, read off the sizes that the kind declares; null: it declares none. */
export function memory(kind, params) {
  const { sizes } = kind;
  if (!sizes) return null;
  const said = params[sizes.parameter];
  if (said === undefined) return sizes.default_memory;
  const steps = [...sizes.choices].sort((a, b) => a.value - b.value);
  if (steps.length < 2 || !(said > 0)) return null;
  const above = Math.max(1, steps.findIndex((one) => one.value >= said));
  const [low, high] = said > steps.at(-1).value ? steps.slice(-2) : [steps[above - 1], steps[above]];
  // Sizes are powers of the parameter, or exponentials of one that is a logarithm (lg_k).
  const way = sizes.parameter.startsWith("lg") ? (value) => value : Math.log;
  const share = (way(said) - way(low.value)) / (way(high.value) - way(low.value));
  return Math.exp(Math.log(low.memory) + share * (Math.log(high.memory) - Math.log(low.memory)));
}

export function guarantee(kind, params, perStream) {
  const size = memory(kind, params);
  const said = size === null ? "told when it runs: it depends on what comes" : `about ${bytes(size)}${perStream ? " for each stream" : ""}`;
  const other = kind.sizes ? kind.sizes.parameter : "";
  return h("dl", { class: "promise" },
    h("dt", {}, "Guarantee"), h("dd", {}, prose(kind.guarantee)),
    h("dt", {}, "Memory"), h("dd", { "data-memory": size === null ? "" : Math.round(size) }, said,
      other && h("small", {}, ` decided by ${other}${params[other] === undefined ? "" : ` = ${number(params[other])}`}`)),
    h("dt", {}, "Merges"), h("dd", {}, kind.mergeable ? "across streams, windows and sites" : "no: one summary for each stream"));
}
