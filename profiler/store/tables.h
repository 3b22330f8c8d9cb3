#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "fa_profile/recording.h"

/// The tables of a recording. tables.cpp has the recipe for a new one.
namespace fa_profile::store {

/// SQLite's application_id of a recording: "FAPR". `file` and the reader know a recording by it.
inline constexpr int kApplicationId = 0x46415052;

/// A name that many rows share by its id.
struct Name {
  std::int64_t id = 0;
  std::string name;
};
struct MetricName : Name {};
struct Opcode : Name {};
struct SourceFunction : Name {};
struct SourceFile : Name {};
struct StallReason : Name {};

// Rows of pieces that take more than one.

struct TimingSample {
  std::int64_t timing_id = 0, position = 0;
  double duration_ns = 0.0;
};
struct ConfigMetric {
  std::int64_t config_id = 0, position = 0, metric_id = 0;
};
struct MetricValue {
  std::int64_t metric_id = 0, range_id = 0;
  double value = 0.0;
};
struct InlineStack {
  std::int64_t id = 0;
  std::optional<std::int64_t> parent_id;
  std::int64_t source_function_id = 0, source_file_id = 0;
  int line = 0;
};
struct InstructionRow {
  std::int64_t function_id = 0;
  std::uint32_t offset = 0;
  std::int64_t opcode_id = 0;
  std::optional<std::int64_t> stack_id;
};
struct SampleRun {
  std::int64_t sampling_id = 0, function_id = 0, reason_id = 0;
  std::uint32_t offset = 0;
  std::string samples;
};
struct CountRun {
  std::int64_t counting_id = 0, function_id = 0, metric_id = 0;
  std::uint32_t offset = 0, instructions = 0;
  std::int64_t count = 0;
};

// clang-format off
template <> const Table TableOf<Session>::value;
template <> const Table TableOf<Device>::value;
template <> const Table TableOf<ClockSample>::value;
template <> const Table TableOf<Case>::value;
template <> const Table TableOf<Verification>::value;
template <> const Table TableOf<Timing>::value;
template <> const Table TableOf<TimingSample>::value;
template <> const Table TableOf<Launch>::value;
template <> const Table TableOf<NvtxRange>::value;
template <> const Table TableOf<MetricName>::value;
template <> const Table TableOf<CounterConfig>::value;
template <> const Table TableOf<ConfigMetric>::value;
template <> const Table TableOf<CounterImage>::value;
template <> const Table TableOf<Range>::value;
template <> const Table TableOf<MetricValue>::value;
template <> const Table TableOf<DataLoss>::value;
template <> const Table TableOf<Cubin>::value;
template <> const Table TableOf<DeviceFunction>::value;
template <> const Table TableOf<Opcode>::value;
template <> const Table TableOf<SourceFunction>::value;
template <> const Table TableOf<SourceFile>::value;
template <> const Table TableOf<InlineStack>::value;
template <> const Table TableOf<InstructionRow>::value;
template <> const Table TableOf<StallReason>::value;
template <> const Table TableOf<PcSampling>::value;
template <> const Table TableOf<SampleRun>::value;
template <> const Table TableOf<SassCounting>::value;
template <> const Table TableOf<CountRun>::value;
// clang-format on

struct View {
  const char* name;
  const char* row;  ///< what a row is, for docs/recording.md
  const char* sql;
  int since = 1;
};

/// In the order they are created.
std::span<const Table* const> Tables();
std::span<const View> Views();

/// One table or view, as its CREATE statement. SQLite keeps the text from the name on, after "CREATE TABLE " or
/// "CREATE VIEW ", so that the statement of a healthy file equals `sql` byte for byte, which the reader checks.
struct SchemaObject {
  std::string_view type;  ///< "table" or "view"
  std::string_view name;
  std::string sql;
};

/// Everything that a recording of `version` (1 to kRecordingSchemaVersion) holds, in the order it is created.
std::vector<SchemaObject> Schema(int version);

}  // namespace fa_profile::store
