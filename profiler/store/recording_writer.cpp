#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <utility>

#include "compression.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "schema.h"
#include "sqlite.h"
#include "validate.h"

namespace fa_profile {
namespace {

using store::Connection;
using store::Statement;

// "INSERT INTO t VALUES(?,?,...)": the columns in the schema's order, which a round-trip test holds.
std::string Insert(const std::string& verb, const std::string& table, int columns) {
  std::string sql = verb + " INTO " + table + " VALUES(?";
  for (int i = 1; i < columns; ++i) sql += ",?";
  return sql + ")";
}

// Renames unless `to` exists; false when it does.
bool RenameToFree(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno == EINVAL || errno == ENOSYS) {  // a file system without the flag (NFS): the check then leaves a short gap
    struct stat status {};
    if (::lstat(to.c_str(), &status) == 0) return false;
    if (::rename(from.c_str(), to.c_str()) == 0) return true;
  }
  throw Error("rename", std::strerror(errno), "cannot rename " + from + " to " + to);
}

// Makes a rename last through a power cut.
void SyncDirectory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // a directory that may be written but not read: the rename itself has succeeded
  ::fsync(descriptor);
  ::close(descriptor);
}

// Throws unless a recording can be made at `path`.
void CheckTarget(const std::string& path, bool overwrite) {
  struct stat status {};
  const std::string directory = std::filesystem::path(path).parent_path();
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw Error("cannot write " + path + ": there is no directory " + directory, "create it: mkdir -p " + directory);
  }
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw Error("cannot write " + path + ": " + directory + ": " + std::strerror(errno),
                "give an output path in a directory that you may write");
  }
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw Error("cannot write " + path + ": " + std::strerror(errno), "give another output path");
  }
  if (S_ISDIR(status.st_mode)) throw Error(path + " is a directory", "give the path of a file in it");
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    throw Error(path + " is not a plain file", "give another output path");
  }
  if (!overwrite) throw Error(path + " exists already", "remove it, allow overwriting, or give another output path");
}

}  // namespace

struct RecordingWriter::Impl {
  std::string path;       // as given
  std::string full_path;  // absolute: SQLite takes names like "file:x" and ":memory:" for something else
  std::string part_path;
  std::optional<std::string> kept_aside;
  bool overwrite = false;
  bool committed = false;
  bool unusable = false;  // an error of the disk may have left half a piece in the transaction
  std::int64_t next_timing_id = 0;
  std::unordered_map<std::string, std::int64_t> metric_ids;

  std::unique_ptr<Connection> connection;  // null after Finish()
  std::unordered_map<std::string, std::unique_ptr<Statement>> statements;

  // Opens the `.part` and holds its lock until the end: SQLite's own, in exclusive mode, goes with the process.
  void Open() {
    // A killed run's file is moved away under its lock, so the second try finds the place free; more tries are needed
    // only when other processes come and go at the same path.
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (TryOpen()) return;
    }
    throw Error(part_path + " is being taken by other processes again and again", "give this run another output path");
  }

  bool TryOpen() {
    struct stat status {};
    if (::lstat(part_path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw Error(part_path + " is not a plain file", "remove it or give another output path");
    }
    if (store::JournalNamesAnotherFile(part_path)) return MoveAside();
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(part_path.c_str(), &handle,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    connection = std::make_unique<Connection>(handle, part_path, Connection::Use::kWrite);
    if (opened != SQLITE_OK) {
      const int system_error = sqlite3_system_errno(handle);
      throw Error("cannot write " + part_path + ": " +
                      (system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(handle)),
                  "give an output path that you may write");
    }
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    const int locked = sqlite3_exec(
        handle,
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL; PRAGMA cache_size=-32768;"
        "PRAGMA foreign_keys=ON; BEGIN EXCLUSIVE",
        nullptr, nullptr, nullptr);
    const int primary = locked & 0xFF;
    if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT) return MoveAside();
    connection->Check(locked);
    int moved = 0;
    connection->Check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved));
    if (moved != 0) {  // another process finished or put it aside between our open and our lock
      connection.reset();
      return false;
    }
    Statement pages(*connection, "PRAGMA page_count");
    connection->SetBudget(1000);
    pages.Next();
    if (pages.Int64() == 0) return true;
    return MoveAside();
  }

  // Gives what a killed run left a name of its own: it may be all that is left of hours. Always false: try again.
  bool MoveAside() {
    // After our BEGIN has rolled it back, the journal is inert; of a file SQLite refused it belongs to its contents.
    for (int number = 1;; ++number) {
      const std::string aside = part_path + "." + std::to_string(number);
      if (!RenameToFree(part_path, aside)) continue;
      kept_aside = aside;
      if (::access((part_path + "-journal").c_str(), F_OK) == 0) {
        RenameToFree(part_path + "-journal", aside + "-journal");
      }
      connection.reset();
      return false;
    }
  }

  void CreateSchema() {
    for (const store::SchemaObject& object : store::Schema()) connection->Execute(object.sql);
    connection->Execute(("PRAGMA application_id=" + std::to_string(store::kApplicationId)).c_str());
    connection->Execute(("PRAGMA user_version=" + std::to_string(kRecordingSchemaVersion)).c_str());
  }

  void RequireUsable() const {
    if (!connection) throw Error(path + " is finished: nothing more can be written to it");
    if (unusable) {
      throw Error("an earlier write to " + part_path + " failed: nothing more can be written to it",
                  "what was committed before is in that file");
    }
  }

  Statement& Prepared(const std::string& sql) {
    std::unique_ptr<Statement>& statement = statements[sql];
    if (!statement) statement = std::make_unique<Statement>(*connection, sql);
    return *statement;
  }

  // Validates the piece and lets `write` insert it.
  template <typename Piece, typename Function>
  void WritePiece(const Piece& piece, const Function& write) {
    RequireUsable();
    store::Validate(piece);
    try {
      write();
    } catch (const Error&) {
      // A refused row (a reference to nothing, an id twice) comes first in its piece and leaves no trace.
      if ((sqlite3_errcode(connection->handle()) & 0xFF) != SQLITE_CONSTRAINT) unusable = true;
      throw;
    }
  }

  template <typename... T>
  void InsertRow(const char* table, const T&... values) {
    Prepared(Insert("INSERT", table, sizeof...(values))).Run(values...);
  }

  std::int64_t MetricId(const std::string& name) {
    const auto [place, is_new] = metric_ids.try_emplace(name, static_cast<std::int64_t>(metric_ids.size()) + 1);
    if (is_new) InsertRow("metric", place->second, name);
    return place->second;
  }

  void WriteSession(const Session& s, bool complete) {
    Prepared(Insert("REPLACE", "session", 12))
        .Run(1, s.tool_version, s.tool_commit, s.created_at, s.command_line, s.metric_set, s.replay_mode, s.cache_policy,
             s.warmup_launches, s.timed_launches, s.draws, complete);
  }
};

namespace {

// References that may be absent are 0 in the model and NULL in the file.
std::optional<std::int64_t> Reference(std::int64_t id) { return id == 0 ? std::nullopt : std::optional(id); }

}  // namespace

RecordingWriter::RecordingWriter(std::string path, bool overwrite) : impl_(std::make_unique<Impl>()) {
  if (path.empty()) throw Error("the path of the recording is empty", "give an output path");
  impl_->path = path;
  impl_->full_path = std::filesystem::absolute(path);
  impl_->part_path = path + ".part";
  impl_->overwrite = overwrite;
  CheckTarget(impl_->full_path, overwrite);
  impl_->Open();
  impl_->CreateSchema();
  impl_->WriteSession(Session{}, false);
}
