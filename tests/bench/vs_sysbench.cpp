// Plimsoll beside sysbench, in turns on one private server: TPS, client CPU a transaction, loading,
// and by the server's own counters that both ask it the same.
// With PLIMSOLL_PIPELINE=1 Plimsoll sends a transaction in one round trip.
// `vs_sysbench ENGINE WORKLOAD [SECONDS [ROUNDS [TABLES [ROWS [THREADS]]]]]`
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "oltp/server/private_server.h"
#include "oltp/terminal/run_oltp.h"
#include "oltp/workload/sysbench_load.h"
#include "results/base/error.h"

namespace {

using namespace plimsoll;
namespace fs = std::filesystem;

struct Asked {
  std::string engine;
  std::string workload;
  int seconds = 10;
  int rounds = 3;
  int tables = 4;
  int rows = 250'000;
  int threads = 8;
};

struct Figures {
  double tps = 0;
  double user_us = 0;  // a transaction
  double system_us = 0;
  std::map<std::string, double> server;  // a transaction
};

// What a transaction is to the server: statements and rows.
constexpr std::array<const char*, 10> kCounters = {
    "Com_begin",  "Com_commit",  "Com_select",   "Com_insert",  "Com_update",
    "Com_delete", "xact_commit", "tup_inserted", "tup_updated", "tup_deleted"};

std::map<std::string, double> counters(Database& database) {
  std::map<std::string, double> values;
  sleep(1);  // PostgreSQL's sessions report about once a second
  for (const auto& figure : database.probe()->figures()) values[figure.name] = figure.value;
  return values;
}

std::map<std::string, double> growth(const std::map<std::string, double>& before,
                                     const std::map<std::string, double>& after, double by) {
  std::map<std::string, double> result;
  for (const char* name : kCounters) {
    if (before.contains(name)) result[name] = (after.at(name) - before.at(name)) / by;
  }
  return result;
}

std::string sysbench_command(const Asked& asked, const PrivateServer& server,
                             const std::string& verb) {
  const bool pg = asked.engine == "postgresql";
  const std::string run = server.socket_folder().string();
  const std::string connection =
      pg ? fmt::format(
               "--db-driver=pgsql --pgsql-host={} --pgsql-user=plimsoll --pgsql-db=sysbench", run)
         : fmt::format("--mysql-socket={}/mysqld.sock --mysql-user=root --mysql-db=sysbench", run);
  return fmt::format(
      "exec sysbench {} {} --tables={} --table-size={} --threads={} --time={} --rand-type=uniform "
      "--report-interval=0 {}",
      asked.workload, connection, asked.tables, asked.rows, asked.threads, asked.seconds, verb);
}

struct Child {
  std::string out;
  rusage usage;
};

Child run_child(const std::string& command) {
  Child child{};
  int fds[2];
  if (pipe(fds) != 0) throw BrokenError("pipe failed");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(fds[1], 1);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  close(fds[1]);
  char text[4096];
  for (ssize_t got; (got = read(fds[0], text, sizeof text)) > 0;)
    child.out.append(text, static_cast<std::size_t>(got));
  close(fds[0]);
  int status = 0;
  wait4(pid, &status, 0, &child.usage);
  if (status != 0) throw BrokenError("sysbench failed: " + child.out);
  return child;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Figures run_sysbench(const Asked& asked, const PrivateServer& server, Database& database) {
  const auto before = counters(database);
  const Child child = run_child(sysbench_command(asked, server, "run"));
  const auto at = child.out.find("transactions:");
  const double count = std::strtod(child.out.c_str() + at + 13, nullptr);
  Figures figures;
  figures.tps = count / asked.seconds;
  figures.user_us = seconds(child.usage.ru_utime) / count * 1e6;
  figures.system_us = seconds(child.usage.ru_stime) / count * 1e6;
  figures.server = growth(before, counters(database), count);
  return figures;
}

Figures run_plimsoll(const Asked& asked, Database& database, const fs::path& folder, int round) {
  SysbenchOptions data;
  data.tables = asked.tables;
  data.table_size = asked.rows;
  data.pipeline = std::getenv("PLIMSOLL_PIPELINE") != nullptr;
  const auto workload = make_sysbench(sysbench_row(asked.workload), data, database.engine());
  OltpSpec spec;
  spec.threads = asked.threads;
  spec.time_ns = asked.seconds * 1'000'000'000LL;
  spec.seed = static_cast<std::uint64_t>(round) + 1;
  const auto before = counters(database);
  Record record = Record::create(folder / fmt::format("run{}", round), RunSpec{});
  const OltpResult result = run_oltp(database, *workload, spec, record, asked.workload, {});
  const auto count = result.part.facts["committed"].get<double>();
  const auto& cpu = result.part.facts["client_cpu"];
  Figures figures;
  figures.tps = count / asked.seconds;
  figures.user_us = cpu["user_s"].get<double>() / count * 1e6;
  figures.system_us = cpu["system_s"].get<double>() / count * 1e6;
  figures.server = growth(before, counters(database), count);
  return figures;
}

void print(const char* name, const Figures& figures) {
  fmt::print("{:9} {:9.0f} TPS  client {:6.2f} us user {:6.2f} us system  server:", name,
             figures.tps, figures.user_us, figures.system_us);
  for (const auto& [counter, value] : figures.server) fmt::print(" {} {:.2f}", counter, value);
  fmt::print("\n");
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double now_s() {
  return static_cast<double>(SystemClock::instance().now_ns()) * 1e-9;
}

std::string url_of(const PrivateServer& server, const std::string& name) {
  const std::string url = server.url();
  const auto settings = url.find('?');
  return url.substr(0, url.rfind('/', settings) + 1) + name + url.substr(settings);
}

// Each in a database of its own.
void compare_loads(const Asked& asked, const PrivateServer& server) {
  open_database(server.url())->run_script("CREATE DATABASE sysbench");
  open_database(server.url())->run_script("CREATE DATABASE ours");
  double start_s = now_s();
  run_child(sysbench_command(asked, server, "prepare"));
  const double theirs_s = now_s() - start_s;
  SysbenchOptions data;
  data.tables = asked.tables;
  data.table_size = asked.rows;
  start_s = now_s();
  fill_sysbench(*open_database(url_of(server, "ours")), data, {});
  const double ours_s = now_s() - start_s;
  fmt::print("load: sysbench {:.1f} s, plimsoll {:.1f} s: {:.2f} x faster\n", theirs_s, ours_s,
             theirs_s / ours_s);
}

void compare(const Asked& asked, const fs::path& folder) {
  ServerOptions options;
  options.engine = asked.engine;
  options.place = folder;
  options.bounded = false;
  options.memory_bytes = 4ULL << 30;
  PrivateServer server(options);
  compare_loads(asked, server);
  const auto ours = open_database(url_of(server, "ours"));
  const auto theirs = open_database(url_of(server, "sysbench"));
  std::vector<double> tps, cpu;
  for (int round = 0; round < asked.rounds; ++round) {
    const Figures a = run_sysbench(asked, server, *theirs);
    const Figures b = run_plimsoll(asked, *ours, folder, round);
    print("sysbench", a);
    print("plimsoll", b);
    tps.push_back(b.tps / a.tps);
    cpu.push_back((b.user_us + b.system_us) / (a.user_us + a.system_us));
  }
  fmt::print("plimsoll / sysbench, median of {}: TPS {:.3f}, client CPU a transaction {:.3f}\n",
             asked.rounds, median(tps), median(cpu));
}

int number(char** argv, int argc, int index, int otherwise) {
  return index < argc ? std::atoi(argv[index]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: vs_sysbench ENGINE WORKLOAD [SECONDS [ROUNDS [TABLES [ROWS "
               "[THREADS]]]]]\n");
    return 2;
  }
  Asked asked{argv[1], argv[2]};
  asked.seconds = number(argv, argc, 3, asked.seconds);
  asked.rounds = number(argv, argc, 4, asked.rounds);
  asked.tables = number(argv, argc, 5, asked.tables);
  asked.rows = number(argv, argc, 6, asked.rows);
  asked.threads = number(argv, argc, 7, asked.threads);
  const fs::path folder = fs::absolute(fmt::format("vs-sysbench-{}", getpid()));
  fs::create_directory(folder);
  int status = 0;
  try {
    compare(asked, folder);
  } catch (const Error& error) {
    fmt::print("{}\n", error.what());
    status = static_cast<int>(error.code());
  }
  fs::remove_all(folder);
  return status;
}
