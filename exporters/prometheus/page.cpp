#include "fa_profile/page.h"

#include <prometheus/text_serializer.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string_view>

namespace fa_profile::prom {
namespace {

constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Cuts `text` at the first `separator`: returns the part before it, in lower case and without blanks around it, and
/// leaves the rest in `text`.
std::string Cut(std::string_view& text, char separator) {
  const std::size_t at = std::min(text.find(separator), text.size());
  std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  const std::size_t begin = std::min(part.find_first_not_of(" \t"), part.size());
  part = part.substr(begin, part.find_last_not_of(" \t") + 1 - begin);
  std::string lower(part);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower;
}

/// The weight (RFC 9110, 12.4.2) that a header like Accept gives the first of `names` in it: 0 to 1. The greatest
/// counts if a name is repeated. 0 if the header has none of the names, and for an invalid weight.
double Quality(std::string_view header, std::initializer_list<std::string_view> names) {
  std::map<std::string, double> qualities;
  while (!header.empty()) {
    const std::string item = Cut(header, ',');
    std::string_view parameters = item;
    const std::string name = Cut(parameters, ';');
    double quality = 1;
    while (!parameters.empty()) {
      const std::string parameter = Cut(parameters, ';');
      std::string_view value = parameter;
      if (Cut(value, '=') != "q") continue;
      const std::string text = Cut(value, '=');
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), quality);
      const bool whole = error == std::errc() && end == text.data() + text.size();
      if (!whole || !(quality >= 0 && quality <= 1)) quality = 0;
    }
    double& best = qualities[name];
    best = std::max(best, quality);
  }
  for (const std::string_view name : names) {
    if (const auto found = qualities.find(std::string(name)); found != qualities.end()) return found->second;
  }
  return 0;
}

}  // namespace

std::string ToText(const Families& families) { return prometheus::TextSerializer().Serialize(families.families); }

std::string GateTextfile(const GateState& state) {
  PageInput input;
  input.gate = &state;
  return ToText(MakeFamilies(input));
}

std::string ToOpenMetrics(const std::string& text) {
  constexpr std::string_view kTotal = "_total";
  std::string result;
  result.reserve(text.size() + 16);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string_view line(text.data() + begin, end - begin);
    begin = end;
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
      const std::size_t name_end = line.find(' ', 7);
      if (line.substr(0, name_end).ends_with(kTotal)) {
        result.append(line.substr(0, name_end - kTotal.size()));
        line.remove_prefix(name_end);
      }
    }
    result.append(line);
  }
  result += "# EOF\n";
  return result;
}

std::string Gzip(const std::string& bytes) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib: deflateInit2 failed");
  }
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  result.shrink_to_fit();
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib: deflate failed");
  return result;
}

Page::Page(const Families& families)
    : series_(families.series), dropped_(families.dropped), text_(std::make_shared<std::string>(ToText(families))) {}

Page::Body Page::Render(const std::string& accept, const std::string& accept_encoding) const {
  const double open_quality = Quality(accept, {"application/openmetrics-text"});
  const bool open = open_quality > 0 && open_quality >= Quality(accept, {"text/plain", "text/*", "*/*"});
  const double gzip_quality = Quality(accept_encoding, {"gzip"});
  const bool gzip = gzip_quality > 0 && gzip_quality >= Quality(accept_encoding, {"identity"});
  const std::lock_guard lock(mutex_);  // held while a format is made once, never while it is sent
  std::shared_ptr<const std::string> bytes = text_;
  if (open) {
    if (!open_metrics_) open_metrics_ = std::make_shared<std::string>(ToOpenMetrics(*text_));
    bytes = open_metrics_;
  }
  if (gzip) {
    std::shared_ptr<const std::string>& zipped = open ? open_metrics_gzip_ : text_gzip_;
    if (!zipped) zipped = std::make_shared<std::string>(Gzip(*bytes));
    bytes = zipped;
  }
  return {open ? kOpenMetrics : kText, gzip ? "gzip" : "", bytes};
}

}  // namespace fa_profile::prom
