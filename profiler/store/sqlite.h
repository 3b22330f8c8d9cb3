#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fa_profile::store {

/// Owner of one SQLite connection, and the choke point of SQLite's results: Check() turns each into an Error that fits
/// what the connection is for. One thread.
class Connection {
 public:
  enum class Use { kRead, kWrite };

  /// Takes `handle` over. `path` is how errors name the file.
  Connection(sqlite3* handle, std::string path, Use use);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return handle_; }
  const std::string& path() const { return path_; }

  /// Runs statements that give no rows.
  void Execute(const char* sql);

  /// Returns for SQLITE_OK, SQLITE_ROW and SQLITE_DONE; throws Error for everything else.
  void Check(int result) const;

  /// The file is not what a recording is. `what` completes "F.fap is damaged: ".
  [[noreturn]] void Damaged(const std::string& what) const;

  /// Bounds what reading can cost: a page of a hostile file may be reached many times, so that a small file seems to
  /// hold any number of rows. An honest file has each row once, and so cannot give more bytes than it has.
  void SetBudget(std::int64_t bytes) { budget_bytes_ = bytes; }
  void Charge(std::int64_t bytes);

 private:
  sqlite3* handle_;
  std::string path_;
  Use use_;
  std::int64_t budget_bytes_ = 0;
};

/// One prepared statement: Run() to write a row, Next() and the getters to read rows column by column.
class Statement {
 public:
  Statement(Connection& connection, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds `values` to the parameters in order and executes. Values are int, std::int64_t, double, texts, blobs
  /// (std::span<const std::uint8_t>) and optionals of them (absent is NULL).
  template <typename... T>
  void Run(const T&... values) {
    BindAll(values...);
    Finish();
  }

  template <typename... T>
  void BindAll(const T&... values) {
    int index = 0;
    (Bind(++index, values), ...);
  }

  /// Steps to the next row; false when there is none. The getters then start at its first column.
  bool Next();

  /// The next column of the row. Throws Error (damaged) when the value has another type or does not fit, is not finite,
  /// or is a text that is not UTF-8.
  std::int64_t Int64();
  int Int();
  std::uint32_t Uint32();
  bool Bool();
  double Double();
  std::string Text();
  std::span<const std::uint8_t> Blob();  ///< valid until the next step
  /// The same for a column that may be NULL.
  std::optional<std::int64_t> OptionalInt64() { return IsNull() ? std::nullopt : std::optional(Int64()); }
  std::optional<int> OptionalInt() { return IsNull() ? std::nullopt : std::optional(Int()); }
  std::optional<double> OptionalDouble() { return IsNull() ? std::nullopt : std::optional(Double()); }

 private:
  void Bind(int index, std::int64_t value);
  void Bind(int index, int value) { Bind(index, std::int64_t{value}); }
  void Bind(int index, std::uint32_t value) { Bind(index, std::int64_t{value}); }
  void Bind(int index, bool value) { Bind(index, std::int64_t{value}); }
  void Bind(int index, double value);
  void Bind(int index, const std::string& text);
  void Bind(int index, std::span<const std::uint8_t> blob);
  template <typename T>
  void Bind(int index, const std::optional<T>& value) {
    if (value) {
      Bind(index, *value);
    } else {
      connection_.Check(sqlite3_bind_null(statement_, index));
    }
  }
  void Finish();
  bool IsNull();
  int TakeColumn(int type);

  Connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
};

/// Whether the rollback journal of `database_path` names a super-journal. Ours never do, and SQLite's recovery may
/// delete the file so named: a hostile journal must not be rolled back.
bool JournalNamesAnotherFile(const std::string& database_path);

}  // namespace fa_profile::store
