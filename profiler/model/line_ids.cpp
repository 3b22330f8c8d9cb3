#include "fa_profile/line_ids.h"

#include <algorithm>
#include <cstddef>

#include "fa_profile/text.h"
#include "fa_profile/utf8.h"

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
  for (std::string_view rest = part; !rest.empty();) {
    const Utf8Character character = DecodeUtf8(rest);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);  // 0: not UTF-8
    const bool is_plain = character.bytes > 0 && character.code_point >= 0x20 && character.code_point != 0x7F &&
                          std::string_view("%/#").find(rest.front()) == std::string_view::npos && part != "-";
    if (is_plain) {
      id += rest.substr(0, bytes);
    } else {
      AppendEncoded(id, rest.front());
    }
    rest.remove_prefix(bytes);
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
