#pragma once

#include <string>
#include <string_view>

namespace fa_profile {

/// SHA-256 as 64 hexadecimal digits. Throws Error when GnuTLS lacks it.
std::string Sha256(std::string_view bytes);

/// The same for a file's content, whatever its size. Also throws Error if the file cannot be read.
std::string Sha256OfFile(const std::string& path);

}  // namespace fa_profile
