// Latency against percentile, stretched so that each further nine is as wide as the one before.

const NINES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
const ninesLabel = (x) => {
  if (x <= 1) return "0 %";
  const digits = Math.max(0, Math.round(Math.log10(x)) - 2);
  return `${(100 * (1 - 1 / x)).toFixed(digits)} %`;
};
const PALETTE = ["tps", "write", "flush", "low", "mid", "high", "read", "soft"];
const DASHES = [undefined, [6, 3], [2, 3]];

function join(curves) {
  const [x, ...values] = uPlot.join(curves.map((curve) =>
    [curve.points.map((point) => point[0]), curve.points.map((point) => point[1])]));
  return {x, values};
}

function percentileChart(parent, curves, title, name, note) {
  if (curves.length === 0) return;
  const {x, values} = join(curves);
  addChart(parent, {
    title, note, name, height: 280,
    x: {values: x, range: [1, x.at(-1) * 1.2], label: "percentile", legend: "percentile",
        csv: "1/(1-p)", log: 10,
        splits: NINES.filter((nine) => nine <= x.at(-1)), write: ninesLabel},
    y: {label: "latency", unit: "ns", log: true},
    series: curves.map((curve, i) => ({
      label: curve.label, values: values[i], unit: "ns", spanGaps: true,
      colour: PALETTE[i % PALETTE.length], dash: DASHES[Math.floor(i / PALETTE.length) % 3],
    })),
  });
}

function curvesOf(parts, kind, keep, label) {
  return parts.filter((part) => part.kind === kind).flatMap((part) =>
    part.percentiles.filter(keep).map((curve) => ({...curve, label: label(part, curve)})));
}

function oltpTitle(parts) {
  const first = parts.find((part) => part.kind === "oltp" && part.summary?.response_ns);
  if (!first) return ["Transactions"];
  return [`${first.name}: half of the transactions within `,
          figure(`${first.pointer}/response_ns/p50`, duration), ", 99 % within ",
          figure(`${first.pointer}/response_ns/p99`, duration), ", all within ",
          figure(`${first.pointer}/response_ns/max`, duration)];
}

// From the raw operation with the lowest p99 to the one with the highest.
function rawTitle(parts) {
  const all = parts.filter((part) => part.kind === "raw").flatMap((part) =>
    Object.keys(part.summary?.operations ?? {}).map((name) => ({
      label: `${part.name.replace(/^raw /, "")}, ${name}`,
      pointer: `${part.pointer}/operations/${name}/response_ns/p99`,
    }))).filter((one) => known(at(one.pointer)));
  all.sort((a, b) => at(a.pointer) - at(b.pointer));
  if (all.length === 0) return ["Raw operations"];
  const shown = all.length === 1 ? all : [all[0], all.at(-1)];
  return ["Raw p99: ", ...shown.flatMap((one, i) => [i ? " … " : "", figure(one.pointer, duration),
                                                     ` (${one.label})`])];
}

function percentileSection(parts) {
  if (!parts.some((part) => part.percentiles.length > 0)) return;
  const parent = section("percentiles", "Percentiles");
  percentileChart(parent, curvesOf(parts, "oltp", (curve) => curve.source === "oltp",
    (part, curve) => `${curve.operation === part.name ? "" : `${part.name} `}${curve.operation} ${
      curve.measure}`), oltpTitle(parts), "transaction percentiles",
    "Every measured transaction is counted; the right end of each line is its slowest one.");
  percentileChart(parent, curvesOf(parts, "raw",
    (curve) => curve.source === "raw" && curve.measure === "response",
    (part, curve) => `${part.name.replace(/^raw /, "")}, ${curve.operation}`),
    rawTitle(parts), "raw percentiles",
    "Response time. Click a name below to hide or show its line.");
  percentileChart(parent, curvesOf(parts, "oltp", (curve) => curve.source.startsWith("device:"),
    (part, curve) =>
      `${part.name} ${sourceWords(curve.source)} ${curve.operation} ${curve.measure}`),
    ["What the device took under the database"], "device percentiles",
    "From each request as the kernel saw it: d2c from driver to completion, q2c from the queue.");
}
