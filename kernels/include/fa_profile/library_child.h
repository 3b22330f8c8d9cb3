#pragma once

#include <string>
#include <vector>

#include "fa_profile/child_process.h"
#include "fa_profile/kernels.h"

namespace fa_profile {

/// The identity of a library's kernel. A library's code may crash, hang, end its process or print, so a child process
/// loads it: this program, started as `fa-profile kernel-library`. It answers with a message on its stdout, which the
/// library does not share (OwnStdout); the library's output is dropped. `limits`: how long it may take; its folder must
/// be empty. `program`: a fa-profile. Throws Error: the one that the child reports, or how the library ended the
/// process; the time limit; "interrupted".
LibraryIdentity AskForIdentity(const std::string& library, const std::vector<std::string>& files = {},
                               const ChildLimits& limits = {}, const std::string& program = "/proc/self/exe");

}  // namespace fa_profile
