#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "code_writer.h"
#include "compression.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "page_checksums.h"
#include "row_writer.h"
#include "schema.h"
#include "sqlite.h"
#include "validate.h"

namespace fa_profile {
namespace {

using store::Connection;
using store::kNextId;

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
  if (!overwrite)
    throw Error(path + " exists already", "remove it, give another output path, or allow overwriting (--force)");
}

}  // namespace

struct RecordingWriter::Impl {
  std::string path;       // as given
  std::string full_path;  // absolute: SQLite takes names like "file:x" and ":memory:" for something else
  std::string part_path;
  std::string full_part_path;
  std::optional<std::string> kept_aside;
  bool overwrite = false;
  bool committed = false;
  bool unusable = false;  // an error of the disk may have left half a piece in the transaction
  std::int64_t next_timing_id = 0;

  std::unique_ptr<Connection> connection;  // null after Finish()
  std::optional<store::RowWriter> rows;    // while there is a transaction
  std::optional<store::CodeWriter> code;   // likewise

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
    if (::lstat(full_part_path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
      throw Error(part_path + " is not a plain file", "remove it or give another output path");
    }
    if (store::JournalNamesAnotherFile(full_part_path)) return MoveAside();
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open_v2(full_part_path.c_str(), &handle,
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
    int reserved = store::kReservedBytes;
    connection->Check(sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved));
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
    return IsNew() || MoveAside();
  }

  // A new file, or one whose run was killed before its first Commit(): there is nothing in it to lose. Its size,
  // because inside our transaction SQLite counts the first page already.
  bool IsNew() const {
    struct stat status {};
    return ::stat(full_part_path.c_str(), &status) == 0 && status.st_size == 0;
  }

  // Removes the journal, of which nothing is needed any more, while the lock is held; and tells SQLite to leave its
  // name alone on closing, when it may be the next run's.
  void DropJournal() {
    sqlite3_exec(connection->handle(), "PRAGMA journal_mode=PERSIST", nullptr, nullptr, nullptr);
    ::unlink((full_part_path + "-journal").c_str());
  }

  // Gives what a killed run left a name of its own: it may be all that is left of hours. Always false: try again.
  bool MoveAside() {
    for (int number = 1;; ++number) {
      std::string suffix = ".";
      suffix += std::to_string(number);
      if (!RenameToFree(full_part_path, full_part_path + suffix)) continue;
      // After our BEGIN has rolled it back the journal is inert; to a file that SQLite refused it still belongs.
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
    for (const store::SchemaObject& object : store::Schema(kRecordingSchemaVersion)) connection->Execute(object.sql);
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

  // The same for a piece that refers to more than SQLite looks up.
  template <typename Piece>
  void WriteCode(const Piece& piece) {
    RequireUsable();
    store::Validate(piece);
    code.value().RequireFits(piece);
    WritePiece(piece, [&] { code.value().Write(piece); });
  }

  void WriteSession(const Session& s, bool complete) {
    rows.value().Replace("session", 1, s.tool_version, s.tool_commit, s.created_at, s.command_line, s.metric_set,
                         s.replay_mode, s.cache_policy, s.warmup_launches, s.timed_launches, s.draws, complete);
  }
};

namespace {

// References that may be absent are 0 in the model and NULL in the file.
std::optional<std::int64_t> Reference(std::int64_t id) { return id == 0 ? std::nullopt : std::optional(id); }

}  // namespace

RecordingWriter::RecordingWriter(std::string path, bool overwrite) : impl_(std::make_unique<Impl>()) {
  if (path.empty()) throw Error("the path of the recording is empty", "give an output path");
  impl_->full_path = std::filesystem::absolute(path);
  impl_->full_part_path = impl_->full_path + ".part";
  impl_->part_path = path + ".part";
  impl_->path = std::move(path);
  impl_->overwrite = overwrite;
  CheckTarget(impl_->full_path, overwrite);
  impl_->Open();
  // The schema belongs to the first transaction, so that a run killed before its first Commit() leaves an empty file.
  impl_->CreateSchema();
  impl_->rows.emplace(*impl_->connection);
  impl_->code.emplace(impl_->rows.value());
  impl_->WriteSession(Session{}, false);
}

RecordingWriter::~RecordingWriter() {
  if (!impl_->connection) return;
  impl_->rows.reset();
  sqlite3* handle = impl_->connection->handle();
  const bool clean =
      sqlite3_get_autocommit(handle) != 0 || sqlite3_exec(handle, "ROLLBACK", nullptr, nullptr, nullptr) == SQLITE_OK;
  if (!clean) return;  // the journal is needed to recover what was committed
  impl_->DropJournal();
  // Under the lock still, so that it is not another run's file that goes.
  if (!impl_->committed) ::unlink(impl_->full_part_path.c_str());
}

const std::string& RecordingWriter::path() const { return impl_->path; }
const std::string& RecordingWriter::part_path() const { return impl_->part_path; }
const std::optional<std::string>& RecordingWriter::kept_aside() const { return impl_->kept_aside; }

void RecordingWriter::Write(const Session& session) {
  // Complete is what Finish() says, not what the caller hopes.
  impl_->WritePiece(session, [&] { impl_->WriteSession(session, false); });
}

void RecordingWriter::Write(const Device& d) {
  impl_->WritePiece(d, [&] {
    impl_->rows->Replace("device", 1, d.ordinal, d.name, d.chip, d.uuid, d.compute_capability_major,
                         d.compute_capability_minor, d.sm_count, d.warp_size, d.max_threads_per_sm, d.max_blocks_per_sm,
                         d.registers_per_sm, d.shared_memory_per_sm_bytes, d.shared_memory_per_block_optin_bytes,
                         d.reserved_shared_memory_per_block_bytes, d.l2_bytes, d.memory_bytes, d.sm_clock_max_hz,
                         d.memory_clock_max_hz, d.memory_bus_width_bits, d.driver_version, d.cuda_driver_version,
                         d.cuda_runtime_version, d.cupti_version);
  });
}

void RecordingWriter::Write(const ClockSample& sample) {
  std::optional<std::int64_t> throttle_reasons;  // the same 64 bits: SQLite has no unsigned numbers
  if (sample.throttle_reasons) throttle_reasons = static_cast<std::int64_t>(*sample.throttle_reasons);
  impl_->WritePiece(sample, [&] {
    impl_->rows->Insert("clock_sample", kNextId, sample.when, sample.sm_hz, sample.memory_hz,
                        sample.temperature_celsius, sample.power_watts, throttle_reasons);
  });
}

void RecordingWriter::Write(const Case& item) {
  std::optional<int> batch, num_heads, seqlen, head_dim;
  std::optional<bool> causal;
  if (item.shape) {
    batch = item.shape->batch;
    num_heads = item.shape->num_heads;
    seqlen = item.shape->seqlen;
    head_dim = item.shape->head_dim;
    causal = item.shape->causal;
  }
  impl_->WritePiece(item, [&] {
    impl_->rows->Insert("kernel_case", item.id, item.kernel, item.origin, batch, num_heads, seqlen, head_dim, causal);
  });
}

void RecordingWriter::Write(const Verification& v) {
  impl_->WritePiece(v, [&] {
    impl_->rows->Insert("verification", kNextId, v.case_id, v.draws, v.draws_passed, v.max_abs_error, v.max_error_ratio,
                        v.nonfinite, v.unwritten, v.error);
  });
}

void RecordingWriter::Write(const Timing& timing) {
  impl_->WritePiece(timing, [&] {
    const std::int64_t id = impl_->next_timing_id + 1;
    impl_->rows->Insert("timing", id, timing.case_id, timing.part, timing.method);
    impl_->next_timing_id = id;
    std::int64_t position = 0;
    for (const double duration_ns : timing.durations_ns)
      impl_->rows->Insert("timing_sample", id, position++, duration_ns);
  });
}

void RecordingWriter::Write(const Launch& l) {
  impl_->WritePiece(l, [&] {
    impl_->rows->Insert("launch", l.id, Reference(l.case_id), l.part, l.kernel_name, l.grid[0], l.grid[1], l.grid[2],
                        l.block[0], l.block[1], l.block[2], l.cluster[0], l.cluster[1], l.cluster[2],
                        l.registers_per_thread, l.static_shared_memory_bytes, l.dynamic_shared_memory_bytes,
                        l.local_memory_per_thread_bytes, l.shared_memory_config_bytes, l.stream, l.correlation,
                        l.start_ns, l.end_ns);
  });
}

void RecordingWriter::Write(const NvtxRange& r) {
  impl_->WritePiece(r, [&] {
    impl_->rows->Insert("nvtx_range", kNextId, Reference(r.case_id), r.domain, r.name, r.depth, r.thread, r.start_ns,
                        r.end_ns);
  });
}

void RecordingWriter::Write(const CounterConfig& config) {
  impl_->WritePiece(config, [&] {
    impl_->rows->Insert("counter_config", config.id, config.chip, config.passes);
    int position = 0;
    for (const std::string& name : config.metrics) {
      impl_->rows->Insert("counter_config_metric", config.id, position++, impl_->rows->NameId("metric", name));
    }
  });
}

void RecordingWriter::Write(const CounterImage& image) {
  impl_->WritePiece(image, [&] {
    const std::vector<std::uint8_t> frame = store::Compress(image.bytes);
    impl_->rows->Insert("counter_image", image.id, image.config_id, static_cast<std::int64_t>(image.bytes.size()),
                        std::span(frame));
  });
}

void RecordingWriter::Write(const Range& range) {
  impl_->WritePiece(range, [&] {
    impl_->rows->Insert("range", range.id, range.case_id, range.part, range.name, Reference(range.image_id),
                        range.image_index);
    for (const auto& [name, value] : range.metrics) {
      impl_->rows->Insert("value", impl_->rows->NameId("metric", name), range.id, value);
    }
  });
}

void RecordingWriter::Write(const Cubin& cubin) { impl_->WriteCode(cubin); }
void RecordingWriter::Write(const DeviceFunction& function) { impl_->WriteCode(function); }
void RecordingWriter::Write(const PcSampling& sampling) { impl_->WriteCode(sampling); }
void RecordingWriter::Write(const SassCounting& counting) { impl_->WriteCode(counting); }

void RecordingWriter::Write(const DataLoss& loss) {
  impl_->WritePiece(
      loss, [&] { impl_->rows->Insert("data_loss", kNextId, loss.kind, loss.subject, loss.reason, loss.count); });
}

void RecordingWriter::Commit() {
  impl_->RequireUsable();
  impl_->unusable = true;  // until both statements have succeeded
  impl_->connection->Execute("COMMIT");
  impl_->committed = true;
  impl_->connection->Execute("BEGIN EXCLUSIVE");
  impl_->unusable = false;
}

void RecordingWriter::Finish() {
  impl_->RequireUsable();
  impl_->unusable = true;
  impl_->connection->Execute("UPDATE session SET complete = 1; COMMIT");  // durable: synchronous=FULL
  impl_->committed = true;
  impl_->rows.reset();
  store::WritePageChecksums(*impl_->connection);
  impl_->DropJournal();
  // Renamed before the lock goes, or another run could take the `.part` for a killed one's.
  if (impl_->overwrite) {
    if (::rename(impl_->full_part_path.c_str(), impl_->full_path.c_str()) != 0) {
      throw Error("rename", std::strerror(errno), "cannot rename " + impl_->part_path + " to " + impl_->path,
                  "the recording is complete under the first name: rename it yourself");
    }
  } else if (!RenameToFree(impl_->full_part_path, impl_->full_path)) {
    throw Error(impl_->path + " has appeared while this run went on",
                "the recording is complete as " + impl_->part_path + ": rename it yourself");
  }
  impl_->connection.reset();
  SyncDirectory(std::filesystem::path(impl_->full_path).parent_path());
}

}  // namespace fa_profile
