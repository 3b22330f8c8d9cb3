#include "validate.h"

#include <cstdint>
#include <initializer_list>

#include "fields.h"

namespace fa_profile::store {

void Validate(const Session& session) {
  Fields("session")
      .Text("tool_version", session.tool_version)
      .Text("tool_commit", session.tool_commit)
      .Text("created_at", session.created_at)
      .Text("command_line", session.command_line)
      .Text("metric_set", session.metric_set)
      .Text("replay_mode", session.replay_mode)
      .Text("cache_policy", session.cache_policy)
      .Count("warmup_launches", session.warmup_launches)
      .Count("timed_launches", session.timed_launches)
      .Count("draws", session.draws);
}

void Validate(const Device& device) {
  Fields("device")
      .Count("ordinal", device.ordinal)
      .Text("name", device.name)
      .Text("chip", device.chip)
      .Text("uuid", device.uuid)
      .Count("compute_capability_major", device.compute_capability_major)
      .Count("compute_capability_minor", device.compute_capability_minor)
      .Count("sm_count", device.sm_count)
      .Count("warp_size", device.warp_size)
      .Count("max_threads_per_sm", device.max_threads_per_sm)
      .Count("max_blocks_per_sm", device.max_blocks_per_sm)
      .Count("registers_per_sm", device.registers_per_sm)
      .Count("shared_memory_per_sm_bytes", device.shared_memory_per_sm_bytes)
      .Count("shared_memory_per_block_optin_bytes", device.shared_memory_per_block_optin_bytes)
      .Count("reserved_shared_memory_per_block_bytes", device.reserved_shared_memory_per_block_bytes)
      .Count("l2_bytes", device.l2_bytes)
      .Count("memory_bytes", device.memory_bytes)
      .Count("sm_clock_max_hz", device.sm_clock_max_hz)
      .Count("memory_clock_max_hz", device.memory_clock_max_hz)
      .Count("memory_bus_width_bits", device.memory_bus_width_bits)
      .Text("driver_version", device.driver_version)
      .Text("cuda_driver_version", device.cuda_driver_version)
      .Text("cuda_runtime_version", device.cuda_runtime_version)
      .Text("cupti_version", device.cupti_version);
}

void Validate(const ClockSample& sample) {
  Fields("clock sample")
      .Text("when", sample.when)
      .Count("sm_hz", sample.sm_hz.value_or(0))
      .Count("memory_hz", sample.memory_hz.value_or(0))
      .Finite("temperature_celsius", sample.temperature_celsius.value_or(0.0))
      .Finite("power_watts", sample.power_watts.value_or(0.0));
}

void Validate(const Case& item) {
  const Fields fields(Numbered("case", item.id));
  fields.Id("id", item.id).Text("kernel", item.kernel).Text("origin", item.origin);
  if (!item.shape) return;
  // AttentionShape's own bounds; multiplied step by step, because four hostile numbers overflow 64 bits.
  std::int64_t elements = 1;
  for (const int extent : {item.shape->batch, item.shape->num_heads, item.shape->seqlen, item.shape->head_dim}) {
    if (extent < 1) fields.Refuse("shape", std::to_string(extent), "every extent is at least 1");
    elements *= extent;
    if (elements > (std::int64_t{1} << 31)) fields.Refuse("shape", "too large", "a tensor has at most 2^31 elements");
  }
}

void Validate(const Verification& verification) {
  const Fields fields(Numbered("verification of case", verification.case_id));
  fields.Id("case_id", verification.case_id)
      .Count("draws", verification.draws)
      .Count("draws_passed", verification.draws_passed)
      .Finite("max_abs_error", verification.max_abs_error)
      .Finite("max_error_ratio", verification.max_error_ratio)
      .Count("nonfinite", verification.nonfinite)
      .Count("unwritten", verification.unwritten)
      .Text("error", verification.error);
  if (verification.draws_passed > verification.draws) {
    fields.Refuse("draws_passed", std::to_string(verification.draws_passed),
                  "there were " + std::to_string(verification.draws) + " draws");
  }
}

void Validate(const Timing& timing) {
  const Fields fields(Numbered("timing of case", timing.case_id));
  fields.Id("case_id", timing.case_id).Text("part", timing.part).Text("method", timing.method);
  for (const double duration_ns : timing.durations_ns) {
    fields.Finite("duration_ns", duration_ns);
    if (duration_ns < 0.0) fields.Refuse("duration_ns", std::to_string(duration_ns), "it cannot be negative");
  }
}

void Validate(const Launch& launch) {
  const Fields fields(Numbered("launch", launch.id));
  fields.Id("id", launch.id)
      .Count("case_id", launch.case_id)
      .Text("part", launch.part)
      .Text("kernel_name", launch.kernel_name)
      .Count("registers_per_thread", launch.registers_per_thread)
      .Count("static_shared_memory_bytes", launch.static_shared_memory_bytes)
      .Count("dynamic_shared_memory_bytes", launch.dynamic_shared_memory_bytes)
      .Count("local_memory_per_thread_bytes", launch.local_memory_per_thread_bytes)
      .Count("shared_memory_config_bytes", launch.shared_memory_config_bytes)
      .Count("start_ns", launch.start_ns)
      .Count("end_ns", launch.end_ns);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    fields.Count("grid", launch.grid[axis]).Count("block", launch.block[axis]).Count("cluster", launch.cluster[axis]);
  }
}

void Validate(const NvtxRange& range) {
  Fields("NVTX range")
      .Count("case_id", range.case_id)
      .Text("domain", range.domain)
      .Text("name", range.name)
      .Count("depth", range.depth)
      .Count("start_ns", range.start_ns)
      .Count("end_ns", range.end_ns);
}

void Validate(const CounterConfig& config) {
  Fields(Numbered("counter config", config.id))
      .Id("id", config.id)
      .Text("chip", config.chip)
      .Count("passes", config.passes);
  for (const std::string& name : config.metrics) ValidateMetricName(name);
}

void Validate(const CounterImage& image) {
  const Fields fields(Numbered("counter image", image.id));
  fields.Id("id", image.id).Id("config_id", image.config_id);
  if (image.bytes.size() > kMaxImageBytes) {
    fields.Refuse("size", std::to_string(image.bytes.size()) + " bytes",
                  "the limit is " + std::to_string(kMaxImageBytes) + ": put fewer ranges in one image");
  }
}

void Validate(const Range& range) {
  const Fields fields(Numbered("range", range.id));
  fields.Id("id", range.id)
      .Id("case_id", range.case_id)
      .Text("part", range.part)
      .Text("name", range.name)
      .Count("image_id", range.image_id)
      .Count("image_index", range.image_index);
  for (const auto& [name, value] : range.metrics) {
    ValidateMetricName(name);
    fields.Finite(name, value);
  }
}

void Validate(const DataLoss& loss) {
  Fields("data loss")
      .Text("kind", loss.kind)
      .Text("subject", loss.subject)
      .Text("reason", loss.reason)
      .Count("count", loss.count);
}

void ValidateMetricName(const std::string& name) {
  const Fields fields("metric");
  if (name.empty()) fields.Refuse("name", "empty", "a metric has a name");
  fields.Text("name", name, kMaxMetricNameBytes);
}

}  // namespace fa_profile::store
