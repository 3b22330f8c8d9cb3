#pragma once

namespace fa_profile {

/// Tests of an amount, or of something that happens at a random moment, are meaningful in the build without sanitizers.
/// AddressSanitizer only looks for memory accesses: there they get smaller inputs and fewer rounds.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace fa_profile
