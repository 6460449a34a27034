// The answer, what it rests on, and how far to trust it.

const VERDICT_WORDS = {pass: "Pass", fail: "Fails", invalid: "Invalid", none: "No verdict"};

function headline(parts) {
  const oltp = parts.find((part) => part.kind === "oltp" && known(part.summary?.tps));
  if (oltp) return [figure(`${oltp.pointer}/tps`, count), ` TPS of ${oltp.name}, p99 response `,
                    figure(`${oltp.pointer}/response_ns/p99`, duration)];
  const raw = parts.find((part) => part.kind === "raw" && part.summary?.operations);
  if (!raw) return ["Nothing was measured"];
  return Object.keys(raw.summary.operations).flatMap((name, i) => [i ? "; " : "",
    figure(`${raw.pointer}/operations/${name}/iops`, count), ` ${name} IOPS, p99 response `,
    figure(`${raw.pointer}/operations/${name}/response_ns/p99`, duration)]);
}

const KEY_FIGURES = [["tps", "TPS", count], ["response_ns/mean", "mean response", duration],
                     ["response_ns/p99", "p99 response", duration],
                     ["response_ns/p999", "p99.9 response", duration]];

function keyFigures(parts) {
  return parts.filter((part) => part.kind === "oltp" && known(part.summary?.tps)).map((part) =>
    el("div", {class: "figures"}, el("div", {class: "part"}, part.name),
       KEY_FIGURES.map(([key, label, write]) => el("div", {class: "figure"},
         el("b", {}, figure(`${part.pointer}/${key}`, write)), el("span", {}, label)))));
}

function driveWords() {
  const drive = RUN.environment?.drive;
  const levels = (drive?.drives ?? []).map((name) =>
    drive.levels.find((level) => level.name === name)).filter(Boolean);
  const said = levels.map((level) => [level.model, bytes(level.size_bytes),
    level.firmware && `firmware ${level.firmware}`, level.node].filter(Boolean).join(", "));
  const system = drive?.file_system;
  if (system) said.push(`${system.type} at ${system.mount_point}`);
  return said.length ? said.join("; ") : null;
}

function badges() {
  const marks = {note: "note", doubt: "doubt", invalidates: "invalid"};
  const items = RUN.warnings.map((warning) => el("li", {class: warning.severity},
    el("b", {}, marks[warning.severity]), warning.text));
  if (!RUN.finished) {
    items.unshift(el("li", {class: "invalidates"}, el("b", {}, "cut"),
      "The run did not reach its end; every figure is of what was measured until then."));
  }
  if (items.length === 0) {
    items.push(el("li", {class: "ok"}, el("b", {}, "ok"), "No warning was raised."));
  }
  return el("ul", {class: "badges"}, items);
}

function verdictCard(parts) {
  const main = document.getElementById("report");
  const when = new Date(RUN.started_at).toLocaleString("en-GB",
    {dateStyle: "medium", timeStyle: "short", timeZone: "UTC"});
  const drive = driveWords();
  document.getElementById("contents").append(el("b", {}, "Plimsoll"),
                                             el("a", {href: "#verdict"}, "Result"));
  main.append(el("section", {id: "verdict"},
    el("h1", {}, `Plimsoll ${RUN.command} · ${RUN.target} · ${when} UTC`),
    el("div", {class: `card verdict ${RUN.verdict}`},
      el("p", {class: "sentence"}, ...headline(parts)),
      el("p", {}, `${VERDICT_WORDS[RUN.verdict] ?? RUN.verdict}${
        RUN.verdict_sentence ? `: ${RUN.verdict_sentence}` : ""}`),
      drive ? el("p", {class: "soft"}, `Drive: ${drive}`) : null,
      ...keyFigures(parts), badges())));
}

// --- transactions

function transactionSection(parts) {
  const rows = [];
  for (const part of parts.filter((one) => one.kind === "oltp" && known(one.summary?.tps))) {
    const row = (label, pointer, measure) => rows.push([label, figure(`${pointer}/tps`, count),
      measure, ...["mean", "p50", "p95", "p99", "p999", "max"].map((key) =>
        figure(`${pointer}/${measure}_ns/${key}`, duration))]);
    row(part.name, part.pointer, "response");
    row(part.name, part.pointer, "service");
    const names = Object.keys(part.summary.transactions);
    if (names.length > 1) {
      names.forEach((name) => row(name, `${part.pointer}/transactions/${name}`, "response"));
    }
  }
  if (rows.length === 0) return;
  section("transactions", "Transactions", el("div", {class: "card"},
    table(["transactions", "TPS", "time", "mean", "p50", "p95", "p99", "p99.9", "max"], rows)));
}

// --- what moves with what

const RELATION_HEADS = ["load", "moves with", "rho", "95 % interval", "lag", "seconds", "q",
                        "significant"];

function relationRow(finding, i) {
  const pointer = `/correlations/${i}`;
  const series = `${sourceWords(finding.source)} ${seriesWords(finding.name)}`;
  if (finding.outcome !== "ok") {
    return [seriesWords(finding.target), words(series), MISSING, MISSING, MISSING,
            figure(`${pointer}/n`, count), MISSING, finding.outcome];
  }
  return [seriesWords(finding.target), words(series), figure(`${pointer}/rho`, fraction),
          [figure(`${pointer}/low`, fraction), " … ", figure(`${pointer}/high`, fraction)],
          figure(`${pointer}/lag_s`, (value) => `${value} s`), figure(`${pointer}/n`, count),
          figure(`${pointer}/q`, probability), finding.significant ? "yes" : "no"];
}

function relationSection() {
  if (RUN.correlations.length === 0) return;
  const parts = [...new Set(RUN.correlations.map((finding) => finding.part))];
  const tried = RUN.correlations.filter((finding) => !finding.follows_load);
  const clear = tried.filter((finding) => finding.significant).length;
  const parent = section("relations", "What moves with what",
    el("p", {}, `${clear} of ${tried.length} pairs move together beyond chance. That alone is no ` +
      "cause: with closed-loop load a slower database also gives the device less to do."));
  for (const part of parts) {
    const own = RUN.correlations.map((finding, i) => ({finding, i}))
      .filter(({finding}) => finding.part === part)
      .sort((a, b) => Math.abs(b.finding.rho ?? 0) - Math.abs(a.finding.rho ?? 0));
    const strong = own.filter(({finding}) => finding.significant && !finding.follows_load);
    const weak = own.filter(({finding}) => !finding.significant && !finding.follows_load);
    const rates = own.filter(({finding}) => finding.follows_load);
    const shown = (list, css) => table(RELATION_HEADS,
      list.map(({finding, i}) => relationRow(finding, i)), list.map(() => css));
    const folded = (list, title) => (list.length ? fold(title, shown(list, "faint")) : null);
    parent.append(el("div", {class: "card"}, el("h3", {}, part),
      strong.length ? shown(strong, "strong") : null,
      folded(weak, `${weak.length} pairs without a relation beyond chance`),
      folded(rates, `${rates.length} pairs with I/O rates, which follow the load itself`)));
  }
  parent.append(fold("How this was computed", el("p", {},
    "Spearman's rank correlation of the measured steps, at the lag within ±5 s where it is " +
    "strongest. A lag above zero means that the load followed the series. Neighbouring seconds " +
    "resemble each other, so the p value counts only as many independent pairs as their " +
    "autocorrelation leaves; it is multiplied by the number of lags tried, and q corrects it for " +
    "all pairs of a part (Benjamini-Hochberg; I/O rates apart). Significant is q ≤ 0.05; under " +
    "20 seconds nothing is tested.")));
}

function worstSection() {
  const found = RUN.findings.map((finding, i) => ({finding, i}))
    .filter(({finding}) => finding.kind === "steadiness");
  if (found.length === 0) return;
  const parent = section("worst", "The worst second");
  for (const {finding, i} of found) {
    const pointer = `/findings/${i}/worst`;
    const rows = finding.worst.beside.map((one, k) => [
      `${sourceWords(one.source)} ${seriesWords(one.name)}`,
      figure(`${pointer}/beside/${k}/value`, (value) => written(value, one.unit)),
      figure(`${pointer}/beside/${k}/median`, (value) => written(value, one.unit))]);
    parent.append(el("div", {class: "card"},
      el("h3", {}, `${finding.part}: `, figure(`${pointer}/tps`, count), " TPS at ",
         figure(`${pointer}/offset_s`, clockTime), ", against ",
         figure(`/findings/${i}/tps_mean`, count), " on average (coefficient of variation ",
         figure(`/findings/${i}/tps_cv`, (value) => percent(value * 100)), ")"),
      rows.length ? table(["the device", "in that second", "median second"], rows) : null));
  }
}

// --- settings and the rest

function flatten(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, String(value ?? MISSING)]];
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object")) {
    return [[prefix, value.join(", ")]];
  }
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, prefix ? `${prefix}.${key}` : key));
}

const definitions = (object) => el("dl", {}, flatten(object).map(([key, value]) =>
  [el("dt", {}, key), el("dd", {}, value)]));

const METHODS = [
  ["Response time", "From the moment an operation was due to its end: what a user waits. With " +
    "closed-loop arrivals it is due when it is started."],
  ["Service time", "From the actual start to the end: what the device or the database took."],
  ["Percentiles", "From histograms of every operation, with buckets at most 0.1 % wide. " +
    "Histograms are merged over time and threads; percentiles are never averaged."],
  ["Clock", "CLOCK_MONOTONIC, read at the start and the end of each operation."],
  ["Device", "The kernel's block layer, sampled at the end of each interval; it sees all users " +
    "of the device. Mean latencies without tracing are a step's whole milliseconds over its " +
    "operations."],
  ["TPS", "Transactions that succeeded in the measured part, over its length."],
];

function closingSections(parts) {
  section("repeat", "How to repeat it", el("div", {class: "card"}, el("pre", {}, DATA.repeat),
    el("p", {class: "soft"}, `Plimsoll ${RUN.version}, seed ${RUN.seed}. Record: ${RUN.run_dir}`)));
  const settings = parts.map((part) => fold(part.name, definitions(part.summary?.spec ?? {})));
  section("settings", "Settings and environment", el("div", {class: "card"},
    fold("Options", definitions(RUN.options)), settings,
    Object.entries(RUN.environment ?? {}).map(([key, value]) => fold(key.replaceAll("_", " "),
      definitions(typeof value === "object" && value ? value : {[key]: value})))));
  const meanings = [...new Map(RUN.warnings.map((one) => [one.id, one.meaning])).entries()];
  section("methods", "How each number was measured", el("div", {class: "card"},
    el("dl", {}, METHODS.map(([term, text]) => [el("dt", {}, term), el("dd", {}, text)])),
    meanings.length ? fold("What the warnings mean", el("dl", {}, meanings.map(([id, text]) =>
      [el("dt", {}, id), el("dd", {}, text)]))) : null,
    fold("Licence of the plot library", el("pre", {},
      document.getElementById("library-licence").textContent))));
}
