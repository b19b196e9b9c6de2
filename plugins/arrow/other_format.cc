#include "plugins/arrow/other_format.h"

#include <span>
#include <string>

#include "core/base/status.h"

namespace feedmill {

absl::Status RefuseFormat(const RandomAccessFile& file, std::string_view magic,
                          std::string_view why) {
  std::string begin(magic.size(), '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file.Read(0, std::as_writable_bytes(std::span<char>(begin))));
  if (got < magic.size() || begin != magic) return absl::OkStatus();
  return InvalidArgument("{}", why);
}

absl::Status RefuseOtherFormat(const RandomAccessFile& file,
                               std::string_view magic,
                               std::string_view source) {
  return RefuseFormat(
      file, magic,
      fmt::format("it begins with {}; read it by the source `{}`", magic,
                  source));
}

}  // namespace feedmill
