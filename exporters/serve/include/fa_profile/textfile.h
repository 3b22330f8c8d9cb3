#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fa_profile::serve {

/// Metrics in Prometheus's text format 0.0.4.
struct MetricsText {
  std::string text;
  std::size_t series = 0;
};

/// The sum of the recordings. A recording given twice counts once, as with `serve`, and a notice reports it.
/// `baseline`: a recording; empty: none. Throws Error when one of them cannot be read.
MetricsText MetricsOf(const std::vector<std::string>& recordings, const std::string& baseline);

/// Writes a file for node_exporter's textfile collector, completely or not at all. Throws Error: it does not end in
/// .prom, it cannot be written.
void WriteTextfile(const std::string& path, const MetricsText& metrics);

}  // namespace fa_profile::serve
