# cmake --install: the command, the libraries with their headers, and what
# find_package(feedmill) needs. Libraries of the command and of tests stay.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/feedmill)

get_property(declared GLOBAL PROPERTY FEEDMILL_LIBRARIES)
set(libraries feedmill_flags feedmill_op_plugin)
foreach(library IN LISTS declared)
  get_target_property(folder ${library} SOURCE_DIR)
  if(folder MATCHES "^${PROJECT_SOURCE_DIR}/(core|cloud|stores|broker|worker|client|server)(/|$)")
    list(APPEND libraries ${library})
  endif()
endforeach()
set_target_properties(feedmill_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS ${libraries} EXPORT feedmill
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/feedmill)
install(EXPORT feedmill NAMESPACE feedmill:: FILE feedmill-targets.cmake
  DESTINATION ${package_folder})

write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/feedmill-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/feedmill-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/feedmill-config.cmake ${CMAKE_CURRENT_LIST_DIR}/FeedmillDependencies.cmake
  DESTINATION ${package_folder})

foreach(folder core cloud stores broker worker client server)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/feedmill
    FILES_MATCHING PATTERN "*.h")
endforeach()
# For programs in other languages, and for scripts.
install(FILES ${PROJECT_SOURCE_DIR}/schemas/cluster.fbs ${PROJECT_SOURCE_DIR}/schemas/server.fbs
  ${PROJECT_SOURCE_DIR}/tests/shell/lib/cluster.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/feedmill)
if(TARGET feedmill)
  install(TARGETS feedmill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
