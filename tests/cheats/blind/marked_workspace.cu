// Cheat: each call leaves a mark in the workspace and a call that finds it does nothing. A fresh draw comes with a
// poisoned workspace and is computed; repeated calls, which the timing is made of, are empty.
#include "common.cuh"

constexpr unsigned kMark = 0x5eed1e55;
__global__ void UnlessMarked(Attention a, const unsigned* mark) {
  if (*mark == kMark) return;
  const int query = RowOfWarp();
  if (query < a.heads * a.length) AttendQuery(a, query, a.length);
}
__global__ void SetMark(unsigned* mark) { *mark = kMark; }

LAUNCH {
  const Attention a = AttentionOf(call);
  auto* const mark = static_cast<unsigned*>(call->workspace);
  const int queries = a.heads * a.length;
  UnlessMarked<<<(queries + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a, mark);
  SetMark<<<1, 1, 0, Stream(call)>>>(mark);
  return Done();
}
static size_t Workspace(const fa_profile_call*) { return 256; }
ATTENTION_TENSORS()
EXPORT_WITH("marked_workspace", kAttentionParameters, .workspace_bytes = Workspace, .reference = AttentionReference,
            .work = AttentionWork)
