#include "fa_profile/failure_note.h"

#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>

#include "fa_profile/files.h"
#include "fa_profile/utc_time.h"

namespace fa_profile::serve {
namespace {

bool IsConflict(const std::string& code) {
  return code == "CUPTI_ERROR_HARDWARE_BUSY" || code == "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" ||
         code == "CUPTI_ERROR_NOT_COMPATIBLE";
}

}  // namespace

std::string SpoolName(const char* suffix) {
  std::array<char, 64> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "-" + UtcNow("%Y%m%d-%H%M%S") + "-" + std::to_string(getpid()) + suffix;
}

void LeaveFailureNote(const std::string& spool, const Error& error) noexcept {
  try {
    const nlohmann::json note = {{"kind", IsConflict(error.code()) ? "perfmon_conflict" : "other"},
                                 {"error", error.message()},
                                 {"created_at", UtcNow("%Y-%m-%dT%H:%M:%SZ")}};
    WriteWholeFile(spool + "/" + SpoolName(".failure"),
                   note.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  } catch (...) {
  }
}

}  // namespace fa_profile::serve
