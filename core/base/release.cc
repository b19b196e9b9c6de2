#include "core/base/release.h"

namespace feedmill {

const char* ReleaseName() { return FEEDMILL_VERSION; }

}  // namespace feedmill
