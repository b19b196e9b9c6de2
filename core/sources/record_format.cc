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

bool MayNeedIndex(const SourceKind& kind) {
  if (kind.format() == nullptr) return false;
  const Source source = kind.New();
  const SourceProperties properties = kind.Properties(source.options());
  // Other records are counted by the sizes of the files.
  return (properties.indexed || properties.positions != Positions::kRecords) &&
         FramingOf(source) != nullptr;
}

}  // namespace feedmill
