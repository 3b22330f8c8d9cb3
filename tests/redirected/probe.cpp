extern "C" int probe_function(int number) { return number + PROBE_RESULT; }
