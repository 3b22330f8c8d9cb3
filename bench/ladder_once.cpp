// Launches each rung once per shape, and nothing else. Run it under another profiler to compare its values with ours.
//
//   fa_ladder_once [--shapes B,H,S,D;...] [--causal] [--repeat N] [--rungs a,b]
//   fa_ladder_once --kernel-lib FILE.so --program FA_PROFILE [--shapes NAME=VALUE,...;...] [--repeat N]
//
// The second form launches a library's kernel; FA_PROFILE is the program that describes the library.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fa_profile/error.h"
#include "fa_profile/library_child.h"
#include "rungs.h"

// Declared as in cuda_profiler_api.h, which the packages of ci/setup.sh lack.
extern "C" cudaError_t CUDARTAPI cudaProfilerStart();
extern "C" cudaError_t CUDARTAPI cudaProfilerStop();

namespace fa_profile {
namespace {

constexpr std::uint64_t kSeed = 1;

struct Options {
  std::vector<Shape> shapes;
  std::vector<std::string> rungs;  // empty: all
  std::string library;             // instead of rungs
  std::string program;
  int repeat = 1;
};

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

int ParseCount(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size() && count > 0) return count;
  throw Error("--repeat must be a positive number, not '" + text + "'");
}

Options Parse(const std::vector<std::string>& arguments) {
  std::string shapes = "1,8,512,64";
  bool causal = false;
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--causal") {
      causal = true;
      continue;
    }
    if (name != "--shapes" && name != "--rungs" && name != "--repeat" && name != "--kernel-lib" &&
        name != "--program") {
      throw Error("unknown argument '" + name + "'",
                  "the arguments are --shapes, --causal, --repeat, --rungs, --kernel-lib and --program");
    }
    if (++i == arguments.size()) throw Error(name + " needs a value");
    if (name == "--shapes") shapes = arguments[i];
    if (name == "--rungs") options.rungs = Split(arguments[i], ',');
    if (name == "--repeat") options.repeat = ParseCount(arguments[i]);
    if (name == "--kernel-lib") options.library = arguments[i];
    if (name == "--program") options.program = arguments[i];
  }
  if (options.library.empty() != options.program.empty() || (!options.library.empty() && !options.rungs.empty())) {
    throw Error("a library needs --kernel-lib and --program, and no --rungs");
  }
  for (const std::string& shape : Split(shapes, ';')) options.shapes.push_back(Shape::Parse(shape, causal));
  return options;
}

std::vector<const Kernel*> Select(const std::vector<std::string>& ids) {
  if (ids.empty()) return Ladder();
  std::vector<const Kernel*> selected;
  for (const std::string& id : ids) selected.push_back(&FindRung(id));
  return selected;
}

void Run(const std::vector<std::string>& arguments) {
  const Options options = Parse(arguments);
  std::unique_ptr<Kernel> library;
  if (!options.library.empty()) {
    library = LibraryKernel(options.library, AskForIdentity(options.library, {}, {}, options.program));
  }
  const std::vector<const Kernel*> kernels =
      library == nullptr ? Select(options.rungs) : std::vector<const Kernel*>{library.get()};
  for (const Shape& shape : options.shapes) {
    for (const Kernel* kernel : kernels) {
      const std::unique_ptr<Workload> workload = kernel->MakeWorkload(shape, kSeed);
      // Other kernels make the inputs: `ncu --profile-from-start off` only measures between these two calls.
      (void)cudaProfilerStart();
      for (int i = 0; i < options.repeat; ++i) workload->Launch(nullptr);
      const cudaError_t result = cudaDeviceSynchronize();
      (void)cudaProfilerStop();
      Check(result, "cudaDeviceSynchronize");
      std::printf("%s %s\n", kernel->id().c_str(), shape.ToString().c_str());
    }
  }
}

}  // namespace
}  // namespace fa_profile

int main(int argc, char** argv) { return fa_profile::RunMain("fa_ladder_once", argc, argv, fa_profile::Run); }
