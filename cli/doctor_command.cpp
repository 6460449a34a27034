#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "oltp/database/database.h"
#include "rawio/device/observer.h"
#include "rawio/device/system_sampler.h"
#include "rawio/engine/io_engine.h"
#include "results/base/units.h"
#include "results/base/version.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDoctorExamples =
    "Examples:\n"
    "  plimsoll doctor               what this machine lets Plimsoll do and see\n"
    "  plimsoll doctor /mnt/nvme1    and what of this drive";

// One thing that is there or isn't.
struct Finding {
  std::string area;  // "machine", "observer", "engine", "database", "drive"
  std::string name;
  bool there = true;
  std::string text;  // what it gives; when it isn't there, why not and what mends it
};

void look_at_machine(std::vector<Finding>& findings) {
  utsname kernel{};
  uname(&kernel);
  findings.push_back({"machine", "kernel", true, fmt::format("Linux {}", kernel.release)});
  findings.push_back(
      {"machine", "processors", true, fmt::format("{}", std::thread::hardware_concurrency())});
  const bool root = geteuid() == 0;
  findings.push_back({"machine", "root", root,
                      root ? "may write to block devices and watch them"
                           : "block devices, eBPF and trace events need it: run with sudo"});
  const auto clock =
      read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource").value_or("");
  const bool quick = clock == "tsc" || clock == "kvm-clock" || clock == "arch_sys_counter";
  findings.push_back({"machine", "clock", quick,
                      quick ? clock
                            : clock + " is slow to read and adds to short latencies: boot with "
                                      "clocksource=tsc where the processor's is stable"});
  rlimit locked{};
  getrlimit(RLIMIT_MEMLOCK, &locked);
  const bool enough = locked.rlim_cur == RLIM_INFINITY || locked.rlim_cur >= (64u << 20);
  findings.push_back(
      {"machine", "locked memory", enough,
       (locked.rlim_cur == RLIM_INFINITY ? "no limit" : format_size(locked.rlim_cur)) +
           std::string(enough ? ""
                              : ": large io_uring buffers aren't registered; "
                                "raise it with ulimit -l")});
  const auto pressure = read_text("/proc/pressure/io");
  findings.push_back(
      {"machine", "I/O pressure", pressure && parse_io_pressure(*pressure),
       pressure ? "recorded each second" : "not kept by this kernel: boot with psi=1 to have it"});
}

void look_at_observers(std::vector<Finding>& findings) {
  for (const auto& kind : observer_kinds()) {
    const auto why = kind.obstacle();
    findings.push_back(
        {"observer", std::string(kind.name), why.empty(),
         why.empty() ? fmt::format("{}; cannot see {}", kind.description, kind.unseen) : why});
  }
}

void look_at_engines(std::vector<Finding>& findings) {
  for (const auto& kind : engine_kinds()) {
    findings.push_back({"engine", std::string(kind.name), true, std::string(kind.description)});
  }
  constexpr const char* kOptional[][2] = {
      {"libaio", "built without it: install libaio-dev and build again"},
      {"io_uring", "built without it: install liburing-dev and build again"}};
  for (const auto& [name, why] : kOptional) {
    const auto same = [&](const EngineKind& kind) { return kind.name == name; };
    if (std::none_of(engine_kinds().begin(), engine_kinds().end(), same)) {
      findings.push_back({"engine", name, false, why});
    }
  }
}

void look_at_databases(std::vector<Finding>& findings) {
  for (const auto& kind : database_kinds()) {
    findings.push_back({"database", std::string(kind.scheme), true, std::string(kind.url_form)});
  }
}

void look_at_drive(const std::string& target, std::vector<Finding>& findings) {
  const DeviceStack stack = identify(target);
  findings.push_back({"drive", stack.path, !stack.levels.empty(), describe(stack)});
  for (const auto& level : stack.levels) {
    if (level.iostats == false) {
      findings.push_back({"drive", level.name, false,
                          fmt::format("keeps no statistics, so no queue times: echo 1 > "
                                      "/sys/block/{}/queue/iostats",
                                      level.name)});
    }
    if (level.bio_based) {
      findings.push_back({"drive", level.name, true,
                          "takes bios, not requests: it is watched from a bio's queueing to its "
                          "end (Q2C)"});
    }
  }
}

void print_findings(const std::vector<Finding>& findings) {
  std::string area;
  for (const auto& finding : findings) {
    fmt::print("{:<9} {} {:<14} {}\n", finding.area == area ? "" : finding.area,
               finding.there ? "yes" : "NO ", finding.name, finding.text);
    area = finding.area;
  }
}

void print_findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const auto& finding : findings) {
    list.push_back({{"area", finding.area},
                    {"name", finding.name},
                    {"there", finding.there},
                    {"text", finding.text}});
  }
  const Json object = {{"command", "doctor"}, {"version", version()}, {"findings", list}};
  fmt::print("{}\n", object.dump(2));
}

struct DoctorOptions {
  std::string target;
  bool json = false;
};

ExitCode diagnose(const DoctorOptions& options) {
  std::vector<Finding> findings;
  look_at_machine(findings);
  look_at_observers(findings);
  look_at_engines(findings);
  look_at_databases(findings);
  if (!options.target.empty()) look_at_drive(options.target, findings);
  options.json ? print_findings_json(findings) : print_findings(findings);
  return ExitCode::kDone;
}

}  // namespace

void setup_doctor(CLI::App& app, CommandContext& context) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "What this machine lets Plimsoll do and see, and how to get the rest");
  command->footer(kDoctorExamples);
  command->add_option("TARGET", options->target, "A drive or folder to look at too")->type_name("");
  command->add_flag("--json", options->json, "The findings as one JSON object");
  command->callback(
      [options, &context] { context.run = [options] { return diagnose(*options); }; });
}

}  // namespace plimsoll::cli
