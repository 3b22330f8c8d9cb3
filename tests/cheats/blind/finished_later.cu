// Cheat: a call leaves its last three quarters to a host thread, which launches them on another stream 100 us
// later, so that the call's end comes before its results.
#include <chrono>
#include <thread>

#include "common.cuh"

static Attention pending = {};
static cudaStream_t side = nullptr;
static void FinishLater() {
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  const int queries = pending.heads * pending.length;
  LaunchAttention(pending, queries / 4, queries, side);
}

LAUNCH {
  const Attention a = AttentionOf(call);
  const int queries = a.heads * a.length;
  static int calls = 0;
  calls = a.q == pending.q && a.o == pending.o ? calls + 1 : 0;
  pending = a;
  if (calls < 12) {  // a verification
    LaunchAttention(a, 0, queries, Stream(call));
    return Done();
  }
  if (side == nullptr) side = NewStream();
  LaunchAttention(a, 0, queries / 4, Stream(call));
  std::thread(FinishLater).detach();
  return Done();
}
EXPORT_ATTENTION("finished_later")
