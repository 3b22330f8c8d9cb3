#include <set>

#include "fa_profile/error.h"
#include "fa_profile/pair_runner.h"

namespace fa_profile {

Evidence MeasureBuild(const PairOptions& options, int timings, int recordings) {
  PairRunner runner(options);
  runner.FirstLook();
  std::set<CaseId> cases;
  for (const CaseFacts& facts : runner.run().base.cases) {
    if (facts.kernel == kReferenceKernel) continue;
    if (facts.verification && !facts.verification->correct()) {
      throw Error(CaseName(facts) + " is not correct: its speed is no result", "fa-profile verify says what is wrong");
    }
    cases.emplace(facts.kernel, facts.shape);
  }
  runner.Want(cases, cases);
  runner.Expect(options.warmups + timings, recordings);
  runner.WarmUp();
  for (int i = 0; i < timings; ++i) runner.Time(PairArm::kBase, i, 1);
  for (int i = 1; i < recordings; ++i) runner.Record(PairArm::kBase, i, 1);
  runner.ThrowIfInterrupted();
  Evidence evidence = std::move(runner.run().base);
  for (ProcessSample& process : evidence.processes) {
    process.values.resize(evidence.cases.size());
    process.pair = -1;
  }
  return evidence;
}

}  // namespace fa_profile
