#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fa_profile/shape.h"

namespace fa_profile::exporters {

inline constexpr const char* kCsvLineEnd = "\r\n";  // RFC 4180

/// Printable, and quoted if it contains a comma or a quote.
std::string CsvField(std::string_view text);

/// "kernel,part,batch,num_heads,seqlen,head_dim,causal,parameters"
std::string CsvIdentity(const std::string& kernel, const std::string& part, const std::optional<Shape>& shape);

}  // namespace fa_profile::exporters
