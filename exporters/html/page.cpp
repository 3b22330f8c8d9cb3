#include "page.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>

#include "fa_profile/error.h"
#include "fa_profile/sha256.h"

namespace fa_profile::exporters {
namespace {

std::string Base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t b = 0; b < 3; ++b) {
      bits = bits << 8U | (b < group.size() ? static_cast<unsigned char>(group[b]) : 0U);
    }
    for (std::size_t d = 0; d < 4; ++d) text += d <= group.size() ? kDigits[bits >> (18 - 6 * d) & 63U] : '=';
  }
  return text;
}

/// The name of an inline text in a content security policy: 'sha256-...'.
std::string PolicyHash(std::string_view text) {
  const std::string hex = Sha256(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "'sha256-" + Base64(bytes) + "'";
}

/// Escapes JSON for use inside an HTML element: these characters occur only in strings, where JSON accepts the escapes.
std::string EscapeForHtml(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string TextsEnding(std::string_view end) {
  std::string all;
  for (const EmbeddedText& each : HtmlViewTexts()) {
    if (each.id.ends_with(end)) all += each.text;
  }
  return all;
}

std::string EscapedText(std::string_view text) {
  std::string safe;
  for (const char c : text) safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return safe;
}

std::string Element(const PageDocument& document) {
  if (document.packed) {
    return fmt::format("<script type=\"application/octet-stream\" id=\"{}\">{}</script>\n", document.id, document.json);
  }
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", document.id,
                     EscapeForHtml(document.json));
}

}  // namespace

std::string CompactJson(std::string_view json) {
  std::string compact;
  compact.reserve(json.size());
  bool in_string = false;
  bool escaped = false;
  for (const char c : json) {
    if (!in_string && (c == ' ' || c == '\n')) continue;
    if (c == '"' && !escaped) in_string = !in_string;
    escaped = in_string && c == '\\' && !escaped;
    compact += c;
  }
  return compact;
}

std::string Pack(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  const int result = compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                               reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_DEFAULT_COMPRESSION);
  if (result != Z_OK) {
    throw Error(fmt::format("zlib could not pack {} bytes (error {})", text.size(), result), "free some memory");
  }
  bytes.resize(size);
  return Base64(bytes);
}

std::string HtmlPage(const std::string& title, const std::vector<PageDocument>& documents) {
  const std::string style = TextsEnding(".css");
  const std::string script = "(() => {\n\"use strict\";\n" + TextsEnding(".js") + "})();\n";
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" "
      "content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n"
      "<noscript>This page needs JavaScript, which is turned off.</noscript>\n",
      PolicyHash(style), PolicyHash(script), EscapedText(title), style);
  for (const PageDocument& document : documents) page += Element(document);
  return page + "<script>" + script + "</script>\n</body>\n</html>\n";
}

}  // namespace fa_profile::exporters
