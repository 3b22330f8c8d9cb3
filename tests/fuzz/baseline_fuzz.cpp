// Text that is not a baseline gives an Error with a hint and nothing else. A fuzzer does not guess a hash, so each
// input is tried a second time with its receipt made to fit: what stands behind it must not be trusted either.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fa_profile/baseline.h"
#include "fa_profile/error.h"
#include "fa_profile/sha256.h"

namespace {

constexpr std::string_view kHashLine = "\n\"sha256\": \"";
constexpr std::size_t kDigits = 64;

void Try(const std::string& text) {
  fa_profile::gate::PromotedBaseline baseline;
  try {
    baseline = fa_profile::gate::ParseBaseline(text, "b.json");
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
    return;
  }
  if (!fa_profile::gate::IsSuiteName(baseline.suite)) std::abort();
  if (baseline.lineage != fa_profile::gate::LineageOf(baseline.evidence.environment)) std::abort();
  const std::string again = fa_profile::gate::ToJson(baseline);
  if (fa_profile::gate::ToJson(fa_profile::gate::ParseBaseline(again, "again.json")) != again) std::abort();
}

}  // namespace

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)fa_profile::gate::ParseBaseline({reinterpret_cast<const char*>(data), size}, "b.json");
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  Try(text);
  const std::size_t line = text.find(kHashLine);
  if (line == std::string::npos || text.size() < line + kHashLine.size() + kDigits) return 0;
  text.erase(line + kHashLine.size(), kDigits);
  const std::string hash = fa_profile::Sha256(text);
  Try(text.insert(line + kHashLine.size(), hash));
  return 0;
}
