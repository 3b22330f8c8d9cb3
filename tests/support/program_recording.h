#pragma once

#include <string>
#include <utility>

#include "fa_profile/recording.h"
#include "sample_recording.h"

/// Recordings of watched programs, made by hand. Their numbers are not measurements.
namespace fa_profile::sample {

inline Session ProgramSession(std::string command_line) {
  Session session = FullSession();
  session.command_line = std::move(command_line);
  session.metric_set = "basic";
  session.warmup_launches = session.timed_launches = session.draws = 0;
  return session;
}

/// A launch class: its case, and the launch that stands for all.
inline void AddClass(Recording& recording, std::int64_t id, const std::string& name, const std::string& full_name) {
  recording.cases.push_back({id, name + "<<<64, 128>>>", "program", std::nullopt});
  Launch launch = Launched(id, "", full_name, 0, 0);
  launch.id = id;
  recording.launches.push_back(launch);
}

/// Two windows of half a second, the second with 100 ms in which counters were measured.
inline Recording EmptyProgram() {
  Recording recording;
  recording.session = ProgramSession("fa-profile --ncu-set basic -- python3 decode.py");
  recording.device = H200();
  recording.watch_windows = {{1, 1'000'000'000, 1'500'000'000, 400'000'000, 0},
                             {2, 1'500'000'000, 2'000'000'000, 240'000'000, 100'000'000}};
  return recording;
}

/// python3 decode.py: attention with counters, two GEMMs, two elementwise kernels of one name, and a tiny one; copies
/// and sets; nested NVTX ranges.
inline Recording MakeProgramRecording() {
  Recording r = EmptyProgram();
  AddClass(r, 1, "flash_fwd_kernel", "void flash::flash_fwd_kernel<Traits<64, 128>, false>(flash::Params)");
  AddClass(r, 2, "elementwise_kernel", "void at::native::elementwise_kernel<4, at::native::AddFunctor<float> >(int)");
  AddClass(r, 3, "elementwise_kernel", "void at::native::elementwise_kernel<4, at::native::MulFunctor<float> >(int)");
  AddClass(r, 4, "gemm_kernel", "void cutlass::gemm_kernel<128, 128>(cutlass::Params)");
  AddClass(r, 5, "fill_kernel", "fill_kernel(float*, int)");
  AddClass(r, 6, "splitk_kernel", "void cutlass::splitk_kernel<8>(cutlass::Params)");
  r.kernel_work = {{1, 1, 1000, 1000, 200'000'000, 180'000, 260'000},
                   {2, 1, 600, 500, 120'000'000, 190'000, 240'000},
                   {1, 2, 500, 0, 10'000'000, 18'000, 30'000},
                   {1, 3, 500, 500, 20'000'000, 38'000, 45'000},
                   {1, 4, 2000, 2000, 100'000'000, 48'000, 70'000},
                   {2, 4, 1000, 1000, 49'900'000, 47'000, 64'000},
                   {2, 5, 2, 0, 40'000, 19'000, 21'000},
                   {2, 6, 1, 0, 60'000, 60'000, 60'000}};
  r.timings = {Timed(1, "", 200'000), Timed(1, "", 200'000), Timed(2, "", 20'000),
               Timed(3, "", 40'000),  Timed(4, "", 50'000),  Timed(5, "", 20'000)};
  for (Timing& timing : r.timings) {
    timing.method = "activity";
    timing.sm_clock_hz.reset();
  }
  r.memory_work = {{1, "copy host to device", 10, 10'000'000, 4'000'000},
                   {2, "copy host to device", 5, 5'000'000, 2'000'000},
                   {2, "set", 100, 1'000'000, 100'000},
                   {1, "copy device to host", 4, 16, 8'000}};
  r.nvtx_work = {{1, "step", 0, 10, 450'000'000, 4000, 320'000'000},
                 {1, "step / attn", 1, 100, 90'000'000, 1000, 200'000'000},
                 {2, "step", 0, 6, 380'000'000, 1600, 160'000'000},
                 {2, "step / attn", 1, 60, 60'000'000, 600, 120'000'000},
                 {1, "step / torch: mlp", 1, 100, 70'000'000, 2000, 100'000'000},
                 {1, "load", 0, 1, 30'000'000, 0, 0}};
  r.nvtx_kernel_work = {{1, 1, "step / attn", 1000, 200'000'000},
                        {2, 1, "step / attn", 600, 120'000'000},
                        {1, 4, "step / torch: mlp", 2000, 100'000'000},
                        {1, 2, "step", 500, 10'000'000},
                        {1, 3, "step", 500, 10'000'000}};
  r.ranges = {{1, 1, "", "flash_fwd_kernel", 0, 0, FullCounters(20)}};
  r.losses = {{"graphs_not_traced", "cudaGraphLaunch", "captured before fa-profile was attached", 3}};
  return r;
}

}  // namespace fa_profile::sample
