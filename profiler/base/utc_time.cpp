#include "fa_profile/utc_time.h"

#include <array>
#include <ctime>

namespace fa_profile {

std::string UtcNow(const char* pattern) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  (void)std::strftime(text.data(), text.size(), pattern, &parts);
  return text.data();
}

}  // namespace fa_profile
