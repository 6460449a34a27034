#include "cli/conclusion.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "results/correlate/correlate.h"
#include "results/correlate/doubts.h"
#include "results/measure/clock.h"
#include "results/report/report.h"

namespace plimsoll::cli {
namespace fs = std::filesystem;
namespace {

std::int64_t now_ns() {
  return SystemClock::instance().now_ns();
}

// Commits what the broken part had, so that nothing measured is lost.
void note_ending(Record& record, const Error& error) {
  const bool interrupted = error.code() == ExitCode::kInterrupted;
  record.add_event({.at_ns = now_ns(),
                    .length_ns = 0,
                    .kind = interrupted ? "interrupted" : "broken",
                    .text = error.what()});
  if (interrupted) {
    record.warn({"interrupted", "stopped by the user; what was measured until then stands"});
  }
  record.set_verdict({"none", error.what()});
  record.commit();
}

void finish(Record& record) {
  for (const auto& finding : correlate(record)) record.add_finding(finding);
  for (const auto& doubt : find_doubts(record)) record.warn(doubt);
  record.finish(now_ns());
}

ExitCode code_of(const Verdict& verdict) {
  return verdict.word == "fail" ? ExitCode::kFails : ExitCode::kDone;
}

}  // namespace

void print_summary(const Record& record, bool json) {
  std::string text;
  if (json) {
    text = render_json(record).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  } else {
    const bool colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    text = render_text(record, {.colour = colour});
  }
  std::fwrite(text.data(), 1, text.size(), stdout);  // not fmt::print: it throws
  std::fflush(stdout);
}

fs::path write_page(const Record& record) {
  const fs::path page = record.dir() / "report.html";
  const fs::path draft = record.dir() / "report.html.part";
  std::ofstream out(draft, std::ios::binary);
  out << render_html(record);
  out.close();
  std::error_code error;
  if (out) fs::rename(draft, page, error);
  if (!out || error) {
    fs::remove(draft, error);
    throw BrokenError(
        fmt::format("can't write {}: is there space, and may you write there?", page.string()));
  }
  return page;
}

ExitCode conclude(Record& record, const CommonOptions& options, Output output,
                  const std::function<void()>& measure, const Printer& print) {
  std::exception_ptr broken;
  try {
    measure();
  } catch (const Error& error) {
    broken = std::current_exception();
    note_ending(record, error);
  }
  finish(record);
  if (output == Output::kSummaryAndPage) write_page(record);
  if (print && !record.parts().empty()) {
    print(record);
  } else {
    print_summary(record, options.json);
  }
  if (broken) std::rethrow_exception(broken);
  return code_of(record.verdict());
}

}  // namespace plimsoll::cli
