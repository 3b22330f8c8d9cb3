#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <ios>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "fa_profile/recording.h"

/// Recordings with random values in every field: what a store or an exporter must carry unchanged.
namespace fa_profile {

/// A recording and the images that its ranges refer to.
struct RandomRecording {
  Recording recording;
  std::vector<CounterImage> images;
};

/// Draws values over the whole range of their type, edges included.
class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : random_(seed) {}

  std::uint64_t Below(std::uint64_t end) { return random_() % end; }
  bool Coin() { return Below(2) == 0; }
  std::int64_t Int64() {
    const std::uint64_t kind = Below(4);
    if (kind == 0) return 0;
    return static_cast<std::int64_t>(kind == 1 ? random_() >> 1 : Below(1000));
  }
  int Int() { return static_cast<int>(Below(3) == 0 ? random_() >> 33 : Below(1000)); }
  std::uint32_t Uint32() { return static_cast<std::uint32_t>(random_()); }
  double Double() {
    const double unit = std::uniform_real_distribution<double>(-1.0, 1.0)(random_);
    const std::uint64_t kind = Below(4);
    if (kind == 0) return static_cast<double>(Below(1'000'000));
    return kind == 1 ? unit * 1e300 : kind == 2 ? unit * 1e-300 : unit;
  }
  std::string Text() {
    static const std::vector<std::string> kPieces = {
        "a", "Z9", " ", "'", "\"", "\n", "%", "\xC3\xA9", "\xF0\x9F\x94\xA5"};
    std::string text;
    for (std::uint64_t i = Below(3) == 0 ? 0 : Below(20); i > 0; --i) text += kPieces[Below(kPieces.size())];
    return text;
  }
  template <typename T>
  std::optional<T> Maybe(T value) {
    return Coin() ? std::optional<T>(value) : std::nullopt;
  }

 private:
  std::mt19937_64 random_;
};

/// Functions whose instructions share stacks, and samples and counts of them for the cases: in the order of the file.
inline void AddRandomCode(RandomValues& any, Recording& r) {
  for (std::int64_t id = 1; id <= 2; ++id) {
    Cubin cubin{.id = id, .crc = ~any.Below(1000), .bytes = std::vector<std::uint8_t>(any.Below(3000))};
    for (std::uint8_t& byte : cubin.bytes) byte = static_cast<std::uint8_t>(any.Below(16));
    r.cubins.push_back(cubin);
  }
  std::vector<std::vector<InlineFrame>> stacks = {{}};
  for (int i = 0; i < 20; ++i) {  // each a callee of an earlier one
    std::vector<InlineFrame> stack = {{any.Text(), any.Text(), any.Int()}};
    const std::vector<InlineFrame> callers = stacks[any.Below(stacks.size())];
    stack.insert(stack.end(), callers.begin(), callers.end());
    stacks.push_back(stack);
  }
  const auto next_offset = [&](std::uint32_t offset) {
    return offset + (any.Below(5) == 0 ? 1 + static_cast<std::uint32_t>(any.Below(100'000)) : 16);
  };
  for (std::int64_t id = 1; id <= 4; ++id) {
    DeviceFunction function{
        .id = id * 11, .cubin_crc = r.cubins[any.Below(2)].crc, .name = any.Text(), .instructions = {}};
    std::uint32_t offset = 0;
    for (std::uint64_t i = id == 1 ? 100 : any.Below(100); i > 0; --i) {
      function.instructions.push_back(
          {offset, any.Coin() ? "" : "@!P0", any.Text(), any.Text(), stacks[any.Below(stacks.size())]});
      offset = next_offset(offset);
    }
    r.functions.push_back(function);
  }
  const auto count = [&] { return any.Coin() ? any.Below(3) : static_cast<std::uint64_t>(any.Int64()); };
  for (const Case& item : r.cases) {
    PcSampling sampling{.id = item.id + 3,
                        .case_id = item.id,
                        .part = any.Text(),
                        .period_cycles = any.Int(),
                        .launches = any.Int(),
                        .total_samples = count(),
                        .dropped_samples = count(),
                        .call_ns = any.Maybe(static_cast<double>(any.Int())),
                        .samples = {}};
    SassCounting counting{.id = item.id + 4, .case_id = item.id, .part = any.Text(), .counts = {}};
    for (const DeviceFunction& function : r.functions) {
      std::uint32_t offset = static_cast<std::uint32_t>(any.Below(100));
      for (std::uint64_t i = any.Below(400); i > 0; --i, offset = next_offset(offset)) {
        PcSample sample{function.id, offset, {{"selected", count()}}};
        for (std::uint64_t n = any.Below(4); n > 0; --n) sample.samples["reason" + std::to_string(n)] = count();
        if (i % 7 != 0) sampling.samples.push_back(sample);
        SassCount counts{function.id, offset, {{"metric1", count()}}};  // a name that ranges have, too
        for (std::uint64_t n = any.Below(4); n > 0; --n) counts.values["smsp__sass" + std::to_string(n)] = count();
        if (i % 5 != 0) counting.counts.push_back(counts);
      }
    }
    r.samplings.push_back(sampling);
    r.countings.push_back(counting);
  }
}

/// A record ends no earlier than it starts.
void OrderTimes(auto& record) {
  if (record.end_ns < record.start_ns) std::swap(record.start_ns, record.end_ns);
}

/// Windows of a watched program, and work of the cases in them.
inline void AddRandomWork(RandomValues& any, Recording& r) {
  for (std::int64_t id = 1; id <= 3; ++id) {
    const WatchWindow window{id * 13, any.Int64(), any.Int64(), any.Int64(), any.Int64()};
    r.watch_windows.push_back(window);
    for (const Case& item : r.cases) {
      if (id > 1 && any.Coin()) continue;
      r.kernel_work.push_back({window.id, item.id, any.Int64(), any.Int64(), any.Int64(), any.Int64(), any.Int64()});
      r.nvtx_kernel_work.push_back({window.id, item.id, any.Text(), any.Int64(), any.Int64()});
    }
    r.memory_work.push_back({window.id, any.Text(), any.Int64(), any.Int64(), any.Int64()});
    r.nvtx_work.push_back({window.id, any.Text(), any.Int(), any.Int64(), any.Int64(), any.Int64(), any.Int64()});
  }
}

/// `size` cases, and some of everything else. The same seed gives the same recording.
inline RandomRecording MakeRandomRecording(unsigned seed, int size) {
  RandomValues any(seed);
  RandomRecording result;
  Recording& r = result.recording;
  r.session = {any.Text(), any.Text(), any.Text(), any.Text(), any.Text(), any.Text(),
               any.Text(), any.Int(),  any.Int(),  any.Int(),  false};
  r.device = {any.Int(),   any.Text(),  any.Text(), any.Text(),  any.Int(),   any.Int(),   any.Int(),   any.Int(),
              any.Int(),   any.Int(),   any.Int(),  any.Int64(), any.Int64(), any.Int64(), any.Int64(), any.Int64(),
              any.Int64(), any.Int64(), any.Int(),  any.Text(),  any.Text(),  any.Text(),  any.Text()};
  for (const char* when : {"before", "after"}) {
    r.clocks.push_back({when, any.Maybe(any.Int64()), any.Maybe(any.Int64()), any.Maybe(any.Double()),
                        any.Maybe(any.Double()), any.Maybe<std::uint64_t>(~any.Below(1000))});
  }
  for (std::int64_t id = 1; id <= 2; ++id) {
    CounterConfig config{.id = id * 7, .chip = any.Text(), .passes = any.Int(), .metrics = {}};
    for (std::uint64_t i = 0; i < 20 * (2 - static_cast<std::uint64_t>(id)); ++i) {
      config.metrics.push_back("metric" + std::to_string(any.Below(40)));  // one may occur twice
    }
    r.configs.push_back(config);
    CounterImage image{.id = id * 3, .config_id = config.id, .bytes = std::vector<std::uint8_t>(any.Below(100'000))};
    for (std::size_t i = 0; i < image.bytes.size(); i += 50) image.bytes[i] = static_cast<std::uint8_t>(any.Uint32());
    result.images.push_back(image);
  }
  for (int n = 1; n <= size; ++n) {
    const std::int64_t id = n * 5;
    r.cases.push_back({id, any.Text(), any.Text(), std::nullopt});
    if (n == 1 || any.Coin()) {
      r.cases.back().shape =
          AttentionShape{1 + static_cast<int>(any.Below(64)), 1 + static_cast<int>(any.Below(64)),
                         1 + static_cast<int>(any.Below(4096)), 1 + static_cast<int>(any.Below(64)), any.Coin()};
    } else if (any.Coin()) {
      r.cases.back().shape = Shape({{"m", any.Int64()}, {"n_1", -any.Int64()}});
      r.cases.back().work = {any.Maybe(1e12), any.Maybe(0.5)};
    }
    const int draws = any.Int();
    r.verifications.push_back({id, draws, static_cast<int>(any.Below(static_cast<std::uint64_t>(draws) + 1)),
                               any.Double(), any.Double(), any.Int64(), any.Int64(), any.Text(), any.Text()});
    constexpr std::array kVerdicts = {Judgement::Verdict::kCertified, Judgement::Verdict::kWrong,
                                      Judgement::Verdict::kRefused, Judgement::Verdict::kCannotSay};
    const std::int64_t calls = any.Int64();
    Judgement judgement{.case_id = id,
                        .verdict = kVerdicts[any.Below(kVerdicts.size())],
                        .reason = any.Text(),
                        .calls = calls,
                        .wrong_calls = calls / 3,
                        .same_bits = any.Maybe(any.Coin()),
                        .largest_difference = std::abs(any.Double()),
                        .weak_tolerance = any.Text(),
                        .durations_ns = {},
                        .calls_a_burst = any.Int64(),
                        .calls_a_graph = any.Int(),
                        .sets = any.Int(),
                        .verified = {},
                        .timed = {},
                        .conditions = any.Text()};
    for (const DeviceCount& count : AllDeviceCounts()) {
      judgement.verified.*count.value = std::abs(any.Double());
      judgement.timed.*count.value = std::abs(any.Double());
    }
    for (std::uint64_t i = n == 1 ? 5 : any.Below(5); i > 0; --i) {
      judgement.durations_ns.push_back(static_cast<double>(any.Below(1'000'000)) / 7.0);
    }
    r.judgements.push_back(judgement);
    Timing timing{.case_id = id, .part = any.Text(), .method = any.Text(), .durations_ns = {}};
    for (std::uint64_t i = n == 1 ? 5 : any.Below(5); i > 0; --i) {
      timing.durations_ns.push_back(static_cast<double>(any.Below(1'000'000)) / 7.0);
    }
    if (n == 1 || any.Coin()) timing.sm_clock_hz = static_cast<double>(any.Below(3'000'000'000)) / 7.0;
    r.timings.push_back(timing);
    r.launches.push_back({id + 1,
                          n == 1 || any.Coin() ? id : 0,
                          any.Text(),
                          any.Text(),
                          {any.Int(), any.Int(), any.Int()},
                          {any.Int(), any.Int(), any.Int()},
                          {any.Int(), any.Int(), any.Int()},
                          any.Int(),
                          any.Int64(),
                          any.Int64(),
                          any.Int64(),
                          any.Int64(),
                          any.Uint32(),
                          any.Uint32(),
                          any.Int64(),
                          any.Int64(),
                          any.Uint32()});
    OrderTimes(r.launches.back());
    r.source_hashes.push_back({any.Text(), std::string(64, any.Coin() ? 'a' : '0')});
    r.pm_samples.push_back({id, any.Text(), any.Int64(), any.Int64(), std::abs(any.Double())});
    r.nvtx_ranges.push_back(
        {any.Coin() ? id : 0, any.Text(), any.Text(), any.Int(), any.Uint32(), any.Int64(), any.Int64()});
    OrderTimes(r.nvtx_ranges.back());
    Range range{.id = id + 2, .case_id = id, .part = any.Text(), .name = any.Text(), .metrics = {}};
    range.image_id = n == 1 || any.Coin() ? result.images[any.Below(2)].id : 0;
    range.image_index = any.Int();
    for (std::uint64_t i = n == 1 ? 30 : any.Below(30); i > 0; --i) {
      range.metrics["metric" + std::to_string(any.Below(60))] = any.Double();
    }
    r.ranges.push_back(range);
    r.losses.push_back({any.Text(), any.Text(), any.Text(), any.Int64()});
  }
  AddRandomCode(any, r);
  AddRandomWork(any, r);
  return result;
}

/// Writes every piece in an order that a run could have, in two commits.
inline void WriteAll(const RandomRecording& random, RecordingSink& sink) {
  sink.Write(random.recording.session);
  sink.Write(random.recording.device);
  ForEachList(random.recording, [&]<typename Record>(const std::vector<Record>& list) {
    if constexpr (std::is_same_v<Record, Range>) {  // which refer to images
      for (const CounterImage& image : random.images) sink.Write(image);
    }
    for (const Record& record : list) sink.Write(record);
    if constexpr (std::is_same_v<Record, Verification>) sink.Commit();
  });
  sink.Commit();
}

/// Every field of a recording, one piece a line, so that two can be compared and their difference read.
inline std::string ToText(const Recording& r) {
  std::ostringstream text;
  text << std::hexfloat;
  const auto line = [&](const char* kind, const auto&... fields) {
    text << kind;
    ((text << '|' << fields), ...);
    text << '\n';
  };
  const auto maybe = [](const auto& value) {
    std::ostringstream field;
    if (value) field << std::hexfloat << *value;
    return value ? field.str() : std::string("absent");
  };
  const Session& s = r.session;
  line("session", r.schema_version, s.tool_version, s.tool_commit, s.created_at, s.command_line, s.metric_set,
       s.replay_mode, s.cache_policy, s.warmup_launches, s.timed_launches, s.draws, s.complete);
  const Device& d = r.device;
  line("device", d.ordinal, d.name, d.chip, d.uuid, d.compute_capability_major, d.compute_capability_minor, d.sm_count,
       d.warp_size, d.max_threads_per_sm, d.max_blocks_per_sm, d.registers_per_sm, d.shared_memory_per_sm_bytes,
       d.shared_memory_per_block_optin_bytes, d.reserved_shared_memory_per_block_bytes, d.l2_bytes, d.memory_bytes,
       d.sm_clock_max_hz, d.memory_clock_max_hz, d.memory_bus_width_bits, d.driver_version, d.cuda_driver_version,
       d.cuda_runtime_version, d.cupti_version);
  for (const ClockSample& c : r.clocks) {
    line("clock", c.when, maybe(c.sm_hz), maybe(c.memory_hz), maybe(c.temperature_celsius), maybe(c.power_watts),
         maybe(c.throttle_reasons));
  }
  for (const Case& c : r.cases) {
    line("case", c.id, c.kernel, c.origin, c.shape ? c.shape->ToString() : "absent", maybe(c.work.flops),
         maybe(c.work.bytes));
  }
  for (const Verification& v : r.verifications) {
    line("verification", v.case_id, v.draws, v.draws_passed, v.max_abs_error, v.max_error_ratio, v.nonfinite,
         v.unwritten, v.error, v.where);
  }
  for (const Judgement& j : r.judgements) {
    line("judgement", j.case_id, ToString(j.verdict), j.reason, j.calls, j.wrong_calls, maybe(j.same_bits),
         j.largest_difference, j.weak_tolerance, j.calls_a_burst, j.calls_a_graph, j.sets, j.conditions);
    for (const DeviceCount& count : AllDeviceCounts()) {
      line("  count", count.name, j.verified.*count.value, j.timed.*count.value);
    }
    for (const double duration_ns : j.durations_ns) line("  burst", duration_ns);
  }
  for (const Timing& t : r.timings) {
    line("timing", t.case_id, t.part, t.method, t.sm_clock_hz ? std::to_string(*t.sm_clock_hz) : "absent");
    for (const double duration_ns : t.durations_ns) line("  duration", duration_ns);
  }
  for (const Launch& l : r.launches) {
    line("launch", l.id, l.case_id, l.part, l.kernel_name, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
         l.block[2], l.cluster[0], l.cluster[1], l.cluster[2], l.registers_per_thread, l.static_shared_memory_bytes,
         l.dynamic_shared_memory_bytes, l.local_memory_per_thread_bytes, l.shared_memory_config_bytes, l.stream,
         l.correlation, l.start_ns, l.end_ns, l.graph);
  }
  for (const NvtxRange& n : r.nvtx_ranges) {
    line("nvtx", n.case_id, n.domain, n.name, n.depth, n.thread, n.start_ns, n.end_ns);
  }
  for (const WatchWindow& w : r.watch_windows) {
    line("window", w.id, w.start_ns, w.end_ns, w.busy_ns, w.measuring_ns, w.unrecorded_ns);
  }
  for (const KernelWork& k : r.kernel_work) {
    line("kernel work", k.window_id, k.case_id, k.launches, k.graph_launches, k.total_ns, k.min_ns, k.max_ns);
  }
  for (const MemoryWork& m : r.memory_work) {
    line("memory work", m.window_id, m.kind, m.operations, m.bytes, m.total_ns);
  }
  for (const NvtxWork& n : r.nvtx_work) {
    line("nvtx work", n.window_id, n.path, n.depth, n.ranges, n.host_ns, n.launches, n.gpu_ns);
  }
  for (const PmSample& p : r.pm_samples) {
    line("pm sample", p.case_id, p.metric, p.start_ns, p.duration_ns, p.value);
  }
  for (const SourceHash& source : r.source_hashes) line("source hash", source.file, source.sha256);
  for (const NvtxKernelWork& n : r.nvtx_kernel_work) {
    line("nvtx kernel", n.window_id, n.case_id, n.path, n.launches, n.gpu_ns);
  }
  for (const CounterConfig& c : r.configs) {
    line("config", c.id, c.chip, c.passes);
    for (const std::string& metric : c.metrics) line("  metric", metric);
  }
  for (const Range& range : r.ranges) {
    line("range", range.id, range.case_id, range.part, range.name, range.image_id, range.image_index);
    for (const auto& [name, value] : range.metrics) line("  value", name, value);
  }
  for (const Cubin& c : r.cubins) line("cubin", c.id, c.crc, std::string(c.bytes.begin(), c.bytes.end()));
  for (const DeviceFunction& f : r.functions) {
    line("function", f.id, f.cubin_crc, f.name);
    for (const Instruction& i : f.instructions) {
      line("  instruction", i.offset, i.predicate, i.opcode, i.operands);
      for (const InlineFrame& frame : i.frames) line("    frame", frame.function, frame.file, frame.line);
    }
  }
  for (const PcSampling& p : r.samplings) {
    line("sampling", p.id, p.case_id, p.part, p.period_cycles, p.launches, p.total_samples, p.dropped_samples,
         maybe(p.call_ns));
    for (const PcSample& sample : p.samples) {
      for (const auto& [reason, n] : sample.samples) line("  samples", sample.function_id, sample.offset, reason, n);
    }
  }
  for (const SassCounting& c : r.countings) {
    line("counting", c.id, c.case_id, c.part);
    for (const SassCount& counts : c.counts) {
      for (const auto& [name, n] : counts.values) line("  count", counts.function_id, counts.offset, name, n);
    }
  }
  for (const DataLoss& l : r.losses) line("loss", l.kind, l.subject, l.reason, l.count);
  return text.str();
}

}  // namespace fa_profile
