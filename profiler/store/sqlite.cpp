#include "sqlite.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "fa_profile/error.h"
#include "utf8.h"

namespace fa_profile::store {
namespace {

// The names users can look up; the numbers of the others are in the message.
std::string ResultName(int result) {
  switch (result & 0xFF) {
    case SQLITE_BUSY:
      return "SQLITE_BUSY";
    case SQLITE_CANTOPEN:
      return "SQLITE_CANTOPEN";
    case SQLITE_CONSTRAINT:
      return "SQLITE_CONSTRAINT";
    case SQLITE_CORRUPT:
      return "SQLITE_CORRUPT";
    case SQLITE_FULL:
      return "SQLITE_FULL";
    case SQLITE_IOERR:
      return "SQLITE_IOERR";
    case SQLITE_NOMEM:
      return "SQLITE_NOMEM";
    case SQLITE_READONLY:
      return "SQLITE_READONLY";
    default:
      return "SQLite result " + std::to_string(result);
  }
}

}  // namespace

Connection::Connection(sqlite3* handle, std::string path, Use use)
    : handle_(handle), path_(std::move(path)), use_(use) {}

Connection::~Connection() { sqlite3_close_v2(handle_); }

void Connection::Execute(const char* sql) { Check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

void Connection::Check(int result) const {
  if (result == SQLITE_OK || result == SQLITE_ROW || result == SQLITE_DONE) return;
  const int primary = result & 0xFF;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    throw Error("sqlite3", ResultName(result), path_ + " is being written by another process",
                use_ == Use::kRead ? "wait until that run has finished" : "give this run another output path");
  }
  if (use_ == Use::kRead && (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT ||
                             primary == SQLITE_ERROR || primary == SQLITE_IOERR || primary == SQLITE_MISMATCH ||
                             primary == SQLITE_TOOBIG || primary == SQLITE_CANTOPEN)) {
    Damaged(std::string("SQLite says: ") + sqlite3_errmsg(handle_));
  }
  const int system_error = sqlite3_system_errno(handle_);
  if (primary == SQLITE_FULL || primary == SQLITE_IOERR) {
    std::string reason = primary == SQLITE_FULL ? "no space is left" : sqlite3_errmsg(handle_);
    if (system_error != 0) reason = std::strerror(system_error);
    throw Error(
        "sqlite3", ResultName(result), "cannot write " + path_ + ": " + reason,
        "free space, raise the limit, or give an output path on another disk; what was committed is in that file");
  }
  if (primary == SQLITE_CONSTRAINT) {
    const bool dangling = std::strcmp(sqlite3_errmsg(handle_), "FOREIGN KEY constraint failed") == 0;
    throw Error("sqlite3", ResultName(result),
                dangling ? "the piece refers to a case, counter config or image that was not written before it"
                         : "the piece was written already: " + std::string(sqlite3_errmsg(handle_)));
  }
  if (primary == SQLITE_READONLY) {
    throw Error("sqlite3", ResultName(result), "cannot write " + path_, "give an output path that you may write");
  }
  throw Error("sqlite3", ResultName(result), path_ + ": " + sqlite3_errmsg(handle_));
}

void Connection::Damaged(const std::string& what) const {
  throw Error(path_ + " is damaged: " + what,
              "restore it from a copy or measure again; `sqlite3 FILE .recover` may save some of its tables");
}

void Connection::Charge(std::int64_t bytes) {
  budget_bytes_ -= bytes;
  if (budget_bytes_ < 0) Damaged("it seems to hold more rows than fit in its size");
}

Statement::Statement(Connection& connection, const std::string& sql) : connection_(connection) {
  connection_.Check(sqlite3_prepare_v3(connection_.handle(), sql.c_str(), static_cast<int>(sql.size()) + 1,
                                       SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Bind(int index, std::int64_t value) { connection_.Check(sqlite3_bind_int64(statement_, index, value)); }

void Statement::Bind(int index, double value) { connection_.Check(sqlite3_bind_double(statement_, index, value)); }

void Statement::Bind(int index, const std::string& text) {
  if (IsText(text)) {
    connection_.Check(sqlite3_bind_text64(statement_, index, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  } else {
    const std::string clean = ToText(text);
    connection_.Check(
        sqlite3_bind_text64(statement_, index, clean.data(), clean.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
}

void Statement::Bind(int index, std::span<const std::uint8_t> blob) {
  connection_.Check(sqlite3_bind_blob64(statement_, index, blob.data(), blob.size(), SQLITE_STATIC));
}

void Statement::Finish() {
  const int result = sqlite3_step(statement_);
  sqlite3_reset(statement_);
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
  // The least a row takes on its page: a 2-byte pointer, the lengths of payload and header, a type byte per column.
  connection_.Charge(4 + sqlite3_column_count(statement_));
  return true;
}

int Statement::TakeColumn(int type) {
  const int column = column_++;
  const int actual = sqlite3_column_type(statement_, column);
  if (actual != type) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column)) + " holds a value of another type");
  }
  return column;
}

bool Statement::IsNull() {
  if (sqlite3_column_type(statement_, column_) != SQLITE_NULL) return false;
  ++column_;
  return true;
}

std::int64_t Statement::Int64() { return sqlite3_column_int64(statement_, TakeColumn(SQLITE_INTEGER)); }

int Statement::Int() {
  const std::int64_t value = Int64();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column_ - 1)) + " is " + std::to_string(value));
  }
  return static_cast<int>(value);
}

std::uint32_t Statement::Uint32() {
  const std::int64_t value = Int64();
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column_ - 1)) + " is " + std::to_string(value));
  }
  return static_cast<std::uint32_t>(value);
}

bool Statement::Bool() {
  const int value = Int();
  if (value != 0 && value != 1) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column_ - 1)) + " is " + std::to_string(value));
  }
  return value == 1;
}

double Statement::Double() {
  const double value = sqlite3_column_double(statement_, TakeColumn(SQLITE_FLOAT));
  if (!std::isfinite(value)) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column_ - 1)) + " is not finite");
  }
  return value;
}

std::string Statement::Text() {
  const int column = TakeColumn(SQLITE_TEXT);
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) connection_.Check(SQLITE_NOMEM);
  std::string copy(reinterpret_cast<const char*>(text),
                   static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  connection_.Charge(static_cast<std::int64_t>(copy.size()));
  if (!IsText(copy)) {
    connection_.Damaged(std::string(sqlite3_column_name(statement_, column)) + " holds bytes that are not UTF-8");
  }
  return copy;
}

std::span<const std::uint8_t> Statement::Blob() {
  const int column = TakeColumn(SQLITE_BLOB);
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool JournalNamesAnotherFile(const std::string& database_path) {
  // A journal with a super-journal ends in these 8 bytes (sqlite.org/fileformat2.html, section 3).
  constexpr std::array<unsigned char, 8> kMagic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  std::ifstream journal(database_path + "-journal", std::ios::binary);
  std::array<char, 8> tail{};
  if (!journal.seekg(-static_cast<std::streamoff>(tail.size()), std::ios::end).read(tail.data(), tail.size())) {
    return false;
  }
  return std::memcmp(tail.data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace fa_profile::store
