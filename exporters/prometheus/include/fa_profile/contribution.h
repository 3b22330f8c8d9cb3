#pragma once

#include <optional>
#include <string>

#include "fa_profile/profile.h"
#include "fa_profile/recording.h"
#include "fa_profile/totals.h"

namespace fa_profile::prom {

/// What one recording adds. A pure function. Only whole calls count, or a program's ranges. A kernel that is not
/// correct adds no launches and no durations: its speed is not a result. Throws Error for numbers that must not be
/// counted: CheckTotals() with kMostOfAContribution.
Totals Contribution(const Recording& recording, const Profile& profile);

/// "le_512", "le_2048", "le_8192", "gt_8192" by the longer sequence; "none" without a sequence length.
std::string ShapeBucket(const std::optional<Shape>& shape);

/// The label of an entry's kernel. The ladder and kernel libraries choose names: "mma". For a program's kernel
/// QualifiedName(): "void ns::k<int>(float*)" is "ns::k", so that all instantiations of a function share one. At most
/// 64 letters, digits and characters in "_:.-". If that is not the whole name, "~" and four hexadecimal digits of a
/// hash follow, so that other kernels have other labels, and a kernel has the same one in every run.
std::string KernelLabel(const ProfileEntry& entry);

}  // namespace fa_profile::prom
