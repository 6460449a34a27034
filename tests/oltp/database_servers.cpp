#include "tests/oltp/database_servers.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "oltp/database/database.h"
#include "tests/lab/skip.h"

namespace plimsoll::lab {
namespace {

struct Started {
  OpenDir place;
  std::unique_ptr<PrivateServer> server;
  int databases = 0;
};

bool is_installed(const std::string& engine) {
  return !find_binaries(server_kind(engine)).empty();
}

Started& started(const std::string& engine) {
  static std::map<std::string, Started> servers;
  Started& entry = servers[engine];
  if (entry.server) return entry;
  ServerOptions options;
  options.engine = engine;
  options.place = entry.place.path();
  options.memory_bytes = 512ULL << 20;
  options.bounded = false;
  entry.server = std::make_unique<PrivateServer>(options);
  return entry;
}

std::string odbc_url(const PrivateServer& server, const std::string& name) {
  const std::string run = server.socket_folder().string();
  if (server.engine() == "postgresql") {
    return fmt::format(
        "sqlserver:Driver={{PostgreSQL Unicode}};Servername={};Port=5432;Database={};Username="
        "plimsoll;ConnSettings=SET lock_timeout='50ms'",
        run, name);
  }
  return fmt::format(
      "sqlserver:Driver={{MariaDB Unicode}};SOCKET={}/mysqld.sock;SERVER=localhost;DATABASE={};"
      "USER=root;CHARSET=utf8mb4;INITSTMT=SET innodb_lock_wait_timeout=0",
      run, name);
}

}  // namespace

std::vector<std::string> installed_servers() {
  std::vector<std::string> engines;
  for (const std::string engine : {"postgresql", "mariadb"}) {
    if (is_installed(engine)) {
      engines.push_back(engine);
    } else {
      skip(engine + "'s server is not installed");
    }
  }
  return engines;
}

PrivateServer* database_server(const std::string& engine) {
  if (is_installed(engine)) return started(engine).server.get();
  skip(engine + "'s server is not installed");
  return nullptr;
}

std::optional<std::string> empty_database(const std::string& engine, bool odbc) {
  PrivateServer* const server = database_server(engine);
  if (server == nullptr) return std::nullopt;
  const std::string name = fmt::format("test{}", ++started(engine).databases);
  const std::string url = server->url();
  open_database(url)->run_script("CREATE DATABASE " + name);
  if (odbc) return odbc_url(*server, name);
  const auto settings = url.find('?');
  const std::string base =
      url.substr(0, url.rfind('/', settings) + 1) + name + url.substr(settings);
  return base + (engine == "postgresql" ? "&options=-c%20lock_timeout%3D50ms" : "&lock-wait=0");
}

}  // namespace plimsoll::lab
