#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "fa_profile/descriptor.h"
#include "fa_profile/error.h"
#include "fa_profile/output_path.h"
#include "fa_profile/recording_file.h"
#include "held_files.h"
#include "page_checksums.h"
#include "piece_writer.h"

namespace fa_profile::store {
namespace {

// Renames unless `to` exists; false when it does.
bool RenameToFree(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno == EINVAL || errno == ENOSYS) {  // a file system without the flag (NFS): the check then leaves a short gap
    struct stat status {};
    if (::lstat(to.c_str(), &status) == 0) return false;
    if (::rename(from.c_str(), to.c_str()) == 0) return true;
  }
  throw Error("rename", std::strerror(errno), "cannot rename " + from + " to " + to,
              "fa-profile tries again when the program has ended; otherwise rename it yourself");
}

// Makes a rename survive a power cut. Has no effect where the directory may be written but not read.
void SyncDirectory(const std::string& directory) {
  const Descriptor folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
}

// Keeps a connection forever whose files this process may no longer write or close.
void GiveUp(std::unique_ptr<Connection> connection) {
  static std::mutex mutex;
  static auto* const all = new std::vector<std::unique_ptr<Connection>>;
  const std::lock_guard lock(mutex);
  all->push_back(std::move(connection));
}

// Throws unless a recording can be made at `path`.
void CheckTarget(const std::string& path, bool overwrite) {
  CheckOutputPath(path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) {
    throw Error(path + " is not a plain file", "give another output path");
  }
  if (!overwrite)
    throw Error(path + " already exists", "remove it, give another output path, or allow overwriting (--force)");
}

}  // namespace

struct RecordingWriter::Impl {
  std::string path;       // as given
  std::string full_path;  // absolute: SQLite interprets names like "file:x" and ":memory:"
  std::string part_path;
  std::string full_part_path;
  std::optional<std::string> kept_aside;
  bool overwrite = false;
  bool committed = false;
  bool unusable = false;  // a disk error may have left half a piece in the transaction

  std::unique_ptr<Connection> connection;  // null after Finish()
  std::optional<PieceWriter> pieces;       // while there is a transaction
  HeldFiles files;                         // SQLite's: the recording, and the transaction's journal
  bool lost = false;                       // one of them is closed, and SQLite must do nothing more

  // Opens the `.part` and holds its lock until the end: it is SQLite's own, in exclusive mode, and ends with the
  // process.
  void Open() {
    // A killed run's file is renamed under its lock, so the second try succeeds. More tries are only needed when other
    // processes use the same path.
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (TryOpen()) return;
    }
    throw Error("other processes keep creating " + part_path, "give this run another output path");
  }

  bool TryOpen() {
    struct stat status {};
    if (::lstat(full_part_path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw Error(part_path + " is not a plain file", "remove it or give another output path");
    }
    RequireRegularFiles(full_part_path);
    if (JournalNamesAnotherFile(full_part_path)) return MoveAside();
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(full_part_path.c_str(), &handle,
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    connection = std::make_unique<Connection>(handle, part_path, Connection::Use::kWrite);
    if (opened != SQLITE_OK) {
      const int system_error = sqlite3_system_errno(handle);
      throw Error(part_path + " cannot be written: " +
                      (system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(handle)),
                  "give an output path that you may write");
    }
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    int reserved = store::kReservedBytes;
    connection->Check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved));
    // Without fsync(), which a watched program may have forbidden to its process: WritePageChecksums() does it.
    const int locked = sqlite3_exec(
        handle,
        "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF; PRAGMA cache_size=-32768;"
        "PRAGMA foreign_keys=ON; BEGIN EXCLUSIVE",
        nullptr, nullptr, nullptr);
    const int primary = locked & 0xFF;
    if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT) return MoveAside();
    connection->Check(locked);
    int moved = 0;
    connection->Check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved));
    if (moved != 0) {  // another process finished it or put it aside between our open and our lock
      connection.reset();
      return false;
    }
    return IsNew() || MoveAside();
  }

  // A new file, or one whose run was killed before its first Commit(): it holds nothing. Checks its size, because
  // inside our transaction SQLite already counts the first page.
  bool IsNew() const {
    struct stat status {};
    return ::stat(full_part_path.c_str(), &status) == 0 && status.st_size == 0;
  }

  // Removes the unneeded journal while the lock is held. Tells SQLite not to remove it again on closing, when a file of
  // that name may belong to the next run.
  void DropJournal() {
    sqlite3_exec(connection->handle(), "PRAGMA journal_mode=PERSIST", nullptr, nullptr, nullptr);
    ::unlink((full_part_path + "-journal").c_str());
  }

  // Renames a killed run's file: it may be the only result of hours. Always false: try again.
  bool MoveAside() {
    for (int number = 1;; ++number) {
      std::string suffix = ".";
      suffix += std::to_string(number);
      if (!RenameToFree(full_part_path, full_part_path + suffix)) continue;
      // After our BEGIN has rolled it back the journal is inert; it still belongs to a file that SQLite refused.
      if (connection && sqlite3_get_autocommit(connection->handle()) == 0) {
        connection->Execute("ROLLBACK");
        DropJournal();
      } else if (::access((full_part_path + "-journal").c_str(), F_OK) == 0) {
        RenameToFree(full_part_path + "-journal", full_part_path + suffix + "-journal");
      }
      kept_aside = part_path + suffix;
      connection.reset();
      return false;
    }
  }

  void CreateSchema() {
    for (const SchemaObject& object : Schema(kRecordingSchemaVersion)) connection->Execute(object.sql);
    connection->Execute("PRAGMA application_id=" + std::to_string(store::kApplicationId));
    connection->Execute("PRAGMA user_version=" + std::to_string(kRecordingSchemaVersion));
  }

  // SQLite would write to, and close, whatever now has the numbers of its files. So the connection is given up.
  void RequireFiles() {
    if (!lost && !files.Held()) {
      lost = true;
      pieces.reset();
      GiveUp(std::move(connection));
    }
    if (lost) {
      throw Error("the process closed the file " + part_path + ": nothing more can be written to it",
                  "it closes descriptors that it did not open; what was committed before is in that file");
    }
  }

  void RequireUsable() {
    RequireFiles();
    if (!connection) throw Error(path + " is finished: nothing more can be written to it");
    if (unusable) {
      throw Error("an earlier write to " + part_path + " failed: nothing more can be written to it",
                  "what was committed before is in that file");
    }
  }

  template <typename Piece>
  void Write(const Piece& piece) {
    RequireUsable();
    pieces->Require(piece);
    try {
      pieces->Write(piece);
      if (files.count() == 1) files.Add(full_part_path + "-journal");
    } catch (const Error&) {
      // A refused row (a dangling reference, a duplicate id) comes first in its piece and leaves no trace.
      if ((sqlite3_errcode(connection->handle()) & 0xFF) != SQLITE_CONSTRAINT) unusable = true;
      throw;
    }
  }

  // Only Finish() completes a session.
  void Write(Session session) {
    session.complete = false;
    Write<Session>(session);
  }
};

RecordingWriter::RecordingWriter(std::string path, bool overwrite) : impl_(std::make_unique<Impl>()) {
  if (path.empty()) throw Error("the path of the recording is empty", "give an output path");
  impl_->full_path = std::filesystem::absolute(path);
  impl_->full_part_path = impl_->full_path + ".part";
  impl_->part_path = path + ".part";
  impl_->path = std::move(path);
  impl_->overwrite = overwrite;
  CheckTarget(impl_->full_path, overwrite);
  impl_->Open();
  impl_->files.Add(impl_->full_part_path);
  // The schema belongs to the first transaction, so that a run killed before its first Commit() leaves an empty file.
  impl_->CreateSchema();
  impl_->pieces.emplace(*impl_->connection);
  impl_->Write(Session{});
}

RecordingWriter::~RecordingWriter() {
  if (!impl_->connection) return;
  if (!impl_->files.Held()) {
    impl_->pieces.reset();
    GiveUp(std::move(impl_->connection));
    return;
  }
  impl_->pieces.reset();
  sqlite3* handle = impl_->connection->handle();
  const bool clean =
      sqlite3_get_autocommit(handle) != 0 || sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK;
  if (!clean) return;  // the journal is needed to recover what was committed
  impl_->DropJournal();
  // Still under the lock: later it may be another run's file.
  if (!impl_->committed) ::unlink(impl_->full_part_path.c_str());
}

const std::string& RecordingWriter::path() const { return impl_->path; }
const std::string& RecordingWriter::part_path() const { return impl_->part_path; }
const std::optional<std::string>& RecordingWriter::kept_aside() const { return impl_->kept_aside; }

std::optional<int> WriterOf(const std::string& part_path) {
  const Descriptor file(::open(part_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return std::nullopt;
  // The bytes that SQLite locks (sqlite.org/src, os.h): PENDING_BYTE, RESERVED_BYTE and 510 shared ones.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0x40000000;
  lock.l_len = 512;
  if (::fcntl(file.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return std::max(0, static_cast<int>(lock.l_pid));
}

void RecordingWriter::Take(const RecordingPiece& piece) {
  std::visit([this](const auto* concrete) { impl_->Write(*concrete); }, piece);
}

void RecordingWriter::Commit() {
  impl_->RequireUsable();
  impl_->unusable = true;  // until both statements have succeeded
  impl_->connection->Execute("COMMIT");
  impl_->files.KeepFirst();
  impl_->committed = true;
  impl_->connection->Execute("BEGIN EXCLUSIVE");
  impl_->unusable = false;
}

void RecordingWriter::Finish() {
  impl_->RequireUsable();
  impl_->unusable = true;
  impl_->connection->Execute("UPDATE session SET complete = 1; COMMIT");
  impl_->committed = true;
  impl_->files.KeepFirst();
  impl_->pieces.reset();
  WritePageChecksums(*impl_->connection);
  impl_->DropJournal();
  // Renamed before the lock is released, or another run could mistake the `.part` for a killed one's.
  if (impl_->overwrite) {
    if (::rename(impl_->full_part_path.c_str(), impl_->full_path.c_str()) != 0) {
      throw Error("rename", std::strerror(errno), "cannot rename " + impl_->part_path + " to " + impl_->path,
                  "the recording is complete under the first name: rename it yourself");
    }
  } else if (!RenameToFree(impl_->full_part_path, impl_->full_path)) {
    throw Error("another process created " + impl_->path + " during this run",
                "the recording is complete as " + impl_->part_path + ": rename it yourself");
  }
  impl_->files = {};
  impl_->connection.reset();
  SyncDirectory(std::filesystem::path(impl_->full_path).parent_path());
}

}  // namespace fa_profile::store
