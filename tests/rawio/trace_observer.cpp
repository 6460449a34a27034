#include "rawio/device/trace_observer.h"

#include "tests/rawio/observer_lab.h"

using namespace plimsoll;
using namespace plimsoll::lab;

TEST_CASE("the trace observer's rows hold exactly what was done") {
  if (const auto why = trace_obstacle(); !why.empty()) return skip(why);
  auto loop = lab::make<lab::LoopDevice>();
  if (!loop) return;
  const lab::QueueSetting cache(loop->name(), "write_cache", "write back");
  check_counts<TraceObserver>(loop->node(), loop->name());
}

TEST_CASE("the trace observer follows a zram device by its bios") {
  if (const auto why = trace_obstacle(); !why.empty()) return skip(why);
  auto zram = lab::make<lab::ZramDevice>();
  if (!zram) return;
  TraceObserver observer;
  observer.start(identify(zram->node()), now_ns());
  TimedFile file(zram->node());
  for (int i = 0; i < 30; ++i) REQUIRE(file.write(4096, i * 4096));
  for (int i = 0; i < 20; ++i) REQUIRE(file.read(4096, i * 4096));
  const auto sample = observer.sample(now_ns());
  const auto* read = device_row(sample, zram->name(), "read");
  const auto* write = device_row(sample, zram->name(), "write");
  REQUIRE((read && write));
  CHECK(read->count == 20);
  CHECK(write->count == 30);
  CHECK(latency_of(*read, "d2c") == nullptr);
  REQUIRE(latency_of(*read, "q2c"));
  CHECK(latency_of(*read, "q2c")->percentile(50) <= file.reads().percentile(50) * 1.02);
}

TEST_CASE("events are matched to operations in any order of CPUs") {
  using Kind = TraceEvent::Kind;
  TraceMatcher matcher;
  matcher.watch(7, false);
  const auto event = [](std::int64_t at_ns, Kind kind, char operation, std::uint64_t sector,
                        std::uint32_t sectors, int error = 0) {
    return TraceEvent{.at_ns = at_ns,
                      .sector = sector,
                      .sectors = sectors,
                      .device = 7,
                      .error = error,
                      .kind = kind,
                      .operation = operation};
  };
  matcher.add(event(100, Kind::kIssue, 'R', 8, 16));
  matcher.add(event(110, Kind::kIssue, 'W', 8, 8));
  matcher.add(event(120, Kind::kIssue, 'F', 0, 0));
  matcher.add(event(150, Kind::kComplete, 'R', 8, 8));   // a part
  matcher.add(event(190, Kind::kComplete, 'R', 16, 8));  // its rest
  matcher.add(event(210, Kind::kComplete, 'W', 8, 8, 5));
  matcher.add(event(220, Kind::kComplete, 'F', UINT64_MAX, 0));
  matcher.add(event(230, Kind::kComplete, 'W', 0, 0));    // end of the flush sequence
  matcher.add(event(240, Kind::kComplete, 'R', 800, 8));  // began before
  auto done = matcher.take(7);
  CHECK(done.operations['R'].count == 1);
  CHECK(done.operations['R'].bytes == 8192);
  CHECK(done.operations['R'].latency.max() == 90);
  CHECK(done.operations['W'].count == 0);
  CHECK(done.operations['W'].errors_by_code == std::map<int, std::uint64_t>{{5, 1}});
  CHECK(done.operations['F'].latency.max() == 100);
  CHECK(done.partial == 1);
  CHECK(done.unmatched == 1);
  CHECK(matcher.in_flight() == 0);
}

TEST_CASE("operations are read from the kernel's letters") {
  CHECK(operation_of_flags("R") == 'R');
  CHECK(operation_of_flags("RA") == 'R');
  CHECK(operation_of_flags("WS") == 'W');
  CHECK(operation_of_flags("FWS") == 'W');
  CHECK(operation_of_flags("FF") == 'F');
  CHECK(operation_of_flags("F") == 'F');
  CHECK(operation_of_flags("D") == 'D');
  CHECK(operation_of_flags("N") == 'N');
  CHECK(operation_of_flags("") == 'N');
}
