// Graphs of the last hour, drawn as SVG.

import { shape } from "/page.js";

/** The next round number at or above a value, in steps of 1, 2 and 5. */
export function roundUp(value) {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * unit >= value) * unit;
}

/**
 * Draws bars or an area over time into an element.
 *
 * @param series lists of numbers of equal length, the oldest first; those behind the first stand on top of it
 * @param options `kind` ("area" or "bars"), `label(value)` for the axis, `times` (texts below it), `title` for screen readers
 */
export function draw(element, series, options) {
  const width = Math.max(240, Math.round(element.clientWidth));
  const height = options.height ?? 180;
  const [top, bottom] = options.bare ? [2, 2] : [22, 24];
  const points = series[0].length;
  const sums = series[0].map((_, index) => series.reduce((sum, values) => sum + values[index], 0));
  const highest = roundUp(Math.max(...sums, 0));
  const x = (index) => (width * index) / Math.max(1, points - (options.kind === "bars" ? 0 : 1));
  const y = (value) => height - bottom - ((height - top - bottom) * value) / highest;
  const drawing = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": options.title ?? "" });
  if (!options.bare) {
    for (const value of [highest, highest / 2, 0]) {
      drawing.append(shape("line", { x1: 0, x2: width, y1: y(value), y2: y(value), class: "grid" }));
      if (value) drawing.append(shape("text", { x: 0, y: y(value) - 5, class: "axis" }, options.label(value)));
    }
    options.times.forEach((text, index, all) => {
      const anchor = index === 0 ? "start" : index === all.length - 1 ? "end" : "middle";
      drawing.append(shape("text", { x: (width * index) / (all.length - 1), y: height - 6, class: "axis", "text-anchor": anchor }, text));
    });
  }
  if (options.kind === "bars") {
    const gap = points > width / 5 ? 0.5 : 2;
    const base = new Array(points).fill(0);
    series.forEach((values, number) => values.forEach((value, index) => {
      if (!value) return;
      const low = y(base[index]);
      const high = y(base[index] + value);
      base[index] += value;
      drawing.append(shape("rect", {
        x: x(index) + gap / 2, y: Math.min(high, low - 1), width: Math.max(0.5, x(1) - x(0) - gap), height: Math.max(1, low - high),
        class: `series-${number}`,
      }));
    }));
  } else {
    const line = series[0].map((value, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    drawing.append(
      shape("path", { d: `${line}L${x(points - 1)} ${y(0)}L${x(0)} ${y(0)}Z`, class: "area" }),
      shape("path", { d: line, class: "line" }));
  }
  element.replaceChildren(drawing);
}
