# cmake --install: the program (cli/), its recordings, and the libraries with headers as the package fa_profile.
#
# The libraries that need no CUDA toolkit are one export set, the kernels and the collector another, so that a consumer
# without a toolkit can use an installation made with one.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fa_profile)

install(TARGETS fa_options fa_base fa_readers fa_model fa_control fa_store fa_sass fa_analyze fa_load fa_packages fa_python fa_exporters fa_html fa_web fa_gate_files fa_judge
        fa_gate_report fa_gate_history fa_trials fa_evidence fa_measure fa_gate EXPORT fa_profile_host)
set(stages profiler/base profiler/base/readers profiler/model profiler/collect/control profiler/store profiler/sass profiler/analyze profiler/load profiler/load/packages profiler/python exporters
    exporters/html exporters/web ci/gate ci/gate/files ci/gate/judge ci/gate/report ci/gate/trials ci/gate/evidence ci/gate/measure)
install(EXPORT fa_profile_host NAMESPACE fa_profile:: DESTINATION ${package_dir})

if(FA_PROFILE_CUDA)
  install(TARGETS fa_kernel_options fa_kernels fa_collect EXPORT fa_profile_cuda)
  list(APPEND stages kernels profiler/collect)
  install(EXPORT fa_profile_cuda NAMESPACE fa_profile:: DESTINATION ${package_dir})
endif()

foreach(stage ${stages})
  install(DIRECTORY ${stage}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
# The interface of kernel libraries needs no CUDA, so a host installation can compile one too.
if(NOT FA_PROFILE_CUDA)
  install(FILES kernels/include/fa_profile/kernel_abi_2.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/fa_profile)
endif()

configure_package_config_file(cmake/fa_profile-config.cmake.in ${PROJECT_BINARY_DIR}/fa_profile-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/fa_profile-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/fa_profile-config.cmake ${PROJECT_BINARY_DIR}/fa_profile-config-version.cmake cmake/re2.cmake
        DESTINATION ${package_dir})

# Files that the program reads from its installation or is used with: the only list, also for ci/package.sh.
set(data DESTINATION ${CMAKE_INSTALL_DATADIR}/fa-profile)
set(part COMPONENT fa_profile_data)
install(DIRECTORY recordings ${data} ${part} FILES_MATCHING PATTERN "*.fap")
install(DIRECTORY ci/gate/data/ ${data}/gate ${part})
install(DIRECTORY ci/workflows ${data} ${part})
install(FILES profiler/python/fa_profile_kernel.py profiler/python/fa_profile_worker.py ${data}/python ${part})
install(DIRECTORY profiler/python/torch_modules ${data}/python ${part})
install(DIRECTORY python/fa_profile/mcp/ ${data}/python/fa_profile_mcp ${part} FILES_MATCHING PATTERN "*.py")
install(DIRECTORY skills ${data} ${part})
install(PROGRAMS ci/comment.sh ci/action/gate.sh ci/action/release/release.sh ${data}/workflows ${part})
install(FILES ci/thresholds.schema.json ${data}/workflows ${part})
install(DIRECTORY examples/attention examples/gemm examples/layer_norm ${data}/kernel-lib ${part})
install(DIRECTORY dashboards/grafana dashboards/rules dashboards/deploy ${data}/dashboards ${part} PATTERN "*.py" EXCLUDE)
install(FILES dashboards/alertmanager.yml dashboards/prometheus.yml dashboards/compose.yaml ${data}/dashboards ${part})

install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.py")  # the documents link to it
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
