// fio's job files: read as workloads, and written back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rawio/workload/io_workload.h"

namespace plimsoll {

// A file or device that jobs name, with the size it has to have.
struct FioTarget {
  std::string path;
  std::uint64_t file_size_bytes = 0;  // 0: what there is
  bool changes = false;
};

// A job file: groups of jobs that run one after the other ("stonewall"), the jobs of a group side
// by side as streams of one workload. Streams' targets are indices into `targets`.
struct FioJobs {
  std::vector<FioTarget> targets;
  std::vector<IoWorkload> groups;
};

// `name` is said in errors, "jobs.fio:12: ...". `default_target` is for jobs that name none (in
// fio: a file in the current folder). Every option that Plimsoll doesn't honour is an error by name
// and line; those that change nothing here (group_reporting, thread, …) are accepted. Sizes in
// percent and `loops` are not. Throws UsageError.
FioJobs parse_fio_jobs(const std::string& text, const std::string& name,
                       const std::string& default_target, std::uint64_t seed);

struct FioExportTarget {
  std::string path;
  std::uint64_t size_bytes = 0;
  bool folder = false;  // a file was made in it
};

// A workload's specification (of a record, as to_json gives it) as a fio job file that repeats it
// as far as fio can; what it can't is said in comments.
std::string to_fio_job(const nlohmann::ordered_json& spec,
                       const std::vector<FioExportTarget>& targets);

// The options that are read, in the order of fio's documentation: for --help and the docs.
std::vector<std::string> fio_option_names();

}  // namespace plimsoll
