// The exporter's cost of a page of metrics: page_figures
//
// Makes pages of 10,000 and 200,000 series from totals, as `serve` does at each collection, and prints the median time
// of each step over several rounds, and the memory of the process.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "fa_profile/page.h"

namespace fa_profile {
namespace {

// Kernels like a program's, on as many GPUs as needed: 28 series for each of three phases, and the kernel's own.
Totals Make(std::size_t series) {
  Totals totals;
  std::size_t have = 0;
  for (int gpu = 0; have < series; ++gpu) {
    for (int i = 0; i < 25 && have < series; ++i) {
      KernelTotals& kernel = totals.gpus[gpu].kernels["kernel_" + std::to_string(i)];
      kernel.origin = "program";
      kernel.sm_active_cycles = kernel.warps_active_cycles = kernel.tensor_active_cycles = kernel.dram_bytes =
          1.25e9 + i;
      for (const char* const phase : {"load_q", "load_kv", "qk", "softmax", "pv", "rescale", "epilogue"}) {
        PhaseTotals& sums = kernel.phases[phase];
        sums.cycles = 123456789.5 + i;
        sums.instructions = 1e9 + i;
        sums.wavefronts = sums.excess_wavefronts = 1e6 + i;
        for (const char* const reason : {"memory", "shared_memory", "barrier", "math_pipe", "dependency", "ready"}) {
          sums.stall_cycles[reason] = 1e8 / 3 + i;
        }
      }
      have += 5 + 7 * 10;
    }
  }
  return totals;
}

double MedianMs(const std::function<void()>& step) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::nth_element(times, times.begin() + 4);
  return times[4];
}

double ResidentMb() {
  long all = 0;
  long resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) * 1e-6;
}

// A page holds at most kMaxSeriesPerPage series; for more, the cost is that of several pages combined.
prom::Families MakeAll(const std::vector<Totals>& hosts) {
  prom::Families all;
  std::map<std::string, std::size_t> places;
  for (const Totals& totals : hosts) {
    prom::PageInput input;
    input.totals = &totals;
    prom::Families one = prom::MakeFamilies(input);
    all.series += one.series;
    for (prometheus::MetricFamily& family : one.families) {
      const auto [place, is_new] = places.emplace(family.name, all.families.size());
      if (is_new) {
        all.families.push_back(std::move(family));
      } else {
        auto& metrics = all.families[place->second].metric;
        metrics.insert(metrics.end(), std::make_move_iterator(family.metric.begin()),
                       std::make_move_iterator(family.metric.end()));
      }
    }
  }
  return all;
}

void Measure(std::size_t series) {
  std::vector<Totals> hosts;
  for (std::size_t made = 0; made < series; made += 10000) hosts.push_back(Make(10000));
  prom::Families families = MakeAll(hosts);
  const double make = MedianMs([&] { (void)MakeAll(hosts); });
  const double page = MedianMs([&] { (void)prom::Page(MakeAll(hosts)); });
  const prom::Page ready(families);
  const std::string& text = *ready.Render("", "").bytes;
  const double open = MedianMs([&] { (void)prom::ToOpenMetrics(text); });
  const double gzip = MedianMs([&] { (void)prom::Gzip(text); });
  const double render = MedianMs([&] { (void)ready.Render("application/openmetrics-text", "gzip"); });
  std::printf("%8zu %10.1f %12.1f %12.1f %12.1f %9.1f %16.4f %9.1f\n", ready.series(),
              static_cast<double>(text.size()) * 1e-6, make, page, open, gzip, render, ResidentMb());
}

}  // namespace
}  // namespace fa_profile

int main() {
  std::printf("%8s %10s %12s %12s %12s %9s %16s %9s\n", "series", "text, MB", "families, ms", "whole, ms", "openm., ms",
              "gzip, ms", "later scrape, ms", "RSS, MB");
  for (const std::size_t series : {std::size_t{10000}, std::size_t{200000}}) fa_profile::Measure(series);
}
