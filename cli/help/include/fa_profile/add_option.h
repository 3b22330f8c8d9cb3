#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "fa_profile/usage_errors.h"

namespace fa_profile::help {

/// Adds an option that takes a number from `least` to `most`; its value is its default.
template <typename Number>
CLI::Option* AddNumber(CLI::App& app, const std::string& name, Number& value, const std::string& what,
                       std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
  return app.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
}

/// Adds an option that takes one of these words; its value is its default.
inline CLI::Option* AddChoice(CLI::App& app, const std::string& name, std::string& value, const std::string& what,
                              const std::vector<std::string>& choices) {
  return app.add_option(name, value, what)->check(OneOf(choices))->capture_default_str();
}

/// Adds an option that takes a time like "15s", "1h", "500ms", or a number of seconds.
void AddDuration(CLI::App& app, const std::string& name, double& seconds, const std::string& what, double least,
                 double most);

}  // namespace fa_profile::help
