#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tables.h"

namespace fa_profile::store {

/// What a row must satisfy beyond its columns' checks: relations between columns, and the parts of a piece that are
/// rows in other tables.
void CheckContent(const Subject& subject, const Case& item);
void CheckContent(const Subject& subject, const Verification& verification);
void CheckContent(const Subject& subject, const Judgement& judgement);
void CheckContent(const Subject& subject, const Timing& timing);
void CheckContent(const Subject& subject, const Launch& launch);
void CheckContent(const Subject& subject, const NvtxRange& range);
void CheckContent(const Subject& subject, const CounterConfig& config);
void CheckContent(const Subject& subject, const Range& range);
void CheckContent(const Subject& subject, const DeviceFunction& function);
void CheckContent(const Subject& subject, const PcSampling& sampling);
void CheckContent(const Subject& subject, const SassCounting& counting);
void CheckContent(const Subject& subject, const SourceHash& source);
template <typename Row>
void CheckContent(const Subject&, const Row&) {}

/// Throws the Error that refuses a row which no recording may hold: for the writer before it writes, for the reader
/// after it has read.
template <typename Row>
void Check(const Row& row) {
  const Subject subject(TableOf<Row>::kTable, &row);
  subject.RequireColumns();
  CheckContent(subject, row);
}

/// Samplings and countings alike: values by name for each instruction.
inline auto& EntriesOf(const PcSampling& sampling) { return sampling.samples; }
inline auto& EntriesOf(const SassCounting& counting) { return counting.counts; }
inline auto& ValuesOf(auto& entry) {
  if constexpr (requires { entry.samples; }) {
    return entry.samples;
  } else {
    return entry.values;
  }
}

/// A piece's share of kMaxCodeBytes, a rough upper bound.
std::int64_t CodeBytes(const Cubin& cubin);
std::int64_t CodeBytes(const DeviceFunction& function);
std::int64_t CodeBytes(const PcSampling& sampling);
std::int64_t CodeBytes(const SassCounting& counting);
template <typename Piece>
std::int64_t CodeBytes(const Piece&) {
  return 0;
}
/// The size of a part: an instruction without its frames, a frame, a value of an instruction.
std::int64_t InstructionBytes(const Instruction& instruction);
std::int64_t FrameBytes(const std::string& function, const std::string& file);
std::int64_t ValueBytes(const std::string& name);

}  // namespace fa_profile::store
