#pragma once

// A GPU of sm_90 on the CPU, as far as rung 8 uses one: runs a kernel's threads as fibers, one after the other, and
// keeps what they wait at. The headers in hopper/ have the functions of those in kernels/hopper, for this GPU.
//
// Products and, if asked for, copies happen as late as the waits allow: a tile that is read too early, overwritten too
// early, or registers that are touched while a product reads them give a wrong result here, always.

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace fa_profile::emulator {

/// An mbarrier.
struct Mbarrier {
  int arrivals = 0;  // that a phase needs
  int pending = 0;
  std::int64_t bytes = 0;  // announced and not copied yet
  unsigned phase = 0;
};

/// A barrier at which a number of threads meet.
struct Meeting {
  int arrived = 0;
  unsigned generation = 0;
};

/// Data exchanged within a warp, in two buffers that take turns.
struct Exchange {
  Meeting meeting;
  std::uint32_t words[2][32] = {};
};

struct Block;

/// A thread of the kernel.
struct Thread {
  unsigned index = 0;  // threadIdx
  Block* block = nullptr;
  ucontext_t context = {};
  std::unique_ptr<std::byte[]> stack;
  bool ended = false;
  unsigned exchanges = 0;        // exchanges in its warp that it took part in
  unsigned cluster_meeting = 0;  // the generation of the cluster's barrier at which it arrived
  std::deque<std::vector<std::function<void()>>> products;  // groups under way, the newest last
  std::vector<std::function<void()>> open_group;
};

struct Block {
  unsigned index = 0;  // blockIdx
  unsigned rank = 0;
  std::vector<unsigned char> memory;
  unsigned char* shared = nullptr;  // where dynamic shared memory begins
  bool waited = false;              // for the kernel before it in the stream
  std::vector<std::unique_ptr<Thread>> threads;
  std::map<std::size_t, Mbarrier> mbarriers;  // by their place in shared memory
  std::map<int, Meeting> named;
  Meeting all;
  std::vector<Exchange> warps;
};

/// How the hardware's freedom is used.
enum class Copies { kAtOnce, kAsLateAsPossible };

/// The parameters of a launch. Shared memory begins at an address that is a multiple of 16 and of nothing more.
struct Launch {
  unsigned blocks = 1;
  unsigned threads = 1;
  unsigned cluster = 1;
  unsigned rows = 1;  // into which the blocks fall: the grid's second dimension
  std::size_t shared_bytes = 0;
  Copies copies = Copies::kAtOnce;
  bool dependent = false;  // the kernel before it in the stream may not have ended: each block must wait for that
};

/// Runs `kernel` as each thread of each block, cluster after cluster. "" or why it did not end: a deadlock, or a use of
/// the hardware that it does not allow.
std::string Run(const Launch& launch, const std::function<void()>& kernel);

// ---- for the headers in hopper/ ----

Thread& ThisThread();
Block& ThisBlock();
Block& BlockOfCluster(unsigned rank);
unsigned BlockCount();
unsigned BlocksOfRow();

/// Lets other threads run until `ready` says true.
void WaitUntil(const std::function<bool()>& ready, const char* what);
/// Something changed for which others may wait.
void Progress();
/// The kernel does what it must not.
[[noreturn]] void Fail(const std::string& what);

/// Arrives at a barrier of `threads` threads. Returns the generation that has to end.
unsigned ArriveAt(Meeting& meeting, int threads);

/// Each lane gives a word and gets those of all 32. All lanes of a warp must call it.
const std::uint32_t (&ExchangeInWarp(std::uint32_t word))[32];

constexpr std::uint32_t kSharedBase = 1040;  // address of dynamic shared memory: not a multiple of an atom

/// A shared address of this block, or of the cluster's block in its high byte (AddressIn), as memory.
unsigned char* MemoryAt(std::uint32_t address);
Mbarrier& BarrierAt(Block& block, std::uint32_t address);
void EndPhase(Mbarrier& barrier);

/// Fails if the kernel before in the stream may be running: tensors must not be touched.
void ExpectKernelBeforeEnded();

/// A copy by TMA: immediate, or when nothing else can run.
void StartCopy(std::function<void()> copy);
/// Arrivals of the whole cluster.
void ArriveAtCluster();
void WaitForCluster();

}  // namespace fa_profile::emulator
