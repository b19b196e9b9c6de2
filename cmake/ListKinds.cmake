# Writes OUTPUT, a C++ file with functions that list the kinds of steps and sources of FILES, in
# their order. A kind is a line "const StepKind& ResizeKind() {". The namespace is
# feedmill::operators for files of the folder core/operators.
#
#   cmake -D FILES=core/operators/map.cc,core/operators/zip.cc -D OUTPUT=kinds.cc -P ListKinds.cmake
string(REPLACE "," ";" files "${FILES}")
list(GET files 0 first)
cmake_path(GET first PARENT_PATH folder)
cmake_path(GET folder FILENAME name)
set(functions "")
set(declarations "")
foreach(type IN ITEMS SourceKind StepKind)
  set(kinds "")
  foreach(file IN LISTS files)
    file(STRINGS ${file} lines REGEX "^const ${type}& [A-Za-z0-9]+Kind\\(\\) {")
    foreach(line IN LISTS lines)
      string(REGEX MATCH "[A-Za-z0-9]+Kind\\(\\)" kind ${line})
      string(APPEND declarations "const ${type}& ${kind};\n")
      string(APPEND kinds "\n      &${kind},")
    endforeach()
  endforeach()
  if(kinds)
    string(APPEND functions "std::vector<const ${type}*> ${type}s() {\n  return {${kinds}\n  };\n}\n")
  endif()
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/ListKinds.cmake.
#include <vector>

#include \"core/dataset/source_kind.h\"
#include \"core/dataset/step_kind.h\"

namespace feedmill {

${declarations}
namespace ${name} {

${functions}
}  // namespace ${name}
}  // namespace feedmill
")
