#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile {

/// `text` made safe for a terminal and a file: control characters, characters that reorder or hide text, and invalid
/// UTF-8 are escaped as \xNN or \u{NNNN}; with `ascii` every other character that is not ASCII is, too.
std::string Printable(std::string_view text, bool ascii = false);

/// A JSON document with the characters that Printable() escapes as \uXXXX, which JSON allows to be as they are. `json`
/// is valid UTF-8.
std::string EscapeUnsafe(std::string_view json);

/// `text` as one line of valid UTF-8 of at most `most` characters. A cut text ends in "...".
/// Spaces of any kind and line ends become a space; other controls, characters that hide or reorder text, and invalid
/// UTF-8 become U+FFFD.
std::string SafeLine(std::string_view text, std::size_t most = 300);

/// FNV-1a, 64 bits: the same on every machine, and not for secrets. `hash`: hash of the preceding bytes.
std::uint64_t Fnv1a(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325U);

/// A line per row, with columns as wide as their widest cell (in bytes); the last is not padded. Rows have equal
/// length.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows, std::string_view indent = {});

/// Number of characters of valid UTF-8.
std::size_t CountCharacters(std::string_view text);

/// Columns that printable UTF-8 takes on a terminal.
std::size_t DisplayWidth(std::string_view text);

/// The longest prefix of at most `width` columns.
std::string_view Prefix(std::string_view text, std::size_t width);

/// `text`, or a prefix and "..." where it is wider than `width` columns.
std::string Truncate(std::string_view text, std::size_t width);

}  // namespace fa_profile
