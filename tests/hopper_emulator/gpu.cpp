#include "gpu.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace fa_profile::emulator {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;

/// The cluster that runs.
struct Machine {
  Launch launch;
  const std::function<void()>* kernel = nullptr;
  std::vector<std::unique_ptr<Block>> blocks;
  Meeting cluster;
  std::deque<std::function<void()>> copies;
  Thread* running = nullptr;
  ucontext_t scheduler = {};
  std::uint64_t progress = 0;
  std::string error;
};

Machine* machine = nullptr;

void ThreadMain() {
  Thread& thread = ThisThread();
  try {
    (*machine->kernel)();
  } catch (const std::exception& failure) {
    if (machine->error.empty()) machine->error = failure.what();
  }
  thread.ended = true;
  Progress();
  swapcontext(&thread.context, &machine->scheduler);
}

void Start(Thread& thread) {
  thread.stack = std::make_unique<std::byte[]>(kStackBytes);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, ThreadMain, 0);
}

std::unique_ptr<Block> MakeBlock(const Launch& launch, unsigned index) {
  auto block = std::make_unique<Block>();
  block->index = index;
  block->rank = index % launch.cluster;
  // Shared memory that nothing wrote reads as NaN in fp16, bf16 and fp32.
  block->memory.assign(launch.shared_bytes, 0x7f);
  block->shared = block->memory.data();
  block->warps.resize((launch.threads + 31) / 32);
  for (unsigned i = 0; i < launch.threads; ++i) {
    auto thread = std::make_unique<Thread>();
    thread->index = i;
    thread->block = block.get();
    Start(*thread);
    block->threads.push_back(std::move(thread));
  }
  return block;
}

/// Lets every thread run until it waits. Whether any has not ended.
bool RunRound() {
  bool running = false;
  for (const auto& block : machine->blocks) {
    for (const auto& thread : block->threads) {
      if (thread->ended) continue;
      running = true;
      machine->running = thread.get();
      swapcontext(&machine->scheduler, &thread->context);
      if (!machine->error.empty()) return false;
    }
  }
  return running;
}

void RunCluster(const Launch& launch, unsigned first_block) {
  machine->blocks.clear();
  machine->cluster = {};
  machine->copies.clear();
  for (unsigned rank = 0; rank < launch.cluster; ++rank) {
    machine->blocks.push_back(MakeBlock(launch, first_block + rank));
  }
  for (;;) {
    const std::uint64_t before = machine->progress;
    if (!RunRound()) break;
    if (machine->progress != before) continue;
    if (machine->copies.empty()) {
      machine->error = "deadlock";
      for (const auto& block : machine->blocks) {
        for (const auto& thread : block->threads) {
          if (!thread->ended) machine->error += " " + std::to_string(thread->index);
          if (machine->error.size() > 200) return;
        }
      }
      return;
    }
    const std::function<void()> copy = std::move(machine->copies.front());
    machine->copies.pop_front();
    copy();
  }
  for (const auto& block : machine->blocks) {
    if (launch.dependent && !block->waited && machine->error.empty())
      machine->error = "a block ended without a wait for the kernel before";
  }
}

}  // namespace

std::string Run(const Launch& launch, const std::function<void()>& kernel) {
  Machine here;
  here.launch = launch;
  here.kernel = &kernel;
  machine = &here;
  for (unsigned block = 0; block < launch.blocks && here.error.empty(); block += launch.cluster) {
    RunCluster(launch, block);
    if (here.error.empty() && !here.copies.empty()) here.error = "a block ended before its copies";
  }
  machine = nullptr;
  return here.error;
}

Thread& ThisThread() { return *machine->running; }
Block& ThisBlock() { return *machine->running->block; }
Block& BlockOfCluster(unsigned rank) { return *machine->blocks.at(rank); }
unsigned BlockCount() { return machine->launch.blocks; }
unsigned BlocksOfRow() { return machine->launch.blocks / machine->launch.rows; }

void WaitUntil(const std::function<bool()>& ready, const char*) {
  Thread& thread = ThisThread();
  while (!ready()) swapcontext(&thread.context, &machine->scheduler);
}

void Progress() { ++machine->progress; }

void Fail(const std::string& what) {
  throw std::runtime_error(what + " (thread " + std::to_string(ThisThread().index) + ")");
}

unsigned ArriveAt(Meeting& meeting, int threads) {
  const unsigned generation = meeting.generation;
  Progress();
  if (++meeting.arrived == threads) {
    meeting.arrived = 0;
    ++meeting.generation;
  }
  return generation;
}

const std::uint32_t (&ExchangeInWarp(std::uint32_t word))[32] {
  Thread& thread = ThisThread();
  Exchange& exchange = thread.block->warps[thread.index / 32];
  auto& words = exchange.words[thread.exchanges++ % 2];
  words[thread.index % 32] = word;
  const unsigned generation = ArriveAt(exchange.meeting, 32);
  WaitUntil([&] { return exchange.meeting.generation != generation; }, "the warp");
  return words;
}

unsigned char* MemoryAt(std::uint32_t address) {
  Block& block = address >> 24 == 0 ? ThisBlock() : BlockOfCluster((address >> 24) - 1);
  const std::uint32_t offset = (address & 0xffffffU) - kSharedBase;
  if (offset >= block.memory.size()) Fail("shared address out of range");
  return block.shared + offset;
}

Mbarrier& BarrierAt(Block& block, std::uint32_t address) {
  const auto found = block.mbarriers.find(address - kSharedBase);
  if (found == block.mbarriers.end()) Fail("an mbarrier that was not initialised");
  return found->second;
}

void EndPhase(Mbarrier& barrier) {
  Progress();
  if (barrier.pending < 0) Fail("more arrivals than a phase has");
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
}

void ExpectKernelBeforeEnded() {
  if (machine->launch.dependent && !ThisBlock().waited) Fail("a tensor is touched before the kernel before has ended");
}

void StartCopy(std::function<void()> copy) {
  if (machine->launch.copies == Copies::kAtOnce) {
    copy();
  } else {
    machine->copies.push_back(std::move(copy));
  }
}

void ArriveAtCluster() {
  int threads = 0;
  for (const auto& block : machine->blocks) threads += static_cast<int>(block->threads.size());
  ThisThread().cluster_meeting = ArriveAt(machine->cluster, threads);
}

void WaitForCluster() {
  const unsigned generation = ThisThread().cluster_meeting;
  WaitUntil([generation] { return machine->cluster.generation != generation; }, "the cluster");
}

}  // namespace fa_profile::emulator
