// The second-best observer: the kernel's block trace points, handed to this process one by one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rawio/device/block_stat_observer.h"
#include "rawio/device/observer.h"
#include "rawio/device/trace_events.h"

namespace plimsoll {

// Pairs the events of devices into operations. Used by one thread at a time.
class TraceMatcher {
 public:
  struct Totals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::map<int, std::uint64_t> errors_by_code;
    Histogram latency;  // D2C of requests, Q2C of bios
  };
  struct Device {
    std::map<char, Totals> operations;  // by TraceEvent::operation
    std::uint64_t unmatched = 0;        // completions without their beginning
    std::uint64_t partial = 0;
  };

  // Watches the requests of `device`, or its bios.
  void watch(std::uint32_t device, bool bios) { watched_[device] = {bios, {}}; }

  // In the order of time.
  void add(const TraceEvent& event);

  // What a device did since the last take.
  Device take(std::uint32_t device) { return std::exchange(watched_.at(device).totals, {}); }
  std::size_t in_flight() const { return begun_.size(); }

 private:
  struct Key {
    std::uint64_t sector;
    std::uint32_t device;
    char operation;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::uint64_t>()(key.sector * 31 + key.device * 5 +
                                        static_cast<unsigned char>(key.operation));
    }
  };
  struct Begun {
    std::int64_t at_ns;
    std::uint32_t sectors;
  };
  struct Watched {
    bool bios = false;
    Device totals;
  };

  void begin(const TraceEvent& event);
  void end(const TraceEvent& event, Device& device);
  void finish(const TraceEvent& event, std::int64_t begun_ns, Device& device);

  std::unordered_map<std::uint32_t, Watched> watched_;
  std::unordered_multimap<Key, Begun, HashOfKey> begun_;
};

// Latency "d2c" of request-based devices, "q2c" of bio-based ones; partitions by the block
// statistics. A thread of its own empties the kernel's buffers.
class TraceObserver final : public Observer {
 public:
  explicit TraceObserver(const SystemRoots& roots = {}) : roots_(roots), statistics_(roots) {}
  ~TraceObserver() override;

  void start(const DeviceStack& stack, std::int64_t now_ns) override;
  ObserverSample sample(std::int64_t now_ns) override;
  Json describe() const override;

 private:
  void collect(std::stop_token stop);
  void match_until(std::int64_t horizon_ns);
  void add_device(const BlockDevice& device, std::int64_t now_ns, ObserverSample& sample);
  void stop_collecting();

  SystemRoots roots_;
  std::vector<BlockDevice> devices_;
  BlockStatObserver statistics_;
  std::unique_ptr<TraceEvents> events_;
  std::mutex mutex_;  // guards all below between the collecting thread and sample()
  std::vector<TraceEvent> waiting_;
  TraceMatcher matcher_;
  std::uint64_t lost_before_ = 0;
  std::int64_t last_ns_ = 0;
  bool first_ = true;
  std::jthread thread_;
};

}  // namespace plimsoll
