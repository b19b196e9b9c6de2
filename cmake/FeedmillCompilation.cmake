# Faster compiling: ccache and mold if they are installed, precompiled headers,
# and several files in one translation unit. None of them changes the result of
# the build.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -O3 is for loops over data; see feedmill_library(LOOPS).
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()
# Debug information names files from the root of the source tree, so that
# ccache serves every checkout on the machine.
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)

find_program(FEEDMILL_CCACHE ccache)
if(FEEDMILL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache's manual asks for with precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${FEEDMILL_CCACHE})
  # See feedmill_sum_precompiled. ccache makes paths behind -include relative, and
  # leaves those behind CMake's -Xclang as they are.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    list(INSERT CMAKE_CXX_COMPILER_LAUNCHER 3 CCACHE_PCH_EXTSUM=true)
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include <PCH_HEADER>)
  endif()
endif()
find_program(FEEDMILL_MOLD mold)
if(FEEDMILL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

option(FEEDMILL_PRECOMPILED_HEADERS "Precompile the outside headers that most files include" ON)

# Headers of the standard library and of dependencies only: a precompiled header
# of our own would make every file depend on it.
set(feedmill_precompiled_headers
  <absl/status/status.h> <absl/status/statusor.h> <absl/time/time.h>
  <algorithm> <array> <atomic> <charconv> <cmath> <cstddef> <cstdint> <cstring> <deque> <functional> <limits> <map>
  <memory> <optional> <set> <span> <string> <string_view> <tuple> <type_traits> <utility> <variant> <vector>
  <fmt/format.h>)

# feedmill_sum_precompiled(OWNER HEADER…): writes what identifies OWNER's precompiled
# header to ccache, a checksum of HEADER… preprocessed. Clang's file itself names the
# folder of the build, so that no other checkout would find its objects.
function(feedmill_sum_precompiled owner)
  set(source ${PROJECT_BINARY_DIR}/${owner}_headers.cc)
  file(WRITE ${source} "")
  foreach(header IN LISTS ARGN)
    file(APPEND ${source} "#include ${header}\n")
  endforeach()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P ${source}
    OUTPUT_VARIABLE preprocessed RESULT_VARIABLE status ERROR_QUIET)
  if(status EQUAL 0)
    string(SHA256 sum "${preprocessed}")
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${owner}.dir/cmake_pch.hxx.pch.sum ${sum})
  endif()
endfunction()

# feedmill_precompile(TARGET library|test): TARGET uses the precompiled header of
# its kind. The flags of all targets of a kind must be the same.
function(feedmill_precompile target kind)
  if(NOT FEEDMILL_PRECOMPILED_HEADERS)
    return()
  endif()
  set(owner feedmill_precompiled_${kind})
  # For ccache: the header does not hold the time at which it was made.
  set(without_timestamp "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(NOT TARGET ${owner})
    set(source ${PROJECT_BINARY_DIR}/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Owns the precompiled header of its kind.\n" @ONLY)
    set(headers ${feedmill_precompiled_headers})
    if(kind STREQUAL "test")
      list(APPEND headers <filesystem> <fstream> <thread> <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
      # An executable, as those that use its header: both are compiled with -fPIE.
      add_executable(${owner} EXCLUDE_FROM_ALL ${source})
      set_target_properties(${owner} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
      target_link_libraries(${owner} PRIVATE GTest::gmock GTest::gtest_main nlohmann_json::nlohmann_json)
      target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-Og>)
    else()
      add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
      set_target_properties(${owner} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    endif()
    target_link_libraries(${owner} PRIVATE feedmill_flags absl::status absl::statusor absl::time fmt::fmt)
    target_precompile_headers(${owner} PRIVATE ${headers})
    target_compile_options(${owner} PRIVATE ${without_timestamp})
    if(FEEDMILL_CCACHE AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
      feedmill_sum_precompiled(${owner} ${headers})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # For ccache: what is preprocessed names the header instead of holding it.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> ${without_timestamp})
endfunction()

option(FEEDMILL_UNITY "Compile several files of a target together" ON)

# feedmill_unite(TARGET): up to 24 files of TARGET are one translation unit, so that
# the headers and templates that they share are compiled once. Names in anonymous
# namespaces must differ within a target.
function(feedmill_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${FEEDMILL_UNITY} UNITY_BUILD_BATCH_SIZE 24)
endfunction()
