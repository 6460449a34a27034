// Every engine must pass all of this; a new one needs only its row in engine_kinds().
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>

#include "rawio/engine/io_engine.h"
#include "results/base/error.h"
#include "tests/catch.h"
#include "tests/rawio/engine_test_file.h"

using namespace plimsoll;
using plimsoll::test::DirectFile;
using plimsoll::test::Pages;

namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint64_t kNoOffset = 1ull << 63;  // no file system takes it

std::uint32_t usable_depth(const EngineKind& kind) {
  return std::min<std::uint32_t>(8, kind.make()->limits().max_depth);
}

// An engine on one file of 1 MiB, opened; null where the kernel lacks the facility.
struct Bench {
  DirectFile file{1 << 20};
  std::uint32_t depth;
  Pages pages;
  std::unique_ptr<IoEngine> engine;

  explicit Bench(const EngineKind& kind, bool registered = true)
      : depth(usable_depth(kind)), pages(depth * kBlock), engine(kind.make()) {
    EngineSetup setup;
    setup.files = {file.fd()};
    setup.depth = depth;
    setup.buffers = pages.span();
    setup.registered = registered;
    try {
      engine->open(setup);
    } catch (const RefusedError& error) {
      std::cout << "SKIPPED: engine conformance, " << kind.name << ": " << error.what() << "\n";
      engine.reset();
    }
  }
  IoRequest request(IoOperation operation, std::uint32_t slot, std::uint64_t offset) {
    const bool moves = operation == IoOperation::kRead || operation == IoOperation::kWrite;
    return {operation,          slot,   0,
            moves ? kBlock : 0, offset, moves ? pages.at(slot * kBlock) : nullptr};
  }
  // Hands all over, reaping on back-pressure; results by slot.
  std::vector<std::int64_t> run(std::vector<IoRequest> requests) {
    std::vector<std::int64_t> results(depth, INT64_MIN);
    std::array<IoCompletion, 16> done;
    std::size_t handed = 0;
    std::size_t finished = 0;
    while (finished < requests.size()) {
      handed += engine->submit(std::span(requests).subspan(handed));
      const auto count = engine->reap(1, done, -1);
      for (std::uint32_t i = 0; i < count; ++i) results[done[i].slot] = done[i].result;
      finished += count;
    }
    return results;
  }
};

void for_each_engine(const std::function<void(const EngineKind&, Bench&)>& check) {
  for (const auto& kind : engine_kinds()) {
    for (const bool registered : {true, false}) {
      INFO("engine " << kind.name << (registered ? ", registered" : ", not registered"));
      Bench bench(kind, registered);
      if (bench.engine) check(kind, bench);
    }
  }
}

}  // namespace

TEST_CASE("what an engine writes it reads back") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null") return;  // moves no data, by design
    std::vector<IoRequest> writes;
    std::vector<IoRequest> reads;
    for (std::uint32_t slot = 0; slot < bench.depth; ++slot) {
      std::memset(bench.pages.at(slot * kBlock), 'a' + static_cast<int>(slot), kBlock);
      writes.push_back(bench.request(IoOperation::kWrite, slot, (7 + slot) * kBlock));
      // Read into another slot's buffer than it was written from.
      const std::uint32_t other = bench.depth - 1 - slot;
      reads.push_back(bench.request(IoOperation::kRead, other, (7 + slot) * kBlock));
    }
    for (const auto result : bench.run(writes)) CHECK(result == kBlock);
    std::memset(bench.pages.at(0), 0, bench.pages.span().size());
    for (const auto result : bench.run(reads)) CHECK(result == kBlock);
    for (std::uint32_t slot = 0; slot < bench.depth; ++slot) {
      const auto* first = bench.pages.at((bench.depth - 1 - slot) * kBlock);
      const auto expected = static_cast<std::byte>('a' + slot);
      CHECK(std::all_of(first, first + kBlock, [&](std::byte b) { return b == expected; }));
    }
  });
}

TEST_CASE("an engine completes flushes and data flushes") {
  for_each_engine([](const EngineKind&, Bench& bench) {
    CHECK(bench.run({bench.request(IoOperation::kFlush, 0, 0)})[0] == 0);
    CHECK(bench.run({bench.request(IoOperation::kDataFlush, 0, 0)})[0] == 0);
  });
}

TEST_CASE("an engine trims: the range reads as zeros") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null") return;
    std::memset(bench.pages.at(0), 'x', kBlock);
    bench.run({bench.request(IoOperation::kWrite, 0, 0)});
    auto trim = bench.request(IoOperation::kTrim, 0, 0);
    trim.length = kBlock;
    CHECK(bench.run({trim})[0] == kBlock);
    CHECK(bench.run({bench.request(IoOperation::kRead, 0, 0)})[0] == kBlock);
    CHECK(*bench.pages.at(17) == std::byte{0});
  });
}

TEST_CASE("an engine gives errors as -errno, one completion each") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null") return;
    CHECK(bench.run({bench.request(IoOperation::kRead, 0, kNoOffset)})[0] == -EINVAL);
    CHECK(bench.run({bench.request(IoOperation::kRead, 0, 0)})[0] == kBlock);
  });
}

TEST_CASE("an engine that refuses one request of a batch does the others") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null" || bench.depth < 4) return;
    std::vector<IoRequest> reads;
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      reads.push_back(bench.request(IoOperation::kRead, slot, slot * kBlock));
    }
    reads[1].offset = kNoOffset;
    const auto results = bench.run(reads);
    CHECK(results[0] == kBlock);
    CHECK(results[1] == -EINVAL);
    CHECK(results[2] == kBlock);
    CHECK(results[3] == kBlock);
  });
}

TEST_CASE("a read past the end of the file moves nothing") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null") return;
    CHECK(bench.run({bench.request(IoOperation::kRead, 0, 1 << 20)})[0] == 0);
  });
}

TEST_CASE("a full engine answers with a short count, and takes more after a reap") {
  for_each_engine([](const EngineKind&, Bench& bench) {
    std::vector<IoRequest> reads;
    for (std::uint32_t slot = 0; slot < bench.depth; ++slot) {
      reads.push_back(bench.request(IoOperation::kRead, slot, slot * kBlock));
    }
    CHECK(bench.engine->submit(reads) == bench.depth);
    CHECK(bench.engine->submit(std::span(reads).first(1)) == 0);
    std::vector<IoCompletion> done(bench.depth);
    CHECK(bench.engine->reap(bench.depth, done, -1) == bench.depth);
    CHECK(bench.engine->submit(std::span(reads).first(1)) == 1);
    CHECK(bench.engine->reap(1, done, -1) == 1);
  });
}

TEST_CASE("a reap gives no more than there is room for, and the rest later") {
  for_each_engine([](const EngineKind&, Bench& bench) {
    if (bench.depth < 3) return;
    std::vector<IoRequest> reads;
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      reads.push_back(bench.request(IoOperation::kRead, slot, slot * kBlock));
    }
    REQUIRE(bench.engine->submit(reads) == 3);
    std::vector<IoCompletion> done(1);
    for (int i = 0; i < 3; ++i) CHECK(bench.engine->reap(3, done, -1) == 1);
    CHECK(bench.engine->reap(0, done, 0) == 0);
  });
}

TEST_CASE("a reap with nothing in flight returns at once, whatever its limit") {
  for_each_engine([](const EngineKind&, Bench& bench) {
    std::vector<IoCompletion> done(1);
    CHECK(bench.engine->reap(1, done, -1) == 0);
    CHECK(bench.engine->reap(1, done, 1'000'000'000) == 0);
  });
}

TEST_CASE("an engine destroyed with requests in flight waits for them") {
  for_each_engine([](const EngineKind& kind, Bench& bench) {
    if (kind.name == "null") return;
    std::memset(bench.pages.at(0), 'z', bench.pages.span().size());
    std::vector<IoRequest> writes;
    for (std::uint32_t slot = 0; slot < bench.depth; ++slot) {
      writes.push_back(bench.request(IoOperation::kWrite, slot, slot * kBlock));
    }
    REQUIRE(bench.engine->submit(writes) == bench.depth);
    bench.engine.reset();
    std::memset(bench.pages.at(0), 0, bench.pages.span().size());
    const auto moved = ::pread(bench.file.fd(), bench.pages.at(0), bench.depth * kBlock, 0);
    CHECK(moved == static_cast<ssize_t>(bench.depth * kBlock));
    CHECK(*bench.pages.at(bench.depth * kBlock - 1) == std::byte{'z'});
  });
}

TEST_CASE("a depth no engine has is refused, naming the limit") {
  for (const auto& kind : engine_kinds()) {
    INFO("engine " << kind.name);
    auto engine = kind.make();
    EngineSetup setup;
    setup.depth = engine->limits().max_depth + 1;
    CHECK_THROWS_AS(engine->open(setup), UsageError);
    setup.depth = 0;
    CHECK_THROWS_AS(kind.make()->open(setup), UsageError);
  }
  CHECK_THROWS_WITH(make_engine("posixaio"), ContainsSubstring("psync"));
}
