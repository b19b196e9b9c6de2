#include "absl/base/config.h"
#include "core/formats/columnar_plugin.h"

#define FEEDMILL_TEXT_OF(x) #x
#define FEEDMILL_TEXT(x) FEEDMILL_TEXT_OF(x)

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#define FEEDMILL_CHECKED ", AddressSanitizer"
#else
#define FEEDMILL_CHECKED ""
#endif

namespace feedmill {

// Increment the interface number with each change of columnar_file.h,
// aws_key_source.h, cloud_files.h, or of a class that they use.
const char* ColumnarBuild() {
  return "feedmill " FEEDMILL_VERSION
         ", columnar interface 7, compiler " __VERSION__
         ", C++11 ABI " FEEDMILL_TEXT(
             _GLIBCXX_USE_CXX11_ABI) ", Abseil " FEEDMILL_TEXT(ABSL_LTS_RELEASE_VERSION)
             FEEDMILL_CHECKED;
}

}  // namespace feedmill
