// An NVML whose driver hangs: no call returns.
#include <unistd.h>

extern "C" int nvmlInit_v2() {
  for (;;) sleep(1000);
}
