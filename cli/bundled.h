#pragma once

#include <string>

namespace fa_profile::cli {

/// Path of the recording that comes with the program. Throws Error when it is missing.
std::string BundledRecording();

/// Throws Error when `folder` is the one that contains it: serve would move the recording away.
void RefuseBundledFolder(const std::string& folder);

/// Path of the trial data bundled with the program. Throws Error when they are missing.
std::string BundledTrials();

/// Path of a workflow to adopt, "adopt-github.yml". Throws Error when it is missing.
std::string BundledWorkflow(const std::string& name);

/// The gate's error rate as measured by gate selftest, one line for reports; empty: its file is missing.
std::string GateErrorRate();

}  // namespace fa_profile::cli
