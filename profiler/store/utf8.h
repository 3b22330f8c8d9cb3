#pragma once

#include <string>
#include <string_view>

namespace fa_profile::store {

/// Whether `text` is valid UTF-8 without a NUL: what every text in a recording is.
bool IsText(std::string_view text);

/// `text` with each byte that IsText() would refuse replaced by U+FFFD: names from the outside (a path, a demangled
/// symbol) are bytes, and must not stop a run.
std::string ToText(std::string_view text);

}  // namespace fa_profile::store
