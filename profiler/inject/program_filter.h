#pragma once

#include <set>
#include <string>
#include <vector>

#include "fa_profile/inject_protocol.h"
#include "fa_profile/kernel_pattern.h"
#include "fa_profile/launch_selection.h"
#include "fa_profile/program_api.h"

namespace fa_profile::inject {

/// The launches selected by --kernel, --nvtx, --launch-skip and --launch-count.
class ProgramFilter final : public collect::LaunchFilter {
 public:
  /// `plan` outlives this. Throws Error: not a regular expression.
  explicit ProgramFilter(const InjectPlan& plan);

  bool asks() const override { return selection_.asks(); }
  bool Takes(const collect::LaunchCall& call) override;
  void OnMeasured() override { selection_.OnMeasured(); }
  bool over() const override { return selection_.over(); }
  bool Wants(const std::string& key) override;
  std::vector<DataLoss> Losses() const override;

 private:
  const InjectPlan& plan_;
  KernelPattern pattern_;
  LaunchSelection selection_;
  std::set<std::string> inside_;  // keys that were launched inside the wanted NVTX ranges
};

}  // namespace fa_profile::inject
