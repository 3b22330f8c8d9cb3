#include "columns.h"

#include <cmath>

#include "fa_profile/error.h"
#include "value_limits.h"

namespace fa_profile::store {

std::string Subject::Name() const {
  for (const Column& column : table_.columns) {
    if (column.id == nullptr || column.id(row_) == 0) continue;
    const std::string number = ' ' + std::to_string(column.id(row_));
    if (column.refers_to == nullptr) return table_.name + number;
    return std::string(table_.name) + " of " + column.refers_to->name + number;
  }
  return table_.name;
}

void Subject::Refuse(std::string_view field, const std::string& value, const std::string& why) const {
  throw Error(Name() + ": " + std::string(field) + " is " + value + ", but " + why);
}

void Subject::RefuseNumber(std::string_view field, const std::string& value, bool is_negative) const {
  Refuse(field, value, is_negative ? "it cannot be negative" : "the limit is 2^63 - 1");
}

void Subject::Require(std::string_view field, double value) const {
  if (!std::isfinite(value)) {
    Refuse(field, std::to_string(value), "numbers are finite: leave an unknown value out");
  }
}

void Subject::Require(std::string_view field, const std::string& text) const {
  if (text.size() > kMaxTextBytes) {
    Refuse(field, std::to_string(text.size()) + " bytes", "the limit is " + std::to_string(kMaxTextBytes));
  }
}

void Subject::RequireNotNegative(std::string_view field, double value) const {
  Require(field, value);
  if (value < 0.0) Refuse(field, std::to_string(value), "it cannot be negative");
}

void Subject::RequireId(std::string_view field, std::int64_t id) const {
  if (id <= 0) Refuse(field, std::to_string(id), "ids are above 0");
}

void Subject::RequireName(const std::string& name) const {
  if (name.empty() || !IsText(name)) Refuse("a name", "empty or not UTF-8", "every value has a name");
  if (name.size() > kMaxNameBytes) {
    Refuse("a name", std::to_string(name.size()) + " bytes", "the limit is " + std::to_string(kMaxNameBytes));
  }
}

void Subject::RequireColumns() const {
  for (const Column& column : table_.columns) {
    if (column.check != nullptr) column.check(*this, column.name, row_);
  }
}

namespace {

// "a, b": the names of all columns, or of those of the key.
std::string Names(const Table& table, int version, bool key_alone) {
  std::string names;
  for (const Column& column : table.columns) {
    if (column.since > version || (key_alone && !column.is_key)) continue;
    if (!names.empty()) names += ", ";
    names += column.name;
  }
  return names;
}

}  // namespace

std::string CreateTable(const Table& table, int version) {
  std::string sql = std::string("CREATE TABLE ") + table.name + '(';
  for (const Column& column : table.columns) {
    if (column.since > version) continue;
    if (&column != table.columns.begin()) sql += ',';
    sql += std::string("\n  ") + column.name + ' ' + column.type;
    if (column.refers_to != nullptr) sql += std::string(" REFERENCES ") + column.refers_to->name + "(id)";
  }
  if (const std::string key = Names(table, version, true); !key.empty()) {
    return sql + ",\n  PRIMARY KEY(" + key + ")\n) WITHOUT ROWID";
  }
  return sql + "\n)";
}

std::string InsertRow(const Table& table) {
  // With REPLACE a second launch with the same id would replace the first.
  const bool one_row = std::string_view(table.columns.begin()->type).ends_with("CHECK(id = 1)");
  std::string sql = std::string(one_row ? "REPLACE" : "INSERT") + " INTO " + table.name + " VALUES(?";
  for (std::size_t i = 1; i < table.columns.size(); ++i) sql += ",?";
  return sql + ')';
}

std::string SelectRows(const Table& table, int version, const std::string& where) {
  const std::string key = Names(table, version, true);
  return "SELECT " + Names(table, version, false) + " FROM " + table.name + where + " ORDER BY " +
         (key.empty() ? "id" : key);
}

}  // namespace fa_profile::store
