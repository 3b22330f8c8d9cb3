# One INTERFACE target carries language level, warnings and sanitizers; every target of ours links it.
add_library(fa_options INTERFACE)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
target_compile_options(fa_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${FA_PROFILE_WERROR}>>:-Werror>)
if(FA_PROFILE_SANITIZER STREQUAL "address")
  target_compile_options(fa_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined -fno-sanitize-recover=all -g>)
  target_link_options(fa_options INTERFACE -fsanitize=address,undefined)
elseif(FA_PROFILE_SANITIZER STREQUAL "thread")
  target_compile_options(fa_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread -g>)
  target_link_options(fa_options INTERFACE -fsanitize=thread)
endif()
