#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "sqlite.h"
#include "utf8.h"

namespace fa_profile::store {

/// For the id of a kind that has none in the model: SQLite numbers the rows in the order written.
inline constexpr std::optional<std::int64_t> kNextId;

/// Inserts rows, each table's through one prepared statement. The connection outlives it.
class RowWriter {
 public:
  explicit RowWriter(Connection& connection) : connection_(connection) {}

  /// Inserts one row: the columns in the schema's order, which a round-trip test holds.
  template <typename... T>
  void Insert(const char* table, const T&... values) {
    Run("INSERT", table, values...);
  }

  /// Inserts one row in place of that with the same key.
  template <typename... T>
  void Replace(const char* table, const T&... values) {
    Run("REPLACE", table, values...);
  }

  /// The id of `name` in `table`, which has two columns, id and name; inserted when it is new.
  std::int64_t NameId(const char* table, const std::string& name) {
    auto& ids = names_[table];
    if (const auto known = ids.find(name); known != ids.end()) return known->second;
    const auto [place, is_new] =
        ids.try_emplace(IsText(name) ? name : ToText(name), static_cast<std::int64_t>(ids.size()) + 1);
    if (is_new) Insert(table, place->second, place->first);
    return place->second;
  }

 private:
  template <typename... T>
  void Run(const char* verb, const char* table, const T&... values) {
    std::unique_ptr<Statement>& statement = statements_[table];
    if (!statement) {
      std::string sql = std::string(verb) + " INTO " + table + " VALUES(?";
      for (std::size_t i = 1; i < sizeof...(values); ++i) sql += ",?";
      statement = std::make_unique<Statement>(connection_, sql + ")");
    }
    statement->Run(values...);
  }

  Connection& connection_;
  std::unordered_map<std::string, std::unique_ptr<Statement>> statements_;                // by table: each has one verb
  std::unordered_map<std::string, std::unordered_map<std::string, std::int64_t>> names_;  // by table
};

}  // namespace fa_profile::store
