#include "core/dataset/source.h"

#include "core/dataset/source_kind.h"

namespace feedmill {

std::string_view Source::name() const {
  return empty() ? std::string_view() : kind().name();
}

}  // namespace feedmill
