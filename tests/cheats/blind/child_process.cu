// Cheat: a child process, forked at load, gathers on the CPU when nothing is captured; a captured call only copies its
// last answer, so that the timed work is a copy.
#include <sys/mman.h>
#include <unistd.h>

#include "common.cuh"

constexpr size_t kBytes = size_t{64} << 20;
struct Shared {
  int count, dim;
  int index[1 << 16];
  uint16_t table[8 << 20], y[8 << 20];
};
static Shared* const shared =
    static_cast<Shared*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
static int ask[2], answer[2];

__attribute__((constructor)) static void Fork() {
  if (pipe(ask) != 0 || pipe(answer) != 0 || fork() != 0) return;
  close(ask[1]);  // so that the child ends with its parent
  for (char byte; read(ask[0], &byte, 1) == 1;) {
    for (int64_t row = 0; row < shared->count; ++row) {
      for (int64_t col = 0; col < shared->dim; ++col) {
        shared->y[row * shared->dim + col] = shared->table[int64_t{shared->index[row]} * shared->dim + col];
      }
    }
    if (write(answer[1], &byte, 1) != 1) break;
  }
  _exit(0);
}

LAUNCH {
  const Gather g = GatherOf(call);
  const size_t bytes = size_t(g.count) * g.dim * sizeof(__half);
  if (!Capturing(Stream(call))) {
    static const cudaError_t pinned = cudaHostRegister(shared, kBytes, cudaHostRegisterDefault);
    if (pinned != cudaSuccess) return 1;
    cudaMemcpyAsync(shared->index, g.index, g.count * sizeof(int), cudaMemcpyDeviceToHost, Stream(call));
    cudaMemcpyAsync(shared->table, g.table, size_t{4096} * g.dim * sizeof(__half), cudaMemcpyDeviceToHost,
                    Stream(call));
    cudaStreamSynchronize(Stream(call));
    shared->count = g.count;
    shared->dim = g.dim;
    char byte = 0;
    if (write(ask[1], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1) return 1;
  }
  cudaMemcpyAsync(g.y, shared->y, bytes, cudaMemcpyHostToDevice, Stream(call));
  return Done();
}
EXPORT_GATHER("child_process")
