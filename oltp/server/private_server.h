// Database servers of our own, placed on the drive under test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "oltp/server/memory_bound.h"
#include "oltp/server/server_process.h"
#include "results/base/scratch.h"

namespace plimsoll {

struct ServerOptions {
  std::string engine;                       // "postgresql", "mariadb" or "mysql"
  std::filesystem::path place;              // a directory of the drive
  std::uint64_t memory_bytes = 1ULL << 30;  // the whole server, page cache included
  bool bounded = true;                      // hold it to that by a control group
  bool direct_io = true;  // InnoDB only; PostgreSQL always reads through the cache
  unsigned max_connections = 100;
  bool keep = false;               // stays, and the next one with `keep` takes it up
  bool tcp = false;                // listen on a free loopback port besides the socket
  std::filesystem::path binaries;  // of the server; empty: where Debian puts them
};

// What a kind of server is started with, and how one knows that it is ready.
struct ServerPaths {
  std::filesystem::path binaries;
  std::filesystem::path data;
  std::filesystem::path run;  // the server's own: socket, temporary files
  std::filesystem::path config;
  std::filesystem::path log;
  std::uint16_t port = 0;  // 0: no TCP
};

struct ServerKind {
  std::string_view engine;
  std::string_view program;         // the server's binary
  std::string_view package;         // of Debian, for the message that it is missing
  std::vector<std::string> search;  // folders of binaries, with * for any version
  std::vector<std::string> users;   // to drop to
  std::string_view socket;          // its name below ServerPaths::run
  int stop_signal;                  // ends it cleanly
  int death_signal;                 // ends it at once, its children too
  std::string (*config)(const ServerOptions&, const ServerPaths&);
  std::vector<std::string> (*init)(const ServerPaths&);  // makes the data directory
  std::vector<std::string> (*serve)(const ServerPaths&);
  // `log` is what this start has written so far.
  bool (*ready)(const ServerPaths&, const std::string& log, pid_t pid);
  std::string (*url)(const ServerPaths&);
};

const std::vector<ServerKind>& server_kinds();
// Throws UsageError naming those there are.
const ServerKind& server_kind(const std::string& engine);
// Empty where it isn't installed.
std::filesystem::path find_binaries(const ServerKind& kind);

// A server in a folder of `place`, durable by default (docs/databases.md has its settings),
// answering on a unix socket in that folder. Never touches another server. As root it runs as an
// unprivileged user. The folder is a scratch one, removed with all it holds; with `keep` it is
// `place`/plimsoll-ENGINE and stays. Not thread-safe.
class PrivateServer {
 public:
  // Makes the data directory where there is none yet, and starts. Throws Error naming the mend;
  // then nothing new is left.
  explicit PrivateServer(const ServerOptions& options);
  ~PrivateServer();  // stops
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  std::string url() const;  // for open_database; no password
  std::string engine() const { return options_.engine; }
  bool is_new() const { return is_new_; }  // its data directory was made by this object
  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& data() const { return paths_.data; }
  const std::filesystem::path& socket_folder() const { return paths_.run; }
  std::uint16_t port() const { return paths_.port; }
  pid_t pid() const;  // -1 when stopped
  bool running() const;
  std::string log() const;                     // all it wrote so far
  nlohmann::ordered_json environment() const;  // how it was placed, for the record

  void stop();   // clean; throws BrokenError with the log's last line when it didn't end well
  void start();  // again, after stop() or a crash; throws BrokenError
  void kill();   // as a crash does; returns when it is gone
  void discard() { discard_ = true; }  // a kept folder goes with this object, too

 private:
  void choose_folder();
  void prepare_folders();
  void make_folder(const std::filesystem::path& folder) const;  // the server's own
  void initialise();
  ProcessSpec process(std::vector<std::string> argv) const;
  std::string last_log_line() const;
  void write_pid_file() const;

  ServerOptions options_;
  const ServerKind& kind_;
  std::optional<ServerUser> user_;
  std::unique_ptr<ScratchDir> scratch_;  // null when it is kept
  std::filesystem::path folder_;
  std::unique_ptr<MemoryBound> bound_;
  ServerPaths paths_;
  std::unique_ptr<ScratchDir> short_run_;  // where the folder's path is too long for a socket
  std::unique_ptr<ServerProcess> process_;
  bool is_new_ = true;
  bool discard_ = false;
};

// Ends servers that a killed Plimsoll left running in `place`, then removes their folders.
void remove_abandoned_servers(const std::filesystem::path& place);

}  // namespace plimsoll
