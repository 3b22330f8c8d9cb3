#include "counter_session.h"

#include <algorithm>
#include <utility>

#include "cuda_api.h"
#include "fa_profile/error.h"

namespace fa_profile {

CounterSession::CounterSession(const Device& device, std::span<const std::string> metrics, const std::string& cache_dir,
                               RecordingSink& sink, std::int64_t& next_id)
    : sink_(sink),
      next_id_(next_id),
      plan_(PlanMetrics(device.chip, metrics, CounterAvailability(CurrentContext()), cache_dir)),
      evaluator_(device.chip),
      config_id_(next_id++) {
  for (const DataLoss& refused : plan_.refused) sink_.Write(refused);
  sink_.Write(CounterConfig{config_id_, plan_.chip, plan_.passes, plan_.metrics});
  sink_.Commit();
}

void CounterSession::Write(CounterData data, const std::vector<MeasuredRange>& measured, bool keep_image) {
  const std::size_t present = std::min(MetricEvaluator::NumRanges(data.image), measured.size());
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < present; ++i) {
    Range range;
    range.id = next_id_++;
    range.case_id = measured[i].case_id;
    range.part = measured[i].part;
    range.name = MetricEvaluator::RangeName(data.image, i);
    range.image_index = static_cast<int>(i);
    if (!measured[i].name.empty() && range.name != measured[i].name) {
      throw Error("CUPTI returned range '" + range.name + "' where '" + measured[i].name + "' was measured",
                  "this CUPTI does not keep ranges in order; please report it with the output of fa-profile doctor");
    }
    range.metrics = evaluator_.Evaluate(data.image, i, plan_.metrics);
    ranges.push_back(std::move(range));
  }
  if (present < measured.size() || data.ranges_dropped > 0) {
    sink_.Write(DataLoss{"range_dropped", measured.empty() ? "" : measured[present % measured.size()].name,
                         "CUPTI dropped ranges of this batch",
                         static_cast<std::int64_t>(std::max(measured.size() - present, data.ranges_dropped))});
  }
  std::int64_t image_id = 0;
  if (keep_image) {
    image_id = next_id_++;
    sink_.Write(CounterImage{image_id, config_id_, std::move(data.image)});
  }
  for (Range& range : ranges) {
    range.image_id = image_id;
    sink_.Write(range);
  }
  sink_.Commit();
}

}  // namespace fa_profile
