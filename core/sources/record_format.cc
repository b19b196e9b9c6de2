#include "core/sources/record_format.h"

#include "core/base/check.h"
#include "core/dataset/source_kind.h"

namespace feedmill {

const RecordFormat& FormatOf(const Source& source) {
  FM_CHECK(source.kind().format() != nullptr);
  return *source.kind().format();
}

std::shared_ptr<const Framing> FramingOf(const Source& source) {
  return FormatOf(source).MakeFraming(source.options());
}

}  // namespace feedmill
