// What moves on a page: its curves, and on the overview its parts, as the server sends them. Texts of the web come
// escaped within those parts; nothing here makes markup of a text.

const plots = new Map();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(place, series) {
  const axis = { stroke: colour("--soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { show: false } };
  const colours = ["--bar", "--second"];
  const lines = series.lines.map((line, at) => ({
    label: line.name,
    stroke: colour(colours[at % colours.length]),
    width: 2,
    fill: at === 0 ? colour("--area") : undefined,
    points: { show: series.at.length < 2 },
  }));
  return {
    width: place.clientWidth,
    height: place.clientHeight,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { y: { range: (_, low, high) => [0, high > 0 ? high * 1.08 : 1] } },
    axes: [{ ...axis, size: 26, space: 90, values: (_, ticks) => ticks.map((tick) => moment(tick, series.at)) }, { ...axis, size: 52, values: (_, ticks) => ticks.map(short) }],
    series: [{}, ...lines],
  };
}

function short(value) {
  if (value === null) return "";
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(value) >= size) return `${+(value / size).toPrecision(3)} ${unit}`;
  }
  return `${+value.toPrecision(3)}`;
}

function moment(seconds, at) {
  const long = at.length > 0 && at.at(-1) - at[0] > 172800;
  const style = long ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false };
  return new Intl.DateTimeFormat("en-GB", { ...style, timeZone: "UTC" }).format(new Date(1000 * seconds));
}

function columns(series) {
  return [series.at, ...series.lines.map((line) => line.values)];
}

function describe(place, series) {
  const last = series.lines.map((line) => `${line.name} ${short(line.values.at(-1) ?? 0)}`);
  place.setAttribute("aria-label", `${place.parentElement.querySelector("figcaption").textContent}: ${last.join(", ")}`);
}

function draw(place, series) {
  plots.get(place)?.plot?.destroy();
  const plot = place.clientWidth > 0 ? new uPlot(options(place, series), columns(series), place) : null;
  plots.set(place, { plot, series });
  describe(place, series);
}

function update(place, series) {
  const { plot } = plots.get(place) ?? {};
  if (!plot) return draw(place, series);
  plots.set(place, { plot, series });
  plot.setData(columns(series));
  describe(place, series);
}

function redraw() {
  for (const [place, { series }] of plots) draw(place, series);
}

// Whoever reads, selects or tabs within a part keeps it as it is.
function isInUse(part) {
  const selection = document.getSelection();
  const hasSelection = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  return hasSelection || part.contains(document.activeElement);
}

// What came for a part while it was in use is shown once nobody uses it any more.
const waiting = new Map();

function showParts(parts) {
  for (const [key, markup] of Object.entries(parts)) waiting.set(key, markup);
  for (const [key, markup] of waiting) {
    const part = document.getElementById(`part-${key}`);
    if (part && isInUse(part)) continue;
    waiting.delete(key);
    if (!part) continue;
    const made = new DOMParser().parseFromString(markup, "text/html");
    part.replaceChildren(...made.body.childNodes);
    drawWithin(part);
  }
  forgetGone();
}

function drawWithin(part) {
  for (const place of part.querySelectorAll("[data-plot]")) draw(place, JSON.parse(place.dataset.series));
}

function forgetGone() {
  for (const [place, { plot }] of plots) {
    if (place.isConnected) continue;
    plot?.destroy();
    plots.delete(place);
  }
}

function showSeries(all) {
  for (const place of document.querySelectorAll("[data-plot]")) {
    const series = all[place.dataset.plot];
    if (series) update(place, series);
  }
}

function follow(address) {
  let source = null;
  const begin = () => {
    source = new EventSource(address);
    source.addEventListener("parts", (event) => showParts(JSON.parse(event.data)));
    source.addEventListener("series", (event) => showSeries(JSON.parse(event.data)));
  };
  // Nobody looks at a hidden page: then nothing is asked of the crawl either.
  document.addEventListener("visibilitychange", () => {
    source?.close();
    source = null;
    if (!document.hidden) begin();
  });
  window.addEventListener("pagehide", () => source?.close());
  if (!document.hidden) begin();
}

drawWithin(document);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  redraw();
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
const AGAIN_MS = 1500;

// Whoever has begun to type is not interrupted.
function askAgain() {
  const fields = [...document.querySelectorAll("input")];
  if (document.hidden || fields.some((field) => field.value !== field.defaultValue)) setTimeout(askAgain, AGAIN_MS);
  else location.reload();
}

const { live } = document.querySelector("main").dataset;
if (live) follow(live);
if (document.querySelector("main[data-unfinished]")) setTimeout(askAgain, AGAIN_MS);
