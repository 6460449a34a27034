#include "rawio/engine/completion_queue.h"
#include "rawio/engine/engines.h"

namespace plimsoll {
namespace {

// Touches neither data nor device, so that all time measured with it is the caller's.
class NullEngine final : public IoEngine {
 public:
  void open(const EngineSetup& setup) override {
    check_depth("null", setup.depth, kMaxDepth);
    done_ = CompletionQueue(setup.depth);
  }

  std::uint32_t submit(std::span<const IoRequest> requests) noexcept override {
    const auto count =
        std::min<std::uint32_t>(done_.free(), static_cast<std::uint32_t>(requests.size()));
    for (const auto& request : requests.first(count)) done_.push({request.slot, request.length});
    return count;
  }

  std::uint32_t reap(std::uint32_t, std::span<IoCompletion> completions,
                     std::int64_t) noexcept override {
    return done_.pop(completions);
  }

  EngineLimits limits() const override { return {kMaxDepth, true, {}}; }

 private:
  static constexpr std::uint32_t kMaxDepth = 65536;
  CompletionQueue done_;
};

}  // namespace

std::unique_ptr<IoEngine> make_null_engine() {
  return std::make_unique<NullEngine>();
}

}  // namespace plimsoll
