#include "oltp/workload/sysbench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "oltp/database/statements.h"
#include "results/base/error.h"

namespace plimsoll {
namespace {

using enum Draw;

std::vector<SysbenchStep> join(std::vector<SysbenchStep> first,
                               const std::vector<SysbenchStep>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::vector<SysbenchStep>& read_steps() {
  static const std::vector<SysbenchStep> steps = {
      {"point_select", 10, false, {kId}},
      {"simple_range", 1, false, {kId, kRangeEnd}},
      {"sum_range", 1, false, {kId, kRangeEnd}},
      {"order_range", 1, false, {kId, kRangeEnd}},
      {"distinct_range", 1, false, {kId, kRangeEnd}},
  };
  return steps;
}

const std::vector<SysbenchStep>& write_steps() {
  static const std::vector<SysbenchStep> steps = {
      {"update_index", 1, false, {kId}},
      {"update_non_index", 1, false, {kC, kId}},
      {"delete", 1, false, {kId}},
      {"insert", 1, true, {kSameId, kK, kC, kPad}},
  };
  return steps;
}

// A transaction's statement with its parameters bound.
struct BoundStep {
  StatementId statement;
  std::size_t count;
  std::array<DbView, 4> parameters;
};

class SysbenchScript final : public Script {
 public:
  SysbenchScript(const SysbenchRow& row, const SysbenchOptions& options,
                 const Distribution& distribution, const Statements& statements, Session& session)
      : row_(row), options_(options), distribution_(distribution), session_(session) {
    std::size_t executes = 0;
    for (const SysbenchStep& step : row.steps) {
      for (int table = 1; table <= options.tables; ++table) {
        ids_.push_back(session.prepare(statements.sql(step.statement, table)));
      }
      executes += static_cast<std::size_t>(step.times);
    }
    bound_.resize(executes);
    texts_.resize(executes);
  }

  std::size_t draw(Rng& rng) override;
  Outcome run() override;

 private:
  struct Texts {
    std::array<char, kCLength> c;
    std::array<char, kPadLength> pad;
  };
  Outcome run_batch();
  Outcome run_statements();
  DbView draw_parameter(Draw what, Rng& rng, Texts& texts);

  const SysbenchRow& row_;
  const SysbenchOptions& options_;
  const Distribution& distribution_;
  Session& session_;
  std::vector<StatementId> ids_;  // step x table
  std::vector<BoundStep> bound_;
  std::vector<Texts> texts_;  // what string parameters of the same index point to
  std::int64_t id_ = 0;       // the row drawn last
};

std::size_t SysbenchScript::draw(Rng& rng) {
  std::size_t at = 0;
  std::int64_t table = 0;
  for (std::size_t i = 0; i < row_.steps.size(); ++i) {
    const SysbenchStep& step = row_.steps[i];
    if (!step.same_table) table = uniform(rng, 0, options_.tables - 1);
    const auto statement =
        i * static_cast<std::size_t>(options_.tables) + static_cast<std::size_t>(table);
    for (int time = 0; time < step.times; ++time, ++at) {
      bound_[at].statement = ids_[statement];
      bound_[at].count = step.draws.size();
      for (std::size_t p = 0; p < step.draws.size(); ++p) {
        bound_[at].parameters[p] = draw_parameter(step.draws[p], rng, texts_[at]);
      }
    }
  }
  return 0;
}

DbView SysbenchScript::draw_parameter(Draw what, Rng& rng, Texts& texts) {
  switch (what) {
    case kId:
      return id_ = distribution_.draw(rng);
    case kSameId:
      return id_;
    case kRangeEnd:
      return id_ + options_.range_size - 1;
    case kK:
      return distribution_.draw(rng);
    case kC:
      fill_digit_groups(rng, texts.c);
      return std::string_view(texts.c.data(), texts.c.size());
    case kPad:
      break;
  }
  fill_digit_groups(rng, texts.pad);
  return std::string_view(texts.pad.data(), texts.pad.size());
}

// Where another terminal deletes and inserts the same id between our delete and our insert, read
// committed lets ours fail on its key: a conflict of the two as a deadlock is, not a fault of the
// data. sysbench, too, runs such a transaction again.
Outcome SysbenchScript::run() {
  const Outcome outcome = options_.pipeline ? run_batch() : run_statements();
  const bool conflict =
      outcome == Outcome::kFailed && row_.transaction && session_.error().duplicate_key;
  return conflict ? Outcome::kRetryable : outcome;
}

Outcome SysbenchScript::run_batch() {
  session_.start_batch();
  const Outcome queued = run_statements();
  const Outcome outcome = session_.end_batch();
  return queued == Outcome::kOk ? outcome : queued;
}

Outcome SysbenchScript::run_statements() {
  if (row_.transaction) {
    if (const Outcome begun = session_.begin(row_.access); begun != Outcome::kOk) return begun;
  }
  for (const BoundStep& step : bound_) {
    const Outcome outcome =
        session_.execute(step.statement, std::span(step.parameters).first(step.count));
    if (outcome != Outcome::kOk) return outcome;
  }
  return row_.transaction ? session_.commit() : Outcome::kOk;
}

class SysbenchWorkload final : public Workload {
 public:
  SysbenchWorkload(const SysbenchRow& row, const SysbenchOptions& options,
                   const std::string& engine)
      : row_(row),
        options_(options),
        distribution_(options.random, options.table_size, options.scrambled, options.seed),
        statements_(Statements::load("sysbench", engine)),
        transactions_{std::string(row.name)} {}

  std::string name() const override { return std::string(row_.name); }
  const std::vector<std::string>& transactions() const override { return transactions_; }
  std::unique_ptr<Script> script(Session& session, int) const override {
    return std::make_unique<SysbenchScript>(row_, options_, distribution_, statements_, session);
  }
  std::string distribution() const override { return distribution_.name(); }
  nlohmann::ordered_json spec() const override {
    return {{"workload", row_.name},
            {"tables", options_.tables},
            {"table_size", options_.table_size},
            {"range_size", options_.range_size},
            {"rand_type", random_kind_names()[static_cast<std::size_t>(options_.random)]},
            {"rand_scrambled", options_.scrambled},
            {"pipeline", options_.pipeline},
            {"queries", queries()},
            {"seed", options_.seed}};
  }

 private:
  // Of one transaction, as sysbench counts them: begin and commit are "other".
  nlohmann::ordered_json queries() const {
    int reads = 0, writes = 0;
    for (const SysbenchStep& step : row_.steps) {
      const bool read = step.statement.ends_with("select") || step.statement.ends_with("range");
      (read ? reads : writes) += step.times;
    }
    return {{"read", reads}, {"write", writes}, {"other", row_.transaction ? 2 : 0}};
  }

  const SysbenchRow& row_;
  const SysbenchOptions options_;
  const Distribution distribution_;
  const Statements statements_;
  const std::vector<std::string> transactions_;
};

}  // namespace

const std::vector<SysbenchRow>& sysbench_rows() {
  using enum Access;
  static const std::vector<SysbenchRow> rows = {
      {"oltp_read_write", "14 reads and 4 writes", true, kReadWrite,
       join(read_steps(), write_steps())},
      {"oltp_read_only", "10 point selects and 4 ranges", true, kReadOnly, read_steps()},
      {"oltp_write_only", "2 updates, a delete and an insert", true, kReadWrite, write_steps()},
      {"oltp_point_select",
       "one row by its key",
       false,
       kReadOnly,
       {{"point_select", 1, false, {kId}}}},
      {"oltp_update_index",
       "k of one row, which its index holds",
       false,
       kReadWrite,
       {{"update_index", 1, false, {kId}}}},
      {"oltp_update_non_index",
       "c of one row",
       false,
       kReadWrite,
       {{"update_non_index", 1, false, {kC, kId}}}},
      {"oltp_delete",
       "one row, where it is still there",
       false,
       kReadWrite,
       {{"delete", 1, false, {kId}}}},
      {"oltp_insert",
       "one row under the next key",
       false,
       kReadWrite,
       {{"insert_next", 1, false, {kK, kC, kPad}}}},
  };
  return rows;
}

const SysbenchRow& sysbench_row(std::string_view name) {
  const auto& rows = sysbench_rows();
  const auto found = std::ranges::find(rows, name, &SysbenchRow::name);
  if (found != rows.end()) return *found;
  std::vector<std::string_view> names;
  for (const SysbenchRow& row : rows) names.push_back(row.name);
  throw UsageError(fmt::format("'{}' is no workload; there are {}", name, fmt::join(names, ", ")));
}

void check_options(const SysbenchOptions& options) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t highest) {
    if (value >= 1 && value <= highest) return;
    throw UsageError(fmt::format("{} {} is out of range; give 1 to {}", name, value, highest));
  };
  check("--tables", options.tables, 10'000);
  check("--table-size", options.table_size, INT32_MAX);
  check("--range-size", options.range_size, INT32_MAX);
}

std::unique_ptr<Workload> make_sysbench(const SysbenchRow& row, const SysbenchOptions& options,
                                        const std::string& engine) {
  check_options(options);
  return std::make_unique<SysbenchWorkload>(row, options, engine);
}

void fill_digit_groups(Rng& rng, std::span<char> text) noexcept {
  constexpr std::size_t kGroup = 11;
  for (std::size_t at = 0; at < text.size(); at += kGroup + 1) {
    auto value = static_cast<std::uint64_t>(uniform(rng, 0, 99'999'999'999));
    for (std::size_t digit = kGroup; digit > 0; --digit, value /= 10) {
      text[at + digit - 1] = static_cast<char>('0' + value % 10);
    }
    if (at + kGroup < text.size()) text[at + kGroup] = '-';
  }
}

}  // namespace plimsoll
