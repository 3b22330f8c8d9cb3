#include "part_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "rules.h"
#include "value_limits.h"

namespace fa_profile::store {
namespace {

// Passes each row to take(index, row), where the `index`th of the ascending `owner_ids` is the row's `owner`. Positions
// count from 0, so that no element can be missing in the middle.
template <typename Row, typename Take>
void ReadElements(Connection& connection, std::int64_t Row::*owner, const std::vector<std::int64_t>& owner_ids,
                  const Take& take) {
  RowReader<Row> rows(connection);
  std::size_t index = 0;
  std::int64_t next_position = 0;
  for (Row row; rows.Next(row);) {
    while (index < owner_ids.size() && owner_ids[index] < row.*owner) {
      ++index;
      next_position = 0;
    }
    if (index == owner_ids.size() || owner_ids[index] != row.*owner || row.position != next_position++) {
      connection.Damaged("a list has elements that do not belong to it");
    }
    take(index, row);
  }
}

// A frame and the frames that it is inlined into.
struct Stack {
  std::int64_t id = 0;
  const Stack* parent = nullptr;
  const std::string* function = nullptr;
  const std::string* file = nullptr;
  int line = 0;
  std::int64_t bytes = 0;  // size of all its frames in memory
};

class Stacks {
 public:
  explicit Stacks(TableReader& tables)
      : connection_(tables.connection()), functions_(tables.Load<SourceFunction>()), files_(tables.Load<SourceFile>()) {
    const std::vector<InlineStack> rows = tables.Load<InlineStack>();
    stacks_.reserve(rows.size());  // the stacks point at each other
    for (const InlineStack& row : rows) {
      const Stack* parent = nullptr;
      // Only earlier ones, so that no stack is its own caller.
      if (row.parent_id) parent = &Require(connection_, stacks_, *row.parent_id, "a stack is of stack");
      const std::string& function =
          Require(connection_, functions_, row.source_function_id, "a stack names source function").name;
      const std::string& file = Require(connection_, files_, row.source_file_id, "a stack names source file").name;
      const std::int64_t bytes = FrameBytes(function, file) + (parent == nullptr ? 0 : parent->bytes);
      stacks_.push_back({row.id, parent, &function, &file, row.line, bytes});
    }
  }

  std::vector<InlineFrame> Frames(std::int64_t id) const {
    const Stack& innermost = Require(connection_, stacks_, id, "an instruction has stack");
    connection_.ChargeMemory(innermost.bytes);
    std::vector<InlineFrame> frames;
    for (const Stack* stack = &innermost; stack != nullptr; stack = stack->parent) {
      frames.push_back({*stack->function, *stack->file, stack->line});
    }
    return frames;
  }

 private:
  Connection& connection_;
  std::vector<SourceFunction> functions_;
  std::vector<SourceFile> files_;
  std::vector<Stack> stacks_;
};

// Reads the instructions' rows; their predicates and operands came with the functions.
void ReadInstructions(TableReader& tables, std::vector<DeviceFunction>& functions) {
  Connection& connection = tables.connection();
  const std::vector<Opcode> opcodes = tables.Load<Opcode>();
  const Stacks stacks(tables);
  RowReader<InstructionRow> rows(connection);
  std::vector<std::size_t> taken(functions.size());
  for (InstructionRow row; rows.Next(row);) {
    DeviceFunction& function = Require(connection, functions, row.function_id, "an instruction belongs to function");
    std::size_t& next = taken[static_cast<std::size_t>(&function - functions.data())];
    if (next == function.instructions.size()) {
      connection.Damaged("a function in it has more instructions than operands");
    }
    Instruction& instruction = function.instructions[next++];
    instruction.offset = row.offset;
    const std::string& opcode = Require(connection, opcodes, row.opcode_id, "an instruction has opcode").name;
    connection.ChargeMemory(static_cast<std::int64_t>(opcode.size()));
    instruction.opcode = opcode;
    if (row.stack_id) instruction.frames = stacks.Frames(*row.stack_id);
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (taken[i] != functions[i].instructions.size()) {
      connection.Damaged("a function in it has more operands than instructions");
    }
  }
}

// Reassembles what the file stores column by column: the values of each instruction for one owner (a sampling, a
// counting) and one function.
template <typename Entry>
class Gatherer {
 public:
  explicit Gatherer(Connection& connection) : connection_(connection) {}

  // Instructions of a new function go to `entries`, which must stay in place.
  void Begin(std::int64_t function_id, std::vector<Entry>& entries) {
    if (entries_ == &entries && function_id_ == function_id) return;
    End();
    entries_ = &entries;
    first_ = entries.size();
    function_id_ = function_id;
  }

  void Add(std::int64_t offset, const std::string& name, std::int64_t value) {
    if (offset > std::numeric_limits<std::uint32_t>::max()) {
      connection_.Damaged("an instruction's offset is " + std::to_string(offset));
    }
    connection_.ChargeMemory(ValueBytes(name));
    const auto [place, is_new] = place_of_.try_emplace(static_cast<std::uint32_t>(offset), entries_->size());
    if (is_new) entries_->push_back({function_id_, static_cast<std::uint32_t>(offset), {}});
    auto& values = ValuesOf((*entries_)[place->second]);
    const std::size_t before = values.size();
    values.emplace_hint(values.end(), name, static_cast<std::uint64_t>(value));
    if (values.size() == before) connection_.Damaged("it has a value of an instruction twice");
  }

  void End() {
    if (entries_ == nullptr) return;
    std::sort(entries_->begin() + static_cast<std::ptrdiff_t>(first_), entries_->end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    place_of_.clear();
    entries_ = nullptr;
  }

 private:
  Connection& connection_;
  std::vector<Entry>* entries_ = nullptr;
  std::int64_t function_id_ = 0;
  std::size_t first_ = 0;                                    // start of this function's entries
  std::unordered_map<std::uint32_t, std::size_t> place_of_;  // by offset
};

// Calls take(index, number) for each number of a list "[12,0,3]".
template <typename Take>
void ReadList(const Connection& connection, std::string_view list, const Take& take) {
  const char* place = list.data();
  const char* const end = place + list.size();
  const auto damaged = [&] {
    connection.Damaged("a list of samples is malformed: " + std::string(list.substr(0, 40)));
  };
  if (list.size() < 3 || *place != '[') damaged();
  for (std::int64_t index = 0; *place != ']'; ++index) {
    std::int64_t number = 0;
    const auto [next, error] = std::from_chars(place + 1, end, number);
    if (error != std::errc() || number < 0 || next == end || (*next != ',' && *next != ']')) damaged();
    take(index, number);
    place = next;
  }
  if (place + 1 != end) damaged();
}

}  // namespace

template <>
std::vector<Judgement> LoadRecords(TableReader& tables, const LoadContext&) {
  return tables.Load<Judgement>([&](std::vector<Judgement>& judgements, const std::vector<std::int64_t>& ids) {
    ReadElements(tables.connection(), &JudgedBurst::judgement_id, ids, [&](std::size_t i, const JudgedBurst& burst) {
      judgements[i].durations_ns.push_back(burst.duration_ns);
    });
  });
}

template <>
std::vector<Timing> LoadRecords(TableReader& tables, const LoadContext&) {
  return tables.Load<Timing>([&](std::vector<Timing>& timings, const std::vector<std::int64_t>& ids) {
    ReadElements(tables.connection(), &TimingSample::timing_id, ids, [&](std::size_t i, const TimingSample& sample) {
      timings[i].durations_ns.push_back(sample.duration_ns);
    });
  });
}

std::vector<MetricName> LoadMetricNames(TableReader& tables) {
  std::vector<MetricName> metrics = tables.Load<MetricName>();
  std::unordered_set<std::string_view> names;
  for (const MetricName& metric : metrics) {
    if (!names.insert(metric.name).second) tables.connection().Damaged("it has a metric twice");
  }
  return metrics;
}

template <>
std::vector<CounterConfig> LoadRecords(TableReader& tables, const LoadContext& context) {
  return tables.Load<CounterConfig>([&](std::vector<CounterConfig>& configs, const std::vector<std::int64_t>& ids) {
    ReadElements(tables.connection(), &ConfigMetric::config_id, ids, [&](std::size_t i, const ConfigMetric& element) {
      configs[i].metrics.push_back(
          Require(tables.connection(), context.metrics, element.metric_id, "a counter config has metric").name);
    });
  });
}

// Metric by metric, which is the order in the file, sorted by name, so that each value goes to the end of its range's
// map. Names and values have already been checked.
template <>
std::vector<Range> LoadRecords(TableReader& tables, const LoadContext& context) {
  std::vector<Range> ranges = tables.Load<Range>();
  std::vector<MetricName> metrics = context.metrics;
  if (const auto& wanted = context.options.metrics) {
    std::erase_if(metrics, [&](const MetricName& metric) { return !wanted->contains(metric.name); });
  }
  std::sort(metrics.begin(), metrics.end(), [](const MetricName& a, const MetricName& b) { return a.name < b.name; });
  RowReader<MetricValue> rows(tables.connection(), " WHERE metric_id = ?");
  for (const MetricName& metric : metrics) {
    rows.Bind(metric.id);
    auto range = ranges.begin();
    for (MetricValue row; rows.Next(row); ++range) {
      while (range != ranges.end() && range->id < row.range_id) ++range;
      if (range == ranges.end() || range->id != row.range_id) {
        tables.connection().Damaged("a value belongs to no range");
      }
      range->metrics.emplace_hint(range->metrics.end(), metric.name, row.value);
    }
  }
  return ranges;
}

template <>
std::vector<Cubin> LoadRecords(TableReader& tables, const LoadContext& context) {
  return context.options.cubins ? tables.Load<Cubin>() : std::vector<Cubin>();
}

template <>
std::vector<DeviceFunction> LoadRecords(TableReader& tables, const LoadContext& context) {
  if (!context.options.code) return {};
  return tables.Load<DeviceFunction>([&](std::vector<DeviceFunction>& functions, const std::vector<std::int64_t>&) {
    ReadInstructions(tables, functions);
  });
}

template <>
std::vector<PcSampling> LoadRecords(TableReader& tables, const LoadContext& context) {
  if (!context.options.code) return {};
  Connection& connection = tables.connection();
  const std::vector<DeviceFunction>& functions = context.recording.functions;
  const std::vector<StallReason> reasons = tables.Load<StallReason>();
  return tables.Load<PcSampling>([&](std::vector<PcSampling>& samplings, const std::vector<std::int64_t>&) {
    Gatherer<PcSample> gatherer(connection);
    RowReader<SampleRun> rows(connection);
    for (SampleRun run; rows.Next(run);) {
      PcSampling& sampling = Require(connection, samplings, run.sampling_id, "samples belong to PC sampling");
      const StallReason& reason = Require(connection, reasons, run.reason_id, "samples have stall reason");
      gatherer.Begin(Require(connection, functions, run.function_id, "samples are of function").id, sampling.samples);
      ReadList(connection, run.samples, [&](std::int64_t index, std::int64_t samples) {
        gatherer.Add(run.offset + index * kRunStride, reason.name, samples);
      });
    }
    gatherer.End();
  });
}

template <>
std::vector<SassCounting> LoadRecords(TableReader& tables, const LoadContext& context) {
  if (!context.options.code) return {};
  Connection& connection = tables.connection();
  return tables.Load<SassCounting>([&](std::vector<SassCounting>& countings, const std::vector<std::int64_t>&) {
    Gatherer<SassCount> gatherer(connection);
    RowReader<CountRun> rows(connection);
    for (CountRun run; rows.Next(run);) {
      SassCounting& counting = Require(connection, countings, run.counting_id, "counts belong to SASS counting");
      const MetricName& metric = Require(connection, context.metrics, run.metric_id, "counts are of metric");
      if (run.instructions < 1 || run.instructions > kMaxRunInstructions || run.count < 0) {
        connection.Damaged("a count in it is " + std::to_string(run.count) + " for " +
                           std::to_string(run.instructions) + " instructions");
      }
      gatherer.Begin(Require(connection, context.recording.functions, run.function_id, "counts are of function").id,
                     counting.counts);
      for (std::int64_t i = 0; i < run.instructions; ++i) {
        gatherer.Add(run.offset + i * kRunStride, metric.name, run.count);
      }
    }
    gatherer.End();
  });
}

}  // namespace fa_profile::store
