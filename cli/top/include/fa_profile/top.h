#pragma once

#include <functional>
#include <string>

#include "fa_profile/http_client.h"
#include "fa_profile/report.h"

namespace fa_profile::top {

struct TopOptions {
  std::string address = "http://127.0.0.1:9407/metrics";  ///< also HOST:PORT, and without the path
  http::ServerAccess access;
  double interval_seconds = 2;
  bool once = false;
  /// How pages look now: a terminal may change its width.
  std::function<exporters::ReportOptions()> look;
};

/// Shows what the server's page of metrics says: once on stdout, or on the terminal until q, SIGINT or SIGTERM. Throws
/// Error: an address that cannot be used, no terminal, and with `once` a server that does not answer.
void RunTop(const TopOptions& options);

}  // namespace fa_profile::top
