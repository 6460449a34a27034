#include "results/record/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "results/base/error.h"
#include "results/base/version.h"
#include "results/measure/clock.h"
#include "results/record/record_impl.h"
#include "results/record/redact.h"
#include "results/record/schema.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

// WAL and synchronous=OFF keep all that was committed through a kill of the process, and never call
// fsync, not even when the journal is folded into the database: each 1,000 pages, so that it
// doesn't grow with the run. An 8 KiB page holds several rows with their histograms.
constexpr const char* kWriterSettings = R"sql(
PRAGMA page_size = 8192;
PRAGMA synchronous = OFF;
PRAGMA journal_mode = WAL;
PRAGMA wal_autocheckpoint = 1000;
)sql";

void remove_files(const fs::path& file, std::initializer_list<const char*> suffixes) {
  std::error_code ignored;
  for (const char* suffix : suffixes) fs::remove(file.string() + suffix, ignored);
}

// The exclusive creation is what keeps a second run out.
void claim(const fs::path& dir, const fs::path& file) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) {
    throw BrokenError(fmt::format("can't make the folder {} ({}): give --out one that can be made",
                                  dir.string(), error.message()));
  }
  const int fd = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0 && errno == EEXIST) {
    throw UsageError(fmt::format("{} already holds the record of a run: give --out another folder",
                                 dir.string()));
  }
  if (fd < 0) {
    throw BrokenError(fmt::format("can't write in {} ({}): give --out a folder that can be written",
                                  dir.string(), std::strerror(errno)));
  }
  ::close(fd);
  remove_files(file, {"-wal", "-shm", "-journal"});  // of a record.db that somebody removed
}

void require_journal(sqlite::Connection& db, const fs::path& file) {
  sqlite::Statement mode(db, "PRAGMA journal_mode");
  mode.start();
  if (!mode.next() || mode.text(0) != "wal") {
    throw BrokenError(
        fmt::format("the file system of {} can't hold a record's journal (a network "
                    "file system?): give --out a folder on a local one",
                    file.string()));
  }
}

void write_schema(sqlite::Connection& db, const fs::path& file, const RunSpec& spec) {
  db.script(kWriterSettings);
  require_journal(db, file);
  db.script("BEGIN");
  db.script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId,
                        Record::kSchemaVersion)
                .c_str());
  db.script(kSchema);
  sqlite::Statement insert(
      db,
      "INSERT INTO run(id, plimsoll_version, command, target, argv, seed, "
      "options, started_ns, started_wall_ns) VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.run(version(), spec.command, redact(spec.target), json_text(redact_argv(spec.argv)),
             spec.seed, json_text(spec.options), SystemClock::instance().now_ns(),
             SystemClock::wall_ns());
  db.script("COMMIT");
}

void flush(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool flushed = fd >= 0 && ::fsync(fd) == 0;
  const int cause = errno;
  if (fd >= 0) ::close(fd);
  if (flushed || cause == ENOENT) return;
  throw BrokenError(fmt::format("can't flush {} ({}): check the drive and keep a copy",
                                path.string(), std::strerror(cause)));
}

}  // namespace

Record::Record(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Record::Record(Record&&) noexcept = default;
Record& Record::operator=(Record&&) noexcept = default;
Record::~Record() = default;

// What an exception left uncommitted was measured all the same.
Record::Impl::~Impl() {
  if (inserts == nullptr) return;
  try {
    commit();
  } catch (const std::exception&) {
    // The file can't take it (a full disk): what was committed before stays.
  }
}

Record Record::create(const fs::path& dir, const RunSpec& spec) {
  const fs::path file = dir / "record.db";
  claim(dir, file);
  try {
    auto impl = std::make_unique<Impl>();
    impl->dir = dir;
    impl->db = std::make_unique<sqlite::Connection>(file.string(), file, sqlite::Access::kWrite);
    write_schema(*impl->db, file, spec);
    impl->inserts = std::make_unique<Inserts>(*impl->db);
    return Record(std::move(impl));
  } catch (...) {
    remove_files(file, {"", "-wal", "-shm", "-journal"});
    throw;
  }
}

const fs::path& Record::dir() const {
  return impl_->dir;
}

void Record::finish(std::int64_t now_ns) {
  const std::lock_guard lock(impl_->mutex);
  sqlite::Connection& db = *impl_->db;
  impl_->begin();
  sqlite::Statement(db, "UPDATE run SET ended_ns = ?").run(now_ns);
  impl_->commit();
  impl_->inserts.reset();
  // One file is left, which opens also where nothing can be written. Who reads it meanwhile keeps
  // the journal in being.
  if (!db.try_script("PRAGMA journal_mode = DELETE")) db.script("PRAGMA wal_checkpoint(FULL)");
  impl_->db.reset();  // before the flush: closing a file drops the locks its process holds on it
  const fs::path file = impl_->dir / "record.db";
  flush(file);
  flush(file.string() + "-wal");
  flush(impl_->dir);
  impl_->db = std::make_unique<sqlite::Connection>(file.string(), file, sqlite::Access::kRead);
}

}  // namespace plimsoll
