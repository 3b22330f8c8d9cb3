#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::store {

/// What one value may be at most; docs/recording.md states them. Rows have no limit but the size of the file.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxMetricNameBytes = 512;
inline constexpr std::size_t kMaxImageBytes = std::size_t{512} << 20;
inline constexpr std::size_t kMaxCubinBytes = std::size_t{256} << 20;
/// What all cubins, functions, samplings and countings together may take in memory, as CodeBytes() counts it. Names and
/// stacks are shared in the file and copied in the model, so that the size of the file bounds nothing.
inline constexpr std::int64_t kMaxCodeBytes = std::int64_t{1} << 30;

/// Instructions of a run in `pc_sample` and `sass_count` lie this many bytes apart: their size since Volta. Others are
/// runs of one.
inline constexpr std::uint32_t kRunStride = 16;
/// Samples in one row of `pc_sample`: short enough for a page to hold several.
inline constexpr std::size_t kMaxRunSamples = 128;
/// Instructions in one row of `sass_count`: bounds what a row can claim.
inline constexpr std::int64_t kMaxRunInstructions = 1024;

/// What a piece must satisfy to be in a recording: the writer asks before it writes, the reader after it read, so that
/// nothing is written that could not be read. Throws Error that names the piece, the field and the value.
/// Texts are checked by length here; that they are UTF-8 is the reader's and writer's business.
void Validate(const Session& session);
void Validate(const Device& device);
void Validate(const ClockSample& sample);
void Validate(const Case& item);
void Validate(const Verification& verification);
void Validate(const Timing& timing);
void Validate(const Launch& launch);
void Validate(const NvtxRange& range);
void Validate(const CounterConfig& config);
void Validate(const CounterImage& image);
void Validate(const Range& range);
void Validate(const Cubin& cubin);
void Validate(const DeviceFunction& function);
void Validate(const PcSampling& sampling);
void Validate(const SassCounting& counting);
void Validate(const DataLoss& loss);
void ValidateMetricName(const std::string& name);

/// What a piece takes in memory at most, roughly: enough to bound it.
std::int64_t CodeBytes(const Cubin& cubin);
std::int64_t CodeBytes(const DeviceFunction& function);
std::int64_t CodeBytes(const PcSampling& sampling);
std::int64_t CodeBytes(const SassCounting& counting);
/// Of a frame, of an instruction without its frames, and of an entry of a map with this name.
std::int64_t CodeBytesOfFrame(const std::string& function, const std::string& file);
std::int64_t CodeBytesOfInstruction(const Instruction& instruction);
std::int64_t CodeBytesOfEntry(const std::string& name);

}  // namespace fa_profile::store
