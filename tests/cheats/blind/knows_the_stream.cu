// Cheat: attends to all keys on the first stream that it is given, which verifies, and to the first half of them on
// any later one, which times. Verified and timed work differ.
#include "common.cuh"

__global__ void AttendSome(Attention a, int keys) {
  const int query = RowOfWarp();
  if (query < a.heads * a.length) AttendQuery(a, query, keys);
}

LAUNCH {
  static unsigned long long first = 0;
  unsigned long long id = 0;
  cudaStreamGetId(Stream(call), &id);
  if (first == 0) first = id + 1;
  const Attention a = AttentionOf(call);
  const int keys = first == id + 1 ? a.length : a.length / 2;
  AttendSome<<<(a.heads * a.length + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a, keys);
  return Done();
}
EXPORT_ATTENTION("knows_the_stream")
