// Calls one function of each installed library: they must be found, compile, link and run outside this repository.
#include <iostream>
#include <sstream>

#include "fa_profile/analyze.h"
#include "fa_profile/cubin.h"
#include "fa_profile/error.h"
#include "fa_profile/recording_file.h"
#include "fa_profile/report.h"
#include "fa_profile/version.h"
#include "fa_profile/web_server.h"
#ifdef WITH_CUDA
#include "fa_profile/kernels.h"
#include "fa_profile/metric_host.h"
#endif

int main() {
  std::cout << "version " << fa_profile::Version() << "\n";
  try {
    fa_profile::store::RecordingReader reader("/nonexistent.fap");
    return 1;
  } catch (const fa_profile::Error&) {
    std::cout << "store works\n";
  }
  try {
    fa_profile::sass::ReadCubin({});
    return 1;
  } catch (const fa_profile::Error&) {
    std::cout << "sass works\n";
  }
  std::ostringstream csv;
  fa_profile::exporters::WriteCsvReport(csv, fa_profile::analyze::Analyze(fa_profile::Recording{}));
  if (csv.str().rfind("kernel,", 0) != 0) return 1;
  std::cout << "analyze and exporters work\n";
  fa_profile::web::WebOptions options;
  options.port = 0;
  const fa_profile::web::WebServer server(
      options, [](const fa_profile::web::WebRequest&) { return fa_profile::web::WebReply(); });
  if (server.port() == 0) return 1;
  std::cout << "web works\n";
#ifdef WITH_CUDA
  if (fa_profile::Ladder().empty() || fa_profile::collect::SupportedChips().empty()) return 1;
  std::cout << "kernels and collect work\n";
#endif
}
