#include "rows.h"

namespace fa_profile::store {

std::int64_t RowWriter::Insert(const Table& table, const void* row) {
  std::unique_ptr<Statement>& statement = statements_[&table];
  if (!statement) statement = std::make_unique<Statement>(connection_, InsertRow(table));
  for (const Column& column : table.columns) column.write(*statement, row);
  statement->Run();
  return sqlite3_last_insert_rowid(connection_.handle());
}

const std::vector<std::int64_t>& TableReader::LoadIds(const Table& table) {
  std::vector<std::int64_t>& ids = ids_[&table];
  Statement row(connection_, std::string("SELECT id FROM ") + table.name + " ORDER BY id");
  while (row.Next()) ids.push_back(row.Id());
  RequireAscending(table, ids);
  return ids;
}

// Ids are keys, so they ascend strictly in an honest file; the code below searches and merges by them.
void TableReader::RequireAscending(const Table& table, const std::vector<std::int64_t>& ids) const {
  const auto place = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<>());
  if (place != ids.end()) {
    connection_.Damaged(std::string(table.name) + ' ' + std::to_string(*place) + " is out of order");
  }
}

void TableReader::RequireReferences(const Table& table, const void* row) {
  for (const Column& column : table.columns) {
    if (column.refers_to == nullptr) continue;
    const std::int64_t id = column.id(row);
    const std::vector<std::int64_t>& ids = ids_[column.refers_to];
    if (id != 0 && !std::binary_search(ids.begin(), ids.end(), id)) {
      connection_.Damaged(Subject(table, row).Name() + " refers to " + column.refers_to->name + ' ' +
                          std::to_string(id) + ", which is missing");
    }
  }
}

}  // namespace fa_profile::store
