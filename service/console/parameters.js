// Controls for declared parameters: of a kind, or the arguments of a question.

import { field, input, select } from "./parts.js";

/** `elements` are for the form; `values` has what was said, in its type. */
export class Parameters {
  constructor(declared, given = {}) {
    this.controls = declared.map((one) => [one, control(one, given[one.name])]);
    this.elements = this.controls.map(([one, made]) => field(one.unit ? `${one.name} (${one.unit})` : one.name, made, hint(one)));
  }

  get values() {
    const said = this.controls.filter(([, made]) => made.value !== "");
    return Object.fromEntries(said.map(([one, made]) => [one.name, typed(one, made.value)]));
  }
}

function control(one, given) {
  const isNeeded = !("default" in one);
  const known = given ?? (isNeeded ? "" : undefined);
  if (one.type === "bool") return select([["", `${one.default ? "yes" : "no"} (default)`], ["true", "yes"], ["false", "no"]], "", { name: one.name });
  if (one.choices?.length) return select([["", `${one.default} (default)`], ...one.choices], "", { name: one.name });
  const isNumber = one.type === "int" || one.type === "float";
  return input({
    name: one.name, required: isNeeded, value: known, placeholder: isNeeded ? "" : String(one.default),
    inputmode: isNumber ? "decimal" : undefined,
  });
}

function typed(one, text) {
  if (one.type === "bool") return text === "true";
  if (one.type === "str" || one.choices?.length) return text;
  const found = Number(text);
  if (one.type === "int" || one.type === "float") return Number.isNaN(found) ? text : found;
  try {
    return JSON.parse(text);
  } catch {
    return text; // a key is a text in most cases
  }
}

const hint = (one) => [one.doc, one.expected].filter(Boolean).join(": ");
