// What terminals run. Knows sessions and random numbers, not threads, clocks or records.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oltp/database/database.h"
#include "oltp/workload/random.h"

namespace plimsoll {

// One terminal's transactions on one session; used by one thread.
class Script {
 public:
  virtual ~Script() = default;
  // Draws the next transaction's input once and keeps it; returns its type, an index into
  // Workload::transactions().
  virtual std::size_t draw(Rng& rng) = 0;
  // Runs the transaction that was drawn last; a retry calls it again with the same input.
  virtual Outcome run() = 0;
};

// Immutable during a run, shared by its terminals.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual std::string name() const = 0;
  virtual const std::vector<std::string>& transactions() const = 0;
  // Prepares its statements on `session`, which outlives it. `terminal` counts from 0. Throws.
  virtual std::unique_ptr<Script> script(Session& session, int terminal) const = 0;
  // How rows are chosen, in words.
  virtual std::string distribution() const = 0;
  // Everything that shapes it, for the record.
  virtual nlohmann::ordered_json spec() const = 0;
};

}  // namespace plimsoll
