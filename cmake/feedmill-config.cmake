# find_package(feedmill) gives the target feedmill::feedmill: libfeedmill.so where
# BUILD_SHARED_LIBS is on or no static archives are installed, else the archives,
# which need the outside libraries, too (FeedmillDependencies.cmake).
include(CMakeFindDependencyMacro)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/feedmill-shared-targets.cmake
   AND (BUILD_SHARED_LIBS OR NOT EXISTS ${CMAKE_CURRENT_LIST_DIR}/feedmill-targets.cmake))
  find_dependency(absl CONFIG)
  include(${CMAKE_CURRENT_LIST_DIR}/feedmill-shared-targets.cmake)
  set(feedmill_kind shared)
else()
  include(${CMAKE_CURRENT_LIST_DIR}/FeedmillDependencies.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/feedmill-targets.cmake)
  set(feedmill_kind static)
endif()
# For plugins (docs/plugins.md), which need a header only.
include(${CMAKE_CURRENT_LIST_DIR}/feedmill-plugin-targets.cmake)
if(NOT TARGET feedmill::feedmill)
  add_library(feedmill::feedmill INTERFACE IMPORTED)
  target_link_libraries(feedmill::feedmill INTERFACE feedmill::${feedmill_kind})
endif()
