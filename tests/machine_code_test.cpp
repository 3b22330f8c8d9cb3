#include "fa_profile/machine_code.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fa_profile/error.h"
#include "sample_cubins.h"
#include "unpack.h"

namespace fa_profile::sass::machine_code_test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Kind = CodeImage::Kind;

void Put(Bytes& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void Append(Bytes& bytes, const Bytes& more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

struct Entry {
  int kind = 2;
  int sm = 90;
  Bytes payload;
  std::uint64_t flags = 0;
  std::uint32_t packed_bytes = 0;
  std::uint64_t unpacked_bytes = 0;
};

Bytes Fatbin(const std::vector<Entry>& entries) {
  Bytes body;
  for (const Entry& entry : entries) {
    Put(body, entry.kind, 2);
    Put(body, 0x101, 2);
    Put(body, 64, 4);
    Put(body, entry.payload.size(), 8);
    Put(body, entry.packed_bytes, 4);
    Put(body, 0, 4 + 4);
    Put(body, entry.sm, 4);
    Put(body, 0, 8);
    Put(body, entry.flags, 8);
    Put(body, 0, 8);
    Put(body, entry.unpacked_bytes, 8);
    Append(body, entry.payload);
  }
  Bytes fatbin;
  Put(fatbin, 0xba55ed50, 4);
  Put(fatbin, 1, 2);
  Put(fatbin, 16, 2);
  Put(fatbin, body.size(), 8);
  Append(fatbin, body);
  return fatbin;
}

Bytes Literal(const std::string& text) { return {text.begin(), text.end()}; }

Bytes Cubin() { return SampleCubin("sm_90a_without_lines.cubin"); }

/// An LZ4 block that contains only literals.
Bytes Lz4(const Bytes& bytes) {
  Bytes block{0xf0};
  std::size_t left = bytes.size() - 15;
  for (; left >= 255; left -= 255) block.push_back(255);
  block.push_back(static_cast<std::uint8_t>(left));
  Append(block, bytes);
  return block;
}

Entry Packed(const Bytes& bytes) {
  const Bytes block = Lz4(bytes);
  return {.payload = block,
          .flags = 0x2000,
          .packed_bytes = static_cast<std::uint32_t>(block.size()),
          .unpacked_bytes = bytes.size()};
}

std::string WhyNot(const MachineCode& code, const CodeImage& image) {
  if (!image.unread.empty()) return image.unread;
  try {
    (void)code.Read(image);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "read";
}

/// Why each image was not read.
std::vector<std::string> Reasons(const Bytes& bytes) {
  const MachineCode code(bytes);
  std::vector<std::string> reasons;
  for (const CodeImage& image : code.images()) reasons.push_back(WhyNot(code, image));
  return reasons;
}

using Texts = std::vector<std::string>;

TEST(MachineCodeTest, EachEntryOfAFatbinIsReadPackedOrNot) {
  const Bytes cubin = Cubin();
  const Bytes fatbin = Fatbin({{.payload = cubin}, Packed(cubin), {.payload = cubin, .flags = 0x100000}});
  const MachineCode code(fatbin);
  ASSERT_EQ(code.images().size(), 3U);
  for (const CodeImage& image : code.images()) EXPECT_EQ(code.Read(image), cubin) << image.name;
  EXPECT_EQ(code.images()[0].architecture, "sm_90");
  EXPECT_EQ(code.images()[1].architecture, "sm_90");
  EXPECT_EQ(code.images()[2].architecture, "sm_90a");
}

TEST(MachineCodeTest, AnEntryThatNamesAnotherArchitectureThanItsCodeIsNotRead) {
  const Bytes fatbin = Fatbin({{.sm = 80, .payload = Cubin()}});
  const MachineCode code(fatbin);
  ASSERT_EQ(code.images().size(), 1U);
  EXPECT_EQ(WhyNot(code, code.images()[0]), "its container says that it is for sm_80, but it is for sm_90");
}

TEST(MachineCodeTest, WhatFatbinaryPackedIsRead) {
  for (const char* const name : {"lz4.fatbin", "zstd.fatbin", "archive.a", "two_bare.bin"}) {
    const MachineCode code(std::string(FA_PROFILE_TEST_DATA "/../fuzz/corpus/machine_code/good/") + name);
    EXPECT_GE(code.images().size(), 1U) << name;
    for (const CodeImage& image : code.images()) EXPECT_EQ(WhyNot(code, image), "read") << name << " " << image.name;
  }
}

TEST(MachineCodeTest, ACubinIsFoundWhereverItLies) {
  Bytes bytes = Literal(
      "\x7f"
      "ELF is not one");
  bytes.resize(bytes.size() + (std::size_t{1} << 20U) - 10);  // the next one crosses the border of a window
  const std::size_t at = bytes.size();
  Append(bytes, Cubin());
  Append(bytes, Literal("between"));
  Append(bytes, Cubin());
  const MachineCode code(bytes);
  ASSERT_EQ(code.images().size(), 2U);
  EXPECT_EQ(code.images()[0].offset, at);
  for (const CodeImage& image : code.images()) EXPECT_EQ(code.Read(image), Cubin());
}

TEST(MachineCodeTest, MembersOfAnArchiveAreNamed) {
  const MachineCode code(std::string(FA_PROFILE_TEST_DATA "/../fuzz/corpus/machine_code/good/archive.a"));
  ASSERT_EQ(code.images().size(), 2U);
  EXPECT_TRUE(code.images()[0].name.starts_with("a.o: cubin sm_90 at 0x")) << code.images()[0].name;
  EXPECT_TRUE(code.images()[1].name.starts_with("b.o: cubin sm_90 at 0x")) << code.images()[1].name;
}

TEST(MachineCodeTest, PtxAloneIsNamedAndNextToMachineCodeIsNot) {
  const Entry ptx{.kind = 1, .payload = Literal(".visible .entry k() { ret; }")};
  const Entry empty{.kind = 1, .payload = Literal(".version 9.0")};
  EXPECT_EQ(Reasons(Fatbin({ptx})), Texts{"PTX only, not machine code"});
  EXPECT_EQ(Reasons(Fatbin({empty})), Texts{"read"}) << "it has no kernel";
  EXPECT_EQ(Reasons(Fatbin({{.payload = Cubin()}, ptx})), (Texts{"read", "read"}));
  const Bytes one = Fatbin({{.payload = Cubin()}});
  Bytes two = one;
  Append(two, Fatbin({ptx}));
  EXPECT_EQ(Reasons(two), (Texts{"read", "PTX only, not machine code"})) << "another source file";
}

TEST(MachineCodeTest, WhatIsDamagedIsNamedAndTheRestIsFound) {
  const Bytes cubin = Cubin();
  const std::string not_a_cubin = "it is not a cubin, which its container says it is";
  EXPECT_EQ(Reasons(Fatbin({{.payload = Literal("12345678")}, {.payload = cubin}})), (Texts{not_a_cubin, "read"}));
  EXPECT_EQ(Reasons(Fatbin({{.kind = 77, .payload = cubin}, {.payload = cubin}})),
            (Texts{"its kind, 77, is not known", "read"}));
  Entry changed = Packed(cubin);
  changed.unpacked_bytes += 1;
  EXPECT_EQ(Reasons(Fatbin({changed, {.payload = cubin}})), (Texts{"its compressed bytes are damaged", "read"}));
  changed.unpacked_bytes = std::uint64_t{1} << 40;
  EXPECT_NE(Reasons(Fatbin({changed})).front().find("1099511627776 bytes, more than"), std::string::npos);
  changed = Packed(cubin);
  changed.packed_bytes += 1;
  EXPECT_NE(Reasons(Fatbin({changed})).front().find("end after their entry"), std::string::npos);

  Bytes cut = Fatbin({{.payload = cubin}, {.payload = cubin}});
  cut.resize(cut.size() - 100);
  const Texts reasons = Reasons(cut);
  ASSERT_EQ(reasons.size(), 4U) << testing::PrintToString(reasons);
  EXPECT_EQ(reasons[0], "it is cut off: it ends after the end of the file");
  EXPECT_EQ(reasons[1], "read");
  EXPECT_EQ(reasons[2], "it is damaged: its size does not fit into the fatbin");
  EXPECT_TRUE(reasons[3].starts_with("the cubin is cut off")) << reasons[3];

  Bytes newer = Fatbin({{.payload = cubin}});
  newer[4] = 2;
  EXPECT_EQ(Reasons(newer), (Texts{"it has version 2, which is not known", "read"}));
}

// Every size and offset of the headers, overwritten.
TEST(MachineCodeTest, SizesThatOverflowDoNoHarm) {
  const Bytes good = Fatbin({Packed(Cubin()), {.payload = Cubin()}});
  const std::size_t payload = 16 + 64 + Packed(Cubin()).payload.size() + 64;
  for (const std::uint64_t value : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 40}) {
    for (std::size_t at = 0; at + 8 <= payload + 64; at += at == 80 ? payload - 80 : 4) {
      Bytes bytes = good;
      for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
      const MachineCode code(bytes);
      for (const CodeImage& image : code.images()) (void)WhyNot(code, image);
      EXPECT_LE(code.images().size(), 4U) << at;
    }
  }
}

TEST(MachineCodeTest, Lz4CopiesWhatItUnpacked) {
  const Bytes block{0x15, 'a', 1, 0, 0x10, 'b'};  // a, nine bytes from one byte before, b
  const Bytes expected = Literal("aaaaaaaaaab");
  EXPECT_EQ(UnpackLz4(block, 11, 11), expected);
  EXPECT_EQ(UnpackLz4(block, 11, 4), Literal("aaaa"));
  for (const std::uint64_t size : {10, 12}) EXPECT_THROW(UnpackLz4(block, size, size), Error) << size;
  EXPECT_THROW(UnpackLz4(Bytes{0x10, 'a', 2, 0, 0x10, 'b'}, 6, 6), Error) << "from before the beginning";
  EXPECT_THROW(UnpackLz4(Bytes{0xff, 0xff, 0xff}, std::uint64_t{1} << 30, std::uint64_t{1} << 30), Error);
}

TEST(MachineCodeTest, HostCodeHasNone) { EXPECT_TRUE(MachineCode(std::string("/bin/true")).images().empty()); }

}  // namespace
}  // namespace fa_profile::sass::machine_code_test
