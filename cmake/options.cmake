# One INTERFACE target carries language level, warnings and sanitizers; every target of ours links it.
add_library(fa_options INTERFACE)
# Not CMAKE_CXX_STANDARD: CMake would ask the same of CUDA, and 3.25 does not know how to ask nvcc 13 for C++20.
target_compile_features(fa_options INTERFACE cxx_std_20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(cxx $<COMPILE_LANGUAGE:CXX>)
set(cuda $<COMPILE_LANGUAGE:CUDA>)
set(werror $<BOOL:${FA_PROFILE_WERROR}>)
target_compile_options(fa_options INTERFACE
  $<${cxx}:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<AND:${cxx},${werror}>:-Werror>
  # ptxas names every kernel that spills or uses local memory.
  "$<${cuda}:-std=c++20;-Xcompiler=-Wall,-Wextra;-Xptxas=--warn-on-spills,--warn-on-local-memory-usage>"
  "$<$<AND:${cuda},${werror}>:--Werror=all-warnings;-Xptxas=--warning-as-error>")

# The presets compile several files as one (unity builds), which takes a third of the CPU time: names in anonymous
# namespaces are unique within a library. A file that cannot take part has SKIP_UNITY_BUILD_INCLUSION.
if(CMAKE_UNITY_BUILD)
  # gcc takes a type in one source's anonymous namespace for a header's.
  target_compile_options(fa_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
# gcc collects garbage only beyond a gigabyte, which a unit rarely reaches: a tenth of its time, for a fifth more memory.
foreach(parameter ggc-min-expand=1000 ggc-min-heapsize=1048576)
  target_compile_options(fa_options INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ${parameter}>")
endforeach()
if(FA_PROFILE_PORTABLE)
  # Names of sources in errors, without the folder of the machine that built them.
  target_compile_options(fa_options INTERFACE $<${cxx}:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
endif()
if(FA_PROFILE_SANITIZER STREQUAL "address")
  # AddressSanitizer ends a program at a null pointer, past an object and in one that is gone, too: a quarter of the
  # compiler's time for nothing. Another eighth is the check of alignment: it is on where bytes of files become values,
  # in targets with the property FA_SANITIZE_ALIGNMENT.
  set(sanitize -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:FA_SANITIZE_ALIGNMENT>>>:-fno-sanitize=alignment>)
elseif(FA_PROFILE_SANITIZER STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(FA_PROFILE_SANITIZER)
  message(FATAL_ERROR "FA_PROFILE_SANITIZER is '${FA_PROFILE_SANITIZER}'; it can be address, thread or empty")
endif()
if(FA_PROFILE_SANITIZER)
  # gcc's -Wmaybe-uninitialized sees ghosts in the standard library under sanitizers.
  target_compile_options(fa_options INTERFACE
    "$<${cxx}:${sanitize};-Og;-g1;-fno-omit-frame-pointer;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>>")
  target_link_options(fa_options INTERFACE ${sanitize})
endif()
if(FA_PROFILE_FUZZ)
  target_compile_options(fa_options INTERFACE $<${cxx}:-fsanitize=fuzzer-no-link>)
endif()
