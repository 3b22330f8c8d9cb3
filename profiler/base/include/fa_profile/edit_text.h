#pragma once

#include <string>
#include <string_view>

namespace fa_profile {

/// `text` with every `what` replaced by `with`, which is not searched again. An empty `what` replaces nothing.
std::string Replaced(std::string text, std::string_view what, std::string_view with);

/// `text` with its ASCII letters in upper or lower case.
std::string Upper(std::string text);
std::string Lower(std::string text);

}  // namespace fa_profile
