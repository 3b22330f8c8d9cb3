#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "fields.h"
#include "utf8.h"
#include "validate.h"

namespace fa_profile::store {
namespace {

// What a string or a vector takes beside its content, and a node of a map: of the common 64-bit libraries, rounded up.
constexpr std::int64_t kAllocationBytes = 32;
constexpr std::int64_t kNodeBytes = 128;

std::int64_t TextBytes(const std::string& text) { return static_cast<std::int64_t>(text.size()) + kAllocationBytes; }

void RequireSigned(const Fields& fields, std::string_view field, std::uint64_t value) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fields.Refuse(field, std::to_string(value), "the limit is 2^63 - 1");
  }
}

// Values of one instruction, and that none of them comes twice.
template <typename Entry>
void RequireEntries(const Fields& fields, const std::vector<Entry>& entries,
                    std::map<std::string, std::uint64_t> Entry::*values) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> places;
  places.reserve(entries.size());
  for (const Entry& entry : entries) {
    fields.Id("function_id", entry.function_id);
    places.emplace_back(entry.function_id, entry.offset);
    for (const auto& [name, value] : entry.*values) {
      if (name.empty() || !IsText(name)) fields.Refuse("a name", "empty or not UTF-8", "every value has a name");
      fields.Text("a name", name, kMaxMetricNameBytes);
      RequireSigned(fields, name, value);
    }
  }
  std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end());
  if (twice != places.end()) {
    fields.Refuse("offset", std::to_string(twice->second),
                  "function " + std::to_string(twice->first) + " has that instruction twice");
  }
}

template <typename Entry>
std::int64_t EntriesBytes(const std::vector<Entry>& entries, std::map<std::string, std::uint64_t> Entry::*values) {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) {
    for (const auto& [name, value] : entry.*values) bytes += CodeBytesOfEntry(name);
  }
  return bytes;
}

}  // namespace

void Validate(const Cubin& cubin) {
  const Fields fields(Numbered("cubin", cubin.id));
  fields.Id("id", cubin.id);
  if (cubin.bytes.size() > kMaxCubinBytes) {
    fields.Refuse("size", std::to_string(cubin.bytes.size()) + " bytes",
                  "the limit is " + std::to_string(kMaxCubinBytes));
  }
}

void Validate(const DeviceFunction& function) {
  const Fields fields(Numbered("function", function.id));
  fields.Id("id", function.id).Text("name", function.name);
  std::int64_t last_offset = -1;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.offset <= last_offset) {
      fields.Refuse("offset", std::to_string(instruction.offset), "instructions are in the order of their offsets");
    }
    last_offset = instruction.offset;
    fields.Text("predicate", instruction.predicate)
        .Text("opcode", instruction.opcode)
        .Text("operands", instruction.operands);
    for (const InlineFrame& frame : instruction.frames) {
      fields.Text("source function", frame.function).Text("source file", frame.file).Count("line", frame.line);
    }
  }
}

void Validate(const PcSampling& sampling) {
  const Fields fields(Numbered("PC sampling", sampling.id));
  fields.Id("id", sampling.id)
      .Id("case_id", sampling.case_id)
      .Text("part", sampling.part)
      .Count("period_cycles", sampling.period_cycles)
      .Count("launches", sampling.launches)
      .Finite("call_ns", sampling.call_ns.value_or(0.0));
  if (sampling.call_ns.value_or(0.0) < 0.0) {
    fields.Refuse("call_ns", std::to_string(*sampling.call_ns), "it cannot be negative");
  }
  RequireSigned(fields, "total_samples", sampling.total_samples);
  RequireSigned(fields, "dropped_samples", sampling.dropped_samples);
  RequireEntries(fields, sampling.samples, &PcSample::samples);
}

void Validate(const SassCounting& counting) {
  const Fields fields(Numbered("SASS counting", counting.id));
  fields.Id("id", counting.id).Id("case_id", counting.case_id).Text("part", counting.part);
  RequireEntries(fields, counting.counts, &SassCount::values);
}

std::int64_t CodeBytes(const Cubin& cubin) { return static_cast<std::int64_t>(cubin.bytes.size()) + kAllocationBytes; }

std::int64_t CodeBytesOfFrame(const std::string& function, const std::string& file) {
  return static_cast<std::int64_t>(sizeof(InlineFrame)) + TextBytes(function) + TextBytes(file);
}

std::int64_t CodeBytesOfInstruction(const Instruction& instruction) {
  return static_cast<std::int64_t>(sizeof instruction) + TextBytes(instruction.predicate) +
         TextBytes(instruction.opcode) + TextBytes(instruction.operands);
}

std::int64_t CodeBytes(const DeviceFunction& function) {
  std::int64_t bytes = TextBytes(function.name);
  for (const Instruction& instruction : function.instructions) {
    bytes += CodeBytesOfInstruction(instruction);
    for (const InlineFrame& frame : instruction.frames) bytes += CodeBytesOfFrame(frame.function, frame.file);
  }
  return bytes;
}

std::int64_t CodeBytesOfEntry(const std::string& name) { return kNodeBytes + static_cast<std::int64_t>(name.size()); }

std::int64_t CodeBytes(const PcSampling& sampling) { return EntriesBytes(sampling.samples, &PcSample::samples); }
std::int64_t CodeBytes(const SassCounting& counting) { return EntriesBytes(counting.counts, &SassCount::values); }

}  // namespace fa_profile::store
