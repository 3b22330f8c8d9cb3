#include "measured_call.h"

#include "branch_skid.h"
#include "fa_profile/demangle.h"
#include "fa_profile/measured_code.h"

namespace fa_profile::analyze {
namespace {

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

Measured FindMeasured(const Recording& recording, const ProfileEntry& entry) {
  Measured measured{FindPiece(recording.samplings, entry.case_id, entry.part),
                    FindPiece(recording.countings, entry.case_id, entry.part), true};
  if (measured.sampling != nullptr || measured.counting != nullptr || entry.part.empty()) return measured;
  return {FindPiece(recording.samplings, entry.case_id, {}), FindPiece(recording.countings, entry.case_id, {}), false};
}

CallParts::CallParts(const Recording& recording, std::int64_t case_id) {
  for (const Launch& launch : recording.launches) {
    if (launch.case_id != case_id || launch.part.empty()) continue;
    AddOnce(parts_, launch.part);
    AddOnce(by_kernel_[launch.kernel_name], launch.part);
  }
}

std::vector<std::string> CallParts::Of(const DeviceFunction& function) const {
  const auto found = by_kernel_.find(Demangle(function.name.c_str()));
  return found == by_kernel_.end() ? std::vector<std::string>() : found->second;
}

std::string CallParts::NameOf(const DeviceFunction& function) const {
  std::string text;
  for (const std::string& name : Of(function)) text += (text.empty() ? "" : " + ") + name;
  return text.empty() ? kUnattributed : text;
}

std::optional<std::vector<const DeviceFunction*>> CallParts::OnlyOf(const std::vector<const DeviceFunction*>& functions,
                                                                    const std::string& part) const {
  std::vector<const DeviceFunction*> own;
  for (const DeviceFunction* function : functions) {
    const std::vector<std::string> of = Of(*function);
    if (std::ranges::find(of, part) == of.end()) continue;
    if (of.size() > 1) return std::nullopt;
    own.push_back(function);
  }
  return own;
}

MeasuredCode FindMeasuredCode(const Recording& recording, const ProfileEntry& entry) {
  const Measured measured = FindMeasured(recording, entry);
  MeasuredCode code{measured, CallParts(recording, entry.case_id),
                    MeasuredFunctions(recording, {measured.sampling}, {measured.counting}), std::nullopt};
  if (measured.sampling != nullptr) {
    code.samples = measured.counting == nullptr
                       ? *measured.sampling
                       : WithoutBranchSkid(code.functions, *measured.sampling, *measured.counting);
  }
  return code;
}

std::string WhyNoCode(const Recording& recording) {
  std::string why = "the recording has no samples and no counts of its instructions";
  for (const DataLoss& loss : recording.losses) {
    if (loss.kind != "redacted" || loss.subject != "functions") continue;
    return why + "; fa-profile redact left out the machine code of " + std::to_string(loss.count) +
           (loss.count == 1 ? " function" : " functions");
  }
  const bool of_others = !recording.samplings.empty();
  if (of_others && !recording.watch_windows.empty()) {
    return why + "; of a program they are kept for kernels with at least 1 % of the samples";
  }
  return why + "; a run with --phases on takes them";
}

}  // namespace fa_profile::analyze
