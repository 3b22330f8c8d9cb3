#include "test_files.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace fs = std::filesystem;

namespace fa_profile {

TestFolder::TestFolder() {
  std::string name = (fs::temp_directory_path() / "fa-profile-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TestFolder::Write(const std::string& name, std::string_view bytes) const {
  const fs::path part = path_ / (name + ".part");
  WriteFile(part, bytes);
  fs::rename(part, path_ / name);
  return *this / name;
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << "cannot read " << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes << std::flush;
  EXPECT_TRUE(file.good()) << "cannot write " << path;
}

std::string ReadSourceFile(const std::string& path) { return ReadFile(fs::path(FA_PROFILE_SOURCE) / path); }

testing::AssertionResult Contains(std::string_view text, std::string_view part) {
  const bool is_there = text.find(part) != std::string_view::npos;
  return testing::AssertionResult(is_there) << "'" << part << "' is " << (is_there ? "" : "not ") << "in: " << text;
}

void ExpectGolden(const std::string& path, const std::string& text) {
  if (getenv("FA_PROFILE_UPDATE_GOLDEN") != nullptr) return WriteFile(fs::path(FA_PROFILE_SOURCE) / path, text);
  EXPECT_EQ(text, ReadSourceFile(path)) << path << " differs; FA_PROFILE_UPDATE_GOLDEN=1 writes it anew";
}

}  // namespace fa_profile
