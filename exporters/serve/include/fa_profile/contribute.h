#pragma once

#include <iosfwd>

namespace fa_profile::serve {

/// Reads a recording from this process's stdin, within limits of time and memory, and writes its addition to the
/// exporter's totals as JSON. It runs in a separate process, so that no recording can crash the exporter.
void PrintContribution(std::ostream& out);

}  // namespace fa_profile::serve
