// How every measuring command ends, however it ends.
#pragma once

#include <filesystem>
#include <functional>

#include "cli/command.h"

namespace plimsoll::cli {

// Prints something else than the summary.
using Printer = std::function<void(const Record&)>;

enum class Output { kSummary, kSummaryAndPage };  // the page is report.html beside the record

// Runs `measure`. Then, whether it returned or threw: notes in the record how it ended, adds the
// findings, finishes the record and prints the summary (with --json the object) on standard output,
// or calls `print` where there is one.
// Rethrows what `measure` threw, so that the program says it in one line and ends with its code; a
// record that can't be written throws BrokenError. Otherwise returns the exit code of the verdict.
ExitCode conclude(Record& record, const CommonOptions& options, Output output,
                  const std::function<void()>& measure, const Printer& print = {});

// Prints the summary of a record, or with `json` its object. What can't be printed is for
// run_program to say, by the state of stdout.
void print_summary(const Record& record, bool json);

// Writes report.html into the record's folder, whole or not at all. Returns its path; throws
// BrokenError.
std::filesystem::path write_page(const Record& record);

}  // namespace plimsoll::cli
