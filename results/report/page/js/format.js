// Figures as people read them; missing is "–".

const MISSING = "–";
const known = (value) => typeof value === "number" && Number.isFinite(value);

// Three digits, zeros kept so that columns align; `isShort` drops them for axes.
function significant(value, isShort = false) {
  if (value === 0) return "0";
  const decimals = Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString("en-US", {
    maximumFractionDigits: decimals, minimumFractionDigits: isShort ? 0 : decimals,
  });
}

function scaled(value, isShort, units, factor) {
  let unit = 0;
  while (Math.abs(value) >= factor && unit < units.length - 1) {
    value /= factor;
    ++unit;
  }
  const isWhole = unit === 0 && Number.isInteger(value);
  return `${significant(value, isShort || isWhole)}${units[unit]}`;
}

const duration = (ns, isShort) =>
  (known(ns) ? scaled(ns, isShort, [" ns", " µs", " ms", " s"], 1000) : MISSING);

const bytes = (value, isShort) =>
  (known(value) ? scaled(value, isShort, [" B", " KiB", " MiB", " GiB", " TiB"], 1024) : MISSING);

// Thousands in full up to 9,999; then K and M.
function count(value, isShort) {
  if (!known(value)) return MISSING;
  if (Math.abs(value) < 1e4) return significant(value, isShort || Number.isInteger(value));
  return scaled(value / 1e3, isShort, [" K", " M", " G"], 1000);
}

const fraction = (value) => (known(value) ? value.toFixed(2) : MISSING);
const percent = (value) => (known(value) ? `${significant(value, true)} %` : MISSING);

function probability(value) {
  if (!known(value)) return MISSING;
  return value < 0.001 ? "< 0.001" : value.toFixed(3);
}

// Seconds on a time axis: 1:05, -0:10 before the measured part.
function clockTime(seconds) {
  const whole = Math.round(Math.abs(seconds) * 10) / 10;
  const minutes = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  const rest = significant(whole % 60, true);
  const padded = whole % 60 < 10 ? `0${rest}` : rest;
  const head = hours ? `${hours}:${String(minutes).padStart(2, "0")}` : `${minutes}`;
  return `${seconds < 0 ? "-" : ""}${head}:${padded}`;
}

// How a value of a unit of the record is written.
const WRITERS = {
  ns: duration,
  per_s: count,
  bytes_per_s: (value, isShort) => `${bytes(value, isShort)}/s`,
  bytes,
  pct: percent,
  "": count,
};
const written = (value, unit, isShort) =>
  (known(value) ? (WRITERS[unit] ?? count)(value, isShort) : MISSING);

// Words for the names that the record gives to series.
const NAME_WORDS = {
  tps: "TPS", response_mean: "mean response", response_p50: "p50 response",
  response_p99: "p99 response", response_p999: "p99.9 response", service_p99: "p99 service",
  errors_per_s: "errors a second",
};
const SUFFIX_WORDS = [
  ["_bytes_per_s", "bytes a second"], ["_iops", "IOPS"], ["_mean", "mean latency"],
  ["_p99", "p99 latency"], ["_pct", "%"],
];
function seriesWords(name) {
  if (NAME_WORDS[name]) return NAME_WORDS[name];
  for (const [suffix, words] of SUFFIX_WORDS) {
    if (!name.endsWith(suffix)) continue;
    return `${name.slice(0, -suffix.length).replaceAll("_", " ")} ${words}`;
  }
  return name.replaceAll("_", " ");
}
const sourceWords = (source) => source.replace(/^device:/, "");
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
