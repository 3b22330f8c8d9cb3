#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "fa_profile/recording.h"

namespace fa_profile {

/// Adds `text` to every text of a recording that its run, not this program, chose. Texts that refer to one another stay
/// the same text.
inline void AddToEveryText(Recording& recording, const std::string& text) {
  const auto add = [&](auto&... texts) { ((texts += text), ...); };
  Session& session = recording.session;
  add(session.tool_version, session.tool_commit, session.created_at, session.command_line, session.metric_set,
      session.replay_mode, session.cache_policy);
  Device& device = recording.device;
  add(device.name, device.chip, device.uuid, device.driver_version, device.cuda_driver_version,
      device.cuda_runtime_version, device.cupti_version);
  for (Case& each : recording.cases) add(each.kernel, each.origin);
  for (Verification& each : recording.verifications) {
    if (!each.correct()) add(each.error);
  }
  for (Judgement& each : recording.judgements) add(each.reason, each.weak_tolerance);
  const auto add_to_part = [&](auto& pieces) {
    for (auto& each : pieces) {
      if (!each.part.empty()) add(each.part);
    }
  };
  add_to_part(recording.timings);
  add_to_part(recording.launches);
  add_to_part(recording.ranges);
  for (Timing& each : recording.timings) add(each.method);
  for (Launch& each : recording.launches) add(each.kernel_name);
  for (Range& each : recording.ranges) add(each.name);
  for (DeviceFunction& function : recording.functions) {
    for (Instruction& instruction : function.instructions) {
      add(instruction.predicate, instruction.opcode, instruction.operands);
      for (InlineFrame& frame : instruction.frames) add(frame.file);
    }
  }
  for (PcSampling& sampling : recording.samplings) {
    for (PcSample& sample : sampling.samples) {
      std::map<std::string, std::uint64_t> renamed;
      for (const auto& [reason, count] : sample.samples) renamed[reason == "selected" ? reason : reason + text] = count;
      sample.samples = std::move(renamed);
    }
  }
  for (NvtxWork& each : recording.nvtx_work) add(each.path);
  for (NvtxKernelWork& each : recording.nvtx_kernel_work) add(each.path);
  for (PmSample& each : recording.pm_samples) add(each.metric);
  for (SourceHash& each : recording.source_hashes) add(each.file);
  for (MemoryWork& each : recording.memory_work) add(each.kind);
  for (DataLoss& each : recording.losses) add(each.kind, each.subject, each.reason);
}

}  // namespace fa_profile
