#pragma once

#include <vector>

#include "fa_profile/recording.h"
#include "fa_profile/recording_file.h"
#include "rows.h"

namespace fa_profile::store {

/// All metrics, by id. No two share a name.
std::vector<MetricName> LoadMetricNames(TableReader& tables);

/// What was read so far, and what to load.
struct LoadContext {
  const std::vector<MetricName>& metrics;  ///< all of them
  const LoadOptions& options;
  const Recording& recording;  ///< the lists before this one in kRecordLists
};

/// The records of one kind. Throws Error (damaged) for anything that no PieceWriter wrote. Kinds that `options` can
/// leave out, or that take rows from several tables, have a specialisation.
template <typename Record>
std::vector<Record> LoadRecords(TableReader& tables, const LoadContext&) {
  return tables.Load<Record>();
}
template <>
std::vector<Judgement> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<Timing> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<CounterConfig> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<Range> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<Cubin> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<DeviceFunction> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<PcSampling> LoadRecords(TableReader& tables, const LoadContext& context);
template <>
std::vector<SassCounting> LoadRecords(TableReader& tables, const LoadContext& context);

}  // namespace fa_profile::store
