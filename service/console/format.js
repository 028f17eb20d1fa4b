// Numbers, sizes and times as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value) {
  if (!isNumber(value)) return value === null || value === undefined ? "–" : String(value);
  if (Number.isInteger(value)) return whole.format(value);
  return Math.abs(value) < 1e-3 ? value.toPrecision(3) : precise.format(value);
}

/** For axes and tiles. */
export const compact = (value) => (isNumber(value) ? short.format(value) : "–");

export function bytes(value) {
  if (!isNumber(value)) return "–";
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export function time(ms) {
  return isNumber(ms) ? new Date(ms).toLocaleTimeString("en-GB") : "–";
}

export function moment(ms) {
  if (!isNumber(ms)) return "–";
  return new Date(ms).toISOString().replace("T", " ").slice(0, 19);
}

export function duration(ms) {
  if (!isNumber(ms)) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** A value of an answer: a number, a text, or what is made of several. */
export function valueText(value) {
  if (typeof value === "number") return number(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}
