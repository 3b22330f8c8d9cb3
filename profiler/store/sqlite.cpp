#include "fa_profile/sqlite.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/utf8.h"

namespace fa_profile::store {
namespace {

// The name of a result, for users to look up.
std::string ResultName(int result) {
  constexpr std::array<std::pair<int, const char*>, 8> kNames = {{{SQLITE_BUSY, "SQLITE_BUSY"},
                                                                  {SQLITE_CANTOPEN, "SQLITE_CANTOPEN"},
                                                                  {SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT"},
                                                                  {SQLITE_CORRUPT, "SQLITE_CORRUPT"},
                                                                  {SQLITE_FULL, "SQLITE_FULL"},
                                                                  {SQLITE_IOERR, "SQLITE_IOERR"},
                                                                  {SQLITE_NOMEM, "SQLITE_NOMEM"},
                                                                  {SQLITE_READONLY, "SQLITE_READONLY"}}};
  for (const auto& [code, name] : kNames) {
    if ((result & 0xFF) == code) return name;
  }
  return "SQLite result " + std::to_string(result);
}

// The disk accepts no more: what the file holds is complete.
bool IsWriteError(int extended_result) {
  constexpr std::array kCodes = {SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_TRUNCATE,
                                 SQLITE_IOERR_DELETE};
  return std::ranges::find(kCodes, extended_result) != kCodes.end();
}

}  // namespace

Connection::Connection(sqlite3* handle, std::string path, Use use)
    : handle_(handle), path_(std::move(path)), use_(use) {}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::Execute(const std::string& sql) {
  Check(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

void Connection::Check(int result) const {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
  const int primary = result & 0xFF;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    throw Error(
        "sqlite3", ResultName(result), path_ + " is being written by another process",
        use_ == Use::kWrite ? "give this run another output path" : "wait until it has finished, and try again");
  }
  const bool reads = use_ != Use::kWrite && !IsWriteError(sqlite3_extended_errcode(handle_));
  if (reads && (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT ||
                primary == SQLITE_ERROR || primary == SQLITE_IOERR || primary == SQLITE_MISMATCH ||
                primary == SQLITE_TOOBIG || primary == SQLITE_CANTOPEN)) {
    Damaged(std::string("SQLite reports: ") + sqlite3_errmsg(handle_));
  }
  const int system_error = sqlite3_system_errno(handle_);
  if (primary == SQLITE_FULL || primary == SQLITE_IOERR) {
    std::string reason = primary == SQLITE_FULL ? "no space is left" : sqlite3_errmsg(handle_);
    if (system_error != 0) reason = std::strerror(system_error);
    throw Error("sqlite3", ResultName(result), path_ + " cannot be written: " + reason,
                use_ == Use::kAppend
                    ? "free space or raise the limit, and try again; nothing was added"
                    : "free space, raise the limit, or give an output path on another disk; what was committed is in "
                      "that file");
  }
  if (primary == SQLITE_CONSTRAINT) {
    const bool dangling = std::strcmp(sqlite3_errmsg(handle_), "FOREIGN KEY constraint failed") == 0;
    throw Error("sqlite3", ResultName(result),
                dangling ? "the piece refers to a case, counter config or image that was not written before it"
                         : "the piece was written already: " + std::string(sqlite3_errmsg(handle_)));
  }
  if (primary == SQLITE_READONLY) {
    throw Error("sqlite3", ResultName(result), path_ + " cannot be written", "give an output path that you may write");
  }
  throw Error("sqlite3", ResultName(result), path_ + ": " + sqlite3_errmsg(handle_));
}

void Connection::Damaged(const std::string& what) const {
  throw Error(path_ + " is damaged: " + what,
              "restore it from a copy or measure again; `sqlite3 FILE .recover` may save some of its tables");
}

void Connection::SetLimits(std::int64_t row_bytes, std::int64_t memory_bytes) {
  row_bytes_left_ = row_bytes;
  memory_bytes_left_ = memory_bytes;
}

void Connection::ChargeRow(std::int64_t bytes) {
  row_bytes_left_ -= bytes;
  if (row_bytes_left_ < 0) Damaged("it seems to hold more rows than fit in its size");
}

void Connection::ChargeMemory(std::int64_t bytes) {
  if (bytes > memory_bytes_left_) Damaged("its code, samples and counts unpack to more than a recording may hold");
  memory_bytes_left_ -= bytes;
}

Statement::Statement(Connection& connection, const std::string& sql) : connection_(connection) {
  connection_.Check(sqlite3_prepare_v3(connection_.handle(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                                       SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Bind(std::int64_t value) { connection_.Check(sqlite3_bind_int64(statement_, ++column_, value)); }

void Statement::Bind(double value) { connection_.Check(sqlite3_bind_double(statement_, ++column_, value)); }

void Statement::Bind(const std::string& text) {
  const auto bind = [&](const std::string& valid, sqlite3_destructor_type lifetime) {
    connection_.Check(sqlite3_bind_text64(statement_, ++column_, valid.data(), valid.size(), lifetime, SQLITE_UTF8));
  };
  IsText(text) ? bind(text, SQLITE_STATIC) : bind(ToText(text), SQLITE_TRANSIENT);
}

void Statement::BindCopy(const std::string& text) {
  const std::string valid = ToText(text);
  connection_.Check(
      sqlite3_bind_text64(statement_, ++column_, valid.data(), valid.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::Bind(std::vector<std::uint8_t> blob) {
  blob_ = std::move(blob);
  connection_.Check(sqlite3_bind_blob64(statement_, ++column_, blob_.data(), blob_.size(), SQLITE_STATIC));
}

void Statement::Run() {
  column_ = 0;
  const int result = sqlite3_step(statement_);
  sqlite3_reset(statement_);
  blob_ = {};
  connection_.Check(result);
}

bool Statement::Next() {
  column_ = 0;
  const int result = sqlite3_step(statement_);
  connection_.Check(result);
  if (result != SQLITE_ROW) {
    sqlite3_reset(statement_);
    return false;
  }
  // The smallest size of a row on its page: a 2-byte pointer, the lengths of payload and header, a type byte per
  // column.
  connection_.ChargeRow(4 + sqlite3_column_count(statement_));
  return true;
}

void Statement::Damaged(const std::string& what) const {
  connection_.Damaged(std::string(sqlite3_column_name(statement_, column_ - 1)) + ' ' + what);
}

int Statement::TakeColumn(int type) {
  const int column = column_++;
  if (sqlite3_column_type(statement_, column) != type) Damaged("holds a value of another type");
  return column;
}

void Statement::Read(std::int64_t& value) { value = sqlite3_column_int64(statement_, TakeColumn(SQLITE_INTEGER)); }

void Statement::Read(std::uint64_t& bits) {
  std::int64_t number = 0;
  Read(number);
  bits = static_cast<std::uint64_t>(number);
}

void Statement::Read(bool& value) { value = ReadWithin(0, 1) == 1; }

std::int64_t Statement::ReadWithin(std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  Read(value);
  if (value < least || value > most) Damaged("is " + std::to_string(value));
  return value;
}

void Statement::Read(double& value) {
  value = sqlite3_column_double(statement_, TakeColumn(SQLITE_FLOAT));
  if (!std::isfinite(value)) Damaged("is not finite");
}

void Statement::Read(std::string& text) {
  const int column = TakeColumn(SQLITE_TEXT);
  const unsigned char* bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) connection_.Check(SQLITE_NOMEM);
  text.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  connection_.ChargeRow(static_cast<std::int64_t>(text.size()));
  if (!IsText(text)) Damaged("holds a NUL character, or bytes that are not UTF-8");
}

void Statement::Read(std::span<const std::uint8_t>& blob) {
  const int column = TakeColumn(SQLITE_BLOB);
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  blob = {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
  connection_.ChargeRow(static_cast<std::int64_t>(blob.size()));
}

bool IsText(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    if (character.code_point == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string ToText(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    const bool valid = character.code_point != 0;
    clean += valid ? text.substr(0, character.bytes) : "\xEF\xBF\xBD";
    text.remove_prefix(valid ? character.bytes : 1);
  }
  return clean;
}

void RequireRegularFiles(const std::string& path) {
  for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
    struct stat status {};
    const std::string file = path + suffix;
    if (::stat(file.c_str(), &status) != 0 || S_ISREG(status.st_mode)) continue;
    if (*suffix != '\0') throw Error(file + " is not a regular file", "move it away");
    if (S_ISDIR(status.st_mode)) throw Error(file + " is a directory", "give the path of a recording (*.fap)");
    throw Error(file + " is not a regular file", "give the path of a recording (*.fap), not a pipe or a device");
  }
}

bool JournalNamesAnotherFile(const std::string& database_path) {
  // A journal with a super-journal ends in these 8 bytes (sqlite.org/fileformat2.html, section 3).
  constexpr std::array<unsigned char, 8> kMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  const std::string path = database_path + "-journal";
  if (std::error_code ignored; !std::filesystem::exists(path, ignored)) return false;
  const Descriptor journal = OpenFile(path);
  std::array<char, kMagic.size()> tail{};
  if (lseek(journal.get(), -static_cast<off_t>(tail.size()), SEEK_END) < 0) return false;  // it is shorter than that
  return ReadSome(journal.get(), path, tail) == tail.size() && std::memcmp(tail.data(), kMagic.data(), 8) == 0;
}

}  // namespace fa_profile::store
