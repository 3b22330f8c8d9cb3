#pragma once

#include <string>

namespace fa_profile::cli {

/// Path of the recording that comes with the program. Throws Error when it is missing.
std::string BundledRecording();

/// Throws Error when `folder` is the one with that recording: serve would move it away.
void RefuseBundledFolder(const std::string& folder);

/// Path of the trial data that come with the program. Throws Error when they are missing.
std::string BundledTrials();

/// Path of a workflow to adopt, "adopt-github.yml". Throws Error when it is missing.
std::string BundledWorkflow(const std::string& name);

/// The gate's error rate as gate selftest measured it, one line for reports; empty: its file is missing.
std::string GateErrorRate();

}  // namespace fa_profile::cli
