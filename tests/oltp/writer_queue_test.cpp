#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "oltp/database/database.h"
#include "oltp/database/writer_queue.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"

namespace plimsoll {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kSecond_ns = 1'000'000'000;

}  // namespace

TEST_CASE("a session that writes again at once starved the others") {
  WriterQueue queue;
  std::atomic<bool> stop{false};
  std::atomic<int> greedy{0};
  std::jthread again_and_again([&] {
    while (!stop) {
      if (!queue.acquire(kSecond_ns)) continue;
      ++greedy;
      std::this_thread::sleep_for(2ms);
      queue.release();
    }
  });
  while (greedy == 0) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) {
    const int before = greedy;
    REQUIRE(queue.acquire(10 * kSecond_ns));
    CHECK(greedy - before <= 3);
    queue.release();
  }
  stop = true;
}

TEST_CASE("one writer at a time, and none is forgotten") {
  WriterQueue queue;
  std::atomic<int> inside{0};
  std::atomic<int> clashes{0};
  int written = 0;  // guarded by the queue
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&] {
        for (int i = 0; i < 2000; ++i) {
          if (!queue.acquire(60 * kSecond_ns)) continue;
          if (inside.fetch_add(1) != 0) ++clashes;
          ++written;
          --inside;
          queue.release();
        }
      });
    }
  }
  CHECK(clashes == 0);
  CHECK(written == 8 * 2000);
}

TEST_CASE("a wait ends when it was to, and the lock goes to the next") {
  WriterQueue queue;
  REQUIRE(queue.acquire(0));
  CHECK_FALSE(queue.acquire(5'000'000));
  queue.release();
  CHECK(queue.acquire(0));
}

TEST_CASE("a session that goes in the middle of a transaction gives its turn back") {
  lab::TempDir dir;
  const auto database = open_database("sqlite:" + dir.free_path("db").string() + "?busy=50ms");
  {
    const auto bulk = database->connect_bulk();
    execute_or_throw(bulk->session(), "CREATE TABLE t (id INTEGER PRIMARY KEY)");
    bulk->finish();
  }
  REQUIRE(database->connect()->begin(Access::kReadWrite) == Outcome::kOk);
  const auto session = database->connect();
  REQUIRE(session->begin(Access::kReadWrite) == Outcome::kOk);
  execute_or_throw(*session, "INSERT INTO t VALUES (1)");
  REQUIRE(session->commit() == Outcome::kOk);
}

}  // namespace plimsoll
