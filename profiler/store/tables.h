#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns.h"
#include "fa_profile/recording.h"

/// A recording's tables. tables.cpp explains how to add one.
namespace fa_profile::store {

/// SQLite's application_id for a recording: "FAPR". `file` and the reader identify a recording by it.
inline constexpr int kApplicationId = 0x46415052;

/// A name that many rows share by id.
struct Name {
  std::int64_t id = 0;
  std::string name;
};
struct MetricName : Name {};
struct Opcode : Name {};
struct SourceFunction : Name {};
struct SourceFile : Name {};
struct StallReason : Name {};

// Rows for pieces that take more than one.

struct TimingSample {
  std::int64_t timing_id = 0, position = 0;
  double duration_ns = 0.0;
};
struct JudgedBurst {
  std::int64_t judgement_id = 0, position = 0;
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
template <> const Table TableOf<Session>::kTable;
template <> const Table TableOf<Device>::kTable;
template <> const Table TableOf<ClockSample>::kTable;
template <> const Table TableOf<Case>::kTable;
template <> const Table TableOf<Verification>::kTable;
template <> const Table TableOf<Timing>::kTable;
template <> const Table TableOf<TimingSample>::kTable;
template <> const Table TableOf<Launch>::kTable;
template <> const Table TableOf<NvtxRange>::kTable;
template <> const Table TableOf<MetricName>::kTable;
template <> const Table TableOf<CounterConfig>::kTable;
template <> const Table TableOf<ConfigMetric>::kTable;
template <> const Table TableOf<CounterImage>::kTable;
template <> const Table TableOf<Range>::kTable;
template <> const Table TableOf<MetricValue>::kTable;
template <> const Table TableOf<DataLoss>::kTable;
template <> const Table TableOf<Cubin>::kTable;
template <> const Table TableOf<DeviceFunction>::kTable;
template <> const Table TableOf<Opcode>::kTable;
template <> const Table TableOf<SourceFunction>::kTable;
template <> const Table TableOf<SourceFile>::kTable;
template <> const Table TableOf<InlineStack>::kTable;
template <> const Table TableOf<InstructionRow>::kTable;
template <> const Table TableOf<StallReason>::kTable;
template <> const Table TableOf<PcSampling>::kTable;
template <> const Table TableOf<SampleRun>::kTable;
template <> const Table TableOf<SassCounting>::kTable;
template <> const Table TableOf<CountRun>::kTable;
template <> const Table TableOf<WatchWindow>::kTable;
template <> const Table TableOf<KernelWork>::kTable;
template <> const Table TableOf<MemoryWork>::kTable;
template <> const Table TableOf<NvtxWork>::kTable;
template <> const Table TableOf<NvtxKernelWork>::kTable;
template <> const Table TableOf<PmSample>::kTable;
template <> const Table TableOf<SourceHash>::kTable;
template <> const Table TableOf<Judgement>::kTable;
template <> const Table TableOf<JudgedBurst>::kTable;
// clang-format on

struct View {
  const char* name;
  const char* row;  ///< what a row is, for docs/recording.schema.txt
  const char* sql;
  int since = 1;
  int until = 1000;  ///< the last schema version that has it in this form
};

/// In the order of creation.
std::span<const Table* const> Tables();
std::span<const View> Views();

/// One table or view, as its CREATE statement. SQLite keeps the text from the name on, after "CREATE TABLE " or "CREATE
/// VIEW ", so that the statement in a healthy file equals `sql` byte for byte, which the reader checks.
struct SchemaObject {
  std::string_view type;  ///< "table" or "view"
  std::string_view name;
  std::string sql;
};

/// Everything in a recording of `version` (1 to kRecordingSchemaVersion), in the order of creation.
std::vector<SchemaObject> Schema(int version);

}  // namespace fa_profile::store
