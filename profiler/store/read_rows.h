#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "sqlite.h"
#include "validate.h"

namespace fa_profile::store {

/// What the writer would have refused, the reader takes for damage.
template <typename Piece>
void RequireValid(const Connection& connection, const Piece& piece) {
  try {
    Validate(piece);
  } catch (const Error& error) {
    connection.Damaged(error.message());
  }
}

/// Every row that `sql` gives, made into a piece by `read`.
template <typename Piece>
std::vector<Piece> ReadRows(Connection& connection, const char* sql, Piece (*read)(Statement&)) {
  std::vector<Piece> pieces;
  Statement row(connection, sql);
  while (row.Next()) pieces.push_back(read(row));
  return pieces;
}

/// The same, validated.
template <typename Piece>
std::vector<Piece> LoadRows(Connection& connection, const char* sql, Piece (*read)(Statement&)) {
  std::vector<Piece> pieces = ReadRows(connection, sql, read);
  for (const Piece& piece : pieces) RequireValid(connection, piece);
  return pieces;
}

/// Ids ascend strictly in an honest file, because they are its keys; what follows searches and merges by them.
template <typename Piece>
void RequireAscendingIds(const Connection& connection, const std::vector<Piece>& pieces, const char* kind) {
  const auto place =
      std::adjacent_find(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.id >= b.id; });
  if (place != pieces.end()) {
    connection.Damaged(std::string(kind) + " " + std::to_string(place->id) + " is out of order");
  }
}

/// The piece with this id among those that ascend; null when there is none.
template <typename Pieces>
auto Find(Pieces& pieces, std::int64_t id) -> decltype(&pieces.front()) {
  const auto place = std::lower_bound(pieces.begin(), pieces.end(), id,
                                      [](const auto& piece, std::int64_t wanted) { return piece.id < wanted; });
  return place != pieces.end() && place->id == id ? &*place : nullptr;
}

/// A row of a table of names: `metric`, `stall_reason`, ...
struct Name {
  std::int64_t id = 0;
  std::string name;
};

}  // namespace fa_profile::store
