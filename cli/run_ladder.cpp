#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>

#include "commands.h"
#include "fa_profile/call_name.h"
#include "fa_profile/collector.h"
#include "fa_profile/device.h"
#include "fa_profile/disassembly.h"
#include "fa_profile/error.h"
#include "fa_profile/kernel_selection.h"
#include "fa_profile/kernels.h"
#include "fa_profile/phase_collector.h"
#include "fa_profile/progress_bar.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/verification.h"
#include "run_setup.h"

namespace fa_profile {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// First Ctrl-C: end between two launches. Second: the default, so that a hanging kernel can be left.
void OnInterrupt(int signal) {
  interrupted = true;
  (void)std::signal(signal, SIG_DFL);
}

Verification VerifyFirst(const Kernel& kernel, const AttentionShape& shape, const RunOptions& options,
                         ProgressBar& bar) {
  if (kernel.rung() == 0) return VerifyInChild(kernel, kernel.origin(), shape, options.draws, options.device);
  Verification result = Verify(kernel, shape, options.draws, /*seed=*/1, [&](int done) {
    bar.Show("verify", kernel.id() + " " + shape.ToString(), done, options.draws);
    if (interrupted) throw Error("interrupted", "what was finished is in the .part file");
  });
  ThrowIfContextIsLost(kernel, result);
  return result;
}

// A kernel that is correct at a shape, and its case.
struct VerifiedCase {
  const Kernel* kernel;
  AttentionShape shape;
  std::int64_t case_id;
};

// Cases are measured together as long as their tensors leave half of the GPU's memory free: the passes of the range
// profiler cost about as much for fifty ranges as for one. `collect` measures jobs; its second argument says whether
// their raw counter data is kept.
void Measure(const std::vector<VerifiedCase>& cases, const std::string& raw,
             const std::function<void(const std::vector<CollectJob>&, bool)>& collect) {
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<CollectJob> jobs;
  const auto collect_jobs = [&](bool keep_images) {
    if (!jobs.empty()) collect(jobs, keep_images);
    jobs.clear();
    workloads.clear();
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool of_first_shape = cases[i].shape == cases.front().shape;
    const bool keep = raw == "all" || (raw == "first" && of_first_shape);
    try {
      workloads.push_back(cases[i].kernel->MakeWorkload(cases[i].shape, /*seed=*/1));
    } catch (const Error& error) {
      if (jobs.empty() || error.code() != "cudaErrorMemoryAllocation") throw;
      collect_jobs(keep);  // it does not fit beside the others: it may fit alone
      workloads.push_back(cases[i].kernel->MakeWorkload(cases[i].shape, /*seed=*/1));
    }
    jobs.push_back({cases[i].case_id, workloads.back().get()});
    const bool shape_ends = i + 1 == cases.size() || cases[i + 1].shape != cases[i].shape;
    constexpr double kLeastFree = 0.5;
    if (shape_ends && (FreeMemoryShare() < kLeastFree || (raw == "first" && of_first_shape))) collect_jobs(keep);
  }
  collect_jobs(raw == "all");
}

bool WantsPhases(const RunOptions& options) {
  if (options.phases != "auto") return options.phases == "on";
  return options.metrics.empty() &&
         (options.metric_set == "full" || options.metric_set == "detailed" || options.metric_set == "phases");
}

// nvdisasm, or what can be read without it.
Disassembler DisassemblerOrStacks(std::vector<DataLoss>& losses) {
  if (auto disassembler = FindDisassembler()) return *disassembler;
  losses.push_back({"not_disassembled", "nvdisasm",
                    "it was not found: phases are known by function and line, what their instructions do is not, and "
                    "no wait is charged; ci/setup.sh installs it, or set FA_PROFILE_NVDISASM",
                    1});
  return [](const Cubin& cubin, const std::vector<std::string>& functions) {
    return ReadInlineStacks(cubin.bytes, cubin.crc, functions);
  };
}

}  // namespace

std::string WhyNoGpu() { return DeviceCount() > 0 ? "" : WhyNoDevice(); }

int RunLadder(const RunOptions& options) {
  PrepareProcessForNvtx();
  const KernelSelection selection(options.kernel_pattern, options.kernel_libraries);
  const std::vector<AttentionShape> shapes =
      options.shapes.empty() ? std::vector<AttentionShape>{AttentionShape{}} : options.shapes;
  for (const AttentionShape& shape : shapes) {
    bool taken = false;
    std::string reason;
    for (const Kernel* const kernel : selection.kernels()) {
      const std::string why_not = kernel->WhyNot(shape);
      taken = taken || why_not.empty();
      if (!why_not.empty()) reason = why_not;
    }
    if (!taken) throw Error("no kernel takes shape " + shape.ToString() + ": " + reason, "see fa-profile list kernels");
  }

  const Device device = OpenDevice(options.device);
  const MetricSet set = WantedMetrics(options, device);
  const std::string path = OutputPath(options);
  RecordingWriter writer(path, options.overwrite);
  if (writer.kept_aside()) {
    std::cerr << fmt::format("fa-profile: {} was left by a run that was killed; it is kept as {}\n", writer.part_path(),
                             *writer.kept_aside());
  }
  const Session session = NewSession(options, set.name);
  writer.Write(session);
  writer.Write(device);
  std::vector<DataLoss> losses;
  writer.Write(ReadClocks(device, "before", losses));
  for (const MetricSet::Omitted& omitted : set.omitted) {
    writer.Write(DataLoss{"metric_not_a_counter", omitted.metric, omitted.reason, 1});
  }
  writer.Commit();

  (void)std::signal(SIGINT, OnInterrupt);
  (void)std::signal(SIGTERM, OnInterrupt);
  ProgressBar bar;
  CollectOptions collect;
  collect.metrics = set.metrics;
  collect.kernel_replay = options.kernel_replay;
  collect.flush_cache = options.flush_cache;
  collect.warmup_launches = options.warmup_launches;
  collect.timed_launches = options.timed_launches;
  collect.cache_dir = CacheDirectory();
  std::int64_t next_id = 1;
  const auto show = [&bar](const Progress& progress) {
    bar.Show(progress.stage, progress.subject, progress.done, progress.total);
  };
  const auto cancelled = [] { return interrupted.load(); };
  Collector collector(device, collect, writer, next_id, show, cancelled);

  // Before the first kernel is loaded: CUPTI knows no other code inside.
  std::unique_ptr<PhaseCollector> phases;
  if (WantsPhases(options)) {
    phases =
        std::make_unique<PhaseCollector>(device, PhaseCollectOptions{options.flush_cache, DisassemblerOrStacks(losses)},
                                         writer, next_id, show, cancelled);
  }

  int wrong = 0;
  // Correctness comes first, of everything: nothing is measured before, and an error here loses no measurement.
  std::vector<VerifiedCase> verified;
  for (const AttentionShape& shape : shapes) {
    for (const Kernel* const kernel : selection.kernels()) {
      if (const std::string why_not = kernel->WhyNot(shape); !why_not.empty()) {
        losses.push_back({"kernel_skipped", CallName(kernel->id(), shape), why_not, 1});
        continue;
      }
      const Case entry{next_id++, kernel->id(), kernel->origin(), shape};
      writer.Write(entry);
      if (options.draws == 0) {  // the recording says of the case that it was not verified
        writer.Commit();
        // What a first launch sets up (cuBLAS has a handle to make) cannot be captured in a graph.
        kernel->MakeWorkload(shape, /*seed=*/1)->Launch(nullptr);
        if (!DeviceStillWorks()) {
          throw Error("kernel '" + kernel->id() + "' (" + kernel->origin() + ") crashed on the GPU",
                      "leave it out with --kernel, or look what is wrong: fa-profile verify --kernel " + kernel->id());
        }
        verified.push_back({kernel, shape, entry.id});
        continue;
      }
      Verification verification = VerifyFirst(*kernel, shape, options, bar);
      verification.case_id = entry.id;
      writer.Write(verification);
      writer.Commit();
      if (verification.correct()) {
        verified.push_back({kernel, shape, entry.id});
      } else {
        ++wrong;
        bar.Clear();
        std::cerr << fmt::format("fa-profile: {} at {}: {}; it is not measured\n", kernel->id(), shape.ToString(),
                                 Describe(verification));
      }
    }
  }
  if (phases) {
    Measure(verified, "none", [&](const std::vector<CollectJob>& jobs, bool) { phases->Collect(jobs); });
    phases.reset();  // before the range profiler comes
  }
  Measure(verified, options.raw,
          [&](const std::vector<CollectJob>& jobs, bool keep_images) { collector.Collect(jobs, keep_images); });
  writer.Write(ReadClocks(device, "after", losses));
  for (const DataLoss& loss : losses) writer.Write(loss);
  writer.Finish();
  bar.Clear();

  PrintReport(path, *options.format, {"", {}, options.summary, options.explain, options.phase_map});
  std::cerr << fmt::format("\nrecording: {}  (again: fa-profile report {})\n", path, path);
  return wrong == 0 ? kExitFine : kExitRegression;
}

}  // namespace fa_profile
