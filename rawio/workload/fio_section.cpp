#include "rawio/workload/fio_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "rawio/device/sysfs.h"
#include "rawio/workload/fio_job.h"
#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

struct FioLine {
  std::string file;
  std::size_t number;
  std::string key;
  std::string value;
};

[[noreturn]] void refuse_line(const FioLine& line, const std::string& why) {
  throw UsageError(fmt::format("{}:{}: {}: {}", line.file, line.number, line.key, why));
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

double fio_number(const FioLine& line, const std::string& text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    refuse_line(line, fmt::format("\"{}\" is no number", text));
  }
  return value;
}

std::uint32_t fio_count(const FioLine& line) {
  const double value = fio_number(line, line.value);
  if (!(value >= 0 && value <= 1e9) || value != static_cast<std::uint32_t>(value)) {
    refuse_line(line, "it takes a whole number");
  }
  return static_cast<std::uint32_t>(value);
}

// An option without a value is on.
bool fio_switch(const FioLine& line) {
  return line.value.empty() || fio_number(line, line.value) != 0;
}

std::uint64_t fio_size(const FioLine& line, const std::string& text) {
  if (text.ends_with('%')) refuse_line(line, "sizes in percent are not read: give bytes");
  try {
    return parse_size_bytes(text);
  } catch (const UsageError& error) {
    refuse_line(line, error.what());
  }
}

// fio's bare numbers are seconds, or for thinktime microseconds.
std::int64_t fio_time(const FioLine& line, std::int64_t bare_unit_ns) {
  const bool bare =
      !line.value.empty() && std::isdigit(static_cast<unsigned char>(line.value.back()));
  if (bare)
    return static_cast<std::int64_t>(fio_number(line, line.value) *
                                     static_cast<double>(bare_unit_ns));
  try {
    return parse_duration_ns(line.value);
  } catch (const UsageError& error) {
    refuse_line(line, error.what());
  }
}

std::vector<std::string> fields(const std::string& text, char mark) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, mark);) parts.push_back(part);
  return parts;
}

// fio may give reads, writes and trims each their value, "4k,8k"; Plimsoll's streams have one.
std::string sole_value(const FioLine& line) {
  const auto parts = fields(line.value, ',');
  for (const auto& part : parts) {
    if (part != parts.front()) refuse_line(line, "one value for reads and writes, not two");
  }
  return parts.empty() ? std::string() : parts.front();
}

void set_mode(FioSection& job, const FioLine& line) {
  struct Mode {
    const char* name;
    AccessPattern pattern;
    double read_percent;
    double trim_percent;
    bool mixed;
  };
  using enum AccessPattern;
  static constexpr Mode kModes[] = {
      {"read", kSequential, 100, 0, false},    {"write", kSequential, 0, 0, false},
      {"trim", kSequential, 0, 100, false},    {"rw", kSequential, 50, 0, true},
      {"readwrite", kSequential, 50, 0, true}, {"randread", kRandom, 100, 0, false},
      {"randwrite", kRandom, 0, 0, false},     {"randtrim", kRandom, 0, 100, false},
      {"randrw", kRandom, 50, 0, true}};
  const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                  [&](const Mode& row) { return line.value == row.name; });
  if (mode == std::end(kModes)) {
    refuse_line(line, fmt::format("\"{}\" is not read: read, write, trim, rw, randread, randwrite, "
                                  "randtrim or randrw",
                                  line.value));
  }
  job.stream.pattern = mode->pattern;
  job.stream.read_percent = mode->read_percent;
  job.stream.trim_percent = mode->trim_percent;
  job.mixed = mode->mixed;
}

std::uint32_t fio_block(const FioLine& line, const std::string& text) {
  const std::uint64_t bytes = fio_size(line, text);
  if (bytes == 0 || bytes > (1u << 30)) refuse_line(line, "a block has up to 1g");
  return static_cast<std::uint32_t>(bytes);
}

// "4k/60:64k/40"; shares left out have an equal part of the rest.
void set_split(FioSection& job, const FioLine& line) {
  job.stream.blocks.clear();
  double given = 0;
  int open = 0;
  for (const auto& part : fields(sole_value(line), ':')) {
    const auto slash = part.find('/');
    const bool shared = slash != std::string::npos && slash + 1 < part.size();
    const double percent = shared ? fio_number(line, part.substr(slash + 1)) : -1;
    given += shared ? percent : 0;
    open += shared ? 0 : 1;
    job.stream.blocks.push_back({fio_block(line, part.substr(0, slash)), percent});
  }
  for (auto& block : job.stream.blocks) {
    if (block.percent < 0) block.percent = (100 - given) / open;
  }
}

void set_engine(FioSection& job, const FioLine& line) {
  static const std::map<std::string, std::string> engines = {
      {"io_uring", "io_uring"}, {"libaio", "libaio"}, {"psync", "psync"}, {"sync", "psync"},
      {"pvsync", "psync"},      {"pvsync2", "psync"}, {"null", "null"}};
  const auto found = engines.find(line.value);
  if (found == engines.end()) {
    refuse_line(
        line, fmt::format("\"{}\" is not here: io_uring, libaio, psync, sync or null", line.value));
  }
  job.engine = found->second;
}

void set_sync(FioSection& job, const FioLine& line) {
  if (line.value == "0" || line.value == "none") return;
  if (line.value != "dsync") refuse_line(line, "it takes none or dsync");
  job.stream.write_sync = WriteSync::kOpened;
}

void set_rate_process(FioSection& job, const FioLine& line) {
  if (line.value != "linear" && line.value != "poisson") refuse_line(line, "linear or poisson");
  job.poisson = line.value == "poisson";
}

void set_distribution(FioSection& job, const FioLine& line) {
  try {
    job.stream.spread = parse_spread(line.value);
  } catch (const UsageError& error) {
    refuse_line(line, error.what());
  }
}

void require_direct(const FioLine& line, bool wanted) {
  if (fio_switch(line) != wanted) {
    refuse_line(line, "Plimsoll's I/O is direct: direct=1, buffered=0");
  }
}

void require_zero(const FioLine& line, const char* why) {
  if (fio_switch(line)) refuse_line(line, why);
}

void ignore(FioSection&, const FioLine&) {}

struct FioOption {
  const char* name;
  void (*set)(FioSection& job, const FioLine& line);
};

// One row an option; `ignore` where it changes nothing here.
constexpr FioOption kFioOptions[] = {
    {"description", ignore},
    {"name", ignore},
    {"group_reporting", ignore},
    {"thread", ignore},
    {"create_on_open", ignore},
    {"lat_percentiles", ignore},
    {"clat_percentiles", ignore},
    {"percentile_list", ignore},
    {"gtod_reduce", ignore},
    {"disable_lat", ignore},
    {"disable_clat", ignore},
    {"disable_slat", ignore},
    {"refill_buffers", ignore},
    {"randrepeat", ignore},
    {"invalidate", ignore},
    {"fallocate", ignore},
    {"filename", [](FioSection& job, const FioLine& line) { job.file_name = line.value; }},
    {"directory", [](FioSection& job, const FioLine& line) { job.directory = line.value; }},
    {"rw", set_mode},
    {"readwrite", set_mode},
    {"rwmixread",
     [](FioSection& job, const FioLine& line) { job.mix_read_percent = fio_count(line); }},
    {"rwmixwrite",
     [](FioSection& job, const FioLine& line) { job.mix_read_percent = 100.0 - fio_count(line); }},
    {"bs",
     [](FioSection& job, const FioLine& line) {
       job.stream.blocks = {{fio_block(line, sole_value(line)), 100}};
     }},
    {"blocksize",
     [](FioSection& job, const FioLine& line) {
       job.stream.blocks = {{fio_block(line, sole_value(line)), 100}};
     }},
    {"bssplit", set_split},
    {"size",
     [](FioSection& job, const FioLine& line) { job.size_bytes = fio_size(line, line.value); }},
    {"filesize", [](FioSection& job,
                    const FioLine& line) { job.file_size_bytes = fio_size(line, line.value); }},
    {"io_size",
     [](FioSection& job, const FioLine& line) { job.io_size_bytes = fio_size(line, line.value); }},
    {"offset",
     [](FioSection& job, const FioLine& line) {
       job.stream.span_offset_bytes = fio_size(line, line.value);
     }},
    {"ioengine", set_engine},
    {"iodepth", [](FioSection& job, const FioLine& line) { job.stream.depth = fio_count(line); }},
    {"iodepth_batch",
     [](FioSection& job, const FioLine& line) { job.stream.submit_batch = fio_count(line); }},
    {"iodepth_batch_submit",
     [](FioSection& job, const FioLine& line) { job.stream.submit_batch = fio_count(line); }},
    {"iodepth_batch_complete",
     [](FioSection& job, const FioLine& line) {
       job.stream.reap_batch = std::max(1u, fio_count(line));
     }},
    {"iodepth_batch_complete_min",
     [](FioSection& job, const FioLine& line) {
       job.stream.reap_batch = std::max(1u, fio_count(line));
     }},
    {"numjobs", [](FioSection& job, const FioLine& line) { job.stream.jobs = fio_count(line); }},
    {"direct", [](FioSection&, const FioLine& line) { require_direct(line, true); }},
    {"buffered", [](FioSection&, const FioLine& line) { require_direct(line, false); }},
    {"runtime",
     [](FioSection& job, const FioLine& line) { job.runtime_ns = fio_time(line, kSecond_ns); }},
    {"time_based", [](FioSection& job, const FioLine& line) { job.time_based = fio_switch(line); }},
    {"ramp_time",
     [](FioSection& job, const FioLine& line) { job.ramp_ns = fio_time(line, kSecond_ns); }},
    {"rate_iops", [](FioSection& job,
                     const FioLine& line) { job.rate_per_s = fio_number(line, sole_value(line)); }},
    {"rate",
     [](FioSection& job, const FioLine& line) {
       job.rate_bytes_per_s = static_cast<double>(fio_size(line, sole_value(line)));
     }},
    {"rate_process", set_rate_process},
    {"thinktime",
     [](FioSection& job, const FioLine& line) { job.stream.think_ns = fio_time(line, 1000); }},
    {"thinktime_blocks",
     [](FioSection& job, const FioLine& line) { job.stream.think_every = fio_count(line); }},
    {"fsync",
     [](FioSection& job, const FioLine& line) { job.stream.fsync_every = fio_count(line); }},
    {"fdatasync",
     [](FioSection& job, const FioLine& line) { job.stream.fdatasync_every = fio_count(line); }},
    {"end_fsync",
     [](FioSection&, const FioLine& line) {
       require_zero(line, "give fsync=N: a last flush follows when writes are left unflushed");
     }},
    {"sync", set_sync},
    {"random_distribution", set_distribution},
    {"norandommap",
     [](FioSection& job, const FioLine& line) { job.random_map = !fio_switch(line); }},
    {"randseed",
     [](FioSection& job, const FioLine& line) {
       job.seed = static_cast<std::uint64_t>(fio_number(line, line.value));
     }},
    {"stonewall", [](FioSection& job, const FioLine& line) { job.stonewall = fio_switch(line); }},
    {"wait_for_previous",
     [](FioSection& job, const FioLine& line) { job.stonewall = fio_switch(line); }},
    {"buffer_compress_percentage",
     [](FioSection& job, const FioLine& line) {
       job.stream.content.compress_percent = fio_count(line);
     }},
    {"dedupe_percentage",
     [](FioSection& job, const FioLine& line) {
       job.stream.content.dedupe_percent = fio_count(line);
     }},
    {"fixedbufs", ignore},
    {"registerfiles", ignore},
    {"hipri", [](FioSection& job, const FioLine& line) { job.polled = fio_switch(line); }},
    {"sqthread_poll",
     [](FioSection& job, const FioLine& line) { job.kernel_thread = fio_switch(line); }},
    {"continue_on_error",
     [](FioSection& job, const FioLine& line) {
       if (line.value != "all" && line.value != "io" && line.value != "none") {
         refuse_line(line, "none, io or all");
       }
       job.count_errors = line.value != "none";
     }},
};

void set_option(FioSection& job, const FioLine& line) {
  const auto* row = std::find_if(std::begin(kFioOptions), std::end(kFioOptions),
                                 [&](const FioOption& known) { return line.key == known.name; });
  if (row == std::end(kFioOptions)) {
    throw UsageError(fmt::format("{}:{}: the option {} is not honoured here: remove it", line.file,
                                 line.number, line.key));
  }
  row->set(job, line);
}

// What fio does without an option: sequential reads at depth 1.
FioSection fio_defaults() {
  FioSection defaults;
  defaults.stream.pattern = AccessPattern::kSequential;
  return defaults;
}

}  // namespace

std::vector<std::string> fio_option_names() {
  std::vector<std::string> names;
  for (const auto& row : kFioOptions) names.emplace_back(row.name);
  return names;
}

std::vector<FioSection> read_fio_sections(const std::string& text, const std::string& name) {
  std::vector<FioSection> jobs;
  FioSection global = fio_defaults();
  FioSection* section = nullptr;
  std::istringstream in(text);
  std::size_t number = 0;
  for (std::string raw; std::getline(in, raw);) {
    ++number;
    const std::string line(trimmed(raw));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      if (line.back() != ']') throw UsageError(fmt::format("{}:{}: no ]", name, number));
      const auto title = line.substr(1, line.size() - 2);
      if (lower(title) == "global") {
        section = &global;
        continue;
      }
      jobs.push_back(global);
      jobs.back().stream.name = title;
      jobs.back().where = fmt::format("{}:{}", name, number);
      section = &jobs.back();
      continue;
    }
    if (section == nullptr) {
      throw UsageError(fmt::format("{}:{}: an option before the first [section]", name, number));
    }
    const auto equals = line.find('=');
    set_option(*section,
               {name, number, std::string(trimmed(line.substr(0, equals))),
                equals == std::string::npos ? "" : std::string(trimmed(line.substr(equals + 1)))});
  }
  if (jobs.empty()) throw UsageError(name + ": no job in it; a job is a [section]");
  return jobs;
}

}  // namespace plimsoll
