#pragma once

#include <cstdint>
#include <string>

#include "fa_profile/descriptor.h"

namespace fa_profile::web {

struct Listener {
  Descriptor socket;  ///< non-blocking, listening
  std::uint16_t port = 0;
  bool loopback = false;  ///< only this machine can reach it
};

/// Listens on the first address that `address` resolves to; empty: on all interfaces. Port 0: any free one. Throws
/// Error.
Listener Listen(const std::string& address, std::uint16_t port);

}  // namespace fa_profile::web
