#pragma once

#include <string>

#include "fa_profile/error.h"

namespace fa_profile::serve {

/// Returns the result of `call`; an Error that it throws gets the file's name.
template <typename Call>
auto AboutFile(const std::string& path, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(path + ": " + error.message(), error.hint());
  }
}

}  // namespace fa_profile::serve
