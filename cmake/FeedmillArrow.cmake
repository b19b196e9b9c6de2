# Apache Arrow C++ as the pyarrow wheel has it: headers in include/, libraries
# beside them. FEEDMILL_ARROW is the folder of the Python package pyarrow.
set(cached $ENV{XDG_CACHE_HOME})
if(NOT cached)
  set(cached $ENV{HOME}/.cache)
endif()
file(GLOB wheels ${cached}/feedmill/arrow/pyarrow-26*/pyarrow)
if(NOT FEEDMILL_ARROW AND NOT wheels)
  execute_process(COMMAND python3 -c "import pyarrow; print(pyarrow.__path__[0])"
    OUTPUT_VARIABLE wheels OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(FEEDMILL_ARROW include/arrow/api.h HINTS ${wheels} NO_DEFAULT_PATH
  DOC "Folder of the Python package pyarrow 26")
file(GLOB FEEDMILL_ARROW_LIBRARY ${FEEDMILL_ARROW}/libarrow.so.26*)
file(GLOB FEEDMILL_PARQUET_LIBRARY ${FEEDMILL_ARROW}/libparquet.so.26*)

set(FEEDMILL_ARROW_FOUND OFF)
if(FEEDMILL_ARROW AND FEEDMILL_ARROW_LIBRARY AND FEEDMILL_PARQUET_LIBRARY)
  set(FEEDMILL_ARROW_FOUND ON)
  foreach(name arrow parquet)
    string(TOUPPER ${name} upper)
    add_library(arrow::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(arrow::${name} PROPERTIES IMPORTED_LOCATION ${FEEDMILL_${upper}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${FEEDMILL_ARROW}/include)
  endforeach()
  # S3 is a library of its own.
  file(GLOB FEEDMILL_ARROW_S3_LIBRARY ${FEEDMILL_ARROW}/libarrow_s3.so.26*)
  if(FEEDMILL_ARROW_S3_LIBRARY)
    add_library(arrow::s3 SHARED IMPORTED GLOBAL)
    set_target_properties(arrow::s3 PROPERTIES IMPORTED_LOCATION ${FEEDMILL_ARROW_S3_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${FEEDMILL_ARROW}/include)
  endif()
else()
  message(STATUS "No pyarrow 26: libfeedmill_arrow.so, which reads Parquet and Arrow files, is not built "
    "(tools/setup --arrow, or -DFEEDMILL_ARROW=<folder of the package pyarrow>)")
endif()
