#ifndef FEEDMILL_CORE_SOURCES_FILE_HEADS_H_
#define FEEDMILL_CORE_SOURCES_FILE_HEADS_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/manifest_files.h"
#include "core/sources/record_decoder.h"

namespace feedmill {

// A cache of the heads of files (RecordDecoder::Head), read on first use. It
// keeps a bounded number of heads. Any thread.
class FileHeads {
 public:
  // All arguments except `coding` must outlive this object.
  FileHeads(const Framing& framing, const StreamCoding& coding,
            const RecordDecoder& decoder, const ManifestFiles& files)
      : framing_(framing), coding_(coding), decoder_(decoder), files_(files) {}

  // Returns the head of a file. `header`: its first record, if the caller has
  // it; else empty. DataLoss if the header does not fit.
  absl::StatusOr<std::shared_ptr<const RecordDecoder::Head>> Get(
      size_t file, const std::string& header = {}) const;

 private:
  absl::StatusOr<std::string> ReadHeader(size_t file) const;

  const Framing& framing_;
  const StreamCoding coding_;
  const RecordDecoder& decoder_;
  const ManifestFiles& files_;

  mutable std::mutex mutex_;
  mutable std::map<size_t, std::shared_ptr<const RecordDecoder::Head>> heads_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FILE_HEADS_H_
