#include "core/ops/image_libraries.h"

#include "core/base/machine_error.h"
#include "core/base/status.h"

namespace feedmill {

void UseImageLibraries() {
  static constexpr ImageCodec kCodecs[] = {
      {IsTiff, ReadTiffSize, DecodeTiff, DecodeWideTiff},
      {IsHeif, ReadHeifSize, DecodeHeif},
  };
  // Once: decoders of other threads read it.
  static const bool used = (UseImageCodecs(kCodecs), true);
  static_cast<void>(used);
}

void ThrowNoLibrary(std::string_view kind, std::string_view library,
                    std::string_view package, const std::string& why) {
  throw MachineError(FailedPrecondition(
      "a {} image needs the library {}, of Debian's package {}: {}", kind,
      library, package, why));
}

}  // namespace feedmill
