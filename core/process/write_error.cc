#include "core/process/write_error.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "core/base/byte_budget.h"
#include "core/base/status.h"

namespace feedmill {

std::string WriteErrorText(int error) {
  std::string text = std::strerror(error);
  rlimit limit{};
  if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) {
    text += fmt::format(": the limit is {} a file (ulimit -f)",
                        BytesText(limit.rlim_cur));
  }
  return text;
}

bool MayWriteFile(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
         limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace feedmill
