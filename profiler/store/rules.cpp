#include "rules.h"

#include <algorithm>
#include <utility>

#include "value_limits.h"

namespace fa_profile::store {
namespace {

template <typename Entry>
void CheckEntries(const Subject& subject, const std::vector<Entry>& entries) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> places;
  places.reserve(entries.size());
  for (const Entry& entry : entries) {
    subject.RequireId("function_id", entry.function_id);
    places.emplace_back(entry.function_id, entry.offset);
    for (const auto& [name, value] : ValuesOf(entry)) {
      subject.RequireName(name);
      subject.Require(name, value);
    }
  }
  std::sort(places.begin(), places.end());
  const auto twice = std::adjacent_find(places.begin(), places.end());
  if (twice != places.end()) {
    subject.Refuse("offset", std::to_string(twice->second),
                   "function " + std::to_string(twice->first) + " has that instruction twice");
  }
}

void CheckParameters(const Subject& subject, const std::vector<ShapeParameter>& parameters) {
  if (parameters.empty() || parameters.size() > kMostParameters) {
    subject.Refuse("parameters", std::to_string(parameters.size()), "a shape has 1 to 32 of them");
  }
  for (const ShapeParameter& parameter : parameters) {
    if (!IsParameterName(parameter.name)) subject.Refuse("parameters", parameter.name, "it cannot name a parameter");
    if (std::ranges::count(parameters, parameter.name, &ShapeParameter::name) > 1) {
      subject.Refuse("parameters", parameter.name, "two parameters have that name");
    }
  }
}

// Overhead of a string or a vector besides its content, and of a map node: as in common 64-bit libraries, rounded up.
constexpr std::int64_t kAllocationBytes = 32;
constexpr std::int64_t kNodeBytes = 128;

std::int64_t TextBytes(const std::string& text) { return static_cast<std::int64_t>(text.size()) + kAllocationBytes; }

template <typename Entry>
std::int64_t EntriesBytes(const std::vector<Entry>& entries) {
  std::int64_t bytes = 0;
  for (const Entry& entry : entries) {
    for (const auto& [name, value] : ValuesOf(entry)) bytes += ValueBytes(name);
  }
  return bytes;
}

void RequireOrder(const Subject& subject, std::int64_t start_ns, std::int64_t end_ns) {
  if (end_ns < start_ns) {
    subject.Refuse("end_ns", std::to_string(end_ns), "it started at " + std::to_string(start_ns));
  }
}

}  // namespace

void CheckContent(const Subject& subject, const Case& item) {
  if (!item.shape) return;
  const AttentionShape* const shape = item.shape->attention();
  if (shape == nullptr) return CheckParameters(subject, *item.shape->parameters());
  // AttentionShape's own bounds; multiplied step by step, because four hostile numbers overflow 64 bits.
  std::int64_t elements = 1;
  for (const int extent : {shape->batch, shape->num_heads, shape->seqlen, shape->head_dim}) {
    if (extent < 1) subject.Refuse("shape", std::to_string(extent), "every extent is at least 1");
    elements *= extent;
    if (elements > (std::int64_t{1} << 31)) subject.Refuse("shape", "too large", "a tensor has at most 2^31 elements");
  }
}

void CheckContent(const Subject& subject, const Verification& verification) {
  if (verification.draws_passed > verification.draws) {
    subject.Refuse("draws_passed", std::to_string(verification.draws_passed),
                   "there were " + std::to_string(verification.draws) + " draws");
  }
}

void CheckContent(const Subject& subject, const Judgement& judgement) {
  for (const double duration_ns : judgement.durations_ns) subject.RequireNotNegative("duration_ns", duration_ns);
  for (const DeviceCount& count : AllDeviceCounts()) {
    subject.RequireNotNegative(count.name, judgement.verified.*count.value);
    subject.RequireNotNegative(std::string("timed_") + count.name, judgement.timed.*count.value);
  }
  subject.RequireNotNegative("largest_difference", judgement.largest_difference);
  if (judgement.wrong_calls > judgement.calls) {
    subject.Refuse("wrong_calls", std::to_string(judgement.wrong_calls),
                   "there were " + std::to_string(judgement.calls) + " calls");
  }
}

void CheckContent(const Subject& subject, const Timing& timing) {
  for (const double duration_ns : timing.durations_ns) subject.RequireNotNegative("duration_ns", duration_ns);
  if (timing.sm_clock_hz) subject.RequireNotNegative("sm_clock_hz", *timing.sm_clock_hz);
}

void CheckContent(const Subject& subject, const Launch& launch) {
  RequireOrder(subject, launch.start_ns, launch.end_ns);
}

void CheckContent(const Subject& subject, const NvtxRange& range) {
  RequireOrder(subject, range.start_ns, range.end_ns);
}

void CheckContent(const Subject& subject, const CounterConfig& config) {
  for (const std::string& name : config.metrics) subject.RequireName(name);
}

void CheckContent(const Subject& subject, const Range& range) {
  for (const auto& [name, value] : range.metrics) {
    subject.RequireName(name);
    subject.Require(name, value);
  }
}

void CheckContent(const Subject& subject, const DeviceFunction& function) {
  std::int64_t last_offset = -1;
  for (const Instruction& instruction : function.instructions) {
    if (instruction.offset <= last_offset) {
      subject.Refuse("offset", std::to_string(instruction.offset), "instructions are in the order of their offsets");
    }
    last_offset = instruction.offset;
    subject.Require("predicate", instruction.predicate);
    subject.Require("opcode", instruction.opcode);
    subject.Require("operands", instruction.operands);
    for (const InlineFrame& frame : instruction.frames) {
      subject.Require("source function", frame.function);
      subject.Require("source file", frame.file);
      subject.Require("line", frame.line);
    }
  }
}

void CheckContent(const Subject& subject, const PcSampling& sampling) {
  if (sampling.call_ns) subject.RequireNotNegative("call_ns", *sampling.call_ns);
  CheckEntries(subject, sampling.samples);
}

void CheckContent(const Subject& subject, const SassCounting& counting) { CheckEntries(subject, counting.counts); }

void CheckContent(const Subject& subject, const SourceHash& source) {
  constexpr std::size_t kDigits = 64;
  const bool is_hash =
      source.sha256.size() == kDigits && source.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) subject.Refuse("sha256", source.sha256, "it is 64 hexadecimal digits");
}

std::int64_t CodeBytes(const Cubin& cubin) { return static_cast<std::int64_t>(cubin.bytes.size()) + kAllocationBytes; }

std::int64_t CodeBytes(const DeviceFunction& function) {
  std::int64_t bytes = TextBytes(function.name);
  for (const Instruction& instruction : function.instructions) {
    // The predicate and the operands count again, for their unpacked form.
    bytes += InstructionBytes(instruction) + TextBytes(instruction.predicate) + TextBytes(instruction.operands);
    for (const InlineFrame& frame : instruction.frames) bytes += FrameBytes(frame.function, frame.file);
  }
  return bytes;
}

std::int64_t CodeBytes(const PcSampling& sampling) { return EntriesBytes(sampling.samples); }
std::int64_t CodeBytes(const SassCounting& counting) { return EntriesBytes(counting.counts); }

std::int64_t InstructionBytes(const Instruction& instruction) {
  return static_cast<std::int64_t>(sizeof instruction) + TextBytes(instruction.predicate) +
         TextBytes(instruction.opcode) + TextBytes(instruction.operands);
}

std::int64_t FrameBytes(const std::string& function, const std::string& file) {
  return static_cast<std::int64_t>(sizeof(InlineFrame)) + TextBytes(function) + TextBytes(file);
}

std::int64_t ValueBytes(const std::string& name) { return kNodeBytes + static_cast<std::int64_t>(name.size()); }

}  // namespace fa_profile::store
