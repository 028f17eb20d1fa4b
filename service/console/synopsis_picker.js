// Which synopsis a screen is about: a field with suggestions, kept in the address.

import { synopses } from "./api.js";
import { h, newId } from "./dom.js";
import { empty, field, input, link, select } from "./parts.js";

const MOST_SUGGESTED = 500;

/** null if there is none that fits: then the place says what to do. */
export async function pick(view, query, signal, { fits = () => true, none, screen }) {
  const all = (await synopses(signal)).filter(fits);
  if (!all.length) {
    view.append(empty(none, link("Create one", "#/create", "button main")));
    return null;
  }
  const asked = all.find((one) => one.uid === query.get("uid"));
  const chosen = asked ?? all[0];
  const control = all.length <= MOST_SUGGESTED ? select(all.map((one) => one.uid), chosen.uid, { name: "uid" }) : typed(all, chosen);
  control.addEventListener("change", () => {
    if (all.some((one) => one.uid === control.value)) location.hash = `#/${screen}?uid=${encodeURIComponent(control.value)}`;
  });
  return { chosen, element: field("Synopsis", control, `${chosen.kind} of ${chosen.dataset}`) };
}

function typed(all, chosen) {
  const id = newId("uids");
  const control = input({ name: "uid", value: chosen.uid, list: id });
  const suggestions = h("datalist", { id }, all.slice(0, MOST_SUGGESTED).map((one) => h("option", { value: one.uid })));
  queueMicrotask(() => control.after(suggestions));
  return control;
}
