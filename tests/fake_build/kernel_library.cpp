// A kernel library as far as its name: what a run of pairs reads of one before a program loads it.
extern "C" const char* fa_profile_kernel_name();
extern "C" const char* fa_profile_kernel_name() { return FAKE_NAME; }

#ifdef FAKE_OTHER_HOST_CODE
extern "C" int fake_launches();
extern "C" int fake_launches() { return 2; }
#endif
