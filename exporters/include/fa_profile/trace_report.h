#pragma once

#include <iosfwd>

#include "fa_profile/gpu_time.h"
#include "fa_profile/timeline.h"

namespace fa_profile::exporters {

/// A trace for https://ui.perfetto.dev and Perfetto's trace processor: protobuf, Perfetto's TracePacket. A track for
/// each track, a begin and an end for each slice, facts as its arguments. Texts are lines of valid UTF-8, at most 300
/// characters.
void WritePerfetto(std::ostream& out, const Timeline& timeline);

/// Collapsed stacks for flamegraph.pl and its kin: "outer;inner 1234" a line, in nanoseconds. The lines of a recording
/// add up to its GPU time. A ';' in a name becomes ','.
void WriteFolded(std::ostream& out, const GpuTime& time);

/// The same for https://www.speedscope.app, following its file-format schema.
void WriteSpeedscope(std::ostream& out, const GpuTime& time);

}  // namespace fa_profile::exporters
