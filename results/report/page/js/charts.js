// One kind of chart for all: a title that says what was found, axes with units, a legend that
// follows the cursor, and its data as CSV.

const plots = [];  // {host, build, plot}: built again when the colours change

const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// 1-2-5 steps for log axes; closer ones where the range is short.
function logSplits(low, high) {
  for (const steps of [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]]) {
    const splits = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power) {
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= low && value <= high) splits.push(value);
      }
    }
    if (splits.length >= 3) return splits;
  }
  return [low, high];
}

const FONT = "12px system-ui, sans-serif";

function axis(options) {
  return {
    stroke: colour("soft"), font: FONT, labelFont: FONT,
    grid: {stroke: colour("line"), width: 1}, ticks: {stroke: colour("line"), width: 1, size: 4},
    labelSize: 18, ...options,
  };
}

function valueAxis(y, isRight) {
  return axis({
    scale: y.scale ?? "y", side: isRight ? 1 : 3, label: y.label,
    grid: {show: !isRight, stroke: colour("line"), width: 1},
    values: (plot, splits) => splits.map((value) => written(value, y.unit, true)),
    ...(y.log ? {splits: (plot, i, low, high) => logSplits(low, high),
                 filter: (plot, splits) => splits} : {}),
    // The same for all, so that charts over one time axis stand exactly above each other.
    size: 72,
  });
}

function valueScale(y) {
  if (y.log) return {distr: 3, range: (plot, low, high) =>
    (known(low) && low > 0 ? [low * 0.8, high * 1.25] : [1, 10])};
  return {range: (plot, low, high) => [0, known(high) && high > 0 ? high * 1.08 : 1]};
}

const positive = (values) => values.map((value) => (value > 0 ? value : null));

// chart: {title [nodes], note, name (of the CSV), height,
//   x {values, csvValues?, label, write, and time or splits; log?, range?},
//   y and optionally y2 {label, unit, log?, scale}, series [{label, values, colour, unit, dash?,
//   onRight?, points?}], group?, plugins?}
function addChart(parent, chart) {
  const host = el("div", {class: "plot"});
  const heads = [chart.x.csv ?? chart.x.label, ...chart.series.map((one) =>
    `${one.label}${one.unit ? ` (${one.unit})` : ""}`)];
  const save = el("button", {type: "button", title: "The data of this chart",
    onclick: () => download(chart.name, heads, [chart.x.csvValues ?? chart.x.values,
                                                ...chart.series.map((one) => one.values)])}, "CSV");
  parent.append(el("div", {class: "card chart"},
                   el("header", {}, el("h3", {}, ...chart.title), save),
                   chart.note ? el("p", {class: "soft"}, chart.note) : null, host));
  const entry = {host, chart, plot: null};
  plots.push(entry);
  build(entry);
}

const TIME_STEPS = [.1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600];

function xAxis(x) {
  const base = {label: x.label, size: 30, space: 64};
  if (x.time) {
    return axis({...base, values: (plot, splits) => splits.map(clockTime), incrs: TIME_STEPS});
  }
  return axis({...base, splits: () => x.splits, filter: (plot, splits) => splits,
               values: (plot, splits) => splits.map((value) => x.write(value))});
}

// A value between two gaps would not be seen as a line.
const hasLonely = (values) => values.some((value, i) =>
  known(value) && !known(values[i - 1]) && !known(values[i + 1]));

function plotSeries(one, y, y2) {
  const scale = one.onRight ? y2.scale : "y";
  const isLog = (one.onRight ? y2 : y).log;
  return {
    data: isLog ? positive(one.values) : one.values,
    options: {
      label: one.label, scale, stroke: colour(one.colour), width: 1.6, dash: one.dash,
      spanGaps: Boolean(one.spanGaps),
      points: one.points || (!one.spanGaps && hasLonely(one.values))
        ? {show: true, size: 5, fill: colour(one.colour)} : {show: false},
      value: (plot, value) => written(value, one.unit),
    },
  };
}

function build(entry) {
  const {host, chart} = entry;
  entry.plot?.destroy();
  const {x, y, y2} = chart;
  const made = chart.series.map((one) => plotSeries(one, y, y2));
  const scales = {x: {time: false, ...(x.log ? {distr: 3, log: x.log} : {}),
                      ...(x.range ? {range: () => x.range} : {})},
                  y: valueScale(y)};
  if (y2) scales[y2.scale] = valueScale(y2);
  const xSeries = {label: x.legend ?? x.label,
                   value: (plot, value) => (value === null ? MISSING : x.write(value))};
  entry.plot = new uPlot({
    width: Math.max(240, host.clientWidth), height: chart.height ?? 230, scales,
    axes: [xAxis(x), valueAxis(y, false), ...(y2 ? [valueAxis(y2, true)] : [])],
    series: [xSeries, ...made.map((one) => one.options)],
    cursor: {sync: chart.group ? {key: chart.group.name} : undefined, points: {size: 6},
             drag: {x: true, y: false, setScale: true}},
    plugins: chart.plugins ?? [],
    hooks: chart.group ? {setScale: [(plot, key) => key === "x" && chart.group.zoom(plot)]} : {},
  }, [x.values, ...made.map((one) => one.data)], host);
  chart.group?.add(host, entry.plot);
}

// Charts over one time axis: where one zooms, all do.
function makeGroup(name) {
  const members = new Map();
  let isZooming = false;
  return {
    name,
    add: (host, plot) => members.set(host, plot),
    zoom(plot) {
      if (isZooming) return;
      isZooming = true;
      const {min, max} = plot.scales.x;
      for (const other of members.values()) {
        const own = other.scales.x;
        if (other !== plot && (own.min !== min || own.max !== max)) other.setScale("x", {min, max});
      }
      isZooming = false;
    },
  };
}

function watchSizeAndColours() {
  const fit = new ResizeObserver((changes) => {
    // In the next frame: a plot that grows while sizes are being observed starts them over.
    requestAnimationFrame(() => changes.forEach(({target, contentRect}) => {
      const {plot} = plots.find((one) => one.host === target);
      const width = Math.max(240, Math.floor(contentRect.width));
      if (plot.width !== width) plot.setSize({width, height: plot.height});
    }));
  });
  for (const entry of plots) fit.observe(entry.host);
  const again = () => plots.forEach(build);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  addEventListener("beforeprint", again);
  addEventListener("afterprint", again);
}
