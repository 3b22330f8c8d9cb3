#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "fa_profile/error.h"
#include "rules.h"

namespace fa_profile::store {

/// Inserts rows, through one prepared statement per table. The connection outlives it.
class RowWriter {
 public:
  explicit RowWriter(Connection& connection) : connection_(connection) {}

  /// Inserts `row`, unchecked; a Session or Device replaces the last one. Returns the id of its row.
  template <typename Row>
  std::int64_t Insert(const Row& row) {
    return Insert(TableOf<Row>::kTable, &row);
  }

  /// The id of a name in the table of `Names`, added if it is new.
  template <typename Names>
  std::int64_t NameId(const std::string& name) {
    auto& ids = names_[&TableOf<Names>::kTable];
    if (const auto known = ids.find(name); known != ids.end()) return known->second;
    const auto [place, is_new] = ids.try_emplace(ToText(name), static_cast<std::int64_t>(ids.size()) + 1);
    if (is_new) Insert(Names{{place->second, place->first}});
    return place->second;
  }

 private:
  std::int64_t Insert(const Table& table, const void* row);

  Connection& connection_;
  std::unordered_map<const Table*, std::unique_ptr<Statement>> statements_;
  std::unordered_map<const Table*, std::unordered_map<std::string, std::int64_t>> names_;
};

/// The rows of a table in key order, one by one and unchecked.
template <typename Row>
class RowReader {
 public:
  explicit RowReader(Connection& connection, const std::string& where = "")
      : statement_(connection, SelectRows(TableOf<Row>::kTable, connection.schema_version(), where)) {}

  /// Selects the rows that match this value in `where`.
  void Bind(std::int64_t value) { statement_.Bind(value); }

  bool Next(Row& row) {
    if (!statement_.Next()) return false;
    for (const Column& column : TableOf<Row>::kTable.columns) {
      if (column.since <= statement_.connection().schema_version()) column.read(statement_, &row);
    }
    return true;
  }

  std::int64_t id() { return statement_.Id(); }

 private:
  Statement statement_;
};

/// Throws Error (damaged) for a row that the writer would have refused.
template <typename Row>
void RequireValid(const Connection& connection, const Row& row) {
  try {
    Check(row);
  } catch (const Error& error) {
    connection.Damaged(error.message());
  }
}

/// The piece with this id among ascending ones. Throws Error (damaged) if there is none; `what` refers to it: "an
/// instruction has opcode".
template <typename Pieces>
auto& Require(const Connection& connection, Pieces& pieces, std::int64_t id, const char* what) {
  const auto place = std::lower_bound(pieces.begin(), pieces.end(), id,
                                      [](const auto& piece, std::int64_t wanted) { return piece.id < wanted; });
  if (place == pieces.end() || place->id != id) {
    connection.Damaged(std::string(what) + ' ' + std::to_string(id) + ", which is missing");
  }
  return *place;
}

/// Reads whole tables, checks their rows, and follows references to tables read before.
class TableReader {
 public:
  explicit TableReader(Connection& connection) : connection_(connection) {}

  Connection& connection() { return connection_; }

  template <typename Piece>
  std::vector<Piece> Load() {
    return Load<Piece>([](std::vector<Piece>&, const std::vector<std::int64_t>&) {});
  }

  /// `read_parts` reads the pieces' data in other tables, given the pieces and the ids of their rows; checks follow.
  template <typename Piece, typename ReadParts>
  std::vector<Piece> Load(const ReadParts& read_parts) {
    std::vector<Piece> pieces;
    std::vector<std::int64_t>& ids = ids_[&TableOf<Piece>::kTable];
    RowReader<Piece> rows(connection_);
    for (Piece piece; rows.Next(piece); piece = Piece()) {
      pieces.push_back(std::move(piece));
      ids.push_back(rows.id());
    }
    RequireAscending(TableOf<Piece>::kTable, ids);
    read_parts(pieces, ids);
    for (const Piece& piece : pieces) {
      RequireValid(connection_, piece);
      RequireReferences(TableOf<Piece>::kTable, &piece);
    }
    return pieces;
  }

  /// A table with at most one row.
  template <typename Piece>
  Piece LoadOne() {
    std::vector<Piece> pieces = Load<Piece>();
    if (pieces.size() > 1) connection_.Damaged("it has two rows where there is one");
    return pieces.empty() ? Piece{} : std::move(pieces.front());
  }

  /// The ids of a table that is not read.
  const std::vector<std::int64_t>& LoadIds(const Table& table);

 private:
  void RequireAscending(const Table& table, const std::vector<std::int64_t>& ids) const;
  void RequireReferences(const Table& table, const void* row);

  Connection& connection_;
  std::map<const Table*, std::vector<std::int64_t>> ids_;
};

}  // namespace fa_profile::store
