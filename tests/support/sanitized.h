#pragma once

namespace fa_profile {

/// A test that shows an amount, or something that happens at a random moment, shows it in the build without sanitizers.
/// AddressSanitizer looks for accesses to memory alone: there it gets smaller inputs and fewer rounds of the same.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace fa_profile
