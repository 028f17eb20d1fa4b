// The engine over HTTP, as any other program asks it.

/** What went wrong: the members of application/problem+json. */
export class Problem extends Error {
  constructor(status, members) {
    super(members.detail || members.title || "no answer");
    this.status = status;
    this.code = members.code || "";
    this.field = members.field || "";
  }
}

export const AWAY = 0; // the status of a gateway that does not answer
const _listeners = [];

/** Called with each Problem of status 401. */
export const onUnauthorized = (listener) => _listeners.push(listener);

export async function request(method, path, { body, headers = {}, signal } = {}) {
  let response;
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  try {
    response = await fetch(path, {
      method, signal, headers: { ...json, ...headers }, credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(AWAY, { detail: "the gateway does not answer" });
  }
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (response.status === 401) _listeners.forEach((listener) => listener(problem));
  throw problem;
}

/** The JSON of a reply. */
export async function ask(method, path, body, signal, headers = {}) {
  const response = await request(method, path, { body, signal, headers });
  return response.status === 204 ? null : response.json();
}

export const get = (path, signal) => ask("GET", path, undefined, signal);

/** All items of a list that comes in pages, of at most `most`. */
async function list(path, signal, most = 20000) {
  const found = [];
  let after = "";
  do {
    const joint = path.includes("?") ? "&" : "?";
    const page = await get(`${path}${joint}limit=2000${after}`, signal);
    found.push(...page.value);
    after = page.next === undefined ? "" : `&after=${encodeURIComponent(page.next)}`;
  } while (after && found.length < most);
  return found;
}

/** All synopses; of one data set, if the login named one, as a token for some of them must. */
export function synopses(signal) {
  const dataset = localStorage.getItem("dataset");
  return list(`/v1/synopses${dataset ? `?dataset=${encodeURIComponent(dataset)}` : ""}`, signal);
}

/** A path of texts: `path("v1", "synopses", uid)`. */
export const path = (...parts) => "/" + parts.map(encodeURIComponent).join("/");

let _kinds = null;

/** The declarations of all kinds, asked once a page. */
export function kinds(signal) {
  _kinds ??= get("/v1/kinds", signal).then((reply) => reply.value).catch((error) => {
    _kinds = null;
    throw error;
  });
  return _kinds;
}
