#include "fa_profile/page.h"

#include <prometheus/text_serializer.h>
#include <zlib.h>

#include <stdexcept>

namespace fa_profile {
namespace {

constexpr const char* kText = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";

}  // namespace

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
    : series_(families.series),
      dropped_(families.dropped),
      text_(std::make_shared<std::string>(prometheus::TextSerializer().Serialize(families.families))) {}

Page::Body Page::Render(const std::string& accept, const std::string& accept_encoding) const {
  const bool open = accept.find("application/openmetrics-text") != std::string::npos;
  const bool gzip = accept_encoding.find("gzip") != std::string::npos;
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

}  // namespace fa_profile
