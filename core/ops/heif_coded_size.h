#ifndef FEEDMILL_CORE_OPS_HEIF_CODED_SIZE_H_
#define FEEDMILL_CORE_OPS_HEIF_CODED_SIZE_H_

#include <string_view>

#include "core/dataset/image_box.h"

// The size of the pictures that a decoder makes of coded data, found without
// decoding it.

namespace feedmill {

// The largest sides that the headers in `obus` (open bitstreams, one after the
// other) allow. A frame with a size of its own may have any size that its bits
// can say.
// Source: AV1 Bitstream & Decoding Process Specification, 5.5 and 5.9.2.
ImageSize LargestAv1Size(std::string_view obus);

// The largest sides of the sequence parameter sets in `nals`: each behind its
// length in 4 bytes. Source: ITU-T H.265, 7.3.2.2.
ImageSize LargestHevcSize(std::string_view nals);

// The sides of one without a length; none if it is no parameter set.
ImageSize HevcSetSize(std::string_view nal);

// The larger of both in each direction.
ImageSize LargerOf(ImageSize a, ImageSize b);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_HEIF_CODED_SIZE_H_
