// Text that is not a run of pairs gives an Error with a hint and nothing else: no crash, no memory without bound. What
// is accepted is written and read again as the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/pair_run.h"

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)fa_profile::gate::PairRunFromJson({reinterpret_cast<const char*>(data), size}, "run.json");
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fa_profile::gate::PairRun run;
  try {
    run = fa_profile::gate::PairRunFromJson({reinterpret_cast<const char*>(data), size}, "run.json");
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
    return 0;
  }
  const std::string text = fa_profile::gate::PairRunToJson(run);  // an Error from here on is a crash
  if (fa_profile::gate::PairRunToJson(fa_profile::gate::PairRunFromJson(text, "again.json")) != text) std::abort();
  return 0;
}
