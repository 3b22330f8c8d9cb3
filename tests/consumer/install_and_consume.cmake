# cmake -DBUILD=<our build> -DSOURCE=<this folder> -DWORK=<scratch folder> -DCUDA=<ON|OFF> -P install_and_consume.cmake
#
# Installs into a scratch prefix, moves that elsewhere (an installation must not depend on where it was made), builds the
# consumer against it and runs both the consumer and the installed program.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}\n${output}\nfailed: ${status}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/made)
file(RENAME ${WORK}/made ${WORK}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
message("${output}")
if(CUDA AND NOT output MATCHES "kernels and collect work")
  message(FATAL_ERROR "the installation lacks the CUDA components")
endif()
foreach(file man/man1/fa-profile.1 man/man1/fa-profile-gate-selftest.1 bash-completion/completions/fa-profile
        zsh/site-functions/_fa-profile fish/vendor_completions.d/fa-profile.fish)
  if(NOT EXISTS ${WORK}/prefix/share/${file})
    message(FATAL_ERROR "the installation lacks share/${file}")
  endif()
endforeach()
run(${WORK}/prefix/bin/fa-profile --version)
message("${output}")
