#include "fa_profile/line_ids.h"

#include "fa_profile/text.h"

namespace fa_profile {
namespace {

void AppendEncoded(std::string& id, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  id += '%';
  id += kDigits[byte >> 4U];
  id += kDigits[byte & 0xFU];
}

void AppendPart(std::string& id, std::string_view part) {
  if (part.empty()) {
    id += '-';
    return;
  }
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '%' || c == '/' || c == '#' || part == "-") {
      AppendEncoded(id, c);
    } else {
      id += c;
    }
  }
}

}  // namespace

std::string LineIds::Next(const std::vector<std::string_view>& parts) {
  std::string id;
  for (const std::string_view part : parts) {
    if (!id.empty()) id += '/';
    AppendPart(id, part);
  }
  const int count = ++seen_[Fnv1a(id)];
  return count == 1 ? id : id + "#" + std::to_string(count);
}

}  // namespace fa_profile
