#include "fa_profile/utc_time.h"

#include <array>
#include <chrono>
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

double UnixNow() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace fa_profile
