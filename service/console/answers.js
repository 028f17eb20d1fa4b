// An answer as people read it: a number with its bounds, rows as a table, anything else as JSON.

import { h } from "./dom.js";
import { isNumber, moment, number, valueText } from "./format.js";
import { badge } from "./parts.js";
import { Table } from "./table.js";

const ASIDE = ["value", "lower", "upper", "confidence", "details", "status", "id", "request", "kind", "digest"];

const TIMES = new Set(["since", "from", "to", "end", "start"]);

export function answerView(reply, question) {
  return [value(reply, question), about(reply)];
}

function value(reply, question) {
  if (isNumber(reply.value)) return scalar(reply);
  if (Array.isArray(reply.value) && reply.value.length && typeof reply.value[0] === "object") return rows(reply.value, question);
  return h("pre", { class: "json", tabindex: "0" }, typeof reply.value === "string" ? reply.value : JSON.stringify(reply.value, null, 1));
}

function scalar(reply) {
  const bounds = isNumber(reply.lower) && isNumber(reply.upper)
    ? `between ${number(reply.lower)} and ${number(reply.upper)}` : "no bounds";
  const sure = isNumber(reply.confidence) ? (reply.confidence === 1 ? ", certainly" : `, with probability ${number(reply.confidence)}`) : "";
  return h("p", { class: "answer" }, h("strong", {}, number(reply.value)), " ", h("span", {}, bounds + sure));
}

/** Lists of objects, or of lists whose places the question names. */
function rows(items, question) {
  const isList = Array.isArray(items[0]);
  const names = isList ? items[0].map((_, place) => question?.columns?.[place] ?? String(place + 1)) : Object.keys(items[0]);
  const columns = names.map((name, place) => {
    const cell = (row) => (isList ? row[place] : row[name]);
    return { name, number: isNumber(cell(items[0])), value: cell, cell: (row) => valueText(cell(row) ?? "–") };
  });
  return new Table("The answer", columns).show(items);
}

function about(reply) {
  const fields = Object.entries(reply).filter(([name]) => !ASIDE.includes(name));
  return h("p", { class: "facts" }, fields.map(([name, said]) => badge(`${name} ${TIMES.has(name) ? moment(said) : valueText(said)}`)));
}
