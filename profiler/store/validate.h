#pragma once

#include <cstddef>
#include <string>

#include "fa_profile/recording.h"

namespace fa_profile::store {

/// What one value may be at most; docs/recording.md states them. Rows have no limit but the size of the file.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxMetricNameBytes = 512;
inline constexpr std::size_t kMaxImageBytes = std::size_t{512} << 20;

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
void Validate(const DataLoss& loss);
void ValidateMetricName(const std::string& name);

}  // namespace fa_profile::store
