#pragma once

#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fa_profile::store {

/// Owns one SQLite connection. Check() turns SQLite's results into Errors that fit the connection's purpose. One
/// thread.
class Connection {
 public:
  enum class Use { kRead, kWrite, kAppend };  ///< kAppend: several processes add to one file

  /// Takes ownership of `handle`. `path` is the file's name in errors.
  Connection(sqlite3* handle, std::string path, Use use);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }
  /// For a recording being read.
  int schema_version() const { return schema_version_; }
  void SetSchemaVersion(int version) { schema_version_ = version; }

  /// Runs statements that return no rows.
  void Execute(const std::string& sql);

  /// Returns for SQLITE_OK, SQLITE_ROW and SQLITE_DONE; throws Error for everything else.
  void Check(int result) const;

  /// Throws the Error "F.fap is damaged: <what>".
  [[noreturn]] void Damaged(const std::string& what) const;

  /// Limits the cost of reading a hostile file in two ways. Its rows: a page may be reached many times, so that a small
  /// file seems to hold any number of rows; an honest file yields no more bytes than it has. And its code in memory:
  /// names and stacks are shared in the file and copied for each instruction.
  void SetLimits(std::int64_t row_bytes, std::int64_t memory_bytes);
  void ChargeRow(std::int64_t bytes);
  void ChargeMemory(std::int64_t bytes);

 private:
  sqlite3* handle_;
  std::string path_;
  Use use_;
  int schema_version_ = 0;
  std::int64_t row_bytes_left_ = 0;
  std::int64_t memory_bytes_left_ = 0;
};

/// One prepared statement. To write a row: Bind() each value in order, then Run(). To read rows: Next(), then Read()
/// each column in order.
class Statement {
 public:
  Statement(Connection& connection, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Connection& connection() { return connection_; }

  /// Binds the next parameter. A text must outlive Run(); bytes in it that are not UTF-8 are replaced. Absent is NULL.
  /// SQLite has no unsigned numbers: 64 bits are stored as the signed number with the same bits.
  void Bind(std::int64_t value);
  void Bind(double value);
  void Bind(const std::string& text);
  void Bind(std::vector<std::uint8_t> blob);
  void BindCopy(const std::string& text);  ///< for a text that need not outlive the call
  template <std::integral T>
  void Bind(T value) {
    Bind(static_cast<std::int64_t>(value));
  }
  template <typename T>
  void Bind(const std::optional<T>& value) {
    if (value) {
      Bind(*value);
    } else {
      connection_.Check(sqlite3_bind_null(statement_, ++column_));
    }
  }
  void Run();

  /// Steps to the next row; false after the last one.
  bool Next();

  /// Reads the next column. Throws Error (damaged) if the value has another type or does not fit, is not finite, or is
  /// text that is not UTF-8.
  void Read(std::int64_t& value);
  void Read(bool& value);
  void Read(double& value);
  void Read(std::string& text);
  void Read(std::span<const std::uint8_t>& blob);  ///< valid until the next step
  void Read(std::uint64_t& bits);
  template <std::integral T>
  void Read(T& value) {
    value = static_cast<T>(ReadWithin(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
  template <typename T>
  void Read(std::optional<T>& value) {
    if (IsNull()) {
      value.reset();
      Skip();
    } else {
      Read(value.emplace());
    }
  }
  bool IsNull() { return sqlite3_column_type(statement_, column_) == SQLITE_NULL; }
  void Skip() { ++column_; }

  /// The first column of a row, as a number.
  std::int64_t Id() { return sqlite3_column_int64(statement_, 0); }

 private:
  std::int64_t ReadWithin(std::int64_t least, std::int64_t most);
  int TakeColumn(int type);
  [[noreturn]] void Damaged(const std::string& what) const;

  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;                  // bound or read last: SQLite counts parameters from 1, columns from 0
  std::vector<std::uint8_t> blob_;  // bound
};

/// Whether `text` is UTF-8 without a NUL, like every text in a recording.
bool IsText(std::string_view text);

/// `text` with each byte that IsText() refuses replaced by U+FFFD. External names (a path, a demangled symbol) may
/// contain any bytes and must not stop a run.
std::string ToText(std::string_view text);

/// Throws Error if `path`, or a file that SQLite would also open (-journal, -wal, -shm), exists and is not a regular
/// file. None is opened: that would drop this process's locks (POSIX).
void RequireRegularFiles(const std::string& path);

/// Whether the rollback journal of `database_path` names a super-journal. Ours never do, and SQLite's recovery may
/// delete the file it names: a hostile journal must not be rolled back.
bool JournalNamesAnotherFile(const std::string& database_path);

}  // namespace fa_profile::store
