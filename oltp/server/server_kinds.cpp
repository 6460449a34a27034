#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "oltp/server/private_server.h"
#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::uint64_t kGiB = 1ULL << 30;

std::uint64_t mib(std::uint64_t bytes) {
  return bytes / kMiB;
}

// A quarter for the server's own cache, as its manual has it: the rest of the memory is the page
// cache that it reads through.
std::string postgresql_config(const ServerOptions& options, const ServerPaths& paths) {
  const std::uint64_t memory = options.memory_bytes;
  return fmt::format(
      "listen_addresses = '{}'\n"
      "port = {}\n"
      "unix_socket_directories = '{}'\n"
      "max_connections = {}\n"
      "shared_buffers = {}MB\n"
      "effective_cache_size = {}MB\n"
      "maintenance_work_mem = {}MB\n"
      "work_mem = 4MB\n"
      "max_wal_size = {}MB\n"
      "fsync = on\n"
      "synchronous_commit = on\n"
      "full_page_writes = on\n"
      "checkpoint_timeout = 5min\n"
      "checkpoint_completion_target = 0.9\n"
      "log_checkpoints = on\n"
      "track_io_timing = on\n"
      "track_wal_io_timing = on\n"
      "jit = off\n"
      "timezone = 'UTC'\n"
      "log_timezone = 'UTC'\n",
      paths.port != 0 ? "127.0.0.1" : "", paths.port != 0 ? paths.port : 5432, paths.run.string(),
      options.max_connections + 3, std::max(mib(memory / 4), std::uint64_t{16}),
      std::max(mib(memory / 4 * 3), std::uint64_t{16}),
      std::clamp(mib(memory / 16), std::uint64_t{16}, std::uint64_t{1024}),
      std::max(mib(memory), std::uint64_t{1024}));
}

std::vector<std::string> postgresql_init(const ServerPaths& paths) {
  return {paths.binaries / "initdb",
          "--pgdata=" + paths.data.string(),
          "--username=plimsoll",
          "--encoding=UTF8",
          "--locale=C",
          "--auth-local=trust",
          "--auth-host=scram-sha-256"};
}

std::vector<std::string> postgresql_serve(const ServerPaths& paths) {
  return {paths.binaries / "postgres", "-D", paths.data.string(),
          "--config-file=" + paths.config.string()};
}

// Its pid file begins with its id (a crash leaves the file of the one before) and has its state in
// the eighth line, as pg_ctl reads it.
bool postgresql_ready(const ServerPaths& paths, const std::string&, pid_t pid) {
  std::ifstream in(paths.data / "postmaster.pid");
  pid_t written = -1;
  if (!(in >> written) || written != pid) return false;
  std::string line;
  for (int i = 0; i < 8; ++i) {
    if (!std::getline(in, line)) return false;
  }
  return line.rfind("ready", 0) == 0;
}

// A path inside a URL.
std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~';
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

std::string postgresql_url(const ServerPaths& paths) {
  return fmt::format("postgresql://plimsoll@/postgres?host={}&port={}",
                     percent_encoded(paths.run.string()), paths.port != 0 ? paths.port : 5432);
}

// InnoDB caches for itself: most of the memory is its pool, less what sessions and the server take.
std::uint64_t pool_bytes(std::uint64_t memory) {
  return memory < kGiB ? memory / 2 : memory / 10 * 7;
}

std::uint64_t log_bytes(std::uint64_t memory) {
  return std::clamp(pool_bytes(memory) / 2, 128 * kMiB, 8 * kGiB);
}

std::string innodb_config(const ServerOptions& options, const ServerPaths& paths) {
  return fmt::format(
      "[mysqld]\n"
      "datadir = {}\n"
      "socket = {}\n"
      "pid-file = {}\n"
      "tmpdir = {}\n"
      "{}\n"
      "init-file = {}\n"
      "skip-name-resolve\n"
      "local-infile = 1\n"
      "character-set-server = utf8mb4\n"
      "default-time-zone = +00:00\n"
      "max-connections = {}\n"
      "max-prepared-stmt-count = 1000000\n"
      "performance-schema = OFF\n"
      "skip-log-bin\n"
      "innodb-buffer-pool-size = {}M\n"
      "innodb-flush-log-at-trx-commit = 1\n"
      "innodb-doublewrite = ON\n"
      "innodb-flush-method = {}\n"
      "innodb-flush-neighbors = 0\n"
      "innodb-io-capacity = 2000\n"
      "innodb-io-capacity-max = 4000\n",
      paths.data.string(), (paths.run / "mysqld.sock").string(),
      (paths.run / "mysqld.pid").string(), paths.run.string(),
      paths.port != 0 ? fmt::format("bind-address = 127.0.0.1\nport = {}", paths.port)
                      : "skip-networking",
      (paths.config.parent_path() / "init.sql").string(), options.max_connections + 3,
      std::max(mib(pool_bytes(options.memory_bytes)), std::uint64_t{16}),
      options.direct_io ? "O_DIRECT" : "fsync");
}

std::string mariadb_config(const ServerOptions& options, const ServerPaths& paths) {
  return innodb_config(options, paths) +
         fmt::format("innodb-log-file-size = {}M\n", mib(log_bytes(options.memory_bytes)));
}

std::string mysql_config(const ServerOptions& options, const ServerPaths& paths) {
  return innodb_config(options, paths) +
         fmt::format("innodb-redo-log-capacity = {}M\nmysqlx = OFF\n",
                     mib(log_bytes(options.memory_bytes)));
}

std::vector<std::string> mariadb_init(const ServerPaths& paths) {
  return {paths.binaries / "../bin/mariadb-install-db",
          "--no-defaults",
          "--datadir=" + paths.data.string(),
          "--tmpdir=" + paths.run.string(),
          "--auth-root-authentication-method=normal",
          "--skip-test-db",
          "--skip-name-resolve"};
}

std::vector<std::string> mysql_init(const ServerPaths& paths) {
  return {paths.binaries / "mysqld", "--no-defaults", "--initialize-insecure",
          "--datadir=" + paths.data.string(), "--tmpdir=" + paths.run.string()};
}

std::vector<std::string> mariadb_serve(const ServerPaths& paths) {
  return {paths.binaries / "mariadbd", "--defaults-file=" + paths.config.string()};
}

std::vector<std::string> mysql_serve(const ServerPaths& paths) {
  return {paths.binaries / "mysqld", "--defaults-file=" + paths.config.string()};
}

bool innodb_ready(const ServerPaths& paths, const std::string& log, pid_t) {
  return log.find("ready for connections") != std::string::npos &&
         fs::exists(paths.run / "mysqld.sock");
}

std::string mysql_url(const ServerPaths& paths) {
  return fmt::format("mysql://root:@localhost/plimsoll?socket={}",
                     percent_encoded((paths.run / "mysqld.sock").string()));
}

}  // namespace

const std::vector<ServerKind>& server_kinds() {
  static const std::vector<ServerKind> kinds = {
      {"postgresql",
       "postgres",
       "postgresql",
       {"/usr/lib/postgresql/*/bin"},
       {"postgres"},
       ".s.PGSQL.",
       SIGINT,
       SIGQUIT,
       postgresql_config,
       postgresql_init,
       postgresql_serve,
       postgresql_ready,
       postgresql_url},
      {"mariadb",
       "mariadbd",
       "mariadb-server",
       {"/usr/sbin", "/usr/local/sbin"},
       {"mysql"},
       "mysqld.sock",
       SIGTERM,
       SIGKILL,
       mariadb_config,
       mariadb_init,
       mariadb_serve,
       innodb_ready,
       mysql_url},
      {"mysql",
       "mysqld",
       "mysql-server",
       {"/usr/sbin", "/usr/local/mysql/bin"},
       {"mysql"},
       "mysqld.sock",
       SIGTERM,
       SIGKILL,
       mysql_config,
       mysql_init,
       mysql_serve,
       innodb_ready,
       mysql_url},
  };
  return kinds;
}

const ServerKind& server_kind(const std::string& engine) {
  const auto& kinds = server_kinds();
  const auto kind = std::ranges::find(kinds, engine, &ServerKind::engine);
  if (kind != kinds.end()) return *kind;
  std::vector<std::string_view> names;
  for (const auto& known : kinds) names.push_back(known.engine);
  throw UsageError(
      fmt::format("no server '{}' can be placed; there are {}", engine, fmt::join(names, ", ")));
}

// The highest version that has the program. MariaDB installs a `mysqld` that is a link to its own.
fs::path find_binaries(const ServerKind& kind) {
  std::vector<fs::path> found;
  for (const auto& pattern : kind.search) {
    glob_t matches{};
    if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
      for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
        const fs::path folder = matches.gl_pathv[i];
        std::error_code error;
        const auto program = fs::canonical(folder / kind.program, error);
        if (!error && program.filename() == kind.program) found.push_back(folder);
      }
    }
    globfree(&matches);
  }
  const auto version = [](const fs::path& folder) {
    return std::atoi(folder.parent_path().filename().c_str());
  };
  const auto best = std::ranges::max_element(found, {}, version);
  return best == found.end() ? fs::path{} : *best;
}

}  // namespace plimsoll
