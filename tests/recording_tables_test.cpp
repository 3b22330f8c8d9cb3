// The tables of a recording, and docs/recording.schema.txt, which is made from them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rows.h"

namespace fa_profile::store {
namespace {

constexpr const char* kDocument = FA_PROFILE_TEST_DATA "/../../docs/recording.schema.txt";
constexpr const char* kBegin =
    "The tables of a recording, made from profiler/store/tables.cpp by recording_tables_test.\n"
    "docs/recording.md explains how to query them.\n";

// Wraps the words of `text` at 120 columns.
std::string Wrapped(const std::string& text, const std::string& indent = "") {
  std::string lines;
  std::size_t width = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (width > 0 && width + 1 + end - begin > 120) {
      lines += '\n' + indent;
      width = indent.size();
    } else if (width > 0) {
      lines += ' ';
      ++width;
    }
    lines += text.substr(begin, end - begin);
    width += end - begin;
    begin = end + 1;
  }
  return lines + '\n';
}

std::string Section(const Table& table) {
  const std::string version = table.since > 1 ? " Since version " + std::to_string(table.since) + '.' : "";
  std::string text = '\n' + Wrapped(std::string(table.name) + ": " + table.row + '.' + version, "  ");
  for (const Column& column : table.columns) {
    std::string note = column.note;
    if (column.since > 1) note += (note.empty() ? "since version " : "; since version ") + std::to_string(column.since);
    text += "  " + Wrapped(column.name + (note.empty() ? "" : ": " + note), "      ");
  }
  return text;
}

std::string Sections() {
  std::string text = kBegin;
  for (const Table* table : Tables()) text += Section(*table);
  text += "\nViews, for queries:\n";
  for (const View& view : Views()) {
    if (view.until < kRecordingSchemaVersion) continue;
    text += "  " + Wrapped(std::string(view.name) + ": " + view.row + '.', "      ");
  }
  return text;
}

// With FA_PROFILE_UPDATE_GOLDEN set it writes the document instead: review the diff.
TEST(RecordingTablesTest, TheDocumentIsCurrent) {
  if (std::getenv("FA_PROFILE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kDocument, std::ios::binary) << Sections();
    return;
  }
  std::ifstream file(kDocument, std::ios::binary);
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(document, Sections()) << "FA_PROFILE_UPDATE_GOLDEN=1 writes it anew";
}

TEST(RecordingTablesTest, NamesAreUniqueAndEveryTableHasAKey) {
  std::set<std::string> tables;
  for (const Table* table : Tables()) {
    EXPECT_TRUE(tables.insert(table->name).second) << table->name;
    std::set<std::string> columns;
    bool has_key = std::string(table->columns.begin()->name) == "id";
    for (const Column& column : table->columns) {
      EXPECT_TRUE(columns.insert(column.name).second) << table->name << '.' << column.name;
      has_key |= column.is_key;
    }
    EXPECT_TRUE(has_key) << table->name;
  }
}

struct Grown {
  std::int64_t id = 0;
  std::string name;
  std::optional<double> added = 7.0;
};

}  // namespace

template <>
const Table TableOf<Grown>::kTable = {
    "grown", "", {Id<&Grown::id>(), Field<&Grown::name>("name"), Since(2, Field<&Grown::added>("added"))}};

namespace {

TEST(RecordingTablesTest, AnOlderFileLacksTheColumnsThatCameLater) {
  for (const int version : {1, 2}) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &handle), SQLITE_OK);
    Connection connection(handle, "memory", Connection::Use::kRead);
    connection.SetLimits(1000, 0);
    connection.SetSchemaVersion(version);
    connection.Execute(CreateTable(TableOf<Grown>::kTable, version));
    connection.Execute(version == 1 ? "INSERT INTO grown VALUES(5, 'a')" : "INSERT INTO grown VALUES(5, 'a', 2.5)");
    const std::vector<Grown> rows = TableReader(connection).Load<Grown>();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].name, "a");
    EXPECT_EQ(rows[0].added, version == 1 ? 7.0 : 2.5);
    EXPECT_THROW(Check(Grown{0, "", {}}), Error);
    EXPECT_THROW(Check(Grown{1, std::string(2 << 20, 'x'), {}}), Error);
    EXPECT_NO_THROW(Check(rows[0]));
  }
}

}  // namespace
}  // namespace fa_profile::store
