#pragma once

#include <string>

#include "fa_profile/error.h"

namespace fa_profile::serve {

/// What `call` returns; an Error that it throws names the file that it is about.
template <typename Call>
auto AboutFile(const std::string& path, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    throw Error(path + ": " + error.message(), error.hint());
  }
}

}  // namespace fa_profile::serve
