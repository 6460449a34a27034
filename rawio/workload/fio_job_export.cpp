// A recorded workload as a fio job file.
#include <fmt/format.h>

#include "rawio/workload/fio_job.h"

namespace plimsoll {
namespace {

using Json = nlohmann::ordered_json;

std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == ':' ? "\\:" : std::string(1, c);
  return text;
}

std::string ms_text(const Json& ns) {
  return fmt::format("{}ms", ns.get<std::int64_t>() / 1'000'000);
}

std::string mode_of(const Json& stream) {
  const double reads = stream["read_percent"];
  const double trims = stream["trim_percent"];
  const std::string prefix = stream["pattern"] == "random" ? "rand" : "";
  if (reads == 100) return prefix + "read";
  if (trims == 100) return prefix + "trim";
  if (reads == 0 && trims == 0) return prefix + "write";
  return prefix + "rw";
}

std::string block_lines(const Json& blocks) {
  if (blocks.size() == 1)
    return fmt::format("bs={}\n", blocks[0]["size_bytes"].get<std::uint64_t>());
  std::string text;
  for (const auto& block : blocks) {
    text += fmt::format("{}{}/{:g}", text.empty() ? "bssplit=" : ":",
                        block["size_bytes"].get<std::uint64_t>(), block["percent"].get<double>());
  }
  return text + "\n";
}

std::string rate_lines(const Json& stream) {
  if (!stream["rate_per_s"].is_number()) return "";
  const double rate = stream["rate_per_s"].get<double>() / stream["jobs"].get<double>();
  std::string text = fmt::format("rate_iops={:.0f}\n", rate);
  if (stream["arrivals"] == "poisson") text += "rate_process=poisson\n";
  return text + "# fio's rate counts latency from the actual start, and waits for slow requests\n";
}

std::string pattern_lines(const Json& stream) {
  std::string text;
  const std::string distribution = stream["distribution"];
  if (distribution != "random") text += "random_distribution=" + distribution + "\n";
  if (stream["pattern"] == "random" && stream["no_repeat"] == false) text += "norandommap=1\n";
  if (stream["pattern"] == "strided") {
    text += fmt::format("# fio has no such stride: {} bytes from start to start\n",
                        stream["stride_bytes"].get<std::uint64_t>());
  }
  const double compress = stream["compress_percent"];
  const double dedupe = stream["dedupe_percent"];
  if (compress > 0) text += fmt::format("buffer_compress_percentage={:.0f}\n", compress);
  if (dedupe > 0) text += fmt::format("dedupe_percentage={:.0f}\n", dedupe);
  if (compress == 0 && dedupe == 0) text += "refill_buffers=1\n";
  return text;
}

std::string pace_lines(const Json& stream) {
  std::string text;
  const auto number = [&](const char* key, const char* option, std::uint64_t usual) {
    const auto value = stream[key].get<std::uint64_t>();
    if (value != usual) text += fmt::format("{}={}\n", option, value);
  };
  number("fsync_every", "fsync", 0);
  number("fdatasync_every", "fdatasync", 0);
  number("submit_batch", "iodepth_batch_submit", 0);
  number("reap_batch", "iodepth_batch_complete_min", 1);
  if (stream["write_sync"] != "none") text += "sync=dsync\n";
  if (stream["think_ns"] != 0) {
    text += fmt::format("thinktime={}us\nthinktime_blocks={}\n",
                        stream["think_ns"].get<std::int64_t>() / 1000,
                        stream["think_every"].get<std::uint64_t>());
  }
  return text;
}

std::string place_lines(const Json& stream, const std::vector<FioExportTarget>& targets) {
  const auto number = stream["target"].get<std::size_t>();
  const FioExportTarget target = number < targets.size() ? targets[number] : FioExportTarget();
  std::string text = target.folder
                         ? fmt::format("directory={}\nfilename=plimsoll-{}\n", target.path, number)
                         : fmt::format("filename={}\n", escaped(target.path));
  const auto offset = stream["span_offset_bytes"].get<std::uint64_t>();
  const auto span = stream["span_bytes"].get<std::uint64_t>();
  if (offset != 0) text += fmt::format("offset={}\n", offset);
  if (span != 0 || target.size_bytes > offset) {
    text += fmt::format("size={}\n", span != 0 ? span : target.size_bytes - offset);
  }
  return text;
}

std::string section_of(const Json& stream, const std::vector<FioExportTarget>& targets) {
  std::string text = fmt::format("[{}]\n", stream["name"].get<std::string>());
  text += place_lines(stream, targets) + fmt::format("rw={}\n", mode_of(stream));
  if (mode_of(stream).ends_with("rw")) {
    text += fmt::format("rwmixread={:.0f}\n", stream["read_percent"].get<double>());
    if (stream["trim_percent"] != 0) text += "# fio can't mix trims into reads and writes\n";
  }
  text += block_lines(stream["blocks"]);
  text += fmt::format("iodepth={}\nnumjobs={}\n", stream["depth"].get<std::uint64_t>(),
                      stream["jobs"].get<std::uint64_t>());
  return text + rate_lines(stream) + pattern_lines(stream) + pace_lines(stream);
}

}  // namespace

std::string to_fio_job(const Json& spec, const std::vector<FioExportTarget>& targets) {
  std::string common =
      fmt::format("ioengine={}\ndirect=1\nrandseed={}\n", spec["engine"].get<std::string>(),
                  spec["seed"].get<std::uint64_t>());
  if (spec["runtime_ns"] != 0) common += "runtime=" + ms_text(spec["runtime_ns"]) + "\n";
  if (spec["runtime_ns"] != 0 && spec["bytes"] == 0) common += "time_based=1\n";
  if (spec["warm_up_ns"] != 0) common += "ramp_time=" + ms_text(spec["warm_up_ns"]) + "\n";
  if (spec["bytes"] != 0) {
    std::uint64_t jobs = 0;
    for (const auto& stream : spec["streams"]) jobs += stream["jobs"].get<std::uint64_t>();
    common += fmt::format("io_size={}\n", spec["bytes"].get<std::uint64_t>() / jobs);
  }
  if (spec["kernel_thread"] == true) common += "sqthread_poll=1\n";
  if (spec["polled"] == true) common += "hipri=1\n";
  if (spec["on_error"] == "count") common += "continue_on_error=io\n";
  std::string text;
  for (const auto& stream : spec["streams"]) {
    const bool first = text.empty();
    text += (first ? "" : "\n") + section_of(stream, targets) + common;
    if (first) text += "stonewall=1\n";  // what stands before it in a file has ended by then
  }
  return text;
}

}  // namespace plimsoll
