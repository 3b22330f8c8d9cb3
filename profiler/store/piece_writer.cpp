#include "piece_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "value_limits.h"

namespace fa_profile::store {
namespace {

// A function's instructions that have a value of one name (a reason, a metric), by offset.
using Values = std::vector<std::pair<std::uint32_t, std::int64_t>>;

// Calls take(function_id, name_id, first, last) for each run of neighbours in a column that `goes_on` joins, at most
// `limit` long. In the order of the tables' keys, which fills their pages best.
template <typename Entries, typename NameId, typename GoesOn, typename Take>
void ForEachRun(const Entries& entries, std::size_t limit, const NameId& name_id, const GoesOn& goes_on,
                const Take& take) {
  std::map<std::pair<std::int64_t, std::int64_t>, Values> columns;
  for (const auto& entry : entries) {
    for (const auto& [name, value] : ValuesOf(entry)) {
      columns[{entry.function_id, name_id(name)}].emplace_back(entry.offset, static_cast<std::int64_t>(value));
    }
  }
  for (auto& [key, column] : columns) {
    std::sort(column.begin(), column.end());
    for (auto first = column.begin(); first != column.end();) {
      auto last = first + 1;
      while (last != column.end() && static_cast<std::size_t>(last - first) < limit &&
             last->first == (last - 1)->first + std::uint64_t{kRunStride} && goes_on(*(last - 1), *last)) {
        ++last;
      }
      take(key.first, key.second, first, last);
      first = last;
    }
  }
}

}  // namespace

void PieceWriter::RequireRoom(std::int64_t bytes) const {
  if (bytes > kMaxCodeBytes - code_bytes_) {
    throw Error("the code, samples and counts of this recording are too large: the limit is " +
                    std::to_string(kMaxCodeBytes) + " bytes in memory",
                "measure fewer kernels in one run, or leave the inline frames out");
  }
}

void PieceWriter::WriteParts(const Judgement& judgement, std::int64_t id) {
  std::int64_t position = 0;
  for (const double duration_ns : judgement.durations_ns) rows_.Insert(JudgedBurst{id, position++, duration_ns});
}

void PieceWriter::WriteParts(const Timing& timing, std::int64_t id) {
  std::int64_t position = 0;
  for (const double duration_ns : timing.durations_ns) rows_.Insert(TimingSample{id, position++, duration_ns});
}

void PieceWriter::WriteParts(const CounterConfig& config, std::int64_t id) {
  std::int64_t position = 0;
  for (const std::string& name : config.metrics) {
    rows_.Insert(ConfigMetric{id, position++, rows_.NameId<MetricName>(name)});
  }
}

void PieceWriter::WriteParts(const Range& range, std::int64_t id) {
  for (const auto& [name, value] : range.metrics) {
    rows_.Insert(MetricValue{.metric_id = rows_.NameId<MetricName>(name), .range_id = id, .value = value});
  }
}

void PieceWriter::WriteParts(const DeviceFunction& function, std::int64_t id) {
  function_ids_.insert(id);
  for (const Instruction& i : function.instructions) {
    rows_.Insert(InstructionRow{.function_id = id,
                                .offset = i.offset,
                                .opcode_id = rows_.NameId<Opcode>(i.opcode),
                                .stack_id = StackId(i.frames)});
  }
}

std::optional<std::int64_t> PieceWriter::StackId(const std::vector<InlineFrame>& frames) {
  std::optional<std::int64_t> parent;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {  // outermost first: a parent's id is smaller
    const std::int64_t function = rows_.NameId<SourceFunction>(frame->function);
    const std::int64_t file = rows_.NameId<SourceFile>(frame->file);
    const auto [place, is_new] = stack_ids_.try_emplace({parent.value_or(0), function, file, frame->line},
                                                        static_cast<std::int64_t>(stack_ids_.size()) + 1);
    if (is_new) rows_.Insert(InlineStack{place->second, parent, function, file, frame->line});
    parent = place->second;
  }
  return parent;
}

void PieceWriter::WriteParts(const PcSampling& sampling, std::int64_t id) {
  const auto reason_id = [&](const std::string& name) { return rows_.NameId<StallReason>(name); };
  const auto goes_on = [](const auto&, const auto&) { return true; };
  ForEachRun(sampling.samples, kMaxRunSamples, reason_id, goes_on,
             [&](std::int64_t function, std::int64_t reason, const auto first, const auto last) {
               std::string list = "[";
               for (auto place = first; place != last; ++place) {
                 if (place != first) list += ',';
                 list += std::to_string(place->second);
               }
               rows_.Insert(SampleRun{id, function, reason, first->first, list + ']'});
             });
}

void PieceWriter::WriteParts(const SassCounting& counting, std::int64_t id) {
  const auto metric_id = [&](const std::string& name) { return rows_.NameId<MetricName>(name); };
  const auto goes_on = [](const auto& a, const auto& b) { return a.second == b.second; };
  ForEachRun(counting.counts, kMaxRunInstructions, metric_id, goes_on,
             [&](std::int64_t function, std::int64_t metric, const auto first, const auto last) {
               rows_.Insert(CountRun{.counting_id = id,
                                     .function_id = function,
                                     .metric_id = metric,
                                     .offset = first->first,
                                     .instructions = static_cast<std::uint32_t>(last - first),
                                     .count = first->second});
             });
}

}  // namespace fa_profile::store
