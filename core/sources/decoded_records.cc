#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/io/manifest_files.h"
#include "core/sources/file_heads.h"
#include "core/sources/framed_records.h"
#include "core/sources/indexed_records.h"

namespace feedmill {
namespace {

// Records that an index finds and a decoder decodes.
class DecodedRecords final : public RecordSource {
 public:
  DecodedRecords(FramedRecords records,
                 const std::shared_ptr<const Manifest>& manifest)
      : framing_(std::move(records.framing)),
        raw_(MakeIndexedRecords(framing_, manifest)),
        files_(manifest),
        decoder_(std::move(records.decoder)),
        heads_(*framing_, Compression::kNone, *decoder_, files_) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    auto scratch = std::make_unique<ReadScratch>();
    scratch->raw = raw_->NewScratch();
    return scratch;
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& read = static_cast<ReadScratch&>(scratch);
    decoder_->Reset(out);
    FM_ASSIGN_OR_RETURN(const size_t count,
                        raw_->Read(indexes, bytes_max, *read.raw, read.block));
    const Column& column = read.block.columns[0].View();
    for (size_t row = 0; row < count; ++row) {
      FM_RETURN_IF_ERROR(DecodeRow(
          indexes[row], column.BytesAt(static_cast<int64_t>(row)), read, out));
      if (!out.error.ok()) return row;
    }
    out.error = read.block.error;
    return count;
  }

  std::string Describe(uint64_t index, uint64_t row) const override {
    return raw_->Describe(index, row);
  }

 private:
  struct ReadScratch final : Scratch {
    std::unique_ptr<Scratch> raw;
    RecordBlock block;
    std::vector<Extent> found;
  };

  // Decodes `bytes`, all bytes from one record to the next.
  absl::Status DecodeRow(uint64_t index, std::string_view bytes,
                         ReadScratch& scratch, RecordBlock& out) const {
    const size_t file = files_.Find(index).file;
    scratch.found.clear();
    framing_->FindRecords(bytes, /*at_end=*/true,
                          {files_.info(file).path, 0, 0}, scratch.found);
    // The index came from these bytes, so the file was edited in place.
    if (scratch.found.empty()) return files_.Changed(file);
    FM_ASSIGN_OR_RETURN(const auto head, heads_.Get(file));
    const size_t rows = out.rows;
    const absl::Status status =
        decoder_->Decode(*head, bytes, std::span(scratch.found).first(1), out);
    if (status.ok()) return absl::OkStatus();
    out.Truncate(rows);
    out.error = Annotate(status, Describe(index, 0));
    return absl::OkStatus();
  }

  const std::shared_ptr<const Framing> framing_;
  const std::unique_ptr<const RecordSource> raw_;
  const ManifestFiles files_;
  const std::unique_ptr<const RecordDecoder> decoder_;
  const FileHeads heads_;
};

}  // namespace

std::unique_ptr<const RecordSource> MakeDecodedRecords(
    FramedRecords records, std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<DecodedRecords>(std::move(records), manifest);
}

}  // namespace feedmill
