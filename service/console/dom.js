// Elements. Whatever comes from the engine is hostile text: it becomes text nodes and attribute
// values only, never markup; the page's policy (Trusted Types) refuses markup from strings as well.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`onclick` and the like are listeners) and children. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  put(element, ...children);
  return element;
}

/** Make a drawing as wide as its place; the width, 0 as long as nobody sees it. */
export function fitted(drawing, place, height) {
  const width = place.clientWidth;
  if (width) {
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("width", width);
  }
  return width;
}

/** A text of our declarations: what stands between backticks is code. */
export const prose = (text) => text.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part));

/** In place of what was in it. */
export function put(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Tell a screen reader, without moving the focus. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

let made = 0;
export const newId = (word) => `${word}-${++made}`;
