#include "code_writer.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "compression.h"
#include "fa_profile/error.h"
#include "validate.h"

namespace fa_profile::store {
namespace {

// Instructions of one function with a value of one kind (a reason, a metric), by offset.
using Column = std::vector<std::pair<std::uint32_t, std::int64_t>>;
// By function, then by the id of the kind: the order of the table's key, which fills its pages best.
using Columns = std::map<std::pair<std::int64_t, std::int64_t>, Column>;

template <typename Entry, typename NameId>
Columns MakeColumns(const std::vector<Entry>& entries, std::map<std::string, std::uint64_t> Entry::*values,
                    const NameId& name_id) {
  Columns columns;
  for (const Entry& entry : entries) {
    for (const auto& [name, value] : entry.*values) {
      columns[{entry.function_id, name_id(name)}].emplace_back(entry.offset, static_cast<std::int64_t>(value));
    }
  }
  for (auto& [key, column] : columns) std::sort(column.begin(), column.end());
  return columns;
}

// Calls take(first, last) for each longest piece of the column of which `goes_on` holds for all neighbours, at most
// `limit` long.
template <typename GoesOn, typename Take>
void ForEachRun(const Column& column, std::size_t limit, const GoesOn& goes_on, const Take& take) {
  for (auto first = column.begin(); first != column.end();) {
    auto last = first + 1;
    while (last != column.end() && static_cast<std::size_t>(last - first) < limit &&
           last->first == (last - 1)->first + std::uint64_t{kRunStride} && goes_on(*(last - 1), *last)) {
      ++last;
    }
    take(first, last);
    first = last;
  }
}

template <typename Entry>
void RequireFunctions(const std::vector<Entry>& entries, const std::unordered_set<std::int64_t>& function_ids,
                      const std::string& piece) {
  for (const Entry& entry : entries) {
    if (!function_ids.contains(entry.function_id)) {
      throw Error(piece + " refers to function " + std::to_string(entry.function_id) +
                  ", which was not written before it");
    }
  }
}

void RequireRoom(std::int64_t used, std::int64_t more) {
  if (more > kMaxCodeBytes - used) {
    throw Error("the code, samples and counts of this recording are too large: the limit is " +
                    std::to_string(kMaxCodeBytes) + " bytes in memory",
                "measure fewer kernels in one run, or leave the inline frames out");
  }
}

}  // namespace

void CodeWriter::RequireFits(const Cubin& cubin) const { RequireRoom(code_bytes_, CodeBytes(cubin)); }

void CodeWriter::RequireFits(const DeviceFunction& function) const { RequireRoom(code_bytes_, CodeBytes(function)); }

void CodeWriter::RequireFits(const PcSampling& sampling) const {
  RequireFunctions(sampling.samples, function_ids_, "PC sampling " + std::to_string(sampling.id));
  RequireRoom(code_bytes_, CodeBytes(sampling));
}

void CodeWriter::RequireFits(const SassCounting& counting) const {
  RequireFunctions(counting.counts, function_ids_, "SASS counting " + std::to_string(counting.id));
  RequireRoom(code_bytes_, CodeBytes(counting));
}

void CodeWriter::Write(const Cubin& cubin) {
  const std::vector<std::uint8_t> frame = Compress(cubin.bytes, Order::kAsGiven);
  rows_.Insert("cubin", cubin.id, static_cast<std::int64_t>(cubin.crc), static_cast<std::int64_t>(cubin.bytes.size()),
               std::span(frame));
  code_bytes_ += CodeBytes(cubin);
}

void CodeWriter::Write(const DeviceFunction& function) {
  std::string texts;
  for (const Instruction& i : function.instructions) {
    for (const std::string* text : {&i.predicate, &i.operands}) {
      texts += ToText(*text);
      texts += '\0';
    }
  }
  const std::vector<std::uint8_t> frame =
      Compress({reinterpret_cast<const std::uint8_t*>(texts.data()), texts.size()}, Order::kAsGiven);
  rows_.Insert("device_function", function.id, static_cast<std::int64_t>(function.cubin_crc), function.name,
               static_cast<std::int64_t>(texts.size()), std::span(frame));
  function_ids_.insert(function.id);
  code_bytes_ += CodeBytes(function);
  for (const Instruction& i : function.instructions) {
    rows_.Insert("instruction", function.id, i.offset, rows_.NameId("opcode", i.opcode), StackId(i.frames));
  }
}

std::optional<std::int64_t> CodeWriter::StackId(const std::vector<InlineFrame>& frames) {
  std::optional<std::int64_t> parent;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {  // outermost first: a parent's id is smaller
    const std::int64_t function = rows_.NameId("source_function", frame->function);
    const std::int64_t file = rows_.NameId("source_file", frame->file);
    const auto [place, is_new] = stack_ids_.try_emplace({parent.value_or(0), function, file, frame->line},
                                                        static_cast<std::int64_t>(stack_ids_.size()) + 1);
    if (is_new) rows_.Insert("inline_stack", place->second, parent, function, file, frame->line);
    parent = place->second;
  }
  return parent;
}

void CodeWriter::Write(const PcSampling& s) {
  rows_.Insert("pc_sampling", s.id, s.case_id, s.part, s.period_cycles, s.launches,
               static_cast<std::int64_t>(s.total_samples), static_cast<std::int64_t>(s.dropped_samples), s.call_ns);
  code_bytes_ += CodeBytes(s);
  const auto reason_id = [&](const std::string& name) { return rows_.NameId("stall_reason", name); };
  for (const auto& [key, column] : MakeColumns(s.samples, &PcSample::samples, reason_id)) {
    const auto [function_id, reason] = key;
    ForEachRun(
        column, kMaxRunSamples, [](const auto&, const auto&) { return true; },
        [&, function = function_id, id = reason](const auto first, const auto last) {
          std::string list = "[";
          for (auto place = first; place != last; ++place) {
            if (place != first) list += ',';
            list += std::to_string(place->second);
          }
          rows_.Insert("pc_sample", s.id, function, id, first->first, list + ']');
        });
  }
}

void CodeWriter::Write(const SassCounting& c) {
  rows_.Insert("sass_counting", c.id, c.case_id, c.part);
  code_bytes_ += CodeBytes(c);
  const auto metric_id = [&](const std::string& name) { return rows_.NameId("metric", name); };
  for (const auto& [key, column] : MakeColumns(c.counts, &SassCount::values, metric_id)) {
    const auto [function_id, metric] = key;
    ForEachRun(
        column, kMaxRunInstructions, [](const auto& a, const auto& b) { return a.second == b.second; },
        [&, function = function_id, id = metric](const auto first, const auto last) {
          rows_.Insert("sass_count", c.id, function, id, first->first, std::int64_t{last - first}, first->second);
        });
  }
}

}  // namespace fa_profile::store
