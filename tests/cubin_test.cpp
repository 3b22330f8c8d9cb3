#include "fa_profile/cubin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "fa_profile/error.h"
#include "sample_cubins.h"

namespace fa_profile::sass::cubin_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

// ptxas's output when it made the cubin.
struct Printed {
  const char* file;
  int sm;
  int reduce_registers;
  int indexed_registers;
  int constant_bytes;
};
constexpr Printed kPrinted[] = {{"sm_80.cubin", 80, 14, 32, 368},
                                {"sm_89.cubin", 89, 16, 40, 368},
                                {"sm_90a.cubin", 90, 16, 32, 544},
                                {"sm_80_cuda12.cubin", 80, 14, 32, 368},
                                {"sm_90_cuda12.cubin", 90, 16, 32, 544}};

CubinFunction Named(const CubinInfo& info, const std::string& name) {
  for (const CubinFunction& function : info.functions) {
    if (function.name == name) return function;
  }
  ADD_FAILURE() << "no " << name;
  return {};
}

std::string HintFor(const Bytes& bytes) {
  try {
    ReadCubin(bytes);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.message();
    return error.message();
  }
  return "accepted";
}

TEST(CubinTest, ResourcesAreThosePtxasPrinted) {
  for (const Printed& printed : kPrinted) {
    SCOPED_TRACE(printed.file);
    const CubinInfo info = ReadCubin(SampleCubin(printed.file));
    EXPECT_EQ(info.sm, printed.sm);
    EXPECT_TRUE(info.has_line_information);
    ASSERT_EQ(info.functions.size(), 2);  // subroutines lie inside the kernels

    const CubinFunction reduce = Named(info, kReduce);
    EXPECT_TRUE(reduce.is_kernel);
    EXPECT_EQ(reduce.registers_per_thread, printed.reduce_registers);
    EXPECT_EQ(reduce.stack_frame_bytes, 0);
    EXPECT_EQ(reduce.static_shared_memory_bytes, 512);
    EXPECT_EQ(reduce.max_threads, (std::array<int, 3>{128, 1, 1}));
    EXPECT_FALSE(reduce.required_threads.has_value());
    EXPECT_EQ(reduce.barriers, 1);
    EXPECT_EQ(reduce.constant_bank_bytes, printed.constant_bytes);
    EXPECT_EQ(reduce.code_bytes % 128, 0);

    const CubinFunction indexed = Named(info, kIndexed);
    EXPECT_EQ(indexed.registers_per_thread, printed.indexed_registers);
    EXPECT_EQ(indexed.stack_frame_bytes, 128);
    EXPECT_EQ(indexed.static_shared_memory_bytes, 0);
    EXPECT_FALSE(indexed.max_threads.has_value());
    EXPECT_EQ(indexed.barriers, 0);
  }
}

TEST(CubinTest, LineInformationIsDetectedAndDoesNotChangeTheCodeHash) {
  const CubinInfo with = ReadCubin(SampleCubin("sm_90a.cubin"));
  const CubinInfo without = ReadCubin(SampleCubin("sm_90a_without_lines.cubin"));
  EXPECT_FALSE(without.has_line_information);
  EXPECT_EQ(Named(with, kReduce).code_hash, Named(without, kReduce).code_hash);
  EXPECT_NE(Named(with, kReduce).code_hash, Named(with, kIndexed).code_hash);
}

TEST(CubinTest, DeviceDebugCodeIsDetected) {
  const CubinInfo debug = ReadCubin(SampleCubin("sm_90a_debug.cubin"));
  EXPECT_TRUE(debug.is_device_debug);
  EXPECT_TRUE(debug.has_line_information);
  EXPECT_NE(Named(debug, kReduce).code_hash, Named(ReadCubin(SampleCubin("sm_90a.cubin")), kReduce).code_hash);
  for (const char* const name : kSampleCubins) EXPECT_FALSE(ReadCubin(SampleCubin(name)).is_device_debug) << name;
  EXPECT_FALSE(ReadCubin(SampleCubin("sm_90a_without_lines.cubin")).is_device_debug);
}

TEST(CubinTest, AChangedConstantChangesTheCodeHash) {
  Bytes bytes = SampleCubin("lint_sm_90a.cubin");
  const CubinInfo before = ReadCubin(bytes);
  const std::string constant = "row %d: %f";  // in .nv.global.init
  const auto place = std::search(bytes.begin(), bytes.end(), constant.begin(), constant.end());
  ASSERT_NE(place, bytes.end());
  *place = 'R';
  const CubinInfo after = ReadCubin(bytes);
  ASSERT_EQ(before.functions.size(), after.functions.size());
  for (std::size_t i = 0; i < before.functions.size(); ++i) {
    EXPECT_NE(before.functions[i].code_hash, after.functions[i].code_hash) << before.functions[i].name;
  }
}

// The cubin with its section `before` called `after`, which is no longer, and the section's first byte changed or not.
Bytes Renamed(Bytes bytes, const std::string& before, const std::string& after, bool changed) {
  const auto word = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, size);
    return value;
  };
  const std::size_t headers = word(40, 8);
  const std::size_t names = word(headers + 64 * word(62, 2) + 24, 8);
  for (std::size_t at = headers; at + 64 <= bytes.size(); at += 64) {
    const std::size_t name = names + word(at, 4);
    if (name + before.size() >= bytes.size()) continue;
    if (std::string(reinterpret_cast<const char*>(bytes.data() + name)) != before) continue;
    std::memcpy(bytes.data() + name, after.c_str(), after.size() + 1);
    if (changed) bytes[word(at + 24, 8)] ^= 1U;
    return bytes;
  }
  ADD_FAILURE() << "no section " << before;
  return bytes;
}

TEST(CubinTest, EveryConstantBankButTheParametersIsHashed) {
  const Bytes bytes = SampleCubin("lint_sm_90a.cubin");
  const CubinInfo info = ReadCubin(bytes);
  const auto differ = [&](const std::string& name, const CubinFunction& function) {
    const CubinInfo before = ReadCubin(Renamed(bytes, ".nv.constant4", name, false));
    const CubinInfo after = ReadCubin(Renamed(bytes, ".nv.constant4", name, true));
    return Named(before, function.name).code_hash != Named(after, function.name).code_hash;
  };
  for (const CubinFunction& function : info.functions) {
    for (const char* const name : {".nv.constant1", ".nv.constant3", ".nv.constant4"}) {
      EXPECT_TRUE(differ(name, function)) << name << " " << function.name;
    }
    for (const char* const name : {".nv.constant0", ".nv.constant", ".nv.constanx4"}) {
      EXPECT_FALSE(differ(name, function)) << name << " " << function.name;
    }
  }
}

TEST(CubinTest, ConstantsOfOneKernelDoNotChangeTheHashOfAnother) {
  // The parameters of one kernel, made into its bank 2: the name keeps its length.
  const Bytes bytes = SampleCubin("lint_sm_90a.cubin");
  const std::string kernel = "_ZN4lint9no_boundsEPKfPf";
  const auto read = [&](bool changed) {
    return ReadCubin(Renamed(bytes, ".nv.constant0." + kernel, ".nv.constant2." + kernel, changed));
  };
  const CubinInfo before = read(false);
  const CubinInfo after = read(true);
  for (std::size_t i = 0; i < before.functions.size(); ++i) {
    const std::string& name = before.functions[i].name;
    EXPECT_EQ(before.functions[i].code_hash != after.functions[i].code_hash, name == kernel) << name;
  }
}

TEST(CubinTest, AFileThatIsNotACubinIsAnErrorThatSaysWhy) {
  const Bytes good = SampleCubin("sm_90a.cubin");
  EXPECT_NE(HintFor({}).find("not an ELF file"), std::string::npos);
  EXPECT_NE(HintFor(Bytes(100, 'x')).find("not an ELF file"), std::string::npos);
  EXPECT_NE(HintFor(Bytes(good.begin(), good.begin() + 63)).find("cut off"), std::string::npos);
  EXPECT_NE(HintFor(Bytes(good.begin(), good.end() - 1)).find("cut off"), std::string::npos);
  Bytes changed = good;
  changed[4] = 1;
  EXPECT_NE(HintFor(changed).find("32-bit"), std::string::npos);
  changed = good;
  changed[18] = 62;  // x86-64
  EXPECT_NE(HintFor(changed).find("another machine"), std::string::npos);
}

TEST(CubinTest, AStrippedCubinIsReportedAsStripped) {
  Bytes stripped = SampleCubin("sm_90a.cubin");
  std::uint64_t sections = 0;
  std::memcpy(&sections, stripped.data() + 40, sizeof(sections));
  int tables = 0;
  for (std::size_t at = sections; at + 64 <= stripped.size(); at += 64) {
    if (stripped[at + 4] != 2) continue;
    stripped[at + 4] = 1;  // a symbol table no more
    ++tables;
  }
  EXPECT_EQ(tables, 1);
  EXPECT_NE(HintFor(stripped).find("stripped"), std::string::npos);
}

TEST(CubinTest, ACubinTruncatedAnywhereIsAnError) {
  const Bytes good = SampleCubin("sm_90a_without_lines.cubin");
  for (std::size_t size = 0; size < good.size(); size += 7) {
    EXPECT_THROW(ReadCubin(std::span(good).first(size)), Error) << size;
  }
}

TEST(CubinTest, ExternalsAreTheFunctionsTheCubinDoesNotDefine) {
  int kernels = 0;
  for (const CubinFunction& function : ReadCubin(SampleCubin("lint_sm_90a.cubin")).functions) {
    const bool prints = function.name.find("prints") != std::string::npos;
    EXPECT_EQ(function.externals, prints ? std::vector<std::string>{"vprintf"} : std::vector<std::string>{})
        << function.name;
    ++kernels;
  }
  EXPECT_EQ(kernels, 11);
}

}  // namespace
}  // namespace fa_profile::sass::cubin_test
