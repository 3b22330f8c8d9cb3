#pragma once

#include <string>

#include "command.h"
#include "fa_profile/jobs.h"
#include "fa_profile/option_jobs.h"

namespace fa_profile::cli {

/// Without a GPU: prints the report of the bundled recording instead of the requested run, and names it in its first
/// line. Throws Error for an option whose row says that it needs a GPU, and for what the recording lacks.
int ReplayBundled(const jobs::LadderJob& asked, const help::OptionJobs& rows, const Format& format,
                  const ReportFilter& filter, const std::string& why_no_gpu);

}  // namespace fa_profile::cli
