// Gives a list of sentences: what those who do not see the page, or see little, would miss.
// Colours are drawn and read back, as the browser mixes them.

const found = [];
const shown = (e) => e.checkVisibility() && e.getClientRects().length > 0;
const what = (e) => e.tagName.toLowerCase() + ' "' + (e.textContent || e.id).trim().slice(0, 40) + '"';
const name = (e) => (e.getAttribute("aria-label") || (e.labels && e.labels[0]?.textContent) || e.textContent || "").trim();
const all = (css) => [...document.querySelectorAll(css)].filter(shown);

for (const e of all("button, a, input, select, summary, meter")) if (!name(e)) found.push("no name: " + what(e));
for (const e of all("svg.plot")) if (!e.getAttribute("aria-label") && e.childElementCount) found.push("no label: a plot");
for (const e of all("table")) {
  if (!e.caption) found.push("no caption: " + what(e));
  if (!e.querySelector("thead th[scope=col]")) found.push("no headers: " + what(e));
}
if (all("h1").length !== 1) found.push("expected one h1");
for (const css of ["header", "nav[aria-label]", "main"]) if (!document.querySelector(css)) found.push("no landmark " + css);
const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
if (new Set(ids).size !== ids.length) found.push("an id is there twice");
if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window: " + document.documentElement.scrollWidth);

const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const colour = (text, below) => {
  pixel.fillStyle = below;
  pixel.fillRect(0, 0, 1, 1);
  pixel.fillStyle = text;
  pixel.fillRect(0, 0, 1, 1);
  const [r, g, b] = pixel.getImageData(0, 0, 1, 1).data;
  return [r, g, b];
};
const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
const ground = (e) => (e ? colour(getComputedStyle(e).backgroundColor, css(ground(e.parentElement))) : [255, 255, 255]);
const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
for (const e of all("body *")) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.closest(".unseen, .tile")) continue;
  const style = getComputedStyle(e);
  const below = ground(e);
  const text = colour(e.closest("svg") ? style.fill : style.color, css(below));
  const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) found.push(`contrast ${ratio.toFixed(2)}: ` + what(e));
}
return found;
