#include "fa_profile/code_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fa_profile/error.h"
#include "sample_cubins.h"
#include "test_files.h"

namespace fa_profile::load::code_files_test {
namespace {

namespace fs = std::filesystem;

struct ZipEntry {
  std::string name;
  std::string bytes;
};

void WriteEntries(archive* writer, const fs::path& path, const std::vector<ZipEntry>& entries) {
  ASSERT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK) << archive_error_string(writer);
  for (const ZipEntry& entry : entries) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> header(archive_entry_new(), archive_entry_free);
    archive_entry_set_pathname(header.get(), entry.name.c_str());
    archive_entry_set_filetype(header.get(), AE_IFREG);
    archive_entry_set_perm(header.get(), 0644);
    archive_entry_set_size(header.get(), static_cast<la_int64_t>(entry.bytes.size()));
    ASSERT_EQ(archive_write_header(writer, header.get()), ARCHIVE_OK) << archive_error_string(writer);
    archive_write_data(writer, entry.bytes.data(), entry.bytes.size());
  }
  ASSERT_EQ(archive_write_close(writer), ARCHIVE_OK);
}

void WriteZip(const fs::path& path, const std::vector<ZipEntry>& entries, bool encrypted = false) {
  const std::unique_ptr<archive, int (*)(archive*)> zip(archive_write_new(), archive_write_free);
  archive_write_set_format_zip(zip.get());
  if (encrypted) {
    archive_write_set_options(zip.get(), "zip:encryption=traditional");
    archive_write_set_passphrase(zip.get(), "secret");
  }
  WriteEntries(zip.get(), path, entries);
}

class CodeFilesTest : public FolderTest {
 protected:
  void Read(const fs::path& package, const PackageLimits& limits = {}) {
    ForEachCodeFile(
        package.string(),
        [&](const std::string& name, const std::string& path) {
          taken_.push_back(name);
          bytes_.push_back(ReadFile(path));
          at_ = path;
        },
        [&](const std::string& name, const std::string& why) { skipped_.push_back(name + ": " + why); }, limits);
  }
  std::string ErrorOf(const fs::path& package, const PackageLimits& limits = {}) {
    try {
      Read(package, limits);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << error.message();
      return error.message();
    }
    return "no error";
  }

  /// The bytes of a zip archive.
  std::string Zip(const std::vector<ZipEntry>& entries, bool encrypted = false) const {
    WriteZip(folder_ / "made.zip", entries, encrypted);
    return ReadFile(folder_ / "made.zip");
  }
  using Filter = int (*)(archive*);
  /// The bytes of a compressed tar archive.
  std::string Tar(Filter filter, const std::vector<ZipEntry>& entries) const {
    const std::unique_ptr<archive, int (*)(archive*)> tar(archive_write_new(), archive_write_free);
    archive_write_set_format_ustar(tar.get());
    EXPECT_EQ(filter(tar.get()), ARCHIVE_OK);
    WriteEntries(tar.get(), folder_ / "made.tar", entries);
    return ReadFile(folder_ / "made.tar");
  }
  /// One file, compressed.
  std::string Compressed(Filter filter, const std::string& bytes) const {
    const std::unique_ptr<archive, int (*)(archive*)> file(archive_write_new(), archive_write_free);
    archive_write_set_format_raw(file.get());
    EXPECT_EQ(filter(file.get()), ARCHIVE_OK);
    WriteEntries(file.get(), folder_ / "made.gz", {{"data", bytes}});
    return ReadFile(folder_ / "made.gz");
  }
  /// Reads these files in a wheel, and then in a folder, which must give the same.
  void ReadBoth(const std::vector<ZipEntry>& entries, const PackageLimits& limits = {}) {
    WriteZip(folder_ / "both.whl", entries);
    fs::remove_all(folder_ / "both");
    for (const ZipEntry& entry : entries) {
      fs::create_directories((folder_ / "both" / entry.name).parent_path());
      WriteFile(folder_ / "both" / entry.name, entry.bytes);
    }
    taken_.clear();
    skipped_.clear();
    Read(folder_ / "both", limits);
    const std::vector<std::string> taken = std::exchange(taken_, {});
    const std::vector<std::string> skipped = std::exchange(skipped_, {});
    bytes_.clear();
    Read(folder_ / "both.whl", limits);
    EXPECT_EQ(taken, taken_);
    EXPECT_EQ(skipped, skipped_);
  }

  const std::string cubin_ = [] {
    const std::vector<std::uint8_t> bytes = SampleCubin("sm_90a.cubin");
    return std::string(bytes.begin(), bytes.end());
  }();
  std::vector<std::string> taken_;
  std::vector<std::string> bytes_;
  std::vector<std::string> skipped_;
  std::string at_;
};

using Names = std::vector<std::string>;

TEST_F(CodeFilesTest, AWheelGivesItsFilesWithCode) {
  WriteZip(folder_ / "a.whl", {{"package/kernels.cubin", cubin_},
                               {"package/__init__.py", "import torch\n"},
                               {"package/empty.so", ""},
                               {"package/host.so", std::string("\x7f") + "ELF\x02 without a section for fatbins"},
                               {"package/deep/library.a", "!<arch>\n" + cubin_}});
  Read(folder_ / "a.whl");
  EXPECT_EQ(taken_, (Names{"package/kernels.cubin", "package/deep/library.a"}));
  EXPECT_EQ(bytes_.front(), cubin_);
  EXPECT_EQ(skipped_, Names{});
  EXPECT_FALSE(fs::exists(at_)) << "unpacked files are removed";
}

TEST_F(CodeFilesTest, CodeIsFoundWhateverTheFilesNameAndFirstBytes) {
  const std::string edge(65534, 'x');  // the cubin's first bytes are in two of the chunks that are unpacked
  const std::string far(1'000'000, 'P');
  ReadBoth({{"p/a.pyd", "MZ" + std::string(300, '\0') + cubin_},
            {"p/data.bin", "abc" + cubin_},
            {"p/edge", edge + cubin_},
            {"p/far.py", far + cubin_},
            {"p/text.csv", far + "\x7f"
                                 "EL"}});
  EXPECT_EQ(taken_, (Names{"p/a.pyd", "p/data.bin", "p/edge", "p/far.py"}));
  EXPECT_EQ(skipped_, Names{});
  ASSERT_EQ(bytes_.size(), 4U);
  EXPECT_EQ(bytes_[1].substr(3), cubin_);
  EXPECT_EQ(bytes_[2].size(), edge.size() + cubin_.size());
  EXPECT_EQ(bytes_[2].substr(edge.size()), cubin_);
  EXPECT_EQ(bytes_[3].substr(far.size()), cubin_);
}

TEST_F(CodeFilesTest, ArchivesInsideAreOpenedAndOrdinaryDataGivesNothing) {
  const std::string inner = Zip({{"deep/k.so", cubin_}, {"readme", "text"}});
  const std::string csv(100'000, '7');
  ReadBoth({{"p/a.zip", inner},
            {"p/b.tar.gz", Tar(archive_write_add_filter_gzip, {{"./k.cubin", cubin_}, {"x.csv", csv}})},
            {"p/c.tar.xz", Tar(archive_write_add_filter_xz, {{"k.cubin", cubin_}})},
            {"p/d.tar", Tar(archive_write_add_filter_none, {{"k.cubin", cubin_}})},
            {"p/e.cubin.zst", Compressed(archive_write_add_filter_zstd, "abc" + cubin_)},
            {"p/f.cubin.bz2", Compressed(archive_write_add_filter_bzip2, cubin_)},
            {"p/g.zip", Zip({{"inner.zip", inner}})},
            {"p/h.csv.gz", Compressed(archive_write_add_filter_gzip, csv)},
            {"p/i.zip", Zip({{"x.csv", csv}})},
            {"p/j.empty.gz", Compressed(archive_write_add_filter_gzip, "")},
            {"p/k.program", std::string("#!/bin/sh\n") + inner}});
  EXPECT_EQ(taken_, (Names{"p/a.zip/deep/k.so", "p/b.tar.gz/./k.cubin", "p/c.tar.xz/k.cubin", "p/d.tar/k.cubin",
                           "p/e.cubin.zst/e.cubin", "p/f.cubin.bz2/f.cubin", "p/g.zip/inner.zip/deep/k.so",
                           "p/k.program/deep/k.so"}));
  EXPECT_EQ(skipped_, Names{});
}

TEST_F(CodeFilesTest, WhatCannotBeOpenedIsSearchedAsItIs) {
  ReadBoth({{"p/a.zip", "PK\x03\x04 is cut off" + cubin_},
            {"p/b.gz", "\x1f\x8b\x08" + cubin_},
            {"p/c.zip", Zip({{"x.csv", "text"}}).substr(0, 40)},
            {"p/d.bz2", "BZh, the river" + cubin_}});
  EXPECT_EQ(taken_, (Names{"p/a.zip", "p/b.gz", "p/d.bz2"}));
  EXPECT_EQ(skipped_, Names{});
}

TEST_F(CodeFilesTest, AnArchiveThatIsEncryptedDamagedOrTooDeepIsNamed) {
  std::string deep = Zip({{"k.cubin", cubin_}});
  for (int i = 0; i < 3; ++i) deep = Zip({{"z", deep}});
  std::string damaged = Compressed(archive_write_add_filter_gzip, cubin_);
  damaged.resize(damaged.size() / 2);
  ReadBoth({{"p/a.zip", deep}, {"p/b.zip", Zip({{"k.cubin", cubin_}}, /*encrypted=*/true)}, {"p/c.cubin.gz", damaged}});
  EXPECT_EQ(taken_, Names{});
  ASSERT_EQ(skipped_.size(), 3U);
  EXPECT_EQ(skipped_[0], "p/a.zip/z/z/z: it lies more than 3 archives deep");
  EXPECT_EQ(skipped_[1], "p/b.zip/k.cubin: it is encrypted");
  EXPECT_TRUE(skipped_[2].starts_with("p/c.cubin.gz: it cannot be unpacked: ")) << skipped_[2];
}

TEST_F(CodeFilesTest, ArchivesOfArchivesAreBoundedTogether) {
  const std::string zeros(1'000'000, '\0');
  std::vector<ZipEntry> bombs;
  for (int i = 0; i < 10; ++i) bombs.push_back({"z" + std::to_string(i), zeros});
  const std::string bomb = Zip(bombs);
  ReadBoth({{"p/a.zip", bomb}, {"p/b.zip", bomb}}, {.unpacked_bytes = 15'500'000});
  EXPECT_EQ(skipped_.size(), 1U) << "the rest is named once";
  EXPECT_TRUE(skipped_[0].starts_with("p/b.zip/z") &&
              skipped_[0].find("the package unpacks to more than ") != std::string::npos)
      << skipped_[0];
  ReadBoth({{"p/a.zip", bomb}, {"p/b.zip", bomb}}, {.archive_entries = 15});
  EXPECT_EQ(skipped_, Names{"p/b.zip: the archives have more than 15 files, and the rest was not read"});
  ReadBoth({{"p/a.zip", bomb}}, {.file_bytes = 500'000});
  EXPECT_EQ(skipped_.size(), 10U);
}

TEST_F(CodeFilesTest, AnUnpackedFileHasNoNameThatASignalCouldLeaveBehind) {
  WriteZip(folder_ / "a.whl", {{"package/kernels.cubin", cubin_}});
  fs::create_directories(folder_ / "temporary");
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", (folder_ / "temporary").c_str(), 1);
  int taken = 0;
  ForEachCodeFile((folder_ / "a.whl").string(),
                  [&](const std::string&, const std::string& path) {
                    ++taken;
                    EXPECT_EQ(ReadFile(path), cubin_);
                    EXPECT_TRUE(fs::is_empty(folder_ / "temporary"));
                  },
                  [](const std::string&, const std::string& why) { ADD_FAILURE() << why; });
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(taken, 1);
}

TEST_F(CodeFilesTest, AFolderGivesTheSameAndFollowsNoLinks) {
  fs::create_directories(folder_ / "package/deep");
  fs::create_directories(folder_ / "outside");
  std::ofstream(folder_ / "package/deep/b.cubin", std::ios::binary) << cubin_;
  std::ofstream(folder_ / "package/a.cubin", std::ios::binary) << cubin_;
  std::ofstream(folder_ / "package/a.py") << "import torch\n";
  std::ofstream(folder_ / "outside/c.cubin", std::ios::binary) << cubin_;
  fs::create_symlink(folder_ / "outside/c.cubin", folder_ / "package/link.cubin");
  fs::create_directory_symlink(folder_ / "outside", folder_ / "package/linked");
  Read(folder_ / "package");
  EXPECT_EQ(taken_, (Names{"a.cubin", "deep/b.cubin"}));
  EXPECT_EQ(skipped_, Names{});
}

/// Root may read every folder: another user reads here, where a test runs as root.
class OtherUser {
 public:
  OtherUser() {
    if (is_root_) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~OtherUser() {
    if (is_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  bool is_root_ = geteuid() == 0;
};

TEST_F(CodeFilesTest, AFolderThatCannotBeReadIsNamedAndTheOthersAreRead) {
  for (const char* const name : {"a", "locked", "z"}) {
    fs::create_directories(folder_ / "package" / name);
    std::ofstream(folder_ / "package" / name / "k.cubin", std::ios::binary) << cubin_;
  }
  fs::permissions(folder_, fs::perms(0755));
  fs::permissions(folder_ / "package/locked", fs::perms::none);
  {
    const OtherUser user;
    Read(folder_ / "package");
    EXPECT_EQ(taken_, (Names{"a/k.cubin", "z/k.cubin"}));
    EXPECT_EQ(skipped_, Names{"locked: the folder cannot be read: Permission denied"});
    EXPECT_NE(ErrorOf(folder_ / "package/locked").find("locked: Permission denied"), std::string::npos);
  }
  fs::permissions(folder_ / "package/locked", fs::perms(0755));
}

TEST_F(CodeFilesTest, AFolderThatLiesTooDeepIsNamed) {
  fs::create_directories(folder_ / "package/a/b/c");
  std::ofstream(folder_ / "package/a/b/k.cubin", std::ios::binary) << cubin_;
  Read(folder_ / "package", {.folder_depth = 2});
  EXPECT_EQ(taken_, Names{"a/b/k.cubin"});
  EXPECT_EQ(skipped_, Names{"a/b/c: it lies more than 2 folders deep"});
}

TEST_F(CodeFilesTest, FilesWithNamesInAnyLanguageAreRead) {
  const std::string greek = "p/\xce\xb1.cubin";
  const std::string latin = "p/\xe9.cubin";
  const auto mark_as_utf8 = [](std::string zip) {  // bit 11 of the flags, in both of a file's headers
    for (const auto& [header, flags] : {std::pair{"PK\x03\x04", 6}, std::pair{"PK\x01\x02", 8}}) {
      for (std::size_t at = zip.find(header); at != std::string::npos; at = zip.find(header, at + 4)) {
        zip[at + flags + 1] = static_cast<char>(zip[at + flags + 1] | 0x08);
      }
    }
    return zip;
  };
  for (const bool marked : {false, true}) {
    SCOPED_TRACE(marked);
    taken_.clear();
    WriteZip(folder_ / "a.whl", {{greek, cubin_}, {latin, cubin_}});
    if (marked) WriteFile(folder_ / "a.whl", mark_as_utf8(ReadFile(folder_ / "a.whl")));
    Read(folder_ / "a.whl");
    ASSERT_EQ(taken_.size(), 2U);
    EXPECT_EQ(taken_[0], greek);
    EXPECT_EQ(taken_[1], marked ? "file 2 of the archive, whose name is not UTF-8" : latin);
    EXPECT_EQ(skipped_, Names{});
  }
}

TEST_F(CodeFilesTest, ALibraryThatIsCutOffMayHoldCode) {
  const std::string program = ReadFile("/bin/true");
  fs::create_directories(folder_ / "package");
  WriteFile(folder_ / "package/cut.so", program.substr(0, program.size() / 2));
  WriteFile(folder_ / "package/whole.so", program);
  Read(folder_ / "package");
  EXPECT_EQ(taken_, Names{"cut.so"}) << "whoever reads it tells why it cannot be read";
  EXPECT_EQ(skipped_, Names{});
}

TEST_F(CodeFilesTest, NamesOfAnArchiveLeadNowhere) {
  WriteZip(
      folder_ / "a.whl",
      {{"/tmp/absolute.cubin", cubin_}, {"../up.cubin", cubin_}, {"a/../../b.cubin", cubin_}, {"ok.cubin", cubin_}});
  Read(folder_ / "a.whl");
  EXPECT_EQ(taken_, Names{"ok.cubin"});
  EXPECT_EQ(skipped_.size(), 3U);
  EXPECT_FALSE(fs::exists(folder_.parent_path() / "up.cubin"));
  EXPECT_FALSE(fs::exists("/tmp/absolute.cubin"));
}

TEST_F(CodeFilesTest, EncryptedFilesAreSkipped) {
  WriteZip(folder_ / "a.whl", {{"secret.cubin", cubin_}}, /*encrypted=*/true);
  Read(folder_ / "a.whl");
  EXPECT_EQ(taken_, Names{});
  EXPECT_EQ(skipped_, Names{"secret.cubin: it is encrypted"});
}

TEST_F(CodeFilesTest, WhatUnpacksToMoreThanTheLimitIsSkipped) {
  const std::string bomb = cubin_ + std::string(3'000'000, '\0');
  WriteZip(folder_ / "a.whl", {{"bomb.cubin", bomb}, {"ok.cubin", cubin_}});
  EXPECT_LT(fs::file_size(folder_ / "a.whl"), bomb.size() / 20);
  Read(folder_ / "a.whl", {.file_bytes = 1'000'000});
  EXPECT_EQ(taken_, Names{"ok.cubin"});
  EXPECT_EQ(skipped_.size(), 1U);
  EXPECT_TRUE(skipped_.front().starts_with("bomb.cubin: it has more than ")) << skipped_.front();
}

TEST_F(CodeFilesTest, ManySmallFilesAreBoundedTogether) {
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 20; ++i) entries.push_back({"f" + std::to_string(i) + ".cubin", cubin_});
  WriteZip(folder_ / "a.whl", entries);
  Read(folder_ / "a.whl", {.unpacked_bytes = 5 * cubin_.size()});
  EXPECT_EQ(taken_.size(), 5U);
  EXPECT_EQ(skipped_.size(), 1U) << "the rest is told once";
}

TEST_F(CodeFilesTest, AListOfFilesThatIsTooLongIsRefused) {
  std::vector<ZipEntry> entries;
  for (int i = 0; i < 3'000; ++i) entries.push_back({std::string(200, 'x') + std::to_string(i), "text"});
  WriteZip(folder_ / "a.whl", entries);
  EXPECT_NE(ErrorOf(folder_ / "a.whl", {.directory_bytes = 200'000}).find("list of files is too large"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(folder_ / "a.whl"), "no error");
}

TEST_F(CodeFilesTest, ATruncatedOrDamagedArchiveIsOneErrorOrASkip) {
  WriteZip(folder_ / "a.whl", {{"a.cubin", cubin_}, {"b.cubin", cubin_}});
  const std::string whole = ReadFile(folder_ / "a.whl");
  for (std::size_t kept = 0; kept < whole.size(); kept += 97) {
    std::ofstream(folder_ / "cut.whl", std::ios::binary) << whole.substr(0, kept);
    EXPECT_NE(ErrorOf(folder_ / "cut.whl"), "no error") << kept << " bytes";
  }
  EXPECT_EQ(taken_, Names{});
  // Bytes that changed: read, skipped or refused, and never more files than there are.
  for (std::size_t at = 0; at < whole.size(); at += 61) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x5a);
    std::ofstream(folder_ / "changed.whl", std::ios::binary) << changed;
    taken_.clear();
    (void)ErrorOf(folder_ / "changed.whl");
    EXPECT_LE(taken_.size(), 2U);
  }
}

TEST_F(CodeFilesTest, WhatIsNoPackageIsAnError) {
  std::ofstream(folder_ / "text.whl") << "not a zip archive, and longer than the end of one would be: "
                                      << std::string(100, '.');
  EXPECT_NE(ErrorOf(folder_ / "text.whl").find("text.whl"), std::string::npos);
  std::ofstream(folder_ / "a.so", std::ios::binary) << cubin_;
  try {
    Read(folder_ / "a.so");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "read one file with: fa-profile lint " + (folder_ / "a.so").string());
  }
  EXPECT_NE(ErrorOf(folder_ / "missing.whl").find("missing.whl"), std::string::npos);
}

}  // namespace
}  // namespace fa_profile::load::code_files_test
