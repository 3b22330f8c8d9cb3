#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace fa_profile::help {

struct ManPage {
  std::string name;  ///< "fa-profile-gate-selftest"
  std::string text;  ///< roff, in ASCII
};

/// The pages of the main app and of every command that help lists, in that order. Throws Error for a SOURCE_DATE_EPOCH
/// that is not a number of seconds.
std::vector<ManPage> ManPages(const CLI::App& app, std::string_view version);

}  // namespace fa_profile::help
