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

// The heads of files (RecordDecoder::Head), read when they are first needed and
// kept, up to a number of files. Any thread.
class FileHeads {
 public:
  // All but the compression must outlive this.
  FileHeads(const Framing& framing, Compression compression,
            const RecordDecoder& decoder, const ManifestFiles& files)
      : framing_(framing),
        compression_(compression),
        decoder_(decoder),
        files_(files) {}

  // The head of a file; `header` is its first record if that is at hand, else
  // it is empty. DataLoss if the header does not fit.
  absl::StatusOr<std::shared_ptr<const RecordDecoder::Head>> Get(
      size_t file, const std::string& header = {}) const;

 private:
  absl::StatusOr<std::string> ReadHeader(size_t file) const;

  const Framing& framing_;
  const Compression compression_;
  const RecordDecoder& decoder_;
  const ManifestFiles& files_;

  mutable std::mutex mutex_;
  mutable std::map<size_t, std::shared_ptr<const RecordDecoder::Head>> heads_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_FILE_HEADS_H_
