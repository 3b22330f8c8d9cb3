// Text that is no page of metrics gives an Error that names a cure, and nothing else. What is accepted can be shown,
// and nothing of it reaches the terminal as a control character.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/top_view.h"

namespace {

bool ShowsSafely(const fa_profile::top::TopPage& page) {
  fa_profile::top::TopView view("http://server/metrics");
  view.Add(page);
  view.Add(page);
  std::ostringstream out;
  view.WriteAll(out, {.bars = fa_profile::exporters::Bars::kBlocks});
  view.WriteScreen(out, {}, 24);
  return std::ranges::all_of(out.str(), [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

}  // namespace

extern "C" bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size) {
  try {
    (void)fa_profile::top::ReadTopPage({reinterpret_cast<const char*>(data), size});
    return true;
  } catch (const fa_profile::Error&) {
    return false;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    if (!ShowsSafely(fa_profile::top::ReadTopPage({reinterpret_cast<const char*>(data), size}))) std::abort();
  } catch (const fa_profile::Error& error) {
    if (error.message().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}
