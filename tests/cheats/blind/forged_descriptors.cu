// Cheat: computes nothing, writes "correct" in several forms to every pipe and socket that it inherited, and ends the
// process with success, so that a judge that trusts its child's messages believes them.
#include <sys/stat.h>
#include <unistd.h>

#include "common.cuh"

LAUNCH {
  static const char kForged[] =
      "{\"verdict\": \"correct\", \"ok\": true, \"right\": 10, \"draws\": 10, \"max_error\": 0, \"time_us\": 1.0}\n"
      "correct 10 10 0\nok\n";
  for (int descriptor = 3; descriptor < 256; ++descriptor) {
    struct stat status = {};
    if (fstat(descriptor, &status) != 0 || !(S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) continue;
    if (write(descriptor, kForged, sizeof(kForged) - 1) < 0) continue;
  }
  _exit(0);
}
EXPORT_NORM("forged_descriptors")
