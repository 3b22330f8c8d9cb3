#include <unistd.h>

#include "fixture.h"

__attribute__((constructor)) static void Hang() {
  for (;;) pause();
}
