# The outside libraries that ours link, found by their own CMake packages or by
# pkg-config. Nothing is fetched; tools/setup installs what is missing. It is
# installed, too: find_package(feedmill) finds them in the same way.
find_package(absl REQUIRED CONFIG)
find_package(fmt REQUIRED CONFIG)
find_package(spdlog REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(yaml-cpp REQUIRED CONFIG)
find_package(FlatBuffers REQUIRED CONFIG)
find_package(cppzmq REQUIRED CONFIG)
# Debian keeps OpenCV's CMake package in libopencv-dev, which pulls in half a
# desktop; two of its libraries are all that is needed.
find_path(OPENCV_INCLUDE opencv2/imgproc.hpp PATH_SUFFIXES opencv4 REQUIRED)
# The archives need neither OpenGL nor LAPACK, which the shared libraries load.
option(FEEDMILL_STATIC_OPENCV "Link OpenCV's archives, for packages that carry their libraries" OFF)
if(FEEDMILL_STATIC_OPENCV)
  set(opencv_prefix lib)
  set(opencv_suffix .a)
endif()
foreach(module core imgproc)
  if(TARGET opencv::${module})
    continue()
  endif()
  find_library(OPENCV_${module}
    NAMES ${opencv_prefix}opencv_${module}${opencv_suffix} REQUIRED)
  add_library(opencv::${module} UNKNOWN IMPORTED)
  set_target_properties(opencv::${module} PROPERTIES IMPORTED_LOCATION ${OPENCV_${module}}
    INTERFACE_INCLUDE_DIRECTORIES ${OPENCV_INCLUDE})
endforeach()
if(FEEDMILL_STATIC_OPENCV AND NOT TARGET feedmill_no_opengl)
  # libtbb-dev is not needed: the headers of TBB are not used here.
  find_library(TBB_LIBRARY NAMES tbb libtbb.so.12 REQUIRED)
  add_library(feedmill_no_opengl STATIC ${CMAKE_CURRENT_LIST_DIR}/no_opengl.cc)
  set_target_properties(feedmill_no_opengl PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_target_properties(opencv::core PROPERTIES INTERFACE_LINK_LIBRARIES
    "feedmill_no_opengl;${TBB_LIBRARY};z;-Wl,--gc-sections")
  set_target_properties(opencv::imgproc PROPERTIES INTERFACE_LINK_LIBRARIES opencv::core)
endif()
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(PNG REQUIRED)
find_package(CURL REQUIRED)
find_package(EXPAT REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(TURBOJPEG REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(SENTENCEPIECE REQUIRED IMPORTED_TARGET sentencepiece)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
# Debian 12's yaml-cpp 0.7 exports its target without a namespace.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
