# Functions that declare the project's targets. Every library lists its sources
# and its dependencies in one place, so that the layering of docs/design.md, Folders, is
# what the linker sees; tests/lint reads the same declarations.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(FeedmillCompilation)

add_library(feedmill_flags INTERFACE)
# For installed users, too; here CMAKE_CXX_STANDARD says it.
target_compile_features(feedmill_flags INTERFACE cxx_std_20)
target_compile_options(feedmill_flags INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wshadow;-Wconversion;-Wnon-virtual-dtor;-Wundef;-fno-omit-frame-pointer>
  # For all alike: some dependencies ask for it, and a precompiled header serves
  # only files with its own macros.
  $<BUILD_INTERFACE:-pthread>
  # Results must not depend on the compiler's mood: no fused multiply-add.
  $<BUILD_INTERFACE:-ffp-contract=off>
  $<$<BOOL:${FEEDMILL_WERROR}>:$<BUILD_INTERFACE:-Werror>>)
if(FEEDMILL_SANITIZE)
  target_compile_options(feedmill_flags INTERFACE -fsanitize=${FEEDMILL_SANITIZE} -fno-sanitize-recover=all
    # GCC 12 sees uninitialised variables in its own std::regex and
    # std::function when it instruments them (GCC bug 105562).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(feedmill_flags INTERFACE -fsanitize=${FEEDMILL_SANITIZE})
endif()
if(FEEDMILL_FUZZ)
  target_compile_options(feedmill_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_compile_definitions(feedmill_flags INTERFACE FEEDMILL_FUZZ)
endif()
target_include_directories(feedmill_flags INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<INSTALL_INTERFACE:include>)
set_property(GLOBAL PROPERTY FEEDMILL_LIBRARIES feedmill_flags)
set_property(GLOBAL PROPERTY FEEDMILL_PURE_LIBRARIES "")

# feedmill_library(NAME core_chunk [PURE] [LOOPS] [OPTIMISED] SOURCES a.cc b.h [PUBLIC c.h] DEPENDS core_base absl::status)
# Declares the static library feedmill_NAME, also known as feedmill::NAME.
# A dependency written without "::" is one of ours. PUBLIC: its headers in
# include/feedmill, which users of the library include. PURE libraries link neither
# sockets, threads nor OpenMP and read no clock; tests/lint checks them. LOOPS
# libraries run loops over elements and bytes: Release compiles them with -O3, and
# each file alone unless feedmill_unite follows; all others with -O2 and several
# files together. OPTIMISED libraries are optimised in builds with -O0, too:
# tests run them for minutes.
function(feedmill_library)
  cmake_parse_arguments(ARG "PURE;LOOPS;OPTIMISED" "NAME" "SOURCES;PUBLIC;DEPENDS" ${ARGN})
  set(target feedmill_${ARG_NAME})
  add_library(${target} STATIC ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME} LINKER_LANGUAGE CXX
    # libfeedmill.so exports what headers in include/feedmill declare.
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  feedmill_precompile(${target} library)
  if(ARG_OPTIMISED)
    feedmill_optimise(${target})
  endif()
  feedmill_unite(${target})
  if(ARG_LOOPS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
  endif()
  add_library(feedmill::${ARG_NAME} ALIAS ${target})
  target_link_libraries(${target} PUBLIC feedmill_flags)
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(dependency MATCHES "::")
      target_link_libraries(${target} PUBLIC ${dependency})
    else()
      target_link_libraries(${target} PUBLIC feedmill_${dependency})
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY FEEDMILL_LIBRARIES ${target})
  # For tests/lint.
  set_property(GLOBAL PROPERTY FEEDMILL_NAME_${target} ${ARG_NAME})
  set_property(GLOBAL PROPERTY FEEDMILL_SOURCES_${target} ${ARG_SOURCES})
  set_property(GLOBAL PROPERTY FEEDMILL_PUBLIC_${target} ${ARG_PUBLIC})
  set_property(GLOBAL PROPERTY FEEDMILL_DEPENDS_${target} ${ARG_DEPENDS})
  if(ARG_PURE)
    set_property(GLOBAL APPEND PROPERTY FEEDMILL_PURE_LIBRARIES ${target})
  endif()
endfunction()

# feedmill_kinds(TARGET): adds a file that lists the kinds of steps and sources of this folder.
function(feedmill_kinds target)
  set(script ${PROJECT_SOURCE_DIR}/cmake/ListKinds.cmake)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/kinds.cc)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  # The command has the names, so that it runs again after a file was deleted.
  list(JOIN files "," names)
  add_custom_command(OUTPUT ${list} DEPENDS ${files} ${script} VERBATIM
    COMMAND ${CMAKE_COMMAND} -D FILES=${names} -D OUTPUT=${list} -P ${script})
  target_sources(${target} PRIVATE ${list})
endfunction()

# feedmill_optimise(TARGET): -O1 where the preset says -O0. clang refuses a
# precompiled header of another optimisation.
function(feedmill_optimise target)
  if(CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O0")
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# feedmill_binary(NAME feedmill SOURCES main.cc DEPENDS tools_command)
function(feedmill_binary)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE feedmill_flags)
  feedmill_link(${ARG_NAME} ${ARG_DEPENDS})
  if("GTest::gmock" IN_LIST ARG_DEPENDS)
    feedmill_precompile(${ARG_NAME} test)
    feedmill_unite(${ARG_NAME})
  endif()
endfunction()

# feedmill_link(TARGET core_chunk absl::status): a name without "::" is ours.
function(feedmill_link target)
  foreach(dependency IN LISTS ARGN)
    if(dependency MATCHES "::")
      target_link_libraries(${target} PRIVATE ${dependency})
    else()
      target_link_libraries(${target} PRIVATE feedmill_${dependency})
    endif()
  endforeach()
endfunction()

# feedmill_test(NAME plan_test [OPTIMISED] [LARGE] SOURCES plan_test.cc DEPENDS core_plan LABELS unit [TIMEOUT 300])
# One gtest binary, registered with ctest as one test. OPTIMISED: as of a library.
# LARGE: with a sanitizer it takes minutes, and only `tools/test --slow` runs it.
# TIMEOUT ends a test that hangs, on a slow machine, too.
function(feedmill_test)
  cmake_parse_arguments(ARG "OPTIMISED;LARGE" "NAME;TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(FEEDMILL_SANITIZE)
    math(EXPR ARG_TIMEOUT "6 * ${ARG_TIMEOUT}")
    if(ARG_LARGE)
      list(APPEND ARG_LABELS large)
    endif()
  endif()
  feedmill_binary(NAME ${ARG_NAME} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} GTest::gmock GTest::gtest_main)
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  # Code that a test runs once need not be fast, and the code that it tests is in
  # libraries. g++ compiles it fastest with -Og: with -O0 the code is larger.
  target_compile_options(${ARG_NAME} PRIVATE $<$<CONFIG:Release>:-Og>)
  if(ARG_OPTIMISED)
    feedmill_optimise(${ARG_NAME})
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
endfunction()
