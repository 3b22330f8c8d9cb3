#pragma once

#include <span>
#include <string_view>

namespace fa_profile::store {

/// SQLite's application_id of a recording: "FAPR". `file` and the reader know a recording by it.
inline constexpr int kApplicationId = 0x46415052;

/// One table or view, as its CREATE statement. SQLite keeps the text from the name on, after "CREATE TABLE " or
/// "CREATE VIEW ", so that the statement of a healthy file equals `sql` byte for byte, which the reader checks.
struct SchemaObject {
  std::string_view type;  ///< "table" or "view"
  std::string_view name;
  const char* sql;
};

/// Everything a recording of `version` (1 to kRecordingSchemaVersion) holds, in the order it is created.
std::span<const SchemaObject> Schema(int version);

}  // namespace fa_profile::store
