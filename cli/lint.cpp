// fa-profile lint: from files with GPU code to what the compiler alone tells of their kernels.
#include "fa_profile/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "command.h"
#include "explain.h"
#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/gpu_code.h"
#include "fa_profile/kernel_code.h"
#include "fa_profile/kernel_pattern.h"
#include "terminal_options.h"

namespace fa_profile {
namespace {

const FindingRule& Rule(const std::string& id) {
  if (const FindingRule* rule = FindLintRule(id)) return *rule;
  std::vector<std::string> ids;
  for (const FindingRule& rule : LintRules()) ids.push_back(rule.id);
  std::string known;
  for (const std::string& each : ids) known += (known.empty() ? "" : ", ") + each;
  throw Error("lint has no finding '" + id + "'" + DidYouMean(id, ids), "its findings are " + known);
}

/// Reads files one after the other and lints those kernels that were asked for.
class Linter {
 public:
  explicit Linter(const LintCommand& command) : command_(command), pattern_(command.kernel_pattern) {
    const auto nvdisasm = FindNvdisasm();
    if (!nvdisasm) {
      throw Error("nvdisasm is missing, which lint reads machine code with",
                  "install NVIDIA's nvdisasm of CUDA 13 or later: ci/setup.sh fetches one, or set "
                  "FA_PROFILE_NVDISASM=/path/to/nvdisasm");
    }
    nvdisasm_ = *nvdisasm;
  }

  void Read(const std::string& file) {
    for (const EmbeddedCubin& cubin : ReadGpuCode(file, command_.architecture)) ReadCubinOf(file, cubin);
  }

  /// Throws when nothing was found.
  std::vector<KernelLint> Take() {
    if (!lints_.empty()) return std::move(lints_);
    if (others_.empty()) {
      throw Error("there is no kernel in the GPU code given", "give a file that has a __global__ function");
    }
    constexpr std::size_t kShown = 12;
    std::string known;
    std::size_t shown = 0;
    for (const std::string& name : others_) {
      if (shown++ < kShown) known += (known.empty() ? "" : ", ") + name;
    }
    if (others_.size() > kShown) known += fmt::format(" and {} more", others_.size() - kShown);
    throw Error("no kernel matches '" + command_.kernel_pattern + "'" +
                    DidYouMean(command_.kernel_pattern, {others_.begin(), others_.end()}),
                "the kernels are " + known);
  }

 private:
  void ReadCubinOf(const std::string& file, const EmbeddedCubin& cubin) {
    const CubinInfo info = ReadCubin(cubin.bytes);
    std::vector<KernelCode> codes;
    std::vector<std::string> wanted;
    for (const CubinFunction& function : info.functions) {
      if (!function.is_kernel) continue;
      const std::string name = Demangle(function.name.c_str());
      if (!pattern_.Finds(name)) {
        others_.insert(FunctionName(name));
        continue;
      }
      codes.push_back(ToKernelCode(file, cubin.architecture, info, function));
      wanted.push_back(function.name);
    }
    if (wanted.empty()) return;
    std::vector<DeviceFunction> functions = Disassemble(cubin.bytes, 0, nvdisasm_, wanted);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto function = std::ranges::find(functions, wanted[i], &DeviceFunction::name);
      if (function == functions.end()) throw Error("nvdisasm did not list the kernel " + wanted[i]);
      codes[i].function = std::move(*function);
      lints_.push_back(Lint(codes[i], command_.options));
    }
  }

  const LintCommand& command_;
  KernelPattern pattern_;
  std::string nvdisasm_;
  std::vector<KernelLint> lints_;
  std::set<std::string> others_;  // kernels that were not asked for
};

// A map that fits nothing was meant for other code; one that fits in part may be meant so.
void RequirePhases(const std::vector<KernelLint>& lints, const PhaseMap& map) {
  std::set<std::string> named;
  for (const KernelLint& lint : lints) {
    for (const PhaseCode& row : lint.phases) named.insert(row.phase);
  }
  named.erase(kUnattributed);
  if (named.empty()) {
    throw Error("the " + map.name + " names no instruction of these kernels",
                "lint without --phase-map names the places of findings; functions and lines need nvcc -lineinfo");
  }
  for (const PhaseRule& rule : map.rules) {
    if (named.contains(rule.phase)) continue;
    std::cerr << "fa-profile: phase '" << rule.phase << "' of the " << map.name << " names no instruction\n";
  }
}

}  // namespace

int RunLint(const LintCommand& command) {
  if (!command.explain.empty()) {
    ExplainRule(std::cout, Rule(command.explain), TerminalOptions().width);
    return kExitFine;
  }
  if (command.files.empty()) {
    throw Error("lint needs a file", "give a cubin, object file, program or library: fa-profile lint FILE...");
  }
  for (const std::string& id : command.fail_on) (void)Rule(id);

  Linter linter(command);
  for (const std::string& file : command.files) linter.Read(file);
  const std::vector<KernelLint> lints = linter.Take();
  if (command.options.phase_map) RequirePhases(lints, *command.options.phase_map);
  command.format->lint(std::cout, lints, TerminalOptions());

  std::string failed;
  for (const KernelLint& lint : lints) {
    for (const Finding& finding : lint.findings) {
      if (std::ranges::find(command.fail_on, finding.id) == command.fail_on.end()) continue;
      failed += fmt::format("fa-profile: {} in {}\n", finding.id, lint.name);
    }
  }
  std::cerr << failed;
  return failed.empty() ? kExitFine : kExitRegression;
}

void AddLint(CLI::App& app, Invocation& invocation) {
  struct Arguments {
    LintCommand lint;
  };
  const auto arguments = std::make_shared<Arguments>();
  LintCommand& lint = arguments->lint;
  CLI::App* const command = app.add_subcommand("lint", "What the compiler alone tells of kernels, without a GPU");
  command->add_option("files", lint.files, "Cubins, or objects, programs and libraries with cubins in them");
  command->add_option("--kernel", lint.kernel_pattern, "Kernels whose C++ name matches this regular expression");
  command->add_option("--arch", lint.architecture, "Only code for this architecture: sm_90a, 80");
  command
      ->add_option("--threads", lint.options.threads, "Threads of a block; default: what the kernel was compiled for")
      ->check(CLI::Range(1, 1024));
  command->add_option("--smem", lint.options.dynamic_shared_memory_bytes, "Bytes of dynamic shared memory of a block")
      ->check(CLI::Range(0, 1 << 20));
  AddFormatOption(*command, lint.format, &Format::lint);
  command->add_option("--fail-on", lint.fail_on, "Findings that make the exit code 1, comma-separated")
      ->delimiter(',')
      ->allow_extra_args(false);
  AddPhaseMap(*command, invocation);
  command->add_option("--explain", lint.explain, "Tell what a finding means, instead");
  command->callback([arguments, &invocation] {
    invocation.run = [arguments, &invocation] {
      arguments->lint.options.phase_map = ReadPhaseMap(invocation);
      return RunLint(arguments->lint);
    };
  });
}

}  // namespace fa_profile
