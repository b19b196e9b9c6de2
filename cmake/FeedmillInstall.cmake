# cmake --install: the command, the library with its headers, and what
# find_package(feedmill) needs. Libraries of the command and of tests stay.
# Each component is a package (FeedmillPackage.cmake); archives are in none.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
option(BUILD_SHARED_LIBS "Build and install libfeedmill.so, too" OFF)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/feedmill)

get_property(declared GLOBAL PROPERTY FEEDMILL_LIBRARIES)
set(archives "")
foreach(library IN LISTS declared)
  get_target_property(folder ${library} SOURCE_DIR)
  if(folder MATCHES "^${PROJECT_SOURCE_DIR}/(core|cloud|stores|broker|worker|client|server|environment|monitoring)(/|$)")
    list(APPEND archives ${library})
  endif()
endforeach()
set_target_properties(feedmill_flags PROPERTIES EXPORT_NAME flags)

# The target feedmill::feedmill of find_package(feedmill): static archives …
add_library(feedmill_static INTERFACE)
set_target_properties(feedmill_static PROPERTIES EXPORT_NAME static)
target_link_libraries(feedmill_static INTERFACE feedmill_client_reader feedmill_environment feedmill_monitoring_server feedmill_server)
install(TARGETS ${archives} feedmill_flags feedmill_static EXPORT feedmill
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/feedmill COMPONENT archives)
install(EXPORT feedmill NAMESPACE feedmill:: FILE feedmill-targets.cmake
  DESTINATION ${package_folder} COMPONENT archives)

install(TARGETS feedmill_op_plugin EXPORT feedmill-plugin)
install(EXPORT feedmill-plugin NAMESPACE feedmill:: FILE feedmill-plugin-targets.cmake
  DESTINATION ${package_folder} COMPONENT development)

# … or libfeedmill.so, which holds all of them and exports what the headers of
# include/feedmill declare. The tests of the package need it, too.
if(BUILD_SHARED_LIBS OR (FEEDMILL_BUILD_TESTS AND NOT FEEDMILL_SANITIZE AND NOT FEEDMILL_FUZZ))
  set(exports ${CMAKE_CURRENT_LIST_DIR}/feedmill.map)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/feedmill_shared.cc CONTENT "// libfeedmill.so is made of archives alone.\n" @ONLY)
  add_library(feedmill_shared SHARED ${PROJECT_BINARY_DIR}/feedmill_shared.cc)
  list(JOIN archives "," names)
  set_target_properties(feedmill_shared PROPERTIES
    OUTPUT_NAME feedmill EXPORT_NAME shared
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${names}" LINK_DEPENDS ${exports})
  target_link_options(feedmill_shared PRIVATE -Wl,--version-script=${exports} -Wl,-z,defs)
  foreach(library IN LISTS archives)
    target_link_libraries(feedmill_shared PRIVATE "$<BUILD_INTERFACE:${library}>")
  endforeach()
  target_compile_features(feedmill_shared INTERFACE cxx_std_20)
  target_include_directories(feedmill_shared INTERFACE $<INSTALL_INTERFACE:include>)
  # The headers have values of these.
  target_link_libraries(feedmill_shared INTERFACE absl::status absl::statusor absl::time)
  install(TARGETS feedmill_shared EXPORT feedmill-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    COMPONENT library NAMELINK_COMPONENT development)
  install(EXPORT feedmill-shared NAMESPACE feedmill:: FILE feedmill-shared-targets.cmake
    DESTINATION ${package_folder} COMPONENT development)
endif()

write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/feedmill-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/feedmill-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/feedmill-config.cmake ${CMAKE_CURRENT_LIST_DIR}/FeedmillDependencies.cmake
  DESTINATION ${package_folder} COMPONENT development)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/feedmill DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# For scripts.
install(FILES ${PROJECT_SOURCE_DIR}/tests/shell/lib/cluster.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/feedmill COMPONENT command)
if(TARGET feedmill)
  install(TARGETS feedmill RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
endif()
