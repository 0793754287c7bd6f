// What ended lately, as bars: succeeded below, failed on top.

import { h, s } from "./dom.js";
import { local, number } from "./format.js";

const WIDTH = 600;
const HEIGHT = 120;
const BAR_SECONDS = 5;
const GAP = 1.5;

export function chart(series) {
  const bars = grouped(series);
  const top = niceTop(Math.max(...bars.map((bar) => bar.succeeded + bar.failed)));
  const width = WIDTH / bars.length;
  return h(
    "figure",
    { class: "chart" },
    s(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": summary(bars, series) },
      [0, 0.5].map((at) => s("line", { class: "rule", x1: 0, x2: WIDTH, y1: HEIGHT * at + 0.5, y2: HEIGHT * at + 0.5 })),
      bars.map((bar, index) => column(bar, index * width, width - GAP, top)),
    ),
    h(
      "figcaption",
      {},
      h("span", {}, local(series.start_at)),
      h("span", { class: "legend" }, h("i", { class: "good" }), "succeeded", h("i", { class: "bad" }), "failed"),
      h("span", {}, `top line: ${number(top)} in ${BAR_SECONDS} s`),
      h("span", {}, "now"),
    ),
  );
}

function grouped(series) {
  const bars = [];
  for (let from = 0; from < series.succeeded.length; from += BAR_SECONDS) {
    const sum = (list) => list.slice(from, from + BAR_SECONDS).reduce((a, b) => a + b, 0);
    bars.push({ from, succeeded: sum(series.succeeded), failed: sum(series.failed) });
  }
  return bars;
}

function column(bar, x, width, top) {
  const good = (bar.succeeded / top) * HEIGHT;
  const bad = (bar.failed / top) * HEIGHT;
  return s(
    "g",
    {},
    s("rect", { class: "good", x, width, y: HEIGHT - good, height: good }),
    s("rect", { class: "bad", x, width, y: HEIGHT - good - bad, height: bad }),
    s("title", {}, `${number(bar.succeeded)} succeeded, ${number(bar.failed)} failed`),
  );
}

function niceTop(most) {
  if (most <= 4) return 4;
  const scale = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 5, 10].map((step) => step * scale).find((step) => step >= most);
}

function summary(bars) {
  const total = (name) => number(bars.reduce((sum, bar) => sum + bar[name], 0));
  return `The last five minutes: ${total("succeeded")} succeeded, ${total("failed")} failed`;
}
