// Runs a fuzz target over files, without libFuzzer: run_corpus DIRECTORY...
// A crash or a sanitizer's report is a failure, and so is a file under DIRECTORY/good that the target does not accept,
// or one under DIRECTORY/refused that it does: a seed that is rejected at once would test nothing after that check.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Defined by targets whose corpus has such directories.
extern "C" [[gnu::weak]] bool FuzzTargetAccepts(const std::uint8_t* data, std::size_t size);

namespace {

// Whether the target judges the file as its directory, directly under the corpus, says.
bool IsJudgedRight(const std::string& directory, const std::uint8_t* data, std::size_t size) {
  if (directory != "good" && directory != "refused") return true;
  return FuzzTargetAccepts != nullptr && FuzzTargetAccepts(data, size) == (directory == "good");
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t files = 0;
  std::size_t failures = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
      std::printf("%s\n", entry.path().c_str());
      LLVMFuzzerTestOneInput(data, bytes.size());
      ++files;
      const std::string directory = *std::filesystem::relative(entry.path(), argv[i]).begin();
      if (!IsJudgedRight(directory, data, bytes.size())) {
        std::printf("  FAILED: it is not %s\n", directory == "good" ? "accepted" : "refused");
        ++failures;
      }
    }
  }
  std::printf("%zu files, %zu failures\n", files, failures);
  return files == 0 || failures > 0 ? 1 : 0;
}
