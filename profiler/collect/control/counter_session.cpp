#include "fa_profile/counter_session.h"

#include <algorithm>
#include <utility>

#include "fa_profile/error.h"

namespace fa_profile::collect {

CounterData RunPasses(RangeProfiler& profiler, const MetricPlan& plan, const std::vector<UserRange>& ranges) {
  profiler.Configure(plan, ranges.size(), Replay::kUser);
  // A plan states its passes; more than a few beyond them means that CUPTI will never be satisfied.
  const int limit = plan.passes + 8;
  for (int pass = 0; pass < limit; ++pass) {
    profiler.Start();
    for (const UserRange& range : ranges) {
      range.prepare();
      profiler.PushRange(range.name);
      range.body();
      profiler.PopRange();
    }
    if (profiler.Stop()) return profiler.Decode();
  }
  throw Error("cuptiRangeProfilerStop", "", "CUPTI asked for more than " + std::to_string(limit) + " passes",
              "collect a smaller metric set");
}

CounterSession::CounterSession(CollectRun& run, std::span<const std::string> metrics)
    : run_(run), plan_(run.gpu.Plan(metrics)), config_id_(run.next_id++) {
  for (const DataLoss& refused : plan_.refused) run_.sink.Write(refused);
  run_.sink.Write(CounterConfig{config_id_, plan_.chip, plan_.passes, plan_.metrics});
  run_.sink.Commit();
}

void CounterSession::StartKernelRanges(RangeProfiler& profiler, std::size_t most_launches) const {
  profiler.Configure(plan_, most_launches, Replay::kKernel);
  profiler.Start();
}

void CounterSession::WriteKernelRanges(RangeProfiler& profiler, const std::vector<MeasuredRange>& measured,
                                       bool keep_image) {
  (void)profiler.Stop();
  Write(profiler.Decode(), measured, keep_image);
}

void CounterSession::Write(CounterData data, const std::vector<MeasuredRange>& measured, bool keep_image) {
  std::vector<RangeValues> values = run_.gpu.Evaluate(plan_, data.image, measured.size());
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < values.size(); ++i) {
    // By name if there is one: CUPTI orders ranges as the first pass saw them.
    auto of = measured.begin() + static_cast<std::ptrdiff_t>(i);
    if (!of->name.empty() && of->name != values[i].name) {
      of = std::find_if(measured.begin(), measured.end(),
                        [&](const MeasuredRange& range) { return range.name == values[i].name; });
    }
    if (of == measured.end()) {
      throw Error(
          "CUPTI returned range '" + values[i].name + "' where '" + measured[i].name + "' was measured",
          "this CUPTI does not keep the names of ranges; please report it with the output of fa-profile doctor");
    }
    ranges.push_back({run_.next_id++, of->case_id, of->part, std::move(values[i].name), 0, static_cast<int>(i),
                      std::move(values[i].metrics)});
  }
  const std::size_t missing = measured.size() - ranges.size();
  if (missing > 0 || data.ranges_dropped > 0) {
    run_.sink.Write(DataLoss{"range_dropped", measured.empty() ? "" : measured[ranges.size() % measured.size()].name,
                             "CUPTI dropped ranges of this batch",
                             static_cast<std::int64_t>(std::max(missing, data.ranges_dropped))});
  }
  const std::int64_t image_id = keep_image ? run_.next_id++ : 0;
  if (keep_image) run_.sink.Write(CounterImage{image_id, config_id_, std::move(data.image)});
  for (Range& range : ranges) {
    if (range.case_id == 0) continue;
    range.image_id = image_id;
    run_.sink.Write(range);
  }
  run_.sink.Commit();
}

}  // namespace fa_profile::collect
