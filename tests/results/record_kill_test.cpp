#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "results/record/record.h"
#include "tests/catch.h"
#include "tests/lab/temp_dir.h"
#include "tests/results/record_samples.h"

namespace plimsoll {
namespace {

using samples::interval;

// Writes seconds as fast as it can and says each one that was committed; never returns.
[[noreturn]] void write_until_killed(const std::filesystem::path& dir, int reports_fd) {
  Record record = Record::create(dir, samples::spec());
  const Part part = record.begin_part("p", "raw", Json::object(), 0);
  for (int second = 0;; ++second) {
    std::vector<std::int64_t> latencies_ns;
    for (int i = 0; i < 40; ++i) latencies_ns.push_back(1000 + (second * 40 + i) * 17 % 100'000);
    record.add_interval(interval(part, "raw", "read", second, latencies_ns));
    record.add_interval(interval(part, "raw", "write", second, latencies_ns));
    record.add_point(part, "psi", "io_some_pct", second * kSecond_ns, second);
    record.commit();
    if (::write(reports_fd, &second, sizeof second) != sizeof second) ::_exit(1);
  }
}

// The last second that the child had reported when it was killed; -1: none.
int run_and_kill(const std::filesystem::path& dir, std::chrono::microseconds after) {
  int fds[2];
  REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  if (child == 0) write_until_killed(dir, fds[1]);
  ::close(fds[1]);
  std::jthread killer([child, after] {
    std::this_thread::sleep_for(after);
    ::kill(child, SIGKILL);
  });
  int last = -1;
  int second = 0;
  while (::read(fds[0], &second, sizeof second) == sizeof second) last = second;
  ::close(fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  return last;
}

void check_all_there(const std::filesystem::path& dir, int last) {
  const Record record = Record::open(dir);
  CHECK_FALSE(record.finished());
  const auto parts = record.parts();
  if (last < 0 && parts.empty()) return;
  const auto rows = record.intervals(parts.at(0), "raw");
  // Whole intervals: both operations of each second, at most one more than was reported.
  CHECK(rows.size() % 2 == 0);
  const int seconds = static_cast<int>(rows.size() / 2);
  CHECK(seconds >= last + 1);
  CHECK(seconds <= last + 2);
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    if (rows[i].start_ns != i / 2 * kSecond_ns || rows[i].count != 40 ||
        rows[i].latencies.at(1).histogram.count() != 40) {
      FAIL_CHECK("row " << i << " is not as written");
    }
  }
  CHECK(record.series(parts.at(0), "psi", "io_some_pct").size() == rows.size() / 2);
}

void kill_at_random(int times, std::uint64_t seed, int most_us) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> after_us(0, most_us);
  int intervals = 0;
  for (int i = 0; i < times; ++i) {
    const lab::TempDir temp;
    const auto dir = temp.path() / "run";
    const std::chrono::microseconds after(after_us(random));
    const int last = run_and_kill(dir, after);
    INFO("killed after " << after.count() << " us, seed " << seed);
    intervals += last + 1;
    if (last >= 0) check_all_there(dir, last);
  }
  CHECK(intervals > times);  // or it was never killed in the midst of writing
}

TEST_CASE("record: after a SIGKILL at any moment every committed interval is readable") {
  kill_at_random(8, 1, 120'000);
}

TEST_CASE("record: after a SIGKILL at any of 200 moments the record is readable", "[slow]") {
  kill_at_random(200, 2, 300'000);
}

}  // namespace
}  // namespace plimsoll
