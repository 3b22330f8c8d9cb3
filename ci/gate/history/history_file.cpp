#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "fa_profile/error.h"
#include "fa_profile/files.h"
#include "fa_profile/gate_history.h"
#include "fa_profile/sqlite.h"
#include "history_rules.h"

namespace fa_profile::gate {
namespace {

namespace fs = std::filesystem;
using store::Connection;
using store::Statement;

constexpr std::uint32_t kHistoryId = 0x46414748;  // "FAGH"
constexpr int kWaitMilliseconds = 60'000;
constexpr std::size_t kMostPoints = 50'000'000;

/// A table with all that the schema, the writer and the reader need. To add a column, change it here, in the struct, in
/// Bind() and Read() below, and kHistoryVersion.
struct HistoryTable {
  const char* name;
  std::span<const char* const> columns;  ///< name and type
  const char* key;                       ///< rest of the CREATE TABLE statement
};
constexpr std::array kNightColumns = {"id INTEGER PRIMARY KEY",     "gpu_uuid TEXT NOT NULL",
                                      "taken_at TEXT NOT NULL",     "commit_id TEXT NOT NULL",
                                      "gpu_name TEXT NOT NULL",     "driver_version TEXT NOT NULL",
                                      "cuda_runtime TEXT NOT NULL", "sm_clock_max_hz INTEGER NOT NULL",
                                      "tool_version TEXT NOT NULL", "source TEXT NOT NULL",
                                      "sha256 TEXT NOT NULL"};
constexpr std::array kSeriesColumns = {"id INTEGER PRIMARY KEY", "kernel TEXT NOT NULL", "shape TEXT NOT NULL",
                                       "phase TEXT NOT NULL", "metric TEXT NOT NULL"};
constexpr std::array kPointColumns = {"series_id INTEGER NOT NULL", "night_id INTEGER NOT NULL", "median REAL NOT NULL",
                                      "spread REAL NOT NULL", "processes INTEGER NOT NULL"};
constexpr HistoryTable kNights{"night", kNightColumns, ", UNIQUE (gpu_uuid, taken_at, commit_id))"};
constexpr HistoryTable kSeries{"series", kSeriesColumns, ", UNIQUE (kernel, shape, phase, metric))"};
constexpr HistoryTable kPoints{"point", kPointColumns, ", PRIMARY KEY (series_id, night_id)) WITHOUT ROWID"};

std::string CreateSql(const HistoryTable& table) {
  return fmt::format("CREATE TABLE {} ({}{}", table.name, fmt::join(table.columns, ", "), table.key);
}

std::vector<std::string> NamesOf(const HistoryTable& table) {
  std::vector<std::string> names;
  for (const std::string column : table.columns) names.push_back(column.substr(0, column.find(' ')));
  return names;
}

std::string InsertSql(const HistoryTable& table) {
  std::string marks = "?";
  for (std::size_t i = 1; i < table.columns.size(); ++i) marks += ",?";
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table.name, fmt::join(NamesOf(table), ","), marks);
}

std::string SelectSql(const HistoryTable& table, const std::string& order) {
  return fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(NamesOf(table), ","), table.name, order);
}

[[noreturn]] void NotAHistory(const std::string& path, const std::string& why) {
  throw Error(path + " is not a history of the gate" + why,
              "give a file that fa-profile gate history add wrote, or a new name");
}

std::uint32_t HeaderNumber(std::span<const char> header, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) number = number << 8U | static_cast<unsigned char>(header[i]);
  return number;
}

/// Whether the file has content. Throws Error unless it begins like a history. SQLite must not see the file earlier: a
/// hostile one could make it write files next to it.
bool HasContent(const std::string& path) {
  std::array<char, 100> header{};
  const Descriptor file = OpenFile(path);
  const std::size_t size = ReadSome(file.get(), path, header);
  if (size == 0) return false;
  if (size < header.size() || std::memcmp(header.data(), "SQLite format 3", 16) != 0) NotAHistory(path, "");
  if (HeaderNumber(header, 68) != kHistoryId) NotAHistory(path, " but another SQLite file");
  if (header[18] != 1 || header[19] != 1) NotAHistory(path, ": it uses a write-ahead log");
  const auto version = static_cast<std::int32_t>(HeaderNumber(header, 60));
  if (version > kHistoryVersion) {
    throw Error(fmt::format("{} has version {}, and this program reads up to {}", path, version, kHistoryVersion),
                "update fa-profile");
  }
  if (version < 1 || HeaderNumber(header, 56) != 1) NotAHistory(path, "");
  if (store::JournalNamesAnotherFile(path)) {
    throw Error(path + "-journal was not written by fa-profile", "move it away if you trust " + path);
  }
  return true;
}

std::unique_ptr<Connection> Open(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(fs::absolute(path).c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  auto connection = std::make_unique<Connection>(handle, path, Connection::Use::kAppend);
  if (result != SQLITE_OK) {
    throw Error(path + " cannot be opened: " + sqlite3_errmsg(handle), "check the path and its permissions");
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_busy_timeout(handle, kWaitMilliseconds);
  connection->Execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
  return connection;
}

/// Rows must not yield more bytes than the file has.
void LimitRows(Connection& connection, const std::string& path) {
  connection.SetLimits(static_cast<std::int64_t>(fs::file_size(path)) + 4096, 0);
}

/// Our tables, byte for byte, and nothing else: otherwise a table could be a view or a virtual table in disguise.
void RequireTables(Connection& connection) {
  std::map<std::string, std::string> missing;
  for (const HistoryTable& table : {kNights, kSeries, kPoints}) missing[table.name] = CreateSql(table);
  Statement objects(connection, "SELECT type, name, coalesce(sql, '') FROM sqlite_schema");
  std::string type, name, sql;
  while (objects.Next()) {
    objects.Read(type);
    objects.Read(name);
    objects.Read(sql);
    if (type == "index" && name.starts_with("sqlite_autoindex_") && sql.empty()) continue;
    const auto found = missing.find(name);
    if (type != "table" || found == missing.end() || found->second != sql) {
      connection.Damaged("it holds a " + type.substr(0, 20) + " " + name.substr(0, 60) + " that is not a history's");
    }
    missing.erase(found);
  }
  if (!missing.empty()) connection.Damaged("it lacks the table " + missing.begin()->first);
}

void MakeTables(Connection& connection) {
  for (const HistoryTable& table : {kNights, kSeries, kPoints}) connection.Execute(CreateSql(table));
  connection.Execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kHistoryId, kHistoryVersion));
}

bool IsEmpty(Connection& connection) {
  Statement count(connection, "SELECT count(*) FROM sqlite_schema");
  return count.Next() && count.Id() == 0;
}

/// Writes nights in an open transaction.
class NightWriter {
 public:
  explicit NightWriter(Connection& connection)
      : night_(connection, InsertSql(kNights)),
        series_(connection, InsertSql(kSeries)),
        point_(connection, InsertSql(kPoints)),
        find_night_(connection, "SELECT id, sha256, source FROM night WHERE gpu_uuid=? AND taken_at=? AND commit_id=?"),
        find_series_(connection, "SELECT id FROM series WHERE kernel=? AND shape=? AND phase=? AND metric=?"),
        connection_(connection) {}

  /// False: the same evidence is already there.
  bool Add(const MeasuredNight& measured, bool replace) {
    const Night& night = measured.night;
    if (const auto [id, sha256, source] = Find(night); id != 0) {
      if (sha256 == night.sha256) return false;
      if (!replace) {
        throw Error(fmt::format("{} has the night {} of {} at {} from {}, and {} has other values", connection_.path(),
                                night.taken_at, night.gpu_uuid, night.commit, source, night.source),
                    "give --replace if the new file is the right one");
      }
      connection_.Execute(fmt::format("DELETE FROM point WHERE night_id={0}; DELETE FROM night WHERE id={0}", id));
    }
    const std::int64_t id = Insert(night);
    for (const NightValue& value : measured.values) Insert(value, id);
    return true;
  }

 private:
  std::tuple<std::int64_t, std::string, std::string> Find(const Night& night) {
    find_night_.Bind(night.gpu_uuid);
    find_night_.Bind(night.taken_at);
    find_night_.Bind(night.commit);
    std::tuple<std::int64_t, std::string, std::string> found;
    if (!find_night_.Next()) return found;
    find_night_.Read(std::get<0>(found));
    find_night_.Read(std::get<1>(found));
    find_night_.Read(std::get<2>(found));
    (void)find_night_.Next();  // the only row: resets the statement
    return found;
  }

  std::int64_t Insert(const Night& night) {
    night_.Bind(std::optional<std::int64_t>());
    for (const std::string* const text : {&night.gpu_uuid, &night.taken_at, &night.commit, &night.gpu_name,
                                          &night.driver_version, &night.cuda_runtime_version}) {
      night_.Bind(*text);
    }
    night_.Bind(night.sm_clock_max_hz);
    for (const std::string* const text : {&night.tool_version, &night.source, &night.sha256}) night_.Bind(*text);
    night_.Run();
    return sqlite3_last_insert_rowid(connection_.handle());
  }

  void BindName(Statement& to, const NightValue& value) {
    for (const std::string* const text : {&value.kernel, &value.shape, &value.key.phase, &value.key.metric}) {
      to.Bind(*text);
    }
  }

  std::int64_t SeriesId(const NightValue& value) {
    BindName(find_series_, value);
    if (find_series_.Next()) {
      const std::int64_t id = find_series_.Id();
      (void)find_series_.Next();
      return id;
    }
    series_.Bind(std::optional<std::int64_t>());
    BindName(series_, value);
    series_.Run();
    return sqlite3_last_insert_rowid(connection_.handle());
  }

  void Insert(const NightValue& value, std::int64_t night) {
    point_.Bind(SeriesId(value));
    point_.Bind(night);
    point_.Bind(value.median);
    point_.Bind(value.spread);
    point_.Bind(value.processes);
    point_.Run();
  }

  Statement night_, series_, point_, find_night_, find_series_;
  Connection& connection_;
};

/// The nights, by their id.
std::map<std::int64_t, Night> ReadNights(Connection& connection) {
  std::map<std::int64_t, Night> nights;
  Statement rows(connection, SelectSql(kNights, "id"));
  while (rows.Next()) {
    std::int64_t id = 0;
    Night night;
    rows.Read(id);
    for (std::string* const text : {&night.gpu_uuid, &night.taken_at, &night.commit, &night.gpu_name,
                                    &night.driver_version, &night.cuda_runtime_version}) {
      rows.Read(*text);
    }
    rows.Read(night.sm_clock_max_hz);
    for (std::string* const text : {&night.tool_version, &night.source, &night.sha256}) rows.Read(*text);
    if (!IsUtcTime(night.taken_at)) connection.Damaged("a night has no time");
    if (night.gpu_uuid.empty()) connection.Damaged("a night has no card");
    nights.emplace(id, std::move(night));
  }
  return nights;
}

std::map<std::int64_t, HistorySeries> ReadNames(Connection& connection) {
  std::map<std::int64_t, HistorySeries> names;
  Statement rows(connection, SelectSql(kSeries, "id"));
  while (rows.Next()) {
    std::int64_t id = 0;
    HistorySeries name;
    rows.Read(id);
    for (std::string* const text : {&name.kernel, &name.shape, &name.key.phase, &name.key.metric}) rows.Read(*text);
    names.emplace(id, std::move(name));
  }
  return names;
}

/// The index of each night, by its id, in order of time.
std::map<std::int64_t, std::size_t> Sort(const std::map<std::int64_t, Night>& nights, History& history) {
  std::vector<std::int64_t> ids;
  for (const auto& [id, _] : nights) ids.push_back(id);
  const auto key = [&](std::int64_t id) {
    const Night& night = nights.at(id);
    return std::tie(night.taken_at, night.gpu_uuid, night.commit);
  };
  std::ranges::sort(ids, [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  std::map<std::int64_t, std::size_t> index;
  for (const std::int64_t id : ids) {
    index[id] = history.nights.size();
    history.nights.push_back(nights.at(id));
  }
  return index;
}

void ReadPoints(Connection& connection, const std::map<std::int64_t, std::size_t>& nights,
                const std::map<std::int64_t, HistorySeries>& names, History& history) {
  std::map<std::pair<std::string, std::int64_t>, HistorySeries> found;  // by card and id of the series
  Statement rows(connection, SelectSql(kPoints, "series_id, night_id"));
  for (std::size_t count = 0; rows.Next(); ++count) {
    std::int64_t series = 0, night = 0;
    HistoryPoint point;
    rows.Read(series);
    rows.Read(night);
    rows.Read(point.median);
    rows.Read(point.spread);
    rows.Read(point.processes);
    const auto name = names.find(series);
    const auto at = nights.find(night);
    if (name == names.end() || at == nights.end()) connection.Damaged("a value has no night or no name");
    if (count >= kMostPoints) connection.Damaged("it has more than 50 million values");
    point.night = at->second;
    const std::string& card = history.nights[point.night].gpu_uuid;
    HistorySeries& into = found.try_emplace({card, series}, name->second).first->second;
    into.gpu_uuid = card;
    into.points.push_back(point);
  }
  for (auto& [_, series] : found) {
    std::ranges::sort(series.points, {}, &HistoryPoint::night);
    history.series.push_back(std::move(series));
  }
  const auto key = [](const HistorySeries& one) { return std::tie(one.gpu_uuid, one.kernel, one.shape, one.key); };
  std::ranges::sort(history.series, [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

/// Others wait here: what follows sees what they wrote.
void Lock(Connection& connection, const std::string& path) {
  connection.Execute("BEGIN IMMEDIATE");
  int is_gone = 0;
  (void)sqlite3_file_control(connection.handle(), nullptr, SQLITE_FCNTL_HAS_MOVED, &is_gone);
  if (is_gone != 0) throw Error(path + " was removed while fa-profile waited for the lock", "try again");
}

AddedNights Add(Connection& connection, const std::string& path, const std::vector<MeasuredNight>& nights,
                bool replace) {
  Lock(connection, path);
  LimitRows(connection, path);
  IsEmpty(connection) ? MakeTables(connection) : RequireTables(connection);
  AddedNights result;
  {
    NightWriter writer(connection);
    for (const MeasuredNight& night : nights) {
      connection.SetLimits(std::int64_t{1} << 40, 0);  // per night: it only looks for names
      (writer.Add(night, replace) ? result.added : result.known) += 1;
    }
  }
  connection.Execute("COMMIT");
  return result;
}

/// Removes the file unless another process has put nights into it. It holds the lock: a process that waits for it
/// checks whether the file still has its name.
void RemoveEmpty(Connection& connection, const std::string& path) {
  try {
    if (sqlite3_get_autocommit(connection.handle()) == 0) connection.Execute("ROLLBACK");
    connection.Execute("PRAGMA journal_mode=MEMORY");  // the lock of an empty file is a page in the journal
    Lock(connection, path);
    if (std::error_code ignored; fs::file_size(path, ignored) == 0) (void)fs::remove(path, ignored);
  } catch (const Error&) {  // the file stays; the first error is the one to report
  }
}

}  // namespace

AddedNights AddNights(const std::string& path, const std::vector<MeasuredNight>& nights, bool replace) {
  const bool is_new = !fs::exists(path);
  if (!is_new) (void)HasContent(path);
  const std::unique_ptr<Connection> connection = Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  try {
    return Add(*connection, path, nights, replace);
  } catch (const Error&) {
    if (is_new) RemoveEmpty(*connection, path);
    throw;
  }
}

History ReadHistory(const std::string& path) {
  if (!HasContent(path)) NotAHistory(path, ": it is empty");
  const std::unique_ptr<Connection> connection = Open(path, SQLITE_OPEN_READWRITE);  // to roll back a killed writer
  LimitRows(*connection, path);
  connection->Execute("BEGIN");
  RequireTables(*connection);
  History history;
  const std::map<std::int64_t, std::size_t> nights = Sort(ReadNights(*connection), history);
  ReadPoints(*connection, nights, ReadNames(*connection), history);
  return history;
}

}  // namespace fa_profile::gate
