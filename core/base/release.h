#ifndef FEEDMILL_CORE_BASE_RELEASE_H_
#define FEEDMILL_CORE_BASE_RELEASE_H_

namespace feedmill {

// Returns this release of feedmill, e.g. "0.1.0".
const char* ReleaseName();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_RELEASE_H_
