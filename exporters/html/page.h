#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::exporters {

/// A file in exporters/html/view/, compiled in by cmake/embed_texts.cmake, in the order of CMakeLists.txt.
struct EmbeddedText {
  std::string_view id;
  std::string_view text;
};
std::span<const EmbeddedText> HtmlViewTexts();

/// A document of the page, which the program finds by `id`.
struct PageDocument {
  std::string id;
  std::string json;
  bool packed = false;  ///< `json` is packed by Pack(): read when it is opened
};

/// The whole page. `title`: for its tab.
std::string HtmlPage(const std::string& title, const std::vector<PageDocument>& documents);

/// JSON without the white space between its tokens.
std::string CompactJson(std::string_view json);

/// zlib (RFC 1950) and base64 of `text`. Throws Error.
std::string Pack(std::string_view text);

}  // namespace fa_profile::exporters
