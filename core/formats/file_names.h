#ifndef FEEDMILL_CORE_FORMATS_FILE_NAMES_H_
#define FEEDMILL_CORE_FORMATS_FILE_NAMES_H_

#include <string_view>

#include "core/io/file_systems.h"
#include "core/io/url_options.h"

namespace feedmill {

// Returns the name of a file without the options of a URL.
inline std::string_view PathOfName(std::string_view name) {
  return SchemeOf(name).empty() ? name : name.substr(0, FindUrlOptions(name));
}

// Returns the options of a URL, with their '?'; "" if there are none.
inline std::string_view OptionsOfName(std::string_view name) {
  return name.substr(PathOfName(name).size());
}

// Returns the folder of a file, with its '/'.
inline std::string_view FolderOfName(std::string_view name) {
  const std::string_view path = PathOfName(name);
  return path.substr(0, path.rfind('/') + 1);
}

// Returns the name of a file in its folder.
inline std::string_view LastPartOfName(std::string_view name) {
  return PathOfName(name).substr(FolderOfName(name).size());
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_FILE_NAMES_H_
