#include "fa_profile/source.h"

#include <spdlog/spdlog.h>

namespace fa_profile::serve {

std::string InOneLine(const Error& error) {
  return error.hint().empty() ? error.Headline() : error.Headline() + "; " + error.hint();
}

void Collection::Say(const std::string& name, bool up, const std::string& why) {
  const auto before = own.up.find(name);
  const bool changed = before == own.up.end() ? !up : before->second != up;
  own.up[name] = up;
  if (!changed) return;
  if (up) {
    spdlog::info("{}: works again", name);
  } else {
    spdlog::error("{}: {}", name, why);
  }
}

void Collection::Works(const std::string& name) {
  failing_.erase(name);
  Say(name, true, "");
}

void Collection::Lacks(const std::string& name, const std::string& why) {
  failing_.erase(name);
  Say(name, false, why);
}

void Collection::Fails(const std::string& name, const std::string& why) {
  failing_[name] = why;
  Say(name, false, why);
}

std::string Collection::WhatFails() const {
  return failing_.empty() ? "" : failing_.begin()->first + ": " + failing_.begin()->second;
}

}  // namespace fa_profile::serve
