// Private servers: placed, durable, held to their memory, gone with whoever started them.
#include "oltp/server/private_server.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oltp/database/database.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/lab/skip.h"
#include "tests/oltp/database_servers.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kMemory_bytes = 256ULL << 20;

ServerOptions options_for(const std::string& engine, const lab::TempDir& dir) {
  ServerOptions options;
  options.engine = engine;
  options.place = dir.path();
  options.memory_bytes = kMemory_bytes;
  options.bounded = false;
  return options;
}

bool empty_folder(const std::filesystem::path& folder) {
  return std::filesystem::directory_iterator(folder) == std::filesystem::directory_iterator{};
}

uid_t owner_of(pid_t pid) {
  struct stat info = {};
  stat(fmt::format("/proc/{}", pid).c_str(), &info);
  return info.st_uid;
}

bool alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

TEST_CASE("a placed server answers, is durable by default, and leaves nothing", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    lab::OpenDir dir;
    pid_t pid = -1;
    {
      PrivateServer server(options_for(engine, dir));
      pid = server.pid();
      const auto database = open_database(server.url());
      CHECK(database->environment().at("version").get<std::string>().size() > 1);
      CHECK(database->data_path().starts_with(server.data().string()));
      for (const auto& finding : database->preflight()) CHECK_FALSE(finding.refuses);
      CHECK_FALSE(server.log().empty());
      if (geteuid() == 0) CHECK(owner_of(pid) != 0);
      server.stop();
      CHECK_FALSE(server.running());
      server.start();
      CHECK(server.running());
    }
    CHECK_FALSE(alive(pid));
    CHECK(empty_folder(dir.path()));
  }
}

TEST_CASE("a server killed under its sessions comes back with what was committed", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    lab::OpenDir dir;
    PrivateServer server(options_for(engine, dir));
    const auto database = open_database(server.url());
    database->run_script("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY)");
    const auto session = database->connect();
    const StatementId insert = session->prepare("INSERT INTO t (id) VALUES (?)");
    const StatementId count = session->prepare("SELECT COUNT(*) FROM t");
    const auto add = [&](std::int64_t id) {
      return session->execute(insert, std::vector<DbView>{id});
    };
    REQUIRE(add(1) == Outcome::kOk);
    REQUIRE(session->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(add(2) == Outcome::kOk);
    server.kill();
    CHECK(session->execute(count, {}) == Outcome::kLost);
    CHECK(session->reconnect() == Outcome::kLost);
    server.start();
    REQUIRE(session->reconnect() == Outcome::kOk);
    REQUIRE(session->execute(count, {}) == Outcome::kOk);
    CHECK(session->rows().at(0, 0) == DbView(std::int64_t{1}));
    REQUIRE(session->begin(Access::kReadWrite) == Outcome::kOk);
    REQUIRE(add(3) == Outcome::kOk);
    server.kill();
    CHECK(session->commit() == Outcome::kInDoubt);
    server.start();
    REQUIRE(session->reconnect() == Outcome::kOk);
    server.kill();
    CHECK(add(4) == Outcome::kInDoubt);  // a write that commits by itself
  }
}

TEST_CASE("a server is held to its memory, page cache included", "[slow]") {
  lab::OpenDir dir;
  auto options = options_for("postgresql", dir);
  options.bounded = true;
  try {
    PrivateServer server(options);
    CHECK(memory_bytes_of(server.pid()) == kMemory_bytes);
    const auto database = open_database(server.url());
    database->run_script(
        "CREATE TABLE t AS SELECT i, repeat('x', 1000) AS s FROM generate_series(1, 400000) AS i");
    CHECK(database->size_bytes() > kMemory_bytes);
    CHECK(server.environment().at("memory_bounded") == true);
    server.stop();
  } catch (const RefusedError& refused) {
    CHECK_THAT(refused.what(), Catch::Matchers::Contains("unbounded-memory"));
    lab::skip(refused.what());
  }
  CHECK(empty_folder(dir.path()));
}

// The child gives the server's process id through the pipe, then is killed.
TEST_CASE("a server ends with a Plimsoll that was killed, and the next call cleans up", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    lab::OpenDir dir;
    int pipe_fds[2];
    REQUIRE(pipe(pipe_fds) == 0);
    const pid_t child = fork();
    if (child == 0) {
      PrivateServer server(options_for(engine, dir));
      const pid_t pid = server.pid();
      [[maybe_unused]] const auto written = write(pipe_fds[1], &pid, sizeof pid);
      pause();
      _exit(0);
    }
    close(pipe_fds[1]);
    pid_t server_pid = -1;
    REQUIRE(read(pipe_fds[0], &server_pid, sizeof server_pid) == sizeof server_pid);
    close(pipe_fds[0]);
    CHECK(alive(server_pid));
    REQUIRE(ScratchDir::abandoned(dir.path()).empty());
    ::kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    CHECK(ScratchDir::abandoned(dir.path()).size() == 1);
    remove_abandoned_servers(dir.path());
    CHECK_FALSE(alive(server_pid));
    CHECK(empty_folder(dir.path()));
  }
}

TEST_CASE("a kept server is taken up by the next, and never by two", "[slow]") {
  for (const auto& engine : lab::installed_servers()) {
    INFO(engine);
    lab::OpenDir dir;
    auto options = options_for(engine, dir);
    options.keep = true;
    {
      PrivateServer server(options);
      CHECK(server.is_new());
      open_database(server.url())->run_script("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY)");
      CHECK_THROWS_AS(PrivateServer(options), RefusedError);
    }
    PrivateServer again(options);
    CHECK_FALSE(again.is_new());
    CHECK(open_database(again.url())->tables().contains("t"));
  }
}

TEST_CASE("a folder whose path is too long for a socket has a server all the same", "[slow]") {
  const auto engines = lab::installed_servers();
  if (engines.empty()) return;
  lab::OpenDir dir;
  auto options = options_for(engines.front(), dir);
  options.place = dir.path() / std::string(60, 'a') / std::string(60, 'b');
  std::filesystem::create_directories(options.place);
  PrivateServer server(options);
  CHECK_FALSE(open_database(server.url())->environment().empty());
}

TEST_CASE("what prevents a server is refused with the mend, and leaves nothing") {
  lab::OpenDir dir;
  CHECK_THROWS_AS(PrivateServer(options_for("oracle", dir)), UsageError);
  auto missing = options_for("postgresql", dir);
  missing.place = dir.path() / "nowhere";
  missing.binaries = "/usr/bin";
  CHECK_THROWS_AS(PrivateServer(missing), UsageError);
  auto broken = options_for("postgresql", dir);
  broken.binaries = "/nonexistent";
  CHECK_THROWS_AS(PrivateServer(broken), BrokenError);
  CHECK(empty_folder(dir.path()));
}

TEST_CASE("a folder the server's user can't reach is refused, naming it") {
  if (geteuid() != 0) return lab::skip("not root: the server runs as the caller");
  if (lab::installed_servers().empty()) return;
  lab::OpenDir dir;
  const auto shut = dir.path() / "shut";
  std::filesystem::create_directory(shut);
  std::filesystem::permissions(shut, std::filesystem::perms(0700));
  auto options = options_for(lab::installed_servers().front(), dir);
  options.place = shut;
  try {
    PrivateServer server(options);
    FAIL("started");
  } catch (const RefusedError& refused) {
    CHECK_THAT(refused.what(), Catch::Matchers::Contains(shut.string()));
  }
  CHECK(empty_folder(shut));
}

TEST_CASE("a killed Plimsoll's control group is removed by the next") {
  try {
    MemoryBound{kMemory_bytes};
  } catch (const RefusedError& refused) {
    return lab::skip(refused.what());
  }
  const pid_t child = fork();
  if (child == 0) {
    new MemoryBound(kMemory_bytes);  // never destroyed, as when it is killed
    _exit(0);
  }
  REQUIRE(child > 0);
  waitpid(child, nullptr, 0);
  const MemoryBound bound(kMemory_bytes);
  const auto parent = bound.procs_file().parent_path().parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(parent)) {
    CHECK(entry.path().filename().string().find(fmt::format("plimsoll-{}-", child)) ==
          std::string::npos);
  }
}

}  // namespace
}  // namespace plimsoll
