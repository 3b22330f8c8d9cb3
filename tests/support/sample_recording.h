#pragma once

#include <string>
#include <utility>

#include "fa_profile/recording.h"

/// A recording made by hand: small enough to check its report by eye, with one of everything a report must show. Its
/// numbers are not measurements.
namespace fa_profile::sample {

inline Device H200() {
  Device device;
  device.name = "NVIDIA H200";
  device.chip = "GH100";
  device.uuid = "GPU-00000000-0000-0000-0000-000000000000";
  device.compute_capability_major = 9;
  device.sm_count = 132;
  device.max_threads_per_sm = 2048;
  device.max_blocks_per_sm = 32;
  device.registers_per_sm = 65536;
  device.shared_memory_per_sm_bytes = 233472;
  device.reserved_shared_memory_per_block_bytes = 1024;
  device.driver_version = "580.159.04";
  device.cuda_driver_version = "13.0";
  device.cuda_runtime_version = "13.0";
  device.cupti_version = "130001";
  return device;
}

inline Session FullSession() {
  Session session;
  session.tool_version = "0.1.0";
  session.tool_commit = "0123456789ab";
  session.created_at = "2026-01-02T03:04:05Z";
  session.command_line = "fa-profile --ncu-set full";
  session.metric_set = "full";
  session.replay_mode = "user";
  session.cache_policy = "warm";
  session.warmup_launches = 3;
  session.timed_launches = 200;
  session.draws = 100;
  session.complete = true;
  return session;
}

inline Verification Correct(std::int64_t case_id) {
  Verification verification;
  verification.case_id = case_id;
  verification.draws = 100;
  verification.draws_passed = 100;
  verification.max_abs_error = 2.5e-4;
  verification.max_error_ratio = 0.21;
  return verification;
}

/// Durations with this median, evenly spread by 2 %.
inline Timing Timed(std::int64_t case_id, std::string part, double median_ns) {
  Timing timing{case_id, std::move(part), "graph replay", {}, 1.755e9};
  for (int i = -50; i <= 50; ++i) timing.durations_ns.push_back(median_ns * (1.0 + 0.0002 * i));
  return timing;
}

inline Launch Launched(std::int64_t case_id, std::string part, std::string name, std::int64_t start_ns,
                       std::int64_t end_ns) {
  Launch launch;
  launch.id = start_ns;
  launch.case_id = case_id;
  launch.part = std::move(part);
  launch.kernel_name = std::move(name);
  launch.grid = {64, 1, 1};
  launch.block = {128, 1, 1};
  launch.registers_per_thread = 168;
  launch.dynamic_shared_memory_bytes = 49152;
  launch.shared_memory_config_bytes = 233472;
  launch.start_ns = start_ns;
  launch.end_ns = end_ns;
  return launch;
}

/// Counters of one range of a set `full`, scaled: every value a multiple of `scale` where it is a count.
inline std::map<std::string, double> FullCounters(double scale) {
  const std::string stalled = "smsp__average_warps_issue_stalled_";
  const std::string per_issue = "_per_issue_active.ratio";
  return {
      {"gpu__time_duration.sum", 9000 * scale},
      {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 31.5},
      {"sm__inst_executed_pipe_tensor_op_hmma.sum", 66560 * scale},
      {"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum", 1024 * scale},
      {"sm__inst_executed_pipe_tensor_op_gmma.sum", 0},
      {"sm__ops_path_tensor_src_fp16.sum", 536870912 * scale},
      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0},
      {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", 0},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 4000000 * scale},
      {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 1000000 * scale},
      {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 1000000 * scale},
      {"sm__throughput.avg.pct_of_peak_sustained_elapsed", 28.25},
      {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", 17.5},
      {"sm__warps_active.avg.pct_of_peak_sustained_active", 6.2},
      {"smsp__issue_active.avg.pct_of_peak_sustained_active", 22.0},
      {"sm__inst_executed.avg.per_cycle_active", 0.88},
      {"smsp__inst_executed.sum", 1000000 * scale},
      {"smsp__thread_inst_executed_per_inst_executed.ratio", 31.75},
      {"smsp__sass_inst_executed_op_shared.sum", 50000 * scale},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 220000 * scale},
      {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 20000 * scale},
      {"dram__bytes_read.sum", 1572864 * scale},
      {"dram__bytes_write.sum", 524288 * scale},
      {"smsp__average_warp_latency_per_inst_issued.ratio", 8.0},
      {stalled + "long_scoreboard" + per_issue, 3.0},
      {stalled + "wait" + per_issue, 2.0},
      {stalled + "barrier" + per_issue, 0.5},
      {stalled + "membar" + per_issue, 0.0},
      {stalled + "selected" + per_issue, 1.0},
  };
}

/// The code of `mma`: a softmax of one thread, a barrier, a product with conflicts, and what belongs to no phase.
inline DeviceFunction Code() {
  const InlineFrame kernel{"mma_kernel<64, false>(Params)", "/src/mma.cu", 90};
  const auto in = [&](const char* phase, int line) {
    return std::vector<InlineFrame>{{phase, "/src/mma.cu", line}, kernel};
  };
  return {1,
          7,
          "_Z10mma_kernelILi64ELb0EEv6Params",
          {{0x00, "", "LDGSTS.E.128", "[R4], [R8.64]", in("load_kv(Params)", 20)},
           {0x10, "", "MUFU.EX2", "R2, R2", in("softmax(Tile&)", 40)},
           {0x20, "", "FADD", "R2, R2, R3", in("softmax(Tile&)", 41)},
           {0x30, "", "BAR.SYNC.DEFER_BLOCKING", "0x0", in("sync()", 50)},
           {0x40, "", "LDS.128", "R4, [R8]", in("pv(Tile&)", 60)},
           {0x50, "", "HMMA.16816.F32", "R4, R8, R12, R4", in("pv(Tile&)", 61)},
           {0x60, "", "EXIT", "", {kernel}}}};
}

inline PcSampling Sampled() {
  PcSampling sampling;
  sampling.id = 1;
  sampling.case_id = 1;
  sampling.period_cycles = 1024;
  sampling.launches = 7;
  sampling.total_samples = 10000;
  sampling.samples = {{1, 0x00, {{"long_scoreboard", 300}, {"selected", 100}}},
                      {1, 0x10, {{"wait", 900}, {"selected", 300}}},
                      {1, 0x20, {{"short_scoreboard", 400}, {"selected", 200}}},
                      {1, 0x30, {{"barrier", 5400}, {"selected", 100}}},
                      {1, 0x40, {{"mio_throttle", 700}, {"selected", 400}}},
                      {1, 0x50, {{"math_pipe_throttle", 600}, {"selected", 500}}},
                      {1, 0x60, {{"selected", 100}}}};
  return sampling;
}

inline SassCounting Counted() {
  const auto executed = [](std::uint64_t warps, std::uint64_t threads) {
    return std::map<std::string, std::uint64_t>{{"smsp__sass_inst_executed", warps},
                                                {"smsp__sass_thread_inst_executed", threads},
                                                {"smsp__sass_thread_inst_executed_pred_on", threads}};
  };
  SassCounting counting;
  counting.id = 1;
  counting.case_id = 1;
  counting.counts = {{1, 0x00, executed(20000, 640000)},   {1, 0x10, executed(400000, 400000)},
                     {1, 0x20, executed(400000, 400000)},  {1, 0x30, executed(10000, 320000)},
                     {1, 0x40, executed(100000, 3200000)}, {1, 0x50, executed(66000, 2112000)},
                     {1, 0x60, executed(4000, 128000)}};
  counting.counts[0].values["smsp__sass_sectors_mem_global"] = 320000;
  counting.counts[0].values["smsp__sass_sectors_mem_global_ideal"] = 320000;
  counting.counts[4].values["smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared"] = 220000;
  counting.counts[4].values["smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared_ideal"] = 110000;
  return counting;
}

/// Case 1: `mma`, sampled and counted inside, correct, one kernel. Case 2: `cublas`, three kernels. Case 3: `broken`,
/// wrong in 7 draws. Case 4: a program. Case 5: `tiled` at a larger shape, never measured.
inline Recording MakeRecording() {
  Recording recording;
  recording.session = FullSession();
  recording.device = H200();
  recording.clocks.push_back({"before", 1980000000, 3201000000, 34.0, 121.5, 0});
  recording.clocks.push_back({"after", 1755000000, std::nullopt, std::nullopt, std::nullopt, 4});

  const AttentionShape small{1, 8, 512, 64, false};
  const AttentionShape large{4, 16, 2048, 64, true};
  recording.cases = {{1, "mma", "ladder", small},
                     {2, "cublas", "ladder", small},
                     {3, "broken", "./my.so", small},
                     {4, "train.py", "program", std::nullopt},
                     {5, "tiled", "ladder", large}};
  recording.verifications = {Correct(1), Correct(2), Correct(3), Correct(5)};
  recording.verifications[2].draws_passed = 93;
  recording.verifications[2].max_error_ratio = 17.5;
  recording.verifications[2].nonfinite = 3;

  Judgement judgement;
  judgement.case_id = 3;
  judgement.verdict = Judgement::Verdict::kWrong;
  judgement.reason = "WRONG: 7 of 300 calls; o[0,3]: nan, expected 0.25";
  judgement.calls = 300;
  judgement.wrong_calls = 7;
  judgement.same_bits = false;
  judgement.weak_tolerance = "o: zeros";
  recording.judgements = {judgement};

  recording.timings = {Timed(1, "", 9920),        Timed(2, "", 14000),  Timed(2, "qk", 4000),
                       Timed(2, "softmax", 3000), Timed(2, "pv", 4000), Timed(3, "", 100)};
  recording.launches = {
      Launched(1, "", "void mma_kernel<64, false>(Params)", 1000, 10000),
      Launched(2, "qk", "sm90_xmma_gemm_f16f16", 20000, 23500), Launched(2, "softmax", "row_softmax", 25000, 27500),
      Launched(2, "pv", "sm90_xmma_gemm_f16f16", 29000, 33000), Launched(3, "", "broken_kernel", 40000, 40100)};
  recording.ranges = {{1, 1, "", "mma", 0, 0, FullCounters(1)},
                      {2, 2, "", "cublas", 0, 1, FullCounters(2)},
                      {3, 2, "qk", "cublas/qk", 0, 2, FullCounters(1)},
                      {4, 2, "pv", "cublas/pv", 0, 3, {}},
                      {5, 3, "", "broken", 0, 4, FullCounters(1)},
                      {6, 4, "", "0", 0, 5, FullCounters(3)},
                      {7, 4, "", "1", 0, 6, FullCounters(4)}};
  recording.functions = {Code()};
  recording.samplings = {Sampled()};
  recording.countings = {Counted()};
  recording.losses = {{"metric_unavailable", "pcie__read_bytes.sum", "shares no configuration with the others", 1},
                      {"metric_unavailable", "pcie__write_bytes.sum", "shares no configuration with the others", 1},
                      {"range_dropped", "cublas/softmax", "the counter data image was full", 2}};
  return recording;
}

}  // namespace fa_profile::sample
