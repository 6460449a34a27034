#include "oltp/server/private_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "results/base/error.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kInit_ns = 120'000'000'000;
constexpr std::int64_t kStart_ns = 120'000'000'000;  // recovery after a crash takes its time
constexpr std::int64_t kStop_ns = 300'000'000'000;   // a clean stop writes all dirty pages
constexpr std::int64_t kPoll_ns = 20'000'000;
constexpr const char* kPidFile = "server.pid";

std::string read_whole(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_whole(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  if (!(out << text << std::flush))
    throw BrokenError(fmt::format("writing {} failed: {}; is the drive full?", file.string(),
                                  std::strerror(errno)));
}

// Asked of the kernel; another could take it before the server does, which then says so.
std::uint16_t free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool found = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  if (fd >= 0) close(fd);
  if (!found) throw BrokenError("no loopback port is free; use the unix socket");
  return ntohs(address.sin_port);
}

// The first folder on the way down that `user` may not pass, or empty.
fs::path closed_to(const ServerUser& user, const fs::path& folder) {
  fs::path walked;
  for (const auto& part : fs::canonical(folder)) {
    walked /= part;
    struct stat info {};
    if (stat(walked.c_str(), &info) != 0) return walked;
    const mode_t pass = info.st_uid == user.uid   ? S_IXUSR
                        : info.st_gid == user.gid ? S_IXGRP
                                                  : S_IXOTH;
    if ((info.st_mode & pass) == 0) return walked;
  }
  return {};
}

// When the process with this id was started, in clock ticks since boot; empty when there is none.
// With the id it names one process for good. Field 22 of /proc/PID/stat; the second field is in
// parentheses and may hold spaces.
std::string start_time(pid_t pid) {
  const std::string text = read_whole(fmt::format("/proc/{}/stat", pid));
  const auto close = text.rfind(')');
  if (close == std::string::npos) return {};
  std::istringstream fields(text.substr(close + 1));
  std::string field;
  for (int i = 3; i <= 22 && fields >> field; ++i) {
  }
  return field;
}

// The kernel has told the server of a Plimsoll that ended to end, too; that takes a moment. Its
// process id when it still runs after 5 s.
pid_t wait_for_end(const fs::path& folder) {
  std::istringstream in(read_whole(folder / kPidFile));
  pid_t pid = -1;
  std::string started;
  if (!(in >> pid >> started)) return -1;
  for (int i = 0; i < 250; ++i) {
    if (start_time(pid) != started) return -1;
    usleep(20'000);
  }
  return pid;
}

}  // namespace

PrivateServer::PrivateServer(const ServerOptions& options)
    : options_(options), kind_(server_kind(options.engine)), user_(server_user(kind_.users)) {
  paths_.binaries = options.binaries.empty() ? find_binaries(kind_) : options.binaries;
  if (paths_.binaries.empty()) {
    throw RefusedError(fmt::format("the {} server is not installed; apt-get install {}",
                                   kind_.engine, kind_.package));
  }
  if (!fs::is_directory(options.place))
    throw UsageError(fmt::format("{} is no directory; make it", options.place.string()));
  remove_abandoned_servers(options.place);
  choose_folder();
  if (options.bounded) bound_ = std::make_unique<MemoryBound>(options.memory_bytes);
  prepare_folders();
  if (is_new_) initialise();
  start();
}

PrivateServer::~PrivateServer() {
  try {
    stop();
  } catch (const Error&) {
    if (running()) kill();
  }
  std::error_code ignored;
  if (discard_) fs::remove_all(folder_, ignored);
}

void PrivateServer::choose_folder() {
  const fs::path place = fs::canonical(options_.place);
  if (options_.keep) {
    folder_ = place / fmt::format("plimsoll-{}", options_.engine);
    fs::create_directory(folder_);
  } else {
    scratch_ = std::make_unique<ScratchDir>(place, options_.engine);
    folder_ = scratch_->path();
  }
  paths_.data = folder_ / "data";
  is_new_ = !fs::exists(paths_.data);
}

void PrivateServer::prepare_folders() {
  if (user_) {
    fs::permissions(folder_, fs::perms(0711));
    if (const auto shut = closed_to(*user_, folder_); !shut.empty()) {
      throw RefusedError(
          fmt::format("the user {}, as whom the server runs, can't reach {}; chmod a+x {}, or "
                      "place it elsewhere",
                      user_->name, folder_.parent_path().string(), shut.string()));
    }
  }
  paths_.config = folder_ / "server.conf";
  paths_.log = folder_ / "server.log";
  paths_.run = folder_ / "run";
  if ((paths_.run / kind_.socket).string().size() + 8 > sizeof sockaddr_un{}.sun_path) {
    short_run_ = std::make_unique<ScratchDir>("/tmp", "socket");
    fs::permissions(short_run_->path(), fs::perms(0711));
    paths_.run = short_run_->path() / "run";
  }
  if (options_.tcp) paths_.port = free_port();
  make_folder(paths_.run);
  write_whole(paths_.config, kind_.config(options_, paths_));
  write_whole(folder_ / "init.sql", "CREATE DATABASE IF NOT EXISTS plimsoll;\n");
}

void PrivateServer::make_folder(const fs::path& folder) const {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms(0700));
  if (user_ && chown(folder.c_str(), user_->uid, user_->gid) != 0)
    throw BrokenError(fmt::format("chown {} failed: {}", folder.string(), std::strerror(errno)));
}

ProcessSpec PrivateServer::process(std::vector<std::string> argv) const {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.cwd = paths_.run;
  spec.log = paths_.log;
  spec.user = user_;
  if (bound_) spec.procs_file = bound_->procs_file();
  spec.death_signal = kind_.death_signal;
  return spec;
}

// Under another name until it is whole, so that a kill leaves no half of one to be taken up.
void PrivateServer::initialise() {
  ServerPaths unfinished = paths_;
  unfinished.data = folder_ / "data.new";
  fs::remove_all(unfinished.data);
  make_folder(unfinished.data);
  ServerProcess init(process(kind_.init(unfinished)));
  const auto status = init.wait(kInit_ns);
  if (status == 0) return fs::rename(unfinished.data, paths_.data);
  throw BrokenError(fmt::format(
      "making a {} data directory in {} failed ({}): {}", kind_.engine, folder_.string(),
      status ? describe_wait_status(*status) : "no end after 120 s", last_log_line()));
}

void PrivateServer::start() {
  if (running()) return;
  if (const pid_t other = wait_for_end(folder_); other > 0) {
    throw RefusedError(
        fmt::format("{} is in use by the server of another run (process {}); wait "
                    "for its end, or place this one elsewhere",
                    folder_.string(), other));
  }
  const auto log_start = log().size();
  process_ = std::make_unique<ServerProcess>(process(kind_.serve(paths_)));
  write_pid_file();
  for (std::int64_t waited_ns = 0; waited_ns < kStart_ns; waited_ns += kPoll_ns) {
    if (kind_.ready(paths_, log().substr(log_start), process_->pid())) return;
    if (const auto status = process_->wait(kPoll_ns)) {
      process_.reset();
      throw BrokenError(
          fmt::format("the {} server ended while starting: {}", kind_.engine, last_log_line()));
    }
  }
  kill();
  throw BrokenError(
      fmt::format("the {} server did not answer within 120 s: {}", kind_.engine, last_log_line()));
}

void PrivateServer::stop() {
  if (!running()) {
    process_.reset();
    return;
  }
  process_->signal(kind_.stop_signal);
  const auto status = process_->wait(kStop_ns);
  if (!status) kill();
  process_.reset();
  if (status != 0) {
    throw BrokenError(fmt::format("the {} server did not stop cleanly ({}): {}", kind_.engine,
                                  status ? describe_wait_status(*status) : "killed after 300 s",
                                  last_log_line()));
  }
}

void PrivateServer::kill() {
  if (!process_) return;
  process_->signal(kind_.death_signal);
  if (!process_->wait(10'000'000'000)) process_->signal(SIGKILL);
  process_->wait(10'000'000'000);
  process_.reset();
}

std::string PrivateServer::url() const {
  return kind_.url(paths_);
}
pid_t PrivateServer::pid() const {
  return running() ? process_->pid() : -1;
}
bool PrivateServer::running() const {
  return process_ && process_->running();
}
std::string PrivateServer::log() const {
  return read_whole(paths_.log);
}

// An error's line is of more use than what followed it.
std::string PrivateServer::last_log_line() const {
  std::istringstream in(log());
  std::string last, last_error;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    last = line;
    const bool error = line.find("FATAL") != std::string::npos ||
                       line.find("ERROR") != std::string::npos ||
                       line.find("error:") != std::string::npos;
    if (error) last_error = line;
  }
  return last_error.empty() ? last : last_error;
}

void PrivateServer::write_pid_file() const {
  const pid_t pid = process_->pid();
  write_whole(folder_ / kPidFile, fmt::format("{} {}\n", pid, start_time(pid)));
}

nlohmann::ordered_json PrivateServer::environment() const {
  nlohmann::ordered_json json;
  json["engine"] = kind_.engine;
  json["placed_in"] = folder_.string();
  json["memory_bytes"] = options_.memory_bytes;
  json["memory_bounded"] = bound_ != nullptr;
  json["user"] = user_ ? nlohmann::ordered_json(user_->name) : nlohmann::ordered_json(nullptr);
  json["configuration"] = read_whole(paths_.config);
  return json;
}

void remove_abandoned_servers(const fs::path& place) {
  for (const auto& folder : ScratchDir::abandoned(place)) {
    if (const pid_t stuck = wait_for_end(folder); stuck > 0) ::kill(stuck, SIGKILL);
    wait_for_end(folder);
  }
  ScratchDir::remove_abandoned(place);
}

}  // namespace plimsoll
