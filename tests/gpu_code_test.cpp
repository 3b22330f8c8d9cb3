#include "fa_profile/gpu_code.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "sample_cubins.h"
#include "test_files.h"

namespace fa_profile::sass::gpu_code_test {
namespace {

std::string ErrorOf(const std::string& path, const std::string& architecture = {}) {
  try {
    ReadGpuCode(path, architecture);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.message();
    return error.message();
  }
  return "no error";
}

TEST(GpuCodeTest, ACubinIsReturnedUnchanged) {
  const auto cubins = ReadGpuCode(SampleCubinPath("sm_90a.cubin"));
  ASSERT_EQ(cubins.size(), 1);
  EXPECT_EQ(cubins[0].name, "cubin sm_90 at 0x0");
  EXPECT_EQ(cubins[0].architecture, "sm_90");
  EXPECT_EQ(cubins[0].bytes, SampleCubin("sm_90a.cubin"));
}

TEST(GpuCodeTest, OnlyTheRequestedArchitectureIsRead) {
  const std::string path = SampleCubinPath("sm_90a.cubin");
  for (const char* asked : {"90", "sm_90", "sm_90a"}) EXPECT_EQ(ReadGpuCode(path, asked).size(), 1) << asked;
  EXPECT_NE(ErrorOf(path, "sm_80").find("only for sm_90"), std::string::npos);
}

TEST(GpuCodeTest, AnUnreadableFileIsAnError) {
  EXPECT_NE(ErrorOf("/no/such/file").find("/no/such/file cannot be read"), std::string::npos);
  EXPECT_NE(ErrorOf("/").find("is a directory"), std::string::npos);
}

/// A fatbin, in one piece of a file. A part's kind: 1 PTX, 2 cubin, 8 LTO-IR, others damage.
struct Part {
  int kind = 2;
  int sm = 90;
  std::string bytes{};
};

std::string Number(std::uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string FatbinOf(const Part& part) {
  const std::string entry = Number(part.kind, 2) + Number(0x101, 2) + Number(64, 4) + Number(part.bytes.size(), 8) +
                            Number(0, 12) + Number(part.sm, 4) + std::string(32, '\0') + part.bytes;
  return Number(0xba55ed50, 4) + Number(1, 2) + Number(16, 2) + Number(entry.size(), 8) + entry;
}

using RefusalTest = FolderTest;

TEST_F(RefusalTest, EachFileWithoutACubinIsToldWhatItHasInstead) {
  const std::vector<std::uint8_t> cubin90 = SampleCubin("sm_90a.cubin");
  const std::vector<std::uint8_t> cubin80 = SampleCubin("sm_80.cubin");
  const Part for_80{2, 80, {cubin80.begin(), cubin80.end()}};
  const Part for_90{2, 90, {cubin90.begin(), cubin90.end()}};
  const Part ptx{1, 90, ".visible .entry k() {}"};
  const Part library_ptx{1, 90, ".visible .func f() {}"};
  const Part lto{8, 90, "IR"};
  const Part unknown{77, 90, "?"};
  Part cut = for_90;
  cut.bytes.resize(500);
  struct Row {
    std::vector<std::string> pieces;
    std::string asked;
    std::string why;  // after the path; # for an offset
    std::string cure;
  };
  const std::string bare_cut = cut.bytes;
  const std::string build = "build it with machine code, for instance nvcc -gencode arch=compute_90a,code=sm_90a";
  const std::string again = "build it again, or copy it again";
  const std::string cut_off = "the cubin is cut off: its section table is missing";
  for (
      const Row& row : std::vector<Row>{
          {{FatbinOf(for_80), FatbinOf(ptx)},
           "90",
           " holds no machine code for 90, only for sm_80; it has PTX for compute_90, which is not machine code",
           "choose one of them with --arch"},
          {{FatbinOf(for_80)}, "90", " holds no machine code for 90, only for sm_80", "choose one of them with --arch"},
          {{FatbinOf(for_80), "####", bare_cut},
           "sm_90",
           " holds no machine code for sm_90 that can be read: cubin sm_90 at 0x#: " + cut_off +
               "; it has machine code for sm_80",
           again + ", or choose another --arch"},
          {{FatbinOf(for_80), FatbinOf(unknown)},
           "90",
           " holds no machine code for 90 that can be read: image at 0x#: its kind, 77, is not known; it has machine "
           "code for sm_80",
           again + ", or choose another --arch"},
          {{FatbinOf(for_80), "####", bare_cut},
           "75",
           " holds no machine code for 75, only for sm_80; what it has for sm_90 cannot be read: cubin sm_90 at 0x#: " +
               cut_off,
           "choose one of them with --arch"},
          {{"####", bare_cut, FatbinOf(ptx)},
           "75",
           " holds no machine code for 75; what it has for sm_90 cannot be read: cubin sm_90 at 0x#: " + cut_off +
               "; it has PTX for compute_90, which is not machine code",
           "build it for 75"},
          {{"####", bare_cut, FatbinOf(unknown), FatbinOf(ptx)},
           "",
           " holds no machine code that can be read: cubin sm_90 at 0x#: " + cut_off +
               ", and 1 more; it has PTX for compute_90, which is not machine code",
           again},
          {{bare_cut}, "", ": " + cut_off, again},
          {{bare_cut},
           "80",
           " holds no machine code for 80; what it has for sm_90 cannot be read: cubin sm_90 at 0x#: " + cut_off,
           "build it for 80"},
          {{FatbinOf(ptx)}, "90", " holds no machine code for 90, only PTX for compute_90", build},
          {{FatbinOf(ptx)}, "", " holds no machine code, only PTX for compute_90", build},
          {{FatbinOf(lto)},
           "",
           " holds no machine code, only LTO-IR for compute_90",
           "link it with nvcc -dlto, and give the program or library"},
          {{FatbinOf(library_ptx)},
           "",
           " holds no kernels: its PTX for compute_90 has none",
           "give the file with the kernels"},
      }) {
    const std::string path = folder_ / "file.o";
    std::string bytes;
    for (const std::string& piece : row.pieces) bytes += piece;
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      ReadGpuCode(path, row.asked);
      ADD_FAILURE() << row.why;
    } catch (const Error& error) {
      std::string message = error.message();
      if (const std::size_t at = message.find(" at 0x"); at != std::string::npos) {
        message.replace(at + 6, message.find(':', at) - at - 6, "#");
      }
      EXPECT_EQ(message, path + row.why);
      EXPECT_EQ(error.hint(), row.cure) << row.why;
    }
  }
}

TEST(GpuCodeTest, AFileWithoutGpuCodeIsAnError) {
  EXPECT_NE(ErrorOf("/bin/true").find("holds no GPU code"), std::string::npos);
  EXPECT_NE(ErrorOf(SampleCubinPath("kernels.cu")).find("holds no GPU code"), std::string::npos);
}

}  // namespace
}  // namespace fa_profile::sass::gpu_code_test
