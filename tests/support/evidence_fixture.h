#pragma once

#include <string>
#include <vector>

#include "fa_profile/evidence.h"

namespace fa_profile {

/// Evidence from a run of pairs and a recording for two kernels and the frozen one, with a value in every field.
inline gate::Evidence SampleEvidence(int timing_processes = 8) {
  gate::Evidence evidence;
  evidence.origin = "pairs of 2026-11-21";
  evidence.environment = {.gpu_name = "NVIDIA H200",
                          .gpu_uuid = "GPU-1",
                          .chip = "GH100",
                          .driver_version = "580.159.04",
                          .cuda_driver_version = "13.0",
                          .cuda_runtime_version = "13.0",
                          .cupti_version = "130001",
                          .sm_clock_max_hz = 1'980'000'000,
                          .memory_clock_max_hz = 3'201'000'000,
                          .tool_version = "0.1.0",
                          .tool_commit = "0123456789ab",
                          .taken_at = "2026-11-21T12:00:00Z"};
  const Verification correct{.case_id = 0,
                             .draws = 10,
                             .draws_passed = 10,
                             .max_abs_error = 4.1e-4,
                             .max_error_ratio = 0.3333333333,
                             .error = ""};
  gate::CodeFacts code{.symbol = "_Z3mmaILi64EEvP6__half",
                       .name = "void mma<64>(__half*)",
                       .architecture = "sm_90a",
                       .code_hash = "00112233aabbccdd",
                       .registers_per_thread = 168,
                       .stack_frame_bytes = 0,
                       .spill_bytes = 16,
                       .local_array_bytes = 0,
                       .static_shared_memory_bytes = 1024,
                       .threads_per_block = 128,
                       .blocks_per_sm = 3,
                       .externals = {"vprintf"},
                       .counts = {{"softmax", {{"instructions", 210}, {"barriers", 0}}}}};
  gate::CaseFacts mma{.kernel = "mma",
                      .shape = "1,8,512,64",
                      .verification = correct,
                      .code = {code},
                      .host_code_hash = "0123456789abcdef",
                      .phase_model = "inferred",
                      .launches = {{.kernel_name = "void mma<64>(__half*)",
                                    .grid = {8, 8, 1},
                                    .block = {128, 1, 1},
                                    .dynamic_shared_memory_bytes = 32768,
                                    .registers_per_thread = 168,
                                    .blocks_per_sm = 3}},
                      .compiler_warnings = {"ptxas warning : a \"quoted\" one"},
                      .places = {{"", {"kernels/mma.cu", 120}}, {"softmax", {"kernels/mma.cu", 88}}},
                      .findings = {{"bank_conflicts", "31 % of wavefronts \xE2\x80\x94 too many"}}};
  gate::CaseFacts naive = mma;
  naive.kernel = "naive";
  naive.host_code_hash.clear();
  naive.phase_model.clear();
  naive.code[0].registers_per_thread.reset();  // absent is not 0
  naive.code[0].stack_frame_bytes.reset();
  gate::CaseFacts reference;
  reference.kernel = gate::kReferenceKernel;
  evidence.cases = {mma, naive, reference};
  for (int i = 0; i < timing_processes; ++i) {
    gate::ProcessSample process;
    process.kind = "timing";
    process.pair = i / 2;
    process.stage = i < 4 ? 1 : 2;
    process.sm_clock_hz = 1.98e9;
    process.temperature_celsius = 41.5;
    for (int c = 0; c < 3; ++c) {
      const double seconds = 9.923456789e-6 * (1 + c) * (1 + 0.001 * i);
      process.values.push_back({{{"", gate::kDuration}, seconds}, {{"", gate::kCycles}, seconds * 1.98e9}});
    }
    evidence.processes.push_back(process);
  }
  gate::ProcessSample recording;
  recording.kind = "recording";
  recording.values.resize(3);
  recording.values[0] = {{{"", "instructions_count"}, 123456789.0},
                         {{"", gate::kDuration}, 1.0e-5},
                         {{"softmax", gate::kPhaseTime}, 0.31},
                         {{"softmax", "instructions_count"}, 9007199254740991.0}};
  recording.values[1] = {{{"qk", gate::kPhaseTime}, 1.0 / 3.0}};
  evidence.processes.push_back(recording);
  return evidence;
}

}  // namespace fa_profile
