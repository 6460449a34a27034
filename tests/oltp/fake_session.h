// A session that records what it is told, before or instead of a real one: for what a real database
// can't be made to do on command (a given outcome at a given call).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oltp/database/database.h"

namespace plimsoll::fakes {

struct Call {
  std::string sql;  // or "begin read-only", "begin read-write", "commit", "rollback"
  std::vector<DbValue> parameters;
  bool operator==(const Call&) const = default;
};

class FakeSession final : public Session {
 public:
  // Decides what becomes of the n-th call (from 0); all succeed without it.
  std::function<Outcome(std::size_t call)> decide;
  bool duplicate_key = false;  // is what failed
  std::vector<Call> calls;

  StatementId prepare(const std::string& sql) override {
    statements_.push_back(sql);
    return static_cast<StatementId>(statements_.size() - 1);
  }
  Outcome begin(Access access) override {
    return note({access == Access::kReadOnly ? "begin read-only" : "begin read-write", {}});
  }
  Outcome execute(StatementId statement, std::span<const DbView> parameters) override {
    Call call{statements_.at(statement), {}};
    for (const DbView& view : parameters) call.parameters.push_back(to_value(view));
    return note(std::move(call));
  }
  Outcome commit() override { return note({"commit", {}}); }
  Outcome rollback() override { return note({"rollback", {}}); }
  const DbRows& rows() const override { return rows_; }
  const DbError& error() const override { return error_; }

 private:
  struct NoRows final : DbRows {
    std::size_t rows() const override { return 0; }
    std::size_t columns() const override { return 0; }
    DbView at(std::size_t, std::size_t) const override { return {}; }
    std::int64_t affected() const override { return 0; }
  };

  static DbValue to_value(const DbView& view) {
    return std::visit(
        [](const auto& value) -> DbValue {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>) {
            return std::string(value);
          } else {
            return value;
          }
        },
        view);
  }
  Outcome note(Call call) {
    calls.push_back(std::move(call));
    const Outcome outcome = decide ? decide(calls.size() - 1) : Outcome::kOk;
    if (outcome != Outcome::kOk) error_ = {outcome, "FAKE", "as told", false, duplicate_key};
    return outcome;
  }

  std::vector<std::string> statements_;
  NoRows rows_;
  DbError error_;
};

// Hands out such sessions, and has nothing else.
class FakeDatabase final : public Database {
 public:
  std::unique_ptr<Session> connect() override { return std::make_unique<FakeSession>(); }
  std::string engine() const override { return "fake"; }
  nlohmann::ordered_json environment() override { return {}; }
  std::vector<PreflightFinding> preflight() override { return {}; }
  void run_script(const std::string&) override {}
  std::unique_ptr<BulkLoad> connect_bulk() override { return nullptr; }
  DbTables tables() override { return {}; }
  std::uint64_t size_bytes() override { return 0; }
  std::optional<std::uint64_t> free_bytes() override { return std::nullopt; }
  void reclaim() override {}
  std::string data_path() const override { return {}; }
};

}  // namespace plimsoll::fakes
