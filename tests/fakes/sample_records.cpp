#include "tests/fakes/sample_records.h"

#include <cmath>

namespace plimsoll::fakes {

namespace {

IntervalRow row_of(const Part& part, const std::string& source, const std::string& operation,
                   std::int64_t start_ns, bool measured) {
  IntervalRow row;
  row.part = part.id;
  row.source = source;
  row.operation = operation;
  row.start_ns = start_ns;
  row.end_ns = start_ns + kSecond_ns;
  row.measured = measured;
  return row;
}

void add_load_row(Record& record, IntervalRow row, std::uint64_t count, std::uint64_t bytes_each,
                  const std::function<std::int64_t()>& service_ns, std::int64_t wait_ns = 0) {
  Histogram response;
  Histogram service;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value_ns = service_ns();
    service.record(value_ns);
    response.record(value_ns + wait_ns);
  }
  row.count = count;
  row.bytes = count * bytes_each;
  row.latencies = {{"response", response}, {"service", service}};
  record.add_interval(row);
}

void add_device_row(Record& record, IntervalRow row, std::uint64_t count, std::uint64_t bytes_each,
                    double mean_ns) {
  row.count = count;
  row.bytes = count * bytes_each;
  row.time_sum_ns = static_cast<double>(count) * mean_ns;
  record.add_interval(row);
}

Json drive() {
  return {{"path", "/mnt/nvme1"},
          {"file_system", {{"type", "ext4"}, {"mount_point", "/mnt/nvme1"}, {"barriers", true}}},
          {"levels",
           {{{"name", "nvme1n1"},
             {"node", "/dev/nvme1n1"},
             {"kind", "drive"},
             {"model", "EXAMPLE SSD <A&B> 1920"},
             {"firmware", "X1"},
             {"size_bytes", 1920383410176},
             {"scheduler", "none"},
             {"write_cache", "write back"}}}},
          {"drives", {"nvme1n1"}}};
}

Record begin(const std::filesystem::path& dir, const std::string& command,
             const std::vector<std::string>& argv) {
  RunSpec spec;
  spec.command = command;
  spec.target = "/mnt/nvme1";
  spec.argv = argv;
  spec.seed = 7;
  spec.options = {{"time", "60s"}, {"threads", 8}};
  auto record = Record::create(dir, spec);
  record.set_environment("drive", drive());
  record.set_environment("machine", {{"cpu", {{"model", "Example CPU"}, {"online", 8}}}});
  return record;
}

Json raw_spec(double read_percent, int size_bytes, int depth, int jobs, int flush_every) {
  return {{"streams",
           {{{"name", "stream"},
             {"read_percent", read_percent},
             {"blocks", {{{"size_bytes", size_bytes}, {"percent", 100}}}},
             {"pattern", flush_every == 0 ? "random" : "sequential"},
             {"depth", depth},
             {"jobs", jobs},
             {"fsync_every", 0},
             {"fdatasync_every", flush_every}}}},
          {"engine", "io_uring"}};
}

struct RawOperation {
  std::string name;
  std::uint64_t per_s;
  double base_ns;
  std::uint64_t bytes_each;
};

std::int64_t add_raw_part(Record& record, const std::string& name, const Json& spec,
                          std::int64_t start_ns, const std::vector<RawOperation>& operations) {
  constexpr int kSeconds = 4;
  Noise noise(name.size());
  const auto part = record.begin_part(name, "raw", spec, start_ns);
  for (int second = 0; second < kSeconds; ++second) {
    const auto at_ns = start_ns + second * kSecond_ns;
    for (const auto& operation : operations) {
      const auto row = row_of(part, "raw", operation.name, at_ns, second > 0);
      add_load_row(record, row, operation.per_s, operation.bytes_each,
                   [&] { return noise.latency_ns(operation.base_ns); });
      const auto device = row_of(part, "device:nvme1n1", operation.name, at_ns, second > 0);
      add_device_row(record, device, operation.per_s, operation.bytes_each,
                     operation.base_ns * 0.8);
    }
  }
  const auto end_ns = start_ns + kSeconds * kSecond_ns;
  record.end_part(part, end_ns,
                  {{"engine", "io_uring"},
                   {"asked_rate", nullptr},
                   {"achieved_rate", operations.front().per_s},
                   {"cpu", {{"user_s", 0.21}, {"system_s", 0.84}}}});
  return end_ns;
}

std::int64_t add_all_raw(Record& record, std::int64_t at_ns) {
  for (const int depth : {1, 2, 4, 8, 16, 32}) {
    const auto iops = static_cast<std::uint64_t>(1400.0 * depth * 24 / (23 + depth));
    const std::string name = "raw randread 4k qd" + std::to_string(depth);
    at_ns = add_raw_part(record, name, raw_spec(100, 4096, depth, 1, 0), at_ns,
                         {{"read", iops, 62000.0 + 2000 * depth, 4096}});
  }
  at_ns = add_raw_part(record, "raw randwrite 4k qd16", raw_spec(0, 4096, 16, 1, 0), at_ns,
                       {{"write", 9000, 52000, 4096}});
  at_ns = add_raw_part(record, "raw rw 70/30 8k qd16", raw_spec(70, 8192, 16, 1, 0), at_ns,
                       {{"read", 7000, 71000, 8192}, {"write", 3000, 58000, 8192}});
  for (const int jobs : {1, 4, 16}) {
    const auto rate = static_cast<std::uint64_t>(690 * jobs * 10 / (9 + jobs));
    const std::string name = "raw log 8k+flush x" + std::to_string(jobs);
    at_ns =
        add_raw_part(record, name, raw_spec(0, 8192, 1, jobs, 1), at_ns,
                     {{"write", rate, 30000, 8192}, {"flush", rate, 138000.0 + 20000 * jobs, 0}});
  }
  return at_ns;
}

std::int64_t add_load(Record& record, std::int64_t at_ns) {
  const auto part = record.begin_part("load", "load", {{"tables", 4}}, at_ns);
  for (int second = 0; second < 5; ++second) {
    const auto start_ns = at_ns + second * kSecond_ns;
    add_device_row(record, row_of(part, "device:nvme1n1", "write", start_ns, true), 900, 131072,
                   210000);
  }
  const auto end_ns = at_ns + 5 * kSecond_ns;
  record.end_part(part, end_ns, {{"rows", 400000}, {"bytes", 98566144}, {"seconds", 4.75}});
  return end_ns;
}

// Sixty seconds after three of warm-up; every 15 seconds a checkpoint makes flushes five times
// slower, and the transactions with them.
std::int64_t add_oltp(Record& record, const std::string& name, std::int64_t at_ns, double tps) {
  Noise noise(name.size());
  const auto part = record.begin_part(name, "oltp", {{"threads", 8}, {"tables", 4}}, at_ns);
  std::uint64_t committed = 0;
  for (int second = 0; second < 63; ++second) {
    const auto start_ns = at_ns + second * kSecond_ns;
    const bool measured = second >= 3;
    const bool slow = second % 15 == 10;
    const double flush_ns = (1.1e6 + 2e5 * noise.uniform()) * (slow ? 5 : 1);
    const auto count =
        static_cast<std::uint64_t>(tps * (slow ? 0.6 : 1) * (0.97 + 0.06 * noise.uniform()));
    if (slow) {
      record.add_event({start_ns + kSecond_ns / 5, kSecond_ns / 2, "checkpoint",
                        "SQLite checkpoint of 4,000 pages"});
    }
    add_load_row(
        record, row_of(part, "oltp", name, start_ns, measured), count, 0,
        [&] { return noise.latency_ns(flush_ns * 1.6); }, 40000);
    const auto device = [&](const std::string& operation) {
      return row_of(part, "device:nvme1n1", operation, start_ns + 800'000, measured);
    };
    add_device_row(record, device("read"), count * 2, 4096, 81000 + 6000 * noise.uniform());
    add_device_row(record, device("write"), count * 3, 4096, 42000 + (slow ? 90000 : 0));
    add_device_row(record, device("flush"), count, 0, flush_ns);
    const auto sampled_ns = start_ns + kSecond_ns + 800'000;
    record.add_point(part, "psi", "some_pct", sampled_ns, slow ? 61 : 18 + noise.uniform());
    record.add_point(part, "cpu", "user_pct", sampled_ns, 37 + 4 * noise.uniform());
    if (measured) committed += count;
  }
  const auto end_ns = at_ns + 63 * kSecond_ns;
  record.end_part(part, end_ns,
                  {{"committed", committed},
                   {"user_rollbacks", 0},
                   {"retried", 12},
                   {"failed", 0},
                   {"errors", {{"SQLITE_BUSY", 12}}},
                   {"client_cpu", {{"user_s", 9.5}, {"system_s", 3.25}}},
                   {"asked_rate", nullptr},
                   {"threads", 8},
                   {"distribution", "uniform"},
                   {"transactions",
                    {{name,
                      {{"committed", committed},
                       {"user_rollbacks", 0},
                       {"retried", 12},
                       {"failed", 0},
                       {"errors", {{"SQLITE_BUSY", 12}}}}}}}});
  return end_ns;
}

Record finished(Record record, std::int64_t end_ns, const BeforeEnd& before_end) {
  record.commit();
  if (before_end) before_end(record);
  record.finish(end_ns);
  return record;
}

}  // namespace

double Noise::uniform() {
  // SplitMix64 (Steele, Lea & Flood 2014).
  std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15ULL;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
  return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
}

std::int64_t Noise::latency_ns(double base_ns) {
  const double u = uniform();
  return std::llround(base_ns * (1 + 0.2 * u + 0.02 / (1.002 - u)));
}

void add_oltp_part(Record& record, const std::string& name,
                   const std::vector<OltpSecond>& seconds) {
  const auto part = record.begin_part(name, "oltp", Json::object(), kStart_ns);
  auto at_ns = kStart_ns;
  for (const auto& second : seconds) {
    auto row = row_of(part, "oltp", name, at_ns, true);
    row.count = static_cast<std::uint64_t>(second.tps);
    if (row.count > 0) {
      Histogram response;
      response.record(second.response_ns, row.count);
      row.latencies = {{"response", response}};
    }
    record.add_interval(row);
    // A device is read a little after the load; its rows overlap the next second.
    const auto device_at_ns = at_ns + 3'000'000;
    add_device_row(record, row_of(part, "device:x", "write", device_at_ns, true),
                   2 * static_cast<std::uint64_t>(second.tps), 4096, second.device_latency_ns);
    add_device_row(record, row_of(part, "device:x", "flush", device_at_ns, true), 100, 0, 1e6);
    at_ns += kSecond_ns;
  }
  record.end_part(part, at_ns, Json::object());
  record.commit();
}

Record make_raw(const std::filesystem::path& dir, const BeforeEnd& before_end) {
  auto record =
      begin(dir, "raw", {"plimsoll", "raw", "/mnt/nvme1", "--rw", "randread", "--depth", "32"});
  const auto end_ns = add_raw_part(record, "raw randread 4k qd32", raw_spec(100, 4096, 32, 1, 0),
                                   kStart_ns, {{"read", 23000, 118000, 4096}});
  return finished(std::move(record), end_ns, before_end);
}

Record make_oltp_run(const std::filesystem::path& dir, const BeforeEnd& before_end) {
  auto record = begin(dir, "oltp run",
                      {"plimsoll", "oltp", "run", "oltp_read_write", "--db",
                       "sqlite:/mnt/nvme1/a b.db", "--threads", "8"});
  record.warn({"cached", "The database (94 MiB) fits in the 2 GiB of memory it may use"});
  const auto end_ns = add_oltp(record, "oltp_read_write", kStart_ns, 620);
  return finished(std::move(record), end_ns, before_end);
}

Record make_oltp_load(const std::filesystem::path& dir, const BeforeEnd& before_end) {
  auto record = begin(dir, "oltp load",
                      {"plimsoll", "oltp", "load", "oltp_read_write", "--place", "/mnt/nvme1"});
  const auto end_ns = add_load(record, kStart_ns);
  return finished(std::move(record), end_ns, before_end);
}

Record make_qualify(const std::filesystem::path& dir, const BeforeEnd& before_end) {
  auto record = begin(dir, "qualify", {"plimsoll", "qualify", "/mnt/nvme1", "--seed", "7"});
  record.warn({"not-preconditioned",
               "The drive was not filled first: it may be faster than in a month, </script> too"});
  record.warn({"write-cache", "The volatile write cache of nvme1n1 is on"});
  auto at_ns = add_all_raw(record, kStart_ns);
  at_ns = add_load(record, at_ns);
  at_ns = add_oltp(record, "oltp_read_write", at_ns, 620);
  at_ns = add_oltp(record, "oltp_write_only", at_ns, 880);
  record.set_verdict({"none", "no limit was asked for, so nothing is judged"});
  return finished(std::move(record), at_ns, before_end);
}

Record make_cut_qualify(const std::filesystem::path& dir, const BeforeEnd&) {
  {
    auto record = begin(dir, "qualify", {"plimsoll", "qualify", "/mnt/nvme1"});
    auto at_ns = add_raw_part(record, "raw randread 4k qd1", raw_spec(100, 4096, 1, 1, 0),
                              kStart_ns, {{"read", 1400, 64000, 4096}});
    const auto part = record.begin_part("oltp_read_write", "oltp", {{"threads", 8}}, at_ns);
    Noise noise(1);
    add_load_row(record, row_of(part, "oltp", "oltp_read_write", at_ns, true), 600, 0,
                 [&] { return noise.latency_ns(2e6); });
    record.warn({"interrupted", "Stopped by the user before its end"});
    record.commit();
  }
  return Record::open(dir);
}

}  // namespace plimsoll::fakes
