#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fa_profile/sqlite.h"

namespace fa_profile::store {

struct Table;

/// A row being checked. Refuses a value with an Error that names the row, the field and the value: "launch 5: grid_x is
/// -1, but it cannot be negative".
class Subject {
 public:
  Subject(const Table& table, const void* row) : table_(table), row_(row) {}

  /// "launch 5", "timing of kernel_case 3", "session".
  std::string Name() const;
  /// Checks each column by itself. CheckContent() in rules.h does the rest.
  void RequireColumns() const;
  [[noreturn]] void Refuse(std::string_view field, const std::string& value, const std::string& why) const;

  /// Rules for any value of its type: a number is not negative and fits in SQLite's 64 bits, a floating-point number is
  /// finite, a text has at most 1 MiB.
  void Require(std::string_view field, double value) const;
  void Require(std::string_view field, const std::string& text) const;
  template <std::integral T>
  void Require(std::string_view field, T value) const {
    // Unsigned values above 2^63 - 1 become negative.
    if (static_cast<std::int64_t>(value) < 0) RefuseNumber(field, std::to_string(value), std::is_signed_v<T>);
  }
  template <typename T>
  void Require(std::string_view field, const std::optional<T>& value) const {
    if (value) Require(field, *value);
  }
  void RequireNotNegative(std::string_view field, double value) const;
  void RequireId(std::string_view field, std::int64_t id) const;
  /// The name of a value: a metric, a stall reason.
  void RequireName(const std::string& name) const;

 private:
  [[noreturn]] void RefuseNumber(std::string_view field, const std::string& value, bool is_negative) const;

  const Table& table_;
  const void* row_;
};

/// A column of a table, and the field of a row that it holds. Rows are passed as `const void*`: Field() and its kin
/// know their type.
struct Column {
  const char* name;
  const char* type;  ///< as in CREATE TABLE
  const char* note;  ///< for docs/recording.schema.txt; empty if the name says it all
  void (*write)(Statement&, const void* row);
  void (*read)(Statement&, void* row);
  void (*check)(const Subject&, const char* name, const void* row) = nullptr;  ///< null: every value is valid
  std::int64_t (*id)(const void* row) = nullptr;  ///< its value if it is an id or refers to one; 0: NULL
  const Table* refers_to = nullptr;               ///< table whose id the column holds
  bool is_key = false;                            ///< part of the key of a table without an id
  int since = 1;                                  ///< schema version
};

/// A table of a recording: everything that schema, writer, reader, checks and docs/recording.schema.txt need.
struct Table {
  const char* name;
  const char* row;  ///< what a row is, for docs/recording.schema.txt
  std::initializer_list<Column> columns;
  int since = 1;  ///< schema version
};

/// The table of `Row`, one for every type in tables.h.
template <typename Row>
struct TableOf {
  static const Table kTable;
};

/// In a file of schema version `version`: without the columns added later.
std::string CreateTable(const Table& table, int version);
std::string InsertRow(const Table& table);
/// All columns, with rows in key order. `where`: "", or " WHERE ...".
std::string SelectRows(const Table& table, int version, const std::string& where);

template <typename Row>
const Row& As(const void* row) {
  return *static_cast<const Row*>(row);
}
template <typename Row>
Row& As(void* row) {
  return *static_cast<Row*>(row);
}

template <typename Row, typename Value>
Row RowOf(Value Row::*);

/// A member of `row`, or its element `kIndex`.
template <auto kMember, std::size_t... kIndex>
auto& MemberOf(auto& row) {
  if constexpr (sizeof...(kIndex) == 0) {
    return row.*kMember;
  } else {
    return (row.*kMember)[(kIndex, ...)];
  }
}

template <typename T>
inline constexpr const char* kSqlType = std::integral<T> ? "INTEGER NOT NULL" : "REAL NOT NULL";
template <>
inline constexpr const char* kSqlType<std::string> = "TEXT NOT NULL";
template <typename T>
inline constexpr const char* kSqlType<std::optional<T>> = std::integral<T> ? "INTEGER" : "REAL";

/// A column that holds a member unchanged (a number, a text, or an optional number), or an element of an array.
template <auto kMember, typename Row = decltype(RowOf(kMember)), std::size_t... kIndex>
constexpr Column Field(const char* name, const char* note = "") {
  using Value = std::remove_reference_t<decltype(MemberOf<kMember, kIndex...>(std::declval<Row&>()))>;
  return {
      .name = name,
      .type = kSqlType<Value>,
      .note = note,
      .write = [](Statement& to, const void* row) { to.Bind(MemberOf<kMember, kIndex...>(As<Row>(row))); },
      .read = [](Statement& from, void* row) { from.Read(MemberOf<kMember, kIndex...>(As<Row>(row))); },
      .check = [](const Subject& subject, const char* field,
                  const void* row) { subject.Require(field, MemberOf<kMember, kIndex...>(As<Row>(row))); },
  };
}

/// The same, in the key of a table without an id.
template <auto kMember>
constexpr Column Key(const char* name, const char* note = "") {
  Column column = Field<kMember>(name, note);
  column.is_key = true;
  return column;
}

/// A column that its table has had since schema version `version`. In older files its field is left alone.
constexpr Column Since(int version, Column column) {
  column.since = version;
  return column;
}

/// 64 bits that are not a count: any value is valid.
template <auto kMember>
constexpr Column Bits(const char* name, const char* note = "") {
  Column column = Field<kMember>(name, note);
  column.check = nullptr;
  return column;
}

/// An id assigned by the model, unique in its table.
template <auto kMember, typename Row = decltype(RowOf(kMember))>
constexpr Column Id() {
  Column column = Field<kMember, Row>("id");
  column.type = "INTEGER PRIMARY KEY";
  column.check = [](const Subject& subject, const char* field, const void* row) {
    subject.RequireId(field, As<Row>(row).*kMember);
  };
  column.id = [](const void* row) { return As<Row>(row).*kMember; };
  return column;
}

/// The id of a row in `Target`'s table, written earlier.
template <auto kMember, typename Target>
constexpr Column Reference(const char* name, const char* note = "") {
  Column column = Id<kMember>();
  column.name = name;
  column.type = "INTEGER NOT NULL";
  column.note = note;
  column.refers_to = &TableOf<Target>::kTable;
  return column;
}

/// The same, but optional: 0 in the model, NULL in the file.
template <auto kMember, typename Target>
constexpr Column OptionalReference(const char* name, const char* note) {
  using Row = decltype(RowOf(kMember));
  Column column = Reference<kMember, Target>(name, note);
  column.type = "INTEGER";
  column.write = [](Statement& to, const void* row) {
    const std::int64_t id = As<Row>(row).*kMember;
    to.Bind(id == 0 ? std::nullopt : std::optional(id));
  };
  column.read = [](Statement& from, void* row) {
    std::optional<std::int64_t> id;
    from.Read(id);
    As<Row>(row).*kMember = id.value_or(0);
  };
  column.check = Field<kMember>(name).check;
  return column;
}

/// An id that the model does not have: SQLite numbers the rows in the order written.
constexpr Column RowNumber() {
  return {.name = "id",
          .type = "INTEGER PRIMARY KEY",
          .note = "",
          .write = [](Statement& to, const void*) { to.Bind(std::optional<std::int64_t>()); },
          .read = [](Statement& from, void*) { from.Skip(); }};
}

/// The id in a table with at most one row.
constexpr Column OnlyRow() {
  return {.name = "id",
          .type = "INTEGER PRIMARY KEY CHECK(id = 1)",
          .note = "",
          .write = [](Statement& to, const void*) { to.Bind(1); },
          .read = [](Statement& from, void*) { from.Skip(); }};
}

}  // namespace fa_profile::store
