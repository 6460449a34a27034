// The drive by itself: depth, commit latency against committers, every raw workload.

// Of the workloads with one stream, which is what has a depth.
const streamOf = (part) => (part.spec?.streams?.length === 1 ? part.spec.streams[0] : null);
const inFlight = (part) => streamOf(part).depth * streamOf(part).jobs;
const jobsOf = (part) => streamOf(part).jobs;

// "random read 4 KiB", "sequential write 8 KiB + flush".
function streamWords(stream) {
  const share = stream.read_percent;
  const what = share === 100 ? "read" : share === 0 ? "write" : `${share}/${100 - share} mixed`;
  const sizes = stream.blocks.map((block) => bytes(block.size_bytes, true)).join(" + ");
  const flushes = stream.fsync_every || stream.fdatasync_every;
  return `${stream.pattern} ${what} ${sizes}${flushes ? " + flush" : ""}`;
}

// Lists of parts that differ only in how much was in flight at once.
function ladders(parts, keyOf, sizeOf) {
  const lists = new Map();
  for (const part of parts) {
    const key = keyOf(part);
    if (key === null) continue;
    lists.set(key, [...(lists.get(key) ?? []), part]);
  }
  for (const list of lists.values()) list.sort((a, b) => sizeOf(a) - sizeOf(b));
  return [...lists.values()].filter((list) => new Set(list.map(sizeOf)).size > 1);
}

const distinct = (sizes) => [...new Set(sizes)].sort((a, b) => a - b);

function ladderChart(parent, options) {
  const {list, operation, measure, sizeOf, label, title, note, name} = options;
  const sizes = list.map(sizeOf);
  const value = (part, ...path) =>
    path.reduce((object, key) => object?.[key], part.operations[operation]) ?? null;
  addChart(parent, {
    title, note, name, height: 260,
    x: {values: sizes, label, log: 2, splits: distinct(sizes), write: String,
        range: [Math.min(...sizes) / 1.15, Math.max(...sizes) * 1.15]},
    y: {label: `${operation} IOPS`, unit: "per_s"},
    y2: {label: `${measure} time`, unit: "ns", log: true, scale: "latency"},
    series: [
      {label: "IOPS", values: list.map((part) => value(part, "iops")), colour: "read",
       unit: "per_s", points: true},
      {label: `${measure} p50`, values: list.map((part) => value(part, `${measure}_ns`, "p50")),
       colour: "low", unit: "ns", points: true, onRight: true, dash: [2, 3]},
      {label: `${measure} p99`, values: list.map((part) => value(part, `${measure}_ns`, "p99")),
       colour: "high", unit: "ns", points: true, onRight: true, dash: [5, 3]},
    ],
  });
}

function depthCharts(parent, parts) {
  const keyOf = (part) =>
    (streamOf(part)?.read_percent === 100 ? streamWords(streamOf(part)) : null);
  for (const list of ladders(parts, keyOf, inFlight)) {
    const best = list.reduce((a, b) =>
      (b.operations.read.iops > a.operations.read.iops ? b : a));
    ladderChart(parent, {
      list, operation: "read", measure: "response", sizeOf: inFlight,
      label: "reads in flight (depth × jobs)", name: `depth ${keyOf(list[0])}`,
      title: [`${capital(keyOf(list[0]))}: `, figure(`${best.pointer}/operations/read/iops`, count),
              ` IOPS at ${inFlight(best)} in flight, p99 `,
              figure(`${best.pointer}/operations/read/response_ns/p99`, duration)],
      note: "IOPS on the left axis, response time on the right, both against how many reads " +
        "Plimsoll kept in flight.",
    });
  }
}

function commitCharts(parent, parts) {
  const keyOf = (part) =>
    (streamOf(part) && part.operations.flush ? streamWords(streamOf(part)) : null);
  for (const list of ladders(parts, keyOf, jobsOf)) {
    const first = list[0];
    const pointer = `${first.pointer}/operations/flush/service_ns`;
    ladderChart(parent, {
      list, operation: "flush", measure: "service", sizeOf: jobsOf, label: "committers",
      name: `commit ${keyOf(first)}`,
      title: ["A flush takes ", figure(`${pointer}/p50`, duration),
              ` at the median with ${jobsOf(first)} committer${jobsOf(first) > 1 ? "s" : ""}, p99 `,
              figure(`${pointer}/p99`, duration)],
      note: "Log append, then flush, by each committer; flushes only, service time.",
    });
  }
}

function rawTable(parts) {
  const rows = parts.flatMap((part) => Object.keys(part.operations ?? {}).map((name) => {
    const pointer = `${part.pointer}/operations/${name}`;
    return [`${part.name.replace(/^raw /, "")}, ${name}`, figure(`${pointer}/iops`, count),
            name === "flush" ? MISSING
                             : figure(`${pointer}/bytes_per_s`, (value) => `${bytes(value)}/s`),
            ...["mean", "p50", "p99", "p999", "max"].map((key) =>
              figure(`${pointer}/response_ns/${key}`, duration)),
            figure(`${pointer}/service_ns/p99`, duration)];
  }));
  return el("div", {class: "card"}, table(
    ["workload, operation", "IOPS", "bandwidth", "mean", "p50", "p99", "p99.9", "max",
     "service p99"], rows));
}

function rawSection(parts) {
  const raw = parts.filter((part) => part.kind === "raw" && part.summary?.operations)
    .map((part) => ({...part.summary, name: part.name, pointer: part.pointer}));
  if (raw.length === 0) return;
  const parent = section("raw", "The drive by itself");
  depthCharts(parent, raw);
  commitCharts(parent, raw);
  parent.append(el("p", {class: "soft"}, "Latencies are response times unless a column says " +
    "service: response counts from the intended start, service from the actual one."),
    rawTable(raw));
}
