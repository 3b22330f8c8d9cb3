#include "open_recording.h"

#include <fcntl.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/recording.h"
#include "fa_profile/recording_file.h"
#include "page_checksums.h"
#include "tables.h"
#include "value_limits.h"

namespace fa_profile::store {

// A run killed between its last commit and its checksums leaves such a file, complete but without them.
bool IsPart(const std::string& path) {
  const std::filesystem::path name = path;
  const std::string extension = name.extension();
  const bool numbered = extension.size() > 1 && extension.find_first_not_of("0123456789", 1) == std::string::npos;
  return extension == ".part" || (numbered && name.stem().extension() == ".part");
}

namespace {

// The first 100 bytes of an SQLite file (sqlite.org/fileformat2.html, section 1.3); numbers are big-endian.
using Header = std::array<std::uint8_t, 100>;

std::uint32_t BigEndian32(const Header& header, std::size_t offset) {
  return std::uint32_t{header[offset]} << 24 | std::uint32_t{header[offset + 1]} << 16 |
         std::uint32_t{header[offset + 2]} << 8 | std::uint32_t{header[offset + 3]};
}

std::int64_t ExpectedSize(const Header& header) {
  const std::int64_t page_size = header[16] == 0 && header[17] == 1 ? 65536 : header[16] << 8 | header[17];
  return page_size * BigEndian32(header, 28);
}

// SQLite opens a file by its path, which may now name a pipe: SQLite must not wait for it.
void OpenWithoutWaiting() {
  constexpr int (*kOpen)(const char*, int, int) = [](const char* path, int flags, int mode) {
    return open(path, flags | O_NONBLOCK, mode);
  };
  static const bool once = [] {
    sqlite3_vfs* const files = sqlite3_vfs_find(nullptr);
    return files->xSetSystemCall(files, "open", reinterpret_cast<sqlite3_syscall_ptr>(kOpen)) == SQLITE_OK;
  }();
  (void)once;
}

void Configure(sqlite3* handle) {
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxImageBytes) + (1 << 20));
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
}

// A connection that is not trusted yet.
struct Opening {
  std::string name;  // the file's name in errors
  std::unique_ptr<Connection> connection;
  std::int64_t size_bytes = 0;

  void Open(const std::string& path, int flags) {
    sqlite3* handle = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    connection = std::make_unique<Connection>(handle, name, Connection::Use::kRead);
    if (result != SQLITE_OK) {
      const int system_error = sqlite3_system_errno(handle);
      throw Error(
          name + " cannot be read: " + (system_error != 0 ? std::strerror(system_error) : sqlite3_errmsg(handle)),
          "check the path, and that you may read it");
    }
    Configure(handle);
  }

  void OpenFile(const std::string& path) {
    const std::string full_path = std::filesystem::absolute(path);
    Open(full_path, SQLITE_OPEN_READONLY);
    RequireNoWriteAheadLog();
    // Reads the header under a lock, which shows whether a killed run left a journal to roll back.
    const int result = Touch();
    if (result == SQLITE_READONLY_ROLLBACK) {
      if (JournalNamesAnotherFile(full_path)) {
        throw Error(name + "-journal was not written by fa-profile", "move it away if you trust " + name);
      }
      Open(full_path, SQLITE_OPEN_READWRITE);
      const int recovered = Touch();
      if ((recovered & 0xFF) == SQLITE_READONLY || (recovered & 0xFF) == SQLITE_CANTOPEN) {
        throw Error(name + " was left by a killed run; its unfinished part must be rolled back first",
                    "make the file and its directory writable, or copy it together with " + name + "-journal");
      }
      CheckOpened(recovered);
    } else {
      CheckOpened(result);
    }
    RequireTrustworthy(IsPart(path));
  }

  // Our requirements on a file beyond SQLite's own. `is_part`: its name says that its run may not have finished.
  void RequireTrustworthy(bool is_part) {
    RequireRecording();
    const bool sealed = VerifyPageChecksums(*connection);
    RequireOurSchema();
    if (!sealed && !is_part) RequireUnfinished();
  }

  // Asks for page 1. "PRAGMA schema_version" reads no schema: that comes after the checks of the header.
  int Touch() { return sqlite3_exec(connection->handle(), "PRAGMA schema_version", nullptr, nullptr, nullptr); }

  // We explain it when SQLite refuses the file, and check when it accepts it: an empty file is a database to SQLite.
  void CheckOpened(int result) {
    if ((result & 0xFF) == SQLITE_BUSY) connection->Check(result);
    const Header header = ReadHeader();
    if (size_bytes == 0)
      throw Error(name + " is empty", "a run that was killed before it had measured anything leaves such a file");
    if (std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
      throw Error(name + " is not a recording",
                  "give the path of a file that fa-profile wrote (*.fap); machine code is read by fa-profile lint");
    }
    RequireWhole(header);
    connection->Check(result);
  }

  // Through SQLite's own descriptor: opening and closing one of ours would drop this process's locks (POSIX).
  Header ReadHeader() {
    sqlite3_file* file = nullptr;
    connection->Check(sqlite3_file_control(connection->handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file));
    sqlite3_int64 size = 0;
    connection->Check(file->pMethods->xFileSize(file, &size));
    size_bytes = size;
    Header header{};
    const int result = file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
    if (result != SQLITE_IOERR_SHORT_READ) connection->Check(result);  // a short one is padded with zeros
    return header;
  }

  // Before anything else, because SQLite would create files next to this one.
  void RequireNoWriteAheadLog() {
    const Header header = ReadHeader();
    if (header[18] > 1 && std::memcmp(header.data(), "SQLite format 3", 16) == 0) {
      throw Error(name + " uses a write-ahead log, which a recording never does",
                  "another program changed it. Leave it as it is, and read a copy, whose checksums are not checked: "
                  "mkdir copy && cp FILE* copy && sqlite3 copy/FILE \"VACUUM INTO 'FILE.part'\" && fa-profile report "
                  "FILE.part");
    }
  }

  void RequireWhole(const Header& header) {
    const std::int64_t expected = ExpectedSize(header);
    if (size_bytes < expected) {
      throw Error(
          name + " is truncated: it has " + std::to_string(size_bytes) + " of " + std::to_string(expected) + " bytes",
          "copy it again or measure again");
    }
  }

  // SQLite would not look beyond its last page. We would: for checksums, and to limit what the file may cost us. A
  // killed run's file has no tail either, once its journal has been rolled back.
  void RequireNoTail(const Header& header) {
    const std::int64_t expected = ExpectedSize(header);
    if (size_bytes > expected) {
      throw Error(name + " is damaged: it has " + std::to_string(size_bytes) + " bytes, " +
                      std::to_string(size_bytes - expected) + " more than it should",
                  "copy it again, together with " + name + "-journal where there is one, or measure again");
    }
  }

  void RequireRecording() {
    const Header header = ReadHeader();
    const auto application_id = BigEndian32(header, 68);
    const auto version = static_cast<std::int32_t>(BigEndian32(header, 60));
    if (application_id != static_cast<std::uint32_t>(kApplicationId)) {
      throw Error(name + " is not a recording but another program's SQLite file",
                  "give the path of a file that fa-profile wrote (*.fap); machine code is read by fa-profile lint");
    }
    if (version > kRecordingSchemaVersion) {
      throw Error(name + " has schema version " + std::to_string(version) + ", and this program reads up to " +
                      std::to_string(kRecordingSchemaVersion),
                  "update fa-profile");
    }
    if (version < 1) connection->Damaged("its schema version is " + std::to_string(version));
    connection->SetSchemaVersion(version);
    RequireWhole(header);
    RequireNoTail(header);
    // A text encoding other than UTF-8 would change the meaning of every length.
    if (BigEndian32(header, 56) != 1) connection->Damaged("its texts are not UTF-8");
    sqlite3_exec(connection->handle(),
                 "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA query_only=ON;"
                 "PRAGMA cache_size=-4096",
                 nullptr, nullptr, nullptr);
  }

  // Ours, byte for byte, and nothing else: otherwise a table we read could be a view or a virtual table in disguise.
  void RequireOurSchema() {
    connection->SetLimits(size_bytes, 0);
    std::unordered_map<std::string_view, SchemaObject> missing;
    for (const SchemaObject& object : Schema(connection->schema_version())) missing.emplace(object.name, object);
    Statement objects(*connection, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
    std::string type, object_name, sql;
    while (objects.Next()) {
      objects.Read(type);
      objects.Read(object_name);
      objects.Read(sql);
      if (type == "index" && object_name == "sqlite_autoindex_metric_1" && sql.empty()) continue;
      const auto place = missing.find(object_name);
      if (place == missing.end() || place->second.type != type || place->second.sql != sql) {
        connection->Damaged("it holds a " + type.substr(0, 20) + " " + object_name.substr(0, 60) +
                            " that is not a recording's");
      }
      missing.erase(place);
    }
    if (!missing.empty()) connection->Damaged("it lacks the table " + std::string(missing.begin()->first));
  }

  // Eight zeros on the first page mean that the file has no checksums yet. In a finished file they are damage, and
  // nothing else in it was checked.
  void RequireUnfinished() {
    Statement session(*connection, "SELECT complete FROM session");
    bool complete = false;
    if (session.Next()) session.Read(complete);
    if (complete) {
      throw Error(name + " is damaged: it is complete, but the checksum of its first page is missing",
                  "restore it from a copy or measure again; if its run was killed at its very end, give it a name that "
                  "ends in .part to read it unchecked");
    }
  }
};

}  // namespace

OpenedRecording OpenRecording(const std::string& path) {
  RequireRegularFiles(path);
  OpenWithoutWaiting();
  Opening opening{.name = path, .connection = nullptr};
  opening.OpenFile(path);
  return {std::move(opening.connection), opening.size_bytes};
}

OpenedRecording OpenRecordingBytes(std::span<std::uint8_t> bytes) {
  Opening opening{.name = "the recording in memory", .connection = nullptr};
  opening.Open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  opening.connection->Check(
      sqlite3_deserialize(opening.connection->handle(), "main", bytes.data(), size, size, SQLITE_DESERIALIZE_READONLY));
  opening.RequireNoWriteAheadLog();
  opening.CheckOpened(opening.Touch());
  opening.RequireTrustworthy(false);
  return {std::move(opening.connection), opening.size_bytes};
}

}  // namespace fa_profile::store
