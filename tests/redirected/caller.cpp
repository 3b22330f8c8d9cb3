extern "C" int probe_function(int number);
#ifdef CALL_BY_POINTER
int (*the_probe)(int) = probe_function;
extern "C" int call_probe(int number) { return the_probe(number) + 100; }
#else
extern "C" int call_probe(int number) { return probe_function(number) + 100; }
#endif
