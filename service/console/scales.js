// Numbers to places on a plot, and where its ticks are.

/** From the values in `domain` to the pixels in `range`. */
export function scale([low, high], [first, last]) {
  const span = high - low || 1;
  return (value) => first + ((value - low) / span) * (last - first);
}

/** About `count` round numbers between two. */
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count) || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** What holds all values, with some room. */
export function extent(values) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const room = (high - low) * 0.08 || Math.abs(high) * 0.05 || 1;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}
