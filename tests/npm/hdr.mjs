// HdrHistogram encodings, read and written by another implementation than Plimsoll's.
//   node hdr.mjs decode < LINES     a line: an encoding in hex; prints what it holds as JSON
//   node hdr.mjs encode < LINES     a line: {"digits": 3, "values": [[value, count], ...]}; prints hex
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64 } from "hdr-histogram-js";
import { readFileSync } from "node:fs";

const PERCENTS = [0.001, 1, 10, 50, 90, 95, 99, 99.9, 99.99, 100];

function decode(hex) {
  const base64 = Buffer.from(hex, "hex").toString("base64");
  const histogram = decodeFromCompressedBase64(base64, 64);
  return JSON.stringify({
    count: histogram.totalCount,
    max: histogram.maxValue,
    mean: histogram.mean,
    stddev: histogram.stdDeviation,
    percentiles: PERCENTS.map((percent) => [percent, histogram.getValueAtPercentile(percent)]),
  });
}

function encode(json) {
  const { digits, values } = JSON.parse(json);
  const histogram = build({
    bitBucketSize: 64,
    autoResize: true,
    numberOfSignificantValueDigits: digits,
  });
  for (const [value, count] of values) histogram.recordValueWithCount(value, count);
  return Buffer.from(encodeIntoCompressedBase64(histogram), "base64").toString("hex");
}

const work = { decode, encode }[process.argv[2]];
const lines = readFileSync(0, "utf8").split("\n").filter((line) => line !== "");
for (const line of lines) console.log(work(line));
