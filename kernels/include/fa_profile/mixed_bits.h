#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define FA_PROFILE_ANYWHERE __host__ __device__ __forceinline__
#else
#define FA_PROFILE_ANYWHERE inline
#endif

namespace fa_profile {

/// SplitMix64's output function (Steele, Lea, Flood 2014): turns a counter into 64 well-mixed bits.
FA_PROFILE_ANYWHERE std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace fa_profile
