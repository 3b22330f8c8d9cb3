// The machine code of rung 8: products, copies and register moves are there, as many as the source has, and nothing
// went to local memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda_tool.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/gpu_code.h"

namespace fa_profile::hopper_code_test {
namespace {

/// How many instructions of a kernel begin with each opcode.
using Opcodes = std::map<std::string, int>;

struct KernelCode {
  std::string name;  // demangled
  sass::CubinFunction resources;
  Opcodes opcodes;
  // Between the wait for scores that lets PV continue, and the wait for PV; -1: the kernel has no such wait.
  int exponentials_beside_pv = -1;
  bool has_gpu_fence = false;
  std::vector<std::string> order;  // order of dependent launch, and of what follows it first
};

Opcodes Count(const DeviceFunction& function) {
  Opcodes opcodes;
  for (const Instruction& instruction : function.instructions) {
    ++opcodes[instruction.opcode.substr(0, instruction.opcode.find('.'))];
  }
  return opcodes;
}

int ExponentialsBesidePv(const DeviceFunction& function) {
  const auto is_wait = [](const Instruction& instruction) {
    return instruction.opcode.starts_with("WARPGROUP.DEPBAR");
  };
  const auto end = function.instructions.end();
  auto at = std::find_if(function.instructions.begin(), end, [&](const Instruction& instruction) {
    return is_wait(instruction) && instruction.operands.find("0x1") != std::string::npos;
  });
  if (at == end) return -1;
  int count = 0;
  for (++at; at != end && !is_wait(*at); ++at) count += at->opcode.starts_with("MUFU.EX2") ? 1 : 0;
  return count;
}

bool HasGpuFence(const DeviceFunction& function) {
  return std::ranges::any_of(function.instructions, [](const Instruction& instruction) {
    return instruction.opcode.starts_with("MEMBAR") && instruction.opcode.find("CTA") == std::string::npos;
  });
}

/// The first of each: the wait for the kernel before (ACQBULK), the next kernel's leave to begin (PREEXIT), a copy.
std::vector<std::string> OrderOfDependentLaunch(const DeviceFunction& function) {
  std::vector<std::string> order;
  for (const Instruction& instruction : function.instructions) {
    const std::string opcode = instruction.opcode.substr(0, instruction.opcode.find('.'));
    const bool counts = opcode == "ACQBULK" || opcode == "PREEXIT" || opcode == "UTMALDG";
    if (counts && std::ranges::find(order, opcode) == order.end()) order.push_back(opcode);
  }
  return order;
}

std::vector<KernelCode> ReadKernels() {
  std::vector<KernelCode> kernels;
  const std::string nvdisasm = sass::RequireNvdisasm();
  for (const sass::EmbeddedCubin& cubin : sass::ReadGpuCode(FA_PROFILE_KERNELS)) {
    if (!cubin.name.starts_with("rung8")) continue;
    std::map<std::string, DeviceFunction> code;
    for (DeviceFunction& function : sass::Disassemble(cubin.bytes, 0, nvdisasm)) {
      code[function.name] = std::move(function);
    }
    for (const sass::CubinFunction& function : sass::ReadCubin(cubin.bytes).functions) {
      const DeviceFunction& instructions = code.at(function.name);
      kernels.push_back({Demangle(function.name.c_str()), function, Count(instructions),
                         ExponentialsBesidePv(instructions), HasGpuFence(instructions),
                         OrderOfDependentLaunch(instructions)});
    }
  }
  return kernels;
}

bool Has(const KernelCode& kernel, const std::string& text) { return kernel.name.find(text) != std::string::npos; }

class HopperCodeTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { kernels_ = ReadKernels(); }
  static void TearDownTestSuite() { kernels_.clear(); }
  static inline std::vector<KernelCode> kernels_;
};

TEST_F(HopperCodeTest, NothingIsInLocalMemory) {
  EXPECT_EQ(kernels_.size(), 5U);
  for (const KernelCode& kernel : kernels_) {
    EXPECT_EQ(kernel.resources.stack_frame_bytes.value_or(0), 0) << kernel.name;
    EXPECT_EQ(kernel.opcodes.count("LDL") + kernel.opcodes.count("STL"), 0U) << kernel.name;
  }
}

TEST_F(HopperCodeTest, CopiesBarriersAndRegisterMovesAreThere) {
  for (const KernelCode& kernel : kernels_) {
    EXPECT_TRUE(kernel.opcodes.contains("UTMALDG")) << kernel.name;
    EXPECT_TRUE(kernel.opcodes.contains("SYNCS")) << kernel.name;
    if (!Has(kernel, "HopperForward")) continue;
    EXPECT_EQ(kernel.opcodes.at("USETMAXREG"), 2) << kernel.name;
    // 65536 registers over the threads, rounded down to 8: what a block starts with.
    const int threads = kernel.resources.max_threads.value()[0];
    EXPECT_EQ(kernel.resources.registers_per_thread, 65536 / threads / 8 * 8) << kernel.name;
  }
}

// A fence for the whole GPU takes hundreds of cycles: blocks of a cluster signal each other through barriers that count
// bytes.
TEST_F(HopperCodeTest, NoKernelWaitsForAFenceOfTheGpu) {
  for (const KernelCode& kernel : kernels_) EXPECT_FALSE(kernel.has_gpu_fence) << kernel.name;
}

// A tensor is touched after the kernel before has ended. The next one is let in after that, too: before it, a call in a
// chain takes longer (docs/evidence/hopper.md).
TEST_F(HopperCodeTest, EachKernelWaitsForTheOneBeforeItAndThenCopies) {
  const std::vector<std::string> expected = {"ACQBULK", "PREEXIT", "UTMALDG"};
  for (const KernelCode& kernel : kernels_) {
    EXPECT_EQ(kernel.order, expected) << kernel.name;
    EXPECT_EQ(kernel.opcodes.at("ACQBULK"), 1) << kernel.name;
  }
}

// A fence follows each write by threads that the asynchronous proxy reads: barriers (2), the ones after V, O's tile.
TEST_F(HopperCodeTest, WhatThreadsWriteForTheAsynchronousProxyIsFenced) {
  for (const KernelCode& kernel : kernels_) {
    if (!Has(kernel, "HopperForward")) continue;
    EXPECT_EQ(kernel.opcodes.at("FENCE"), 4) << kernel.name;
  }
}

// QK: head_dim / 16 products; PV: keys / 16. With the next QK before this PV each occurs twice: before or after the
// loop, and in it.
TEST_F(HopperCodeTest, ThereAreAsManyProductsAsTheSourceHas) {
  const std::map<std::string, int> expected = {
      {"Tile<64, 3, 128, 2> >", 24},       {"Tile<64, 2, 128, 2> >", 24},        {"Tile<128, 2, 128, 2> >", 32},
      {"SplitTile<64, 2, 1, 2, 128>", 12}, {"SplitTile<128, 2, 1, 2, 128>", 16},
  };
  for (const auto& [name, count] : expected) {
    int found = 0;
    for (const KernelCode& kernel : kernels_) {
      if (!Has(kernel, name)) continue;
      ++found;
      EXPECT_EQ(kernel.opcodes.at("HGMMA"), count) << kernel.name;
    }
    EXPECT_EQ(found, 1) << name;
  }
}

// ptxas likes to wait for PV before the exponentials that should overlap with it.
TEST_F(HopperCodeTest, ExponentialsComeBeforeTheWaitForPv) {
  int seen = 0;
  for (const KernelCode& kernel : kernels_) {
    if (kernel.exponentials_beside_pv < 0) continue;
    ++seen;
    EXPECT_GE(kernel.exponentials_beside_pv, 24) << kernel.name;
  }
  EXPECT_EQ(seen, 3);
}

// One wait for scores and one for outputs, each as often as its products: a compiler that serialises them adds waits.
TEST_F(HopperCodeTest, ProductsAreNotSerialised) {
  for (const KernelCode& kernel : kernels_) {
    EXPECT_LE(kernel.opcodes.at("WARPGROUP"), 10) << kernel.name;
  }
}

}  // namespace
}  // namespace fa_profile::hopper_code_test
