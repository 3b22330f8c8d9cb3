# cmake -DSOURCE_DIR=... -DVERSION=... -DINPUT=version.cpp.in -DOUTPUT=version.cpp -P write_version.cmake
#
# Run at every build, so that the commit is that of the build and not of the configuration. OUTPUT is written only when it
# changes: a build with nothing to do compiles nothing.
set(COMMIT unknown)
find_program(git git)
set(git ${git} -c safe.directory=${SOURCE_DIR})  # whoever builds a checkout trusts its owner, so git need not doubt him
# A tarball unpacked inside some other repository must not claim that repository's commit: hence the test for .git itself.
if(EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} rev-parse --short=12 HEAD
                  RESULT_VARIABLE failed OUTPUT_VARIABLE head ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} --no-optional-locks status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(NOT failed)
    set(COMMIT ${head})
    if(changes)
      string(APPEND COMMIT -dirty)
    endif()
  endif()
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
