// Cheat: looks for CUPTI among the loaded libraries: traced calls and calls outside a capture attend to all keys, timed
// ones to every eighth of them, so that time and counters are of different kernels.
#include <link.h>

#include <cstring>

#include "common.cuh"

static int IsCupti(dl_phdr_info* info, size_t, void*) {
  return info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "cupti") != nullptr;
}
__global__ void AttendSome(Attention a, int keys) {
  const int query = RowOfWarp();
  if (query < a.heads * a.length) AttendQuery(a, query, keys);
}

LAUNCH {
  const Attention a = AttentionOf(call);
  const bool timed = Capturing(Stream(call)) && dl_iterate_phdr(IsCupti, nullptr) == 0;
  const int blocks = (a.heads * a.length + kRowsPerBlock - 1) / kRowsPerBlock;
  AttendSome<<<blocks, kThreads, 0, Stream(call)>>>(a, timed ? a.length / 8 : a.length);
  return Done();
}
EXPORT_ATTENTION("cupti_loaded")
