#include "fa_profile/disassembly.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cuda_tool.h"
#include "elf_file.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/error.h"
#include "fa_profile/opcodes.h"
#include "fa_profile/private_folder.h"
#include "sample_cubins.h"

namespace fa_profile::sass::disassembly_test {
namespace {

constexpr const char* kNoNvdisasm = "no nvdisasm here: ci/setup.sh fetches one";

// A shell script in its own folder, in place of a tool.
class Script {
 public:
  explicit Script(const std::string& body) : path_((folder_.path() / "tool").string()) {
    std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  const std::string& path() const { return path_; }

 private:
  PrivateFolder folder_;
  std::string path_;
};

std::string ErrorOf(const std::string& script) {
  try {
    Disassemble(SampleCubin("sm_90a.cubin"), 0, Script(script).path());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DisassemblyTest, TextIsReadWhereJsonFailsAndTellsTheSame) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << "no nvdisasm here: ci/setup.sh fetches one";
  const Script crashes("[ \"$1\" != -json ] || kill -SEGV $$\nexec " + *nvdisasm + " \"$@\"");
  for (const char* const name : {"sm_90a.cubin", "sm_80_cuda12.cubin"}) {
    const auto json = Disassemble(SampleCubin(name), 7, *nvdisasm);
    const auto text = Disassemble(SampleCubin(name), 7, crashes.path());
    ASSERT_EQ(text.size(), json.size()) << name;
    for (std::size_t f = 0; f < json.size(); ++f) {
      EXPECT_EQ(text[f].name, json[f].name);
      ASSERT_EQ(text[f].instructions.size(), json[f].instructions.size()) << json[f].name;
      for (std::size_t i = 0; i < json[f].instructions.size(); ++i) {
        const Instruction& is = text[f].instructions[i];
        const Instruction& wanted = json[f].instructions[i];
        EXPECT_EQ(is.offset, wanted.offset);
        EXPECT_EQ(is.predicate + " " + is.opcode, wanted.predicate + " " + wanted.opcode) << is.offset;
        EXPECT_EQ(is.operands, wanted.operands) << is.opcode;
      }
    }
  }
}

TEST(DisassemblyTest, ParsesWhatNvdisasmPrints) {
  const auto functions = ParseNvdisasmJson(
      R"([{"SM":{}},[{"function-name":"f","start":0,"length":48,"other-attributes":[],"sass-instructions":[
      {"opcode":"LDC","operands":"R1,c[0x0][0x28]"},
      {"predicate":"@!P0","opcode":"BRA","operands":"0x2b0","other-attributes":{"control-flow":"True"}},
      {"opcode":"EXIT"}]}]])");
  ASSERT_EQ(functions.size(), 1);
  EXPECT_EQ(functions[0].name, "f");
  const auto& code = functions[0].instructions;
  ASSERT_EQ(code.size(), 3);
  EXPECT_EQ(code[0].opcode, "LDC");
  EXPECT_EQ(code[0].operands, "R1, c[0x0][0x28]");
  EXPECT_EQ(code[0].predicate, "");
  EXPECT_EQ(code[1].offset, 16);
  EXPECT_EQ(code[1].predicate, "@!P0");
  EXPECT_EQ(code[1].operands, "0x2b0");
  EXPECT_EQ(code[2].offset, 32);
  EXPECT_EQ(code[2].operands, "");
}

TEST(DisassemblyTest, AllPredicatesAreAnOperandAsInText) {
  const auto functions = ParseNvdisasmJson(
      R"([{},[{"function-name":"f","sass-instructions":[)"
      R"({"predicate":"PR","opcode":"P2R","operands":"R38,RZ,0x1"},{"opcode":"R2P","operands":"R20.reuse,0x6"},)"
      R"({"predicate":"@P0","opcode":"R2P","operands":"PR,R20,0x6"}]}]])");
  std::vector<std::string> texts;
  for (const Instruction& i : functions.at(0).instructions) texts.push_back(i.predicate + i.opcode + " " + i.operands);
  EXPECT_EQ(texts, (std::vector<std::string>{"P2R R38, PR, RZ, 0x1", "R2P PR, R20.reuse, 0x6", "@P0R2P PR, R20, 0x6"}));
}

TEST(DisassemblyTest, EachFunctionOfTheJsonHasItsOwnInstructions) {
  // Keys in any order, and objects at every depth that are neither functions nor instructions.
  std::string text = R"([{"SM":{"version":{"opcode":"NOP"}},"list":[{"function-name":"no"}]},[)";
  constexpr int kFunctions = 300;
  for (int f = 0; f < kFunctions; ++f) {
    text += std::string(f == 0 ? "" : ",") + R"({"other-attributes":[{"opcode":"NOP"}],"sass-instructions":[)";
    for (int i = 0; i <= f % 7; ++i) {
      text += std::string(i == 0 ? "" : ",") + R"({"other-attributes":{"a":{"b":{}}},"opcode":"OP)" +
              std::to_string(f) + R"("})";
    }
    text += R"(],"more":[[{"opcode":"NOP"}]],"function-name":"f)" + std::to_string(f) + R"("})";
  }
  const auto functions = ParseNvdisasmJson(text + R"(],[{"function-name":"no","sass-instructions":[]}]])");
  ASSERT_EQ(functions.size(), kFunctions);
  for (std::size_t f = 0; f < functions.size(); ++f) {
    EXPECT_EQ(functions[f].name, "f" + std::to_string(f));
    ASSERT_EQ(functions[f].instructions.size(), f % 7 + 1);
    for (std::size_t i = 0; i < functions[f].instructions.size(); ++i) {
      EXPECT_EQ(functions[f].instructions[i].opcode, "OP" + std::to_string(f));
      EXPECT_EQ(functions[f].instructions[i].offset, 16 * i);
    }
  }
}

TEST(DisassemblyTest, OutputThatIsNotNvdisasmJsonIsAnError) {
  for (const char* text :
       {"", "[", "{}", "[{}]", "[{},{}]x", "[{},[1]]", R"([{},[{"function-name":1}]])",
        R"([{},[{"function-name":"f","sass-instructions":[{}]}]])", "nvdisasm info",
        R"([{},[{"function-name":"f","sass-instructions":[1]}]])", R"([{},[{"function-name":"f"}]])",
        R"([{},[{"sass-instructions":[]}]])", R"([{},[{"function-name":"f","sass-instructions":[]},)",
        R"({"a":{},"b":{"c":{"function-name":"f","sass-instructions":[]}}})"}) {
    try {
      (void)ParseNvdisasmJson(text);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_TRUE(error.message().starts_with("nvdisasm printed invalid JSON: ")) << error.message();
    }
  }
}

TEST(DisassemblyTest, EveryInstructionHasTheFilesAndLinesOfNvdisasmsListing) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  for (const char* name : kSampleCubins) {
    SCOPED_TRACE(name);
    const auto cubin = SampleCubin(name);
    Listing expected = ReadListing(RunCudaTool({*nvdisasm, "-c", "-gi", SampleCubinPath(name)}).out);
    const CubinInfo info = ReadCubin(cubin);
    const auto functions = Disassemble(cubin, 42, *nvdisasm);
    ASSERT_EQ(functions.size(), info.functions.size());
    for (std::size_t f = 0; f < functions.size(); ++f) {
      EXPECT_EQ(functions[f].cubin_crc, 42);
      EXPECT_EQ(functions[f].name, info.functions[f].name);
      auto& lines = expected[functions[f].name];
      ASSERT_EQ(functions[f].instructions.size(), lines.size());
      ASSERT_EQ(functions[f].instructions.size() * 16, info.functions[f].code_bytes);
      for (const Instruction& instruction : functions[f].instructions) {
        ASSERT_TRUE(AreListed(instruction.frames, lines.at(instruction.offset)))
            << functions[f].name << " " << instruction.offset;
      }
    }
  }
}

TEST(DisassemblyTest, InlineStacksAreTheSameWithoutNvdisasm) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  const auto whole = Disassemble(SampleCubin("sm_90a.cubin"), 7, *nvdisasm);
  const auto stacks = ReadInlineStacks(SampleCubin("sm_90a.cubin"), 7);
  ASSERT_EQ(whole.size(), stacks.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(stacks[i].name, whole[i].name);
    EXPECT_EQ(stacks[i].cubin_crc, 7U);
    ASSERT_EQ(stacks[i].instructions.size(), whole[i].instructions.size());
    for (std::size_t j = 0; j < whole[i].instructions.size(); ++j) {
      const Instruction& bare = stacks[i].instructions[j];
      const Instruction& full = whole[i].instructions[j];
      EXPECT_TRUE(bare.opcode.empty());
      ASSERT_EQ(bare.offset, full.offset);
      ASSERT_EQ(bare.frames.size(), full.frames.size());
      for (std::size_t k = 0; k < bare.frames.size(); ++k) EXPECT_EQ(bare.frames[k].function, full.frames[k].function);
    }
  }
}

TEST(DisassemblyTest, OnlyTheRequestedFunctionsAreDisassembled) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  const auto functions = Disassemble(SampleCubin("sm_90a.cubin"), 0, *nvdisasm, {kIndexed, "no such function"});
  ASSERT_EQ(functions.size(), 1);
  EXPECT_EQ(functions[0].name, kIndexed);
  const auto& code = functions[0].instructions;
  EXPECT_TRUE(std::any_of(code.begin(), code.end(), [](const Instruction& i) { return i.opcode == "LDL"; }));
  EXPECT_TRUE(Disassemble(SampleCubin("sm_90a.cubin"), 0, *nvdisasm, {"no such function"}).empty());
}

void ExpectSame(const std::vector<DeviceFunction>& these, const std::vector<DeviceFunction>& those) {
  ASSERT_EQ(these.size(), those.size());
  for (std::size_t f = 0; f < those.size(); ++f) {
    SCOPED_TRACE(those[f].name);
    EXPECT_EQ(these[f].name, those[f].name);
    ASSERT_EQ(these[f].instructions.size(), those[f].instructions.size());
    for (std::size_t k = 0; k < those[f].instructions.size(); ++k) {
      const Instruction& a = these[f].instructions[k];
      const Instruction& b = those[f].instructions[k];
      ASSERT_EQ(std::tie(a.offset, a.predicate, a.opcode, a.operands),
                std::tie(b.offset, b.predicate, b.opcode, b.operands));
      ASSERT_EQ(a.frames.size(), b.frames.size());
    }
  }
}

TEST(DisassemblyTest, CubinsDisassembledTogetherAreAsDisassembledAlone) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  // Two of one layout with subroutines and calls, one of them twice; others that take runs of their own.
  std::vector<std::vector<std::uint8_t>> cubins;
  for (const char* const name :
       {"sm_90a.cubin", "lint_sm_90a.cubin", "sm_90a.cubin", "switch_sm_100a.cubin", "sm_80_cuda12.cubin"}) {
    cubins.push_back(SampleCubin(name));
  }
  std::vector<CubinPart> parts;
  for (const auto& cubin : cubins) parts.push_back({cubin, {}});
  parts[2].wanted = {kIndexed};
  // Known instructions tell the same, also when most were forgotten.
  InstructionTexts texts;
  InstructionTexts few(64);
  for (InstructionTexts* const known : {&texts, &texts, &few, &few}) {
    std::vector<std::vector<DeviceFunction>> together(parts.size());
    DisassembleTogether(parts, *nvdisasm, *known, [&](std::size_t part, DeviceFunction function) {
      together.at(part).push_back(std::move(function));
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      SCOPED_TRACE(i);
      ExpectSame(together[i], Disassemble(cubins[i], 0, *nvdisasm, parts[i].wanted));
    }
  }
}

TEST(DisassemblyTest, CubinsOfOneLayoutTakeOneRunTogether) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  const PrivateFolder folder;
  const std::string runs = (folder.path() / "runs").string();
  const Script counting("echo run >> " + runs + "; exec " + *nvdisasm + " \"$@\"");
  const auto first = SampleCubin("sm_90a.cubin");
  const auto second = SampleCubin("lint_sm_90a.cubin");
  InstructionTexts texts;
  DisassembleTogether({{first, {}}, {second, {}}}, counting.path(), texts,
                      [&](std::size_t, const DeviceFunction&) { EXPECT_EQ(ReadFile(runs), "run\n"); });
  EXPECT_EQ(ReadFile(runs), "run\n");
  DisassembleTogether({{second, {}}}, counting.path(), texts, [](std::size_t, const DeviceFunction&) {});
  EXPECT_EQ(ReadFile(runs), "run\n");  // all is known
}

// Made of one in a sample: its offset counts from the next instruction, in bits 34 on, by four bytes.
TEST(DisassemblyTest, ABranchToTheFunctionsStartHasAnOffset) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  auto cubin = SampleCubin("sm_80.cubin");
  const auto before = Disassemble(cubin, 0, *nvdisasm);
  const auto branch = std::ranges::find(before.front().instructions, "BRA", &Instruction::opcode);
  ASSERT_NE(branch, before.front().instructions.end());
  const auto elf = ReadElf(cubin);
  const auto code = elf.Find(".text." + before.front().name)->bytes;
  std::uint8_t* const bytes = cubin.data() + (code.data() - cubin.data()) + branch->offset;
  const std::int64_t words = -(static_cast<std::int64_t>(branch->offset) + 16) / 4;
  for (unsigned bit = 34; bit < 82; ++bit) {
    const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
    const bool is_set = (static_cast<std::uint64_t>(words) >> (bit - 34) & 1U) != 0;
    bytes[bit / 8] = static_cast<std::uint8_t>(is_set ? bytes[bit / 8] | mask : bytes[bit / 8] & ~mask);
  }
  const std::size_t index = branch->offset / 16;
  EXPECT_EQ(Disassemble(cubin, 0, *nvdisasm).front().instructions[index].operands, "0x0");
  InstructionTexts texts;
  std::vector<DeviceFunction> together;
  DisassembleTogether({{cubin, {}}}, *nvdisasm, texts,
                      [&](std::size_t, DeviceFunction function) { together.push_back(std::move(function)); });
  EXPECT_EQ(together.front().instructions[index].operands, "0x0");
}

TEST(InstructionTextsTest, OneThreadClaimsAndOthersAwait) {
  InstructionTexts texts;
  const std::vector<std::uint8_t> code(32, 1);
  const auto keys = texts.KeysOf("layout", code);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_NE(texts.KeysOf("other", code)[0], keys[0]);
  ASSERT_TRUE(texts.Claim(keys[0]));
  EXPECT_FALSE(texts.Claim(keys[0]));
  std::thread other([&] {
    texts.Add({{keys[0], {"@P0", "BRA", "", -16}}});
    texts.Release({keys[0]});
  });
  texts.Await({keys[0]});
  int known = 0;
  texts.ForKnown(keys, [&](std::size_t, const InstructionTexts::Text& text) {
    ++known;
    EXPECT_EQ(std::tie(text.predicate, text.opcode, text.operands), std::make_tuple("@P0", "BRA", ""));
    EXPECT_EQ(text.target, -16);
  });
  EXPECT_EQ(known, 2);
  other.join();
}

TEST(DisassemblyTest, ExponentialsAndMatrixProductsOfTheHeadersAreThoseDisassembled) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  int exponentials = 0;
  int products = 0;
  for (const char* const name : {"sm_80.cubin", "sm_89.cubin", "sm_90a.cubin", "lint_sm_90a.cubin",
                                 "switch_sm_100a.cubin", "instructions_sm_80.cubin", "instructions_sm_90a.cubin",
                                 "instructions_sm_100a.cubin", "instructions_sm_120a.cubin"}) {
    const auto cubin = SampleCubin(name);
    const auto functions = Disassemble(cubin, 0, *nvdisasm);
    for (const CubinFunction& function : ReadCubin(cubin).functions) {
      SCOPED_TRACE(std::string(name) + " " + function.name);
      const auto found = std::ranges::find(functions, function.name, &DeviceFunction::name);
      ASSERT_NE(found, functions.end());
      for (const Instruction& instruction : found->instructions) {
        EXPECT_FALSE(FindOpcode(instruction.opcode).base.empty()) << instruction.opcode << " has no row";
      }
      const bool exponentiates = std::ranges::any_of(
          found->instructions, [](const Instruction& i) { return i.opcode.starts_with("MUFU.EX2"); });
      const bool multiplies = std::ranges::any_of(found->instructions, [](const Instruction& i) {
        return i.opcode.substr(0, i.opcode.find('.')).ends_with("MMA") && i.predicate != "@!PT";
      });
      EXPECT_EQ(function.has_exponentials, exponentiates);
      EXPECT_EQ(function.has_matrix_products, multiplies);
      exponentials += exponentiates ? 1 : 0;
      products += multiplies ? 1 : 0;
    }
  }
  EXPECT_GE(exponentials, 4) << "one of each architecture at least";
  EXPECT_GE(products, 4) << "one of each architecture at least";
}

TEST(DisassemblyTest, IndirectBranchesHaveTheirTargets) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  const auto functions = Disassemble(SampleCubin("switch_sm_100a.cubin"), 0, *nvdisasm);
  ASSERT_EQ(functions.size(), 1);
  const auto& code = functions[0].instructions;
  // The listing has them as labels: `nvdisasm` prints (*"BRANCH_TARGETS .L_x_9,.L_x_2"*).
  std::map<std::string, std::string> offsets;  // by label
  std::istringstream listing(RunCudaTool({*nvdisasm, "-c", SampleCubinPath("switch_sm_100a.cubin")}).out);
  std::vector<std::string> labels;
  std::map<std::string, std::string> targets;  // labels, by the branch's offset
  for (std::string line; std::getline(listing, line);) {
    if (line.starts_with(".L_") && line.ends_with(":")) labels.push_back(line.substr(0, line.size() - 1));
    const std::size_t at = line.find("/*");
    if (at == std::string::npos) continue;
    const std::size_t digits = std::min(line.find_first_not_of('0', at + 2), at + 5);
    for (const std::string& label : labels) offsets[label] = "0x" + line.substr(digits, at + 6 - digits);
    labels.clear();
    constexpr std::string_view kTargets = "BRANCH_TARGETS ";
    if (const std::size_t list = line.find(kTargets); list != std::string::npos) {
      const std::size_t begin = list + kTargets.size();
      targets["0x" + line.substr(digits, at + 6 - digits)] = line.substr(begin, line.find('"', begin) - begin);
    }
  }
  std::size_t branches = 0;
  for (const Instruction& instruction : code) {
    if (!instruction.opcode.starts_with("BRX")) continue;
    char offset[16];
    (void)std::snprintf(offset, sizeof offset, "0x%x", instruction.offset);
    ASSERT_TRUE(targets.contains(offset)) << offset;
    std::string list;
    std::istringstream names(targets.at(offset));
    for (std::string label; std::getline(names, label, ',');) list += (list.empty() ? "" : ", ") + offsets.at(label);
    EXPECT_TRUE(instruction.operands.ends_with(", {" + list + "}")) << instruction.operands << ", not " << list;
    ++branches;
  }
  EXPECT_EQ(branches, targets.size());
  EXPECT_GE(branches, 2);
}

TEST(DisassemblyTest, AnUnknownArchitectureIsAnErrorThatNamesIt) {
  const auto nvdisasm = FindNvdisasm();
  if (!nvdisasm) GTEST_SKIP() << kNoNvdisasm;
  auto cubin = SampleCubin("sm_90a.cubin");
  cubin[49] = 254;  // the architecture in e_flags
  try {
    Disassemble(cubin, 0, *nvdisasm);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("sm_254"), std::string::npos) << error.what();
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(DisassemblyTest, AnArchitectureThatIsNoLongerReadIsReportedWithoutTheToolsOutput) {
  const Script refuses("echo \"nvdisasm fatal : CUDA architecture 'SM70' is deprecated\" >&2; exit 1");
  auto cubin = SampleCubin("sm_80.cubin");
  for (const auto& [sm, reader] : {std::pair{70, "CUDA 12"}, {50, "CUDA 12"}, {37, "an older CUDA"}}) {
    cubin[cubin[8] >= 8 ? 49 : 48] = static_cast<std::uint8_t>(sm);  // in e_flags
    try {
      Disassemble(cubin, 0, refuses.path());
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "this version of nvdisasm no longer reads code for sm_" + std::to_string(sm) +
                                     "; that of " + reader + " does");
      EXPECT_EQ(error.hint(), std::string("set FA_PROFILE_NVDISASM to nvdisasm of ") + reader);
    }
  }
}

TEST(DisassemblyTest, AFailingToolIsAnErrorThatSaysHowItFailed) {
  EXPECT_NE(ErrorOf("echo \"nvdisasm fatal   : Unknown option 'json'\" >&2; exit 1").find("too old"),
            std::string::npos);
  EXPECT_NE(ErrorOf("echo 'nvdisasm fatal : broken' >&2; exit 3").find("nvdisasm fatal : broken"), std::string::npos);
  EXPECT_NE(ErrorOf("exit 3").find("build it again"), std::string::npos);
  EXPECT_NE(ErrorOf("kill -9 $$").find("signal 9"), std::string::npos);
  EXPECT_NE(ErrorOf("echo hello").find("invalid JSON"), std::string::npos);
  EXPECT_THROW(Disassemble(SampleCubin("sm_90a.cubin"), 0, "/no/such/nvdisasm"), Error);
}

TEST(DisassemblyTest, ATooSlowProgramIsKilled) {
  EXPECT_THROW(RunCudaTool({Script("exec sleep 60").path()}, {}, 1), Error);
}

TEST(DisassemblyTest, ProgramsMayPrintMoreThanAPipeHolds) {
  const ChildEnd result =
      RunCudaTool({Script("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 7").path()});
  EXPECT_EQ(WEXITSTATUS(result.status), 7);
  EXPECT_EQ(result.out.size(), 3000000);
  EXPECT_EQ(result.err.size(), 3000000);
}

TEST(DisassemblyTest, AToolRunsInTheFolderItIsGiven) {
  const PrivateFolder folder;
  EXPECT_EQ(RunCudaTool({"/bin/pwd"}, folder.path().string()).out, folder.path().string() + "\n");
}

TEST(DisassemblyTest, TheEnvironmentVariableNamesTheToolAndMustNameAProgram) {
  const Script script("exit 0");
  setenv("FA_PROFILE_NVDISASM", script.path().c_str(), 1);
  EXPECT_EQ(FindNvdisasm(), script.path());
  setenv("FA_PROFILE_NVDISASM", "/no/such/nvdisasm", 1);
  EXPECT_THROW(FindNvdisasm(), Error);
  unsetenv("FA_PROFILE_NVDISASM");
}

}  // namespace
}  // namespace fa_profile::sass::disassembly_test
