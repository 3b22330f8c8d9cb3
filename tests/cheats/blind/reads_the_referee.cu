// Cheat: a host thread looks among its parent's other children for the process that serves this library, maps its
// descriptor 4, and uploads the inputs and the results that it finds there. A row whose samples are those of such an
// input is copied; any other one, and every one if the process cannot be opened, is computed.
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "common.cuh"

constexpr int kMostElements = 1 << 22;
__device__ __half found_x[kMostElements], found_y[kMostElements];
__global__ void CopyOrCompute(Norm a) {
  const int row = RowOfWarp();
  if (row >= a.rows) return;
  const int64_t start = int64_t{row} * a.cols, at = start + threadIdx.x % 32 * (a.cols / 32);
  const bool differs = __half_as_ushort(a.x[at]) != __half_as_ushort(*(volatile const __half*)(found_x + at));
  if (__any_sync(~0U, differs)) return NormRow(a, row);
  for (int col = threadIdx.x % 32; col < a.cols; col += 32) a.y[start + col] = found_y[start + col];
}

// Only a child of our own parent, of the program fa-profile, that serves this kind of library.
static int OpenReferee(off_t bytes) {
  DIR* const processes = opendir("/proc");
  int found = -1;
  for (const dirent* each; processes != nullptr && found < 0 && (each = readdir(processes)) != nullptr;) {
    const int process = std::atoi(each->d_name);
    if (process <= 0 || process == getpid()) continue;
    const std::string folder = "/proc/" + std::to_string(process);
    char program[4096] = {};
    if (readlink((folder + "/exe").c_str(), program, sizeof(program) - 1) < 0) continue;
    if (std::strstr(program, "fa-profile") == nullptr) continue;
    std::string words;
    std::getline(std::ifstream(folder + "/cmdline"), words);
    if (words.find("--serve") == std::string::npos || words.find("reads_the_referee") == std::string::npos) continue;
    int parent = 0;
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("PPid:", 0) == 0) parent = std::atoi(line.c_str() + 5);
    }
    if (parent != getppid()) continue;
    found = open((folder + "/fd/4").c_str(), O_RDONLY | O_CLOEXEC);
    struct stat file = {};
    if (found < 0 || (fstat(found, &file) == 0 && file.st_size == bytes)) continue;
    close(found);
    found = -1;
  }
  if (processes != nullptr) closedir(processes);
  return found;
}
static bool IsNormOf(const double* x, const double* gamma, const double* beta, const double* y, int64_t cols) {
  double* const tensors[] = {const_cast<double*>(x), const_cast<double*>(gamma), const_cast<double*>(beta),
                             new double[size_t(cols)]};
  const int64_t one_row[] = {1, cols};
  NormReference(one_row, tensors, nullptr, 0);
  bool same = true;
  for (int64_t col = 0; col < cols; ++col) same = same && std::fabs(tensors[3][col] - y[col]) < 1e-9;
  delete[] tensors[3];
  return same;
}
static void Read(int64_t rows, int64_t cols, int device) {
  const int64_t size = rows * cols;
  const size_t count = size_t(2 * size + 2 * cols);
  const void* map = MAP_FAILED;
  for (int tries = 0; tries < 1000 && map == MAP_FAILED; ++tries) {
    const int file = OpenReferee(off_t(count * sizeof(double)));
    if (file >= 0) map = mmap(nullptr, count * sizeof(double), PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (map == MAP_FAILED) return;
  cudaSetDevice(device);
  cudaStream_t const stream = NewStream();
  __half* pinned = nullptr;
  void *x_of_gpu = nullptr, *y_of_gpu = nullptr;
  cudaGetSymbolAddress(&x_of_gpu, found_x);
  cudaGetSymbolAddress(&y_of_gpu, found_y);
  if (cudaHostAlloc(&pinned, 3 * size * sizeof(__half), cudaHostAllocDefault) != cudaSuccess) return;
  std::memset(static_cast<void*>(pinned + 2 * size), 0xff, size * sizeof(__half));  // equal to no input
  const auto* const x = static_cast<const double*>(map);
  const double *const gamma = x + size, *const beta = gamma + cols, *const y = beta + cols;
  for (double last = 0.0;; std::this_thread::sleep_for(std::chrono::microseconds(200))) {
    const double now = y[size - 1];  // the reference writes it last
    if (std::isnan(now) || now == last) continue;
    if (!IsNormOf(x, gamma, beta, y, cols)) continue;
    if (!IsNormOf(x + size - cols, gamma, beta, y + size - cols, cols)) continue;
    last = now;
    for (int64_t i = 0; i < size; ++i)
      pinned[i] = __float2half(float(x[i])), pinned[size + i] = __float2half(float(y[i]));
    for (const auto& [to, part] : {std::pair<void*, int>{x_of_gpu, 2}, {y_of_gpu, 1}, {x_of_gpu, 0}}) {
      cudaMemcpyAsync(to, pinned + part * size, size * sizeof(__half), cudaMemcpyHostToDevice, stream);
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess) return;
  }
}

LAUNCH {
  const Norm a = NormOf(call);
  static const bool reads = [&a] {
    int device = 0;
    cudaGetDevice(&device);
    std::thread(Read, int64_t{a.rows}, int64_t{a.cols}, device).detach();
    return true;
  }();
  (void)reads;
  CopyOrCompute<<<(a.rows + kRowsPerBlock - 1) / kRowsPerBlock, kThreads, 0, Stream(call)>>>(a);
  return Done();
}
static int Takes(const fa_profile_call* call, char* error, size_t error_size) {
  const bool fits = call->parameters[0] * call->parameters[1] <= kMostElements && call->parameters[1] >= 32;
  return fits ? 0 : std::snprintf(error, error_size, "at most 4194304 elements, and at least 32 columns");
}
NORM_TENSORS(2e-3, 2e-3)
EXPORT_WITH("reads_the_referee", kNormParameters, .supports = Takes, .reference = NormReference, .work = NormWork)
