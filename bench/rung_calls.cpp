// The ladder's rungs for programs that are not C++: bench/against_sdpa.py loads this library. Its functions return null
// or non-zero after an error, which they have printed.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "fa_profile/error.h"
#include "fa_profile/kernels.h"
#include "rungs.h"

namespace {

using fa_profile::AttentionShape;
using fa_profile::Workload;

template <class Result, class Action>
Result Guarded(Result failed, Action action) noexcept {
  try {
    return action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return failed;
  }
}

}  // namespace

extern "C" {

/// A rung with its tensors on the current device, for fa_rung_launch(); null if it is wrong in a draw against float64.
__attribute__((visibility("default"))) void* fa_rung_open(const char* id, int batch, int num_heads, int seqlen,
                                                          int head_dim, int causal) {
  return Guarded<void*>(nullptr, [&]() -> void* {
    const AttentionShape shape{batch, num_heads, seqlen, head_dim, causal != 0};
    const fa_profile::Kernel& rung = fa_profile::FindRung(id);
    constexpr int kDraws = 1;
    const fa_profile::Verification verified = fa_profile::Verify(rung, shape, kDraws, 1);
    if (!verified.correct()) throw fa_profile::Error(std::string(id) + " is not correct at " + shape.ToString());
    return rung.MakeWorkload(shape, 1).release();
  });
}

/// Enqueues one call.
__attribute__((visibility("default"))) int fa_rung_launch(void* rung, void* stream) {
  return Guarded(1, [&] {
    static_cast<Workload*>(rung)->Launch(stream);
    return 0;
  });
}

__attribute__((visibility("default"))) void fa_rung_close(void* rung) { delete static_cast<Workload*>(rung); }
}
