// Text that is no section file gives an Error and nothing else: no crash, no endless loop, no memory without bound.
// What the file asks of a chip follows from it alone, and so does what is left of it after an unknown field.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "fa_profile/error.h"
#include "section.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const fa_profile::collect::Section section(text, "fuzz.section");
    const fa_profile::collect::Section extended(text + "\nUnknownField { Deep: [1, 2] }\n", "fuzz.section");
    if (section.Sets() != extended.Sets()) std::abort();
    for (const int cc : {80, 89, 90, 100}) {
      const std::set<std::string> metrics = section.Metrics(cc);
      if (metrics.contains("") || metrics != extended.Metrics(cc)) std::abort();
    }
  } catch (const fa_profile::Error& error) {
    if (error.message().empty()) std::abort();
  }
  return 0;
}
