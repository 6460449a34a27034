// What the load got and what the device did, over one time axis.

const OPERATIONS = ["read", "write", "flush"];

const seriesOf = (part, source, name) =>
  part.timeline.series.find((one) => one.source === source && one.name === name);

function measuredOnly(part, values) {
  return values.filter((value, i) => part.timeline.measured[i] && known(value));
}

function mean(part, values) {
  const kept = measuredOnly(part, values);
  return kept.length ? kept.reduce((sum, value) => sum + value, 0) / kept.length : null;
}

function extreme(part, series, better) {
  let found = -1;
  series.values.forEach((value, i) => {
    if (!part.timeline.measured[i] || !known(value)) return;
    if (found < 0 || better(value, series.values[found])) found = i;
  });
  return found;
}

// Shades warm-up and marks the worst step and the events, behind the lines.
function marks(part, worst) {
  const {time_s: times, measured, step_s: step} = part.timeline;
  const band = (plot, from, to, fill) => {
    const left = Math.max(plot.valToPos(from, "x", true), plot.bbox.left);
    const right = Math.min(plot.valToPos(to, "x", true), plot.bbox.left + plot.bbox.width);
    if (right <= left) return;
    plot.ctx.fillStyle = fill;
    plot.ctx.fillRect(left, plot.bbox.top, right - left, plot.bbox.height);
  };
  const draw = (plot) => {
    plot.ctx.save();
    times.forEach((time, i) => measured[i] || band(plot, time, time + step, colour("shade")));
    plot.ctx.globalAlpha = 0.22;
    if (worst >= 0) band(plot, times[worst], times[worst] + step, colour("mark"));
    plot.ctx.globalAlpha = 0.4;
    const hair = (plot.posToVal(2, "x") - plot.posToVal(0, "x")) / 2;
    for (const event of part.events) {
      band(plot, event.at_s, event.at_s + Math.max(event.length_s, hair), colour("doubt"));
    }
    plot.ctx.restore();
  };
  return {hooks: {drawClear: [draw]}};
}

function timeChart(parent, part, group, worst, chart) {
  if (chart.series.length === 0) return;
  addChart(parent, {
    height: 200, group, plugins: [marks(part, worst)], ...chart,
    // A step's value stands in its middle, so that events fall on the steps they fell in.
    x: {values: part.timeline.time_s.map((time) => time + part.timeline.step_s / 2),
        csvValues: part.timeline.time_s, label: "time since the measured part began (min:s)",
        legend: "time", csv: "seconds", time: true, write: clockTime},
  });
}

const line = (series, label, colourName, extra = {}) =>
  ({label, values: series.values, colour: colourName, unit: series.unit, ...extra});

function lines(part, source, wanted) {
  return wanted.flatMap(([name, label, colourName, extra]) => {
    const series = seriesOf(part, source, name);
    return series ? [line(series, label, colourName, extra)] : [];
  });
}

function tpsChart(parent, part, group, worst) {
  const tps = seriesOf(part, "oltp", "tps");
  if (!tps) return;
  const title = [figure(`${part.pointer}/tps`, count), " TPS on average"];
  if (worst >= 0) title.push(`; the worst step got ${count(tps.values[worst])}, at ` +
                             clockTime(part.timeline.time_s[worst]));
  timeChart(parent, part, group, worst, {
    title, name: `${part.name} tps`,
    note: "Transactions that succeeded, a second. The worst step is marked through all charts; " +
      "grey is not part of the figures (warm-up, a short last step).",
    y: {label: "TPS", unit: "per_s"},
    series: lines(part, "oltp",
                  [["tps", "TPS", "tps"], ["errors_per_s", "errors a second", "bad"]]),
  });
}

function responseChart(parent, part, group, worst, prefix = "", source = "oltp") {
  const p99 = seriesOf(part, source, `${prefix}response_p99`);
  if (!p99) return;
  const slowest = extreme(part, p99, (a, b) => a > b);
  const pointer = source === "oltp" ? part.pointer
                                    : `${part.pointer}/operations/${prefix.slice(0, -1)}`;
  const title = [capital(`${prefix.replace("_", " ")}response p99 `),
                 figure(`${pointer}/response_ns/p99`, duration), " over the whole part"];
  if (slowest >= 0) title.push(`; ${duration(p99.values[slowest])} in its slowest step, at ` +
                               clockTime(part.timeline.time_s[slowest]));
  timeChart(parent, part, group, worst, {
    title, name: `${part.name} ${prefix}response`,
    note: source === "oltp" ? "Response time: from the intended start to the end, retries included."
                            : "Response time: from the intended start to the end.",
    y: {label: "response time", unit: "ns", log: true},
    series: lines(part, source, [[`${prefix}response_p50`, "p50", "low"],
      [`${prefix}response_p99`, "p99", "mid"], [`${prefix}response_p999`, "p99.9", "high"]]),
  });
}

function deviceCharts(parent, part, group, worst, source) {
  const device = sourceWords(source);
  const rates = lines(part, source, OPERATIONS.map((name) => [`${name}_iops`, name, name]));
  const said = rates.map((one) => `${count(mean(part, one.values))} ${one.label}${
    one.label === "flush" ? "es" : "s"}`).join(", ");
  timeChart(parent, part, group, worst, {
    title: [`${device} served ${said} a second`], name: `${part.name} ${device} iops`,
    note: "Operations that the device completed, a second, from the kernel's block layer; all " +
      "that used the device is in it.",
    y: {label: "IOPS", unit: "per_s"}, series: rates,
  });
  const latencies = lines(part, source, OPERATIONS.flatMap((name) =>
    [[`${name}_mean`, `${name} mean`, name],
     [`${name}_p99`, `${name} p99`, name, {dash: [5, 3]}]]));
  timeChart(parent, part, group, worst, {
    title: [slowestWords(part, latencies) ?? `${device} latency`],
    name: `${part.name} ${device} latency`,
    note: "Time an operation took in the device. Means come from the kernel's block statistics: " +
      "the whole milliseconds of a step over its operations; p99 where each one was traced.",
    y: {label: "device latency", unit: "ns", log: true}, series: latencies,
  });
}

// The device operation that slowed most against its own median.
function slowestWords(part, latencies) {
  let worst = null;
  for (const one of latencies) {
    const sorted = measuredOnly(part, one.values).sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)];
    const peak = sorted.at(-1);
    if (!(median > 0) || (worst && peak / median <= worst.peak / worst.median)) continue;
    const time = part.timeline.time_s[extreme(part, one, (a, b) => a > b)];
    worst = {label: one.label, median, peak, time};
  }
  return worst && `${capital(worst.label)} latency: median ` +
    `${duration(worst.median)}, slowest step ${duration(worst.peak)}, at ${clockTime(worst.time)}`;
}

const MACHINE_SERIES = [
  ["cpu", "user_pct", "CPU user", "low"], ["cpu", "system_pct", "CPU system", "mid"],
  ["psi", "some_pct", "some waiting for I/O", "write"],
  ["psi", "full_pct", "all waiting for I/O", "high"],
  ["cpu", "iowait_pct", "CPU iowait", "soft", {dash: [5, 3]}],
  ["cpu", "steal_pct", "CPU steal", "bad", {dash: [5, 3]}],
  ["cpu", "self_user_pct", "Plimsoll user", "low", {dash: [2, 3]}],
  ["cpu", "self_system_pct", "Plimsoll system", "mid", {dash: [2, 3]}],
];

function machineChart(parent, part, group, worst) {
  const shares = MACHINE_SERIES.flatMap(([source, ...wanted]) => lines(part, source, [wanted]));
  timeChart(parent, part, group, worst, {
    title: [`On average ${shares.slice(0, 3).map((one) => `${one.label} ${
      percent(mean(part, one.values))}`).join(", ")}`], name: `${part.name} machine`,
    note: "Shares of the time: of all processors for the CPU; for waiting, in which some " +
      "task, or every task that was not idle, waited for I/O (pressure stall information).",
    y: {label: "percent of time", unit: "pct"},
    series: shares,
  });
}

function eventList(part) {
  if (part.events.length === 0) return null;
  return el("div", {class: "card"}, el("h3", {}, "Events"), table(["at", "kind", "what"],
    part.events.map((event) => [clockTime(event.at_s), words(event.kind), words(event.text)])));
}

function minuteView(part) {
  if (!part.timeline) return;
  const isOltp = part.kind === "oltp";
  const tps = isOltp ? seriesOf(part, "oltp", "tps") : null;
  const isSeries = tps && measuredOnly(part, tps.values).length > 1;
  const worst = isSeries ? extreme(part, tps, (a, b) => a < b) : -1;
  const parent = section(`minutes-${part.pointer.replaceAll("/", "-")}`, isOltp
    ? `${part.name}, second by second` : `${part.name.replace(/^raw /, "")}, second by second`);
  parent.append(el("p", {class: "soft"},
    "One time axis: drag to zoom all charts, double-click to go back."));
  const group = makeGroup(`minutes${part.pointer}`);
  if (isOltp) {
    tpsChart(parent, part, group, worst);
    responseChart(parent, part, group, worst);
  } else {
    rawCharts(parent, part, group);
  }
  const sources = [...new Set(part.timeline.series.map((one) => one.source))];
  for (const source of sources.filter((one) => one.startsWith("device:"))) {
    deviceCharts(parent, part, group, worst, source);
  }
  machineChart(parent, part, group, worst);
  const events = eventList(part);
  if (events) parent.append(events);
}

function rawCharts(parent, part, group) {
  const names = Object.keys(part.summary?.operations ?? {});
  const title = names.flatMap((name, i) => [i ? "; " : "",
    figure(`${part.pointer}/operations/${name}/iops`, count), ` ${name} IOPS`]);
  timeChart(parent, part, group, -1, {
    title, name: `${part.name} iops`, note: "Operations that Plimsoll completed, a second.",
    y: {label: "IOPS", unit: "per_s"},
    series: lines(part, "raw", names.map((name) => [`${name}_iops`, name, name])),
  });
  for (const name of names) responseChart(parent, part, group, -1, `${name}_`, "raw");
}
