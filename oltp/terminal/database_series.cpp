#include "oltp/terminal/database_series.h"

#include <fmt/format.h>

#include "results/base/error.h"
#include "results/base/units.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kSample_ns = 100'000'000;
constexpr int kSamplesASecond = 10;

}  // namespace

DatabaseSeries::DatabaseSeries(std::unique_ptr<DbProbe> probe, Clock& clock)
    : probe_(std::move(probe)), clock_(clock) {
  if (probe_) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

DatabaseSeries::~DatabaseSeries() = default;

// A database that is away gives no points; the outage itself is told by the sessions that lost it.
void DatabaseSeries::run(const std::stop_token& stop) {
  std::int64_t due_ns = clock_.now_ns();
  for (int turn = 0; !stop.stop_requested(); ++turn) {
    const std::int64_t start_ns = clock_.now_ns();
    try {
      if (turn % kSamplesASecond == 0) sample_figures();
      sample_waits();
    } catch (const Error&) {
      last_ns_ = 0;
    }
    asking_ns_ += clock_.now_ns() - start_ns;
    due_ns += kSample_ns;
    clock_.sleep_until_ns(due_ns);
  }
}

void DatabaseSeries::sample_waits() {
  for (const auto& [name, sessions] : probe_->waits()) waits_[name] += sessions;
  ++samples_;
}

void DatabaseSeries::sample_figures() {
  const auto figures = probe_->figures();
  const std::int64_t at_ns = clock_.now_ns();
  const std::lock_guard lock(mutex_);
  for (const auto& [name, sessions] : waits_)
    add("wait:" + name, at_ns, static_cast<double>(sessions) / samples_);
  if (samples_ > 0) add("sampling_ns", at_ns, static_cast<double>(asking_ns_));
  waits_.clear();
  samples_ = 0;
  asking_ns_ = 0;
  take_figures(figures, at_ns);
  if (last_ns_ != 0) watch_checkpoint(at_ns);
  last_ns_ = at_ns;
}

void DatabaseSeries::take_figures(const std::vector<DbFigure>& figures, std::int64_t at_ns) {
  growth_.clear();
  for (const auto& figure : figures) {
    if (!figure.total) {
      add(figure.name, at_ns, figure.value);
      continue;
    }
    const auto before = totals_.find(figure.name);
    // Less than before: the server was restarted meanwhile.
    if (last_ns_ != 0 && before != totals_.end() && figure.value >= before->second) {
      growth_[figure.name] = figure.value - before->second;
      const double seconds = static_cast<double>(at_ns - last_ns_) * 1e-9;
      add(figure.name, at_ns, growth_[figure.name] / seconds);
    }
    totals_[figure.name] = figure.value;
  }
}

// PostgreSQL adds a checkpoint's times when it has ended, in ms; older and newer names.
void DatabaseSeries::watch_checkpoint(std::int64_t at_ns) {
  const auto grown = [this](const char* older, const char* newer) {
    const auto found = growth_.contains(older) ? growth_.find(older) : growth_.find(newer);
    return found == growth_.end() ? 0 : found->second;
  };
  const double write_ms = grown("checkpoint_write_time", "write_time");
  const double sync_ms = grown("checkpoint_sync_time", "sync_time");
  const auto length_ns = static_cast<std::int64_t>((write_ms + sync_ms) * 1e6);
  if (length_ns <= 0) return;
  events_.push_back({at_ns - length_ns, length_ns, "checkpoint",
                     fmt::format("{} writing pages, {} flushing them",
                                 format_duration(static_cast<std::int64_t>(write_ms * 1e6)),
                                 format_duration(static_cast<std::int64_t>(sync_ms * 1e6)))});
}

void DatabaseSeries::add(std::string name, std::int64_t at_ns, double value) {
  points_.push_back({std::move(name), at_ns, value});
}

void DatabaseSeries::drain(Record& record, const Part& part) {
  std::vector<Point> points;
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    points.swap(points_);
    events.swap(events_);
  }
  for (const auto& point : points)
    record.add_point(part, "database", point.name, point.at_ns, point.value);
  for (const auto& event : events) record.add_event(event);
}

}  // namespace plimsoll
