# find_package(feedmill): the libraries as feedmill::NAME (feedmill::client_reader
# is what a trainer links), with the outside libraries that they need.
include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/FeedmillDependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/feedmill-targets.cmake)
