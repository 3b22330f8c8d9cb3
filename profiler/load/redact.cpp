#include "fa_profile/redact.h"

#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "fa_profile/cubin.h"
#include "fa_profile/demangle.h"
#include "fa_profile/edit_text.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/line_table.h"
#include "fa_profile/recording_file.h"

namespace fa_profile::load {
namespace {

std::string LastName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// A path that reveals nothing about the machine: one below a repository stays.
std::string PortablePath(const std::string& path) {
  if (path.starts_with('/')) return LastName(path);
  std::string below = std::filesystem::path(path).lexically_normal().string();
  while (below.starts_with("../")) below.erase(0, 3);
  return below;
}

// Reduces every path in a text to its last name.
std::string WithoutFolders(std::string text) {
  static const re2::RE2 folders(R"((?:/|\b[\w.-]+/)(?:[^\s/:;,'"]+/)*)");
  (void)re2::RE2::GlobalReplace(&text, folders, "");
  return text;
}

// Texts by kind that become "kernel_1", "kernel_2", ... No blanks, which would end a return type.
class Numbers {
 public:
  const std::string& Of(const std::string& kind, const std::string& name) {
    const auto known = numbers_.find({kind, name});
    if (known != numbers_.end()) return known->second;
    const std::string number = kind + "_" + std::to_string(++last_[kind]);
    return numbers_.try_emplace({kind, name}, number).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

  // A text with every name in it replaced; nothing if it contains none.
  std::string In(std::string text) const {
    std::vector<std::pair<std::string, std::string>> names;  // longest first: one may be a part of another
    for (const auto& [key, number] : numbers_) {
      if (key.second.size() > 3) names.emplace_back(key.second, number);
    }
    std::ranges::stable_sort(names, [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    bool found = false;
    for (const auto& [name, number] : names) {
      found = found || text.find(name) != std::string::npos;
      text = Replaced(std::move(text), name, number);
    }
    return found ? text : "";
  }

 private:
  std::map<std::pair<std::string, std::string>, std::string> numbers_;
  std::map<std::string, int> last_;
};

void Lose(Recording& recording, const char* subject, const char* reason, std::size_t count) {
  if (count == 0) return;
  recording.losses.push_back({"redacted", subject, reason, static_cast<std::int64_t>(count)});
}

std::size_t RemoveCubins(Recording& recording, const auto& condition) {
  return std::erase_if(recording.cubins, condition);
}

// The functions that were measured for a kernel, whose name in the recording ("mma") may differ from theirs.
std::set<std::int64_t> FunctionsOfKernels(const Recording& recording, const KernelPattern& pattern) {
  std::set<std::int64_t> cases;
  for (const Case& entry : recording.cases) {
    if (pattern.Finds(entry.kernel)) cases.insert(entry.id);
  }
  std::set<std::int64_t> functions;
  const auto take = [&](std::int64_t case_id, const auto& entries) {
    if (!cases.contains(case_id)) return;
    for (const auto& entry : entries) functions.insert(entry.function_id);
  };
  for (const PcSampling& sampling : recording.samplings) take(sampling.case_id, sampling.samples);
  for (const SassCounting& counting : recording.countings) take(counting.case_id, counting.counts);
  return functions;
}

[[noreturn]] void RefuseKernels(const Recording& recording, const std::string& kernels, const KernelPattern& pattern) {
  std::set<std::string> names;
  for (const Case& entry : recording.cases) {
    if (pattern.Finds(entry.kernel)) {
      throw Error("the recording holds no machine code of kernels that match '" + kernels + "'",
                  "nothing was sampled of them: --code without --kernel leaves all machine code out");
    }
    names.insert(entry.kernel);
  }
  RefusePattern(kernels, {names.begin(), names.end()});
}

// Whether only entries that `is_gone` are left.
bool IsAllGone(const auto& entries, const auto& is_gone) { return std::ranges::all_of(entries, is_gone); }

// What was sampled or counted in functions that are gone, as one entry each: without it, the other functions of the
// call would take all of its time.
template <typename Entry>
void FoldEntries(std::vector<Entry>& entries, auto Entry::*values, const auto& is_gone) {
  std::map<std::int64_t, Entry> folded;
  for (const Entry& entry : entries) {
    if (!is_gone(entry)) continue;
    Entry& sum = folded.try_emplace(entry.function_id, Entry{entry.function_id, 0, {}}).first->second;
    for (const auto& [name, value] : entry.*values) (sum.*values)[name] += value;
  }
  std::erase_if(entries, is_gone);
  for (auto& [function, entry] : folded) entries.push_back(std::move(entry));
}

// Removes the code of functions, and their cubins. A call that ran no other function loses its samples and counts; in
// other calls the functions keep their names and sums. Returns how many.
std::size_t RemoveFunctions(Recording& recording, const auto& condition, std::size_t& cubins) {
  std::set<std::int64_t> functions;
  std::set<std::uint64_t> modules;
  for (const DeviceFunction& function : recording.functions) {
    if (!condition(function)) continue;
    functions.insert(function.id);
    modules.insert(function.cubin_crc);
  }
  const auto is_gone = [&](const auto& entry) { return functions.contains(entry.function_id); };
  std::erase_if(recording.samplings, [&](const PcSampling& sampling) { return IsAllGone(sampling.samples, is_gone); });
  std::erase_if(recording.countings, [&](const SassCounting& counting) { return IsAllGone(counting.counts, is_gone); });
  std::set<std::int64_t> named;
  const auto fold = [&](auto& entries, auto values) {
    FoldEntries(entries, values, is_gone);
    for (const auto& entry : entries) named.insert(entry.function_id);
  };
  for (PcSampling& sampling : recording.samplings) fold(sampling.samples, &PcSample::samples);
  for (SassCounting& counting : recording.countings) fold(counting.counts, &SassCount::values);
  std::erase_if(recording.functions, [&](const DeviceFunction& function) {
    return functions.contains(function.id) && !named.contains(function.id);
  });
  for (DeviceFunction& function : recording.functions) {
    if (functions.contains(function.id)) function.instructions.clear();
  }
  cubins += RemoveCubins(recording, [&](const Cubin& cubin) { return modules.contains(cubin.crc); });
  return functions.size();
}

std::size_t RemoveCode(Recording& recording, const std::string& kernels, std::size_t& cubins) {
  const KernelPattern pattern(kernels);
  const std::set<std::int64_t> of_cases = FunctionsOfKernels(recording, pattern);
  const std::size_t functions = RemoveFunctions(
      recording,
      [&](const DeviceFunction& function) {
        return of_cases.contains(function.id) || pattern.Finds(Demangle(function.name.c_str()));
      },
      cubins);
  // Otherwise a copy that still holds everything would be passed on.
  if (functions == 0 && !kernels.empty()) RefuseKernels(recording, kernels, pattern);
  if (kernels.empty()) cubins += RemoveCubins(recording, [](const Cubin&) { return true; });
  return functions;
}

// A cubin may contain more than what was sampled. One that cannot be read may contain anything.
bool HoldsClosedCode(const Cubin& cubin) {
  try {
    return std::ranges::any_of(sass::ReadCubin(cubin.bytes).functions, IsClosedCode, &sass::CubinFunction::name);
  } catch (const Error&) {
    return true;
  }
}

std::size_t RemoveClosedCode(Recording& recording, std::size_t& cubins) {
  std::set<std::uint64_t> closed;
  for (const Cubin& cubin : recording.cubins) {
    if (HoldsClosedCode(cubin)) closed.insert(cubin.crc);
  }
  const std::size_t functions = RemoveFunctions(
      recording,
      [&](const DeviceFunction& function) {
        return closed.contains(function.cubin_crc) || IsClosedCode(function.name);
      },
      cubins);
  cubins += RemoveCubins(recording, [&](const Cubin& cubin) { return closed.contains(cubin.crc); });
  return functions;
}

// Rewrites the paths in cubins. Returns how many cubins were left out because they contain others.
std::size_t RemovePathsOfCubins(Recording& recording) {
  return std::erase_if(recording.cubins, [](Cubin& cubin) {
    try {
      return !sass::RewriteSourcePaths(cubin.bytes, PortablePath);
    } catch (const Error&) {
      return true;
    }
  });
}

void RemovePaths(Recording& recording) {
  recording.session.command_line = "fa-profile (redacted)";
  for (Case& entry : recording.cases) entry.origin = LastName(entry.origin);
  for (Verification& verification : recording.verifications) {
    verification.error = WithoutFolders(std::move(verification.error));
    verification.where = WithoutFolders(std::move(verification.where));
  }
  for (Judgement& judgement : recording.judgements) judgement.reason = WithoutFolders(std::move(judgement.reason));
  for (DeviceFunction& function : recording.functions) {
    for (Instruction& instruction : function.instructions) {
      for (InlineFrame& frame : instruction.frames) frame.file = PortablePath(frame.file);
    }
  }
  for (SourceHash& source : recording.source_hashes) source.file = PortablePath(source.file);
  for (DataLoss& loss : recording.losses) {
    loss.subject = WithoutFolders(std::move(loss.subject));
    loss.reason = WithoutFolders(std::move(loss.reason));
  }
}

// "step / torch: mlp": numbers each range of the path by itself, which keeps the tree.
std::string NumberPath(const std::string& path, Numbers& numbers) {
  constexpr std::string_view kBetween = " / ";
  std::string result;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(kBetween, begin), path.size());
    if (!result.empty()) result += kBetween;
    result += numbers.Of("range", path.substr(begin, end - begin));
    begin = end + kBetween.size();
  }
  return result;
}

// Names of functions appear in the operands of calls and of data addresses.
bool HoldsName(const std::string& operands) {
  return operands.find_first_of("`$") != std::string::npos || operands.find("_Z") != std::string::npos;
}

// The parameters of a kernel library's case become p1, p2, ..., in losses too.
void NumberParameters(Recording& recording, Case& entry) {
  if (!entry.shape || entry.shape->parameters() == nullptr) return;
  std::vector<ShapeParameter> parameters = *entry.shape->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].name = "p" + std::to_string(i + 1);
  const std::string named = entry.shape->ToString();
  entry.shape = Shape(std::move(parameters));
  for (DataLoss& loss : recording.losses) {
    loss.subject = Replaced(loss.subject, named, entry.shape->ToString());
    loss.reason = Replaced(loss.reason, named, entry.shape->ToString());
  }
}

std::size_t RemoveNames(Recording& recording) {
  Numbers numbers;
  const auto part = [&](std::string& text) {
    if (!text.empty()) text = numbers.Of("part", text);
  };
  recording.session.command_line = "fa-profile (redacted)";
  for (DataLoss& loss : recording.losses) {
    loss.subject = Replaced(loss.subject, recording.device.uuid, "the GPU");
    loss.reason = Replaced(loss.reason, recording.device.uuid, "the GPU");
  }
  recording.device.uuid.clear();
  std::map<std::int64_t, std::string> full_names;  // name of the kernel that a program's case is
  for (Launch& launch : recording.launches) {
    full_names.try_emplace(launch.case_id, launch.kernel_name);
    launch.kernel_name = numbers.Of("kernel", launch.kernel_name);
    part(launch.part);
  }
  for (Case& entry : recording.cases) {
    NumberParameters(recording, entry);
    if (entry.kernel.starts_with(kGraphCase)) continue;  // it has no name
    const std::size_t configuration = std::min(entry.kernel.find("<<<"), entry.kernel.size());
    const std::string name = entry.kernel.substr(0, configuration);
    const bool is_class = entry.origin == "program" && full_names.contains(entry.id);
    const std::string number = numbers.Of("kernel", is_class ? full_names[entry.id] : name);
    entry.kernel = number + entry.kernel.substr(configuration);
    (void)numbers.Of("kernel_name", name);  // for losses
    if (entry.origin != "program" && entry.origin != "ladder") entry.origin = numbers.Of("library", entry.origin);
  }
  for (Verification& verification : recording.verifications) {
    if (!verification.error.empty()) verification.error = "redacted";
    if (!verification.where.empty()) verification.where = "redacted";
  }
  for (Judgement& judgement : recording.judgements) {  // they may name tensors
    if (!judgement.reason.empty()) judgement.reason = "redacted";
    if (!judgement.weak_tolerance.empty()) judgement.weak_tolerance = "redacted";
  }
  for (Timing& timing : recording.timings) part(timing.part);
  for (NvtxRange& range : recording.nvtx_ranges) {
    range.domain.clear();
    range.name = numbers.Of("range", range.name);
  }
  for (NvtxWork& work : recording.nvtx_work) work.path = NumberPath(work.path, numbers);
  for (NvtxKernelWork& work : recording.nvtx_kernel_work) work.path = NumberPath(work.path, numbers);
  for (Range& range : recording.ranges) {
    part(range.part);
    range.name = numbers.Of("measured", range.name);
  }
  for (PcSampling& sampling : recording.samplings) part(sampling.part);
  for (SassCounting& counting : recording.countings) part(counting.part);
  for (DeviceFunction& function : recording.functions) {
    function.name = numbers.Of("kernel", Demangle(function.name.c_str()));
    for (Instruction& instruction : function.instructions) {
      if (HoldsName(instruction.operands)) instruction.operands.clear();
      for (InlineFrame& frame : instruction.frames) {
        frame.function = numbers.Of("function", frame.function);
        frame.file = numbers.Of("file", frame.file);
      }
    }
  }
  recording.source_hashes.clear();  // the hashes would identify the file to anyone who has it
  // A loss of counters names a metric; any other may name anything.
  for (DataLoss& loss : recording.losses) {
    if (!loss.kind.starts_with("metric_")) loss.subject = numbers.In(std::move(loss.subject));
    if (const std::string reason = numbers.In(loss.reason); !reason.empty()) loss.reason = reason;
  }
  return numbers.size();
}

}  // namespace

bool IsClosedCode(const std::string& function) {
  // Names of the libraries, and those that they give to generated kernels. CUTLASS itself is open; kernels named after
  // a configuration of it ("cutlass_80_tensorop_...") are the libraries'.
  static const re2::RE2 closed(
      R"((?:\b|\d)(?:cublas|cudnn|cusolver|cusparse|cufft|cutensor|tensorrt|myelin|nvjet_|gemmSN|gemmNS|gemv2[TN]|)"
      R"(gemvNSP|gemmk1|splitKreduce|implicit_convolve|cutlass(?:\dx)?_(?:sm)?\d+_(?:wmma_)?(?:simt|tensorop)|)"
      R"((?:kepler|maxwell|pascal|volta|turing|ampere|hopper|blackwell)_\w*(?:gemm|cudnn))|xmma_(?:gemm|fprop|conv|new))");
  return re2::RE2::PartialMatch(function, closed);
}

Redacted Redact(Recording& recording, const Redaction& redaction) {
  Redacted redacted;
  if (redaction.code) redacted.functions = RemoveCode(recording, redaction.kernels, redacted.cubins);
  if (redaction.closed_code) redacted.functions += RemoveClosedCode(recording, redacted.cubins);
  if (redaction.names) redacted.cubins += RemoveCubins(recording, [](const Cubin&) { return true; });
  if (redaction.paths) {
    redacted.cubins += RemovePathsOfCubins(recording);
    RemovePaths(recording);
  }
  if (redaction.names) redacted.names = RemoveNames(recording);
  if (redaction.names || redaction.raw) {
    for (Range& range : recording.ranges) range.image_id = 0;
  }
  Lose(recording, "functions",
       "code removed by redact: they have no phases of their own and no findings of instructions", redacted.functions);
  Lose(recording, "cubins", "left out: phases cannot be cut again with nvdisasm", redacted.cubins);
  Lose(recording, "names", "kernels, ranges and functions have numbers: there are no phases by function",
       redacted.names);
  if (redaction.paths)
    Lose(recording, "paths", "absolute paths have their last name alone; the command line was left out", 1);
  if (redaction.names || redaction.raw) {
    Lose(recording, "raw counter data", "left out: other metrics cannot be evaluated", 1);
  }
  return redacted;
}

Redacted RedactFile(const std::string& from, const std::string& to, const Redaction& redaction, bool overwrite) {
  std::error_code other;
  if (std::filesystem::equivalent(from, to, other)) {
    throw Error(to + " is the recording itself", "give another path: the original is not replaced");
  }
  const store::RecordingReader reader(from);
  Recording recording = reader.Load(store::LoadOptions{{}, true, true});
  if (!recording.session.complete) {
    throw Error(from + " comes from a killed run; redact needs a finished one",
                "measure again, and let the program end");
  }
  const Redacted redacted = Redact(recording, redaction);
  store::RecordingWriter writer(to, overwrite);
  store::WriteRecording(recording, redaction.names || redaction.raw ? nullptr : &reader, writer);
  writer.Finish();
  return redacted;
}

}  // namespace fa_profile::load
