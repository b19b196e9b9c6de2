#include "core/sources/record_source.h"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/io/manifest_files.h"
#include "core/sources/file_heads.h"
#include "core/sources/image_labels.h"
#include "core/sources/indexed_records.h"
#include "core/sources/record_decoder.h"
#include "core/sources/streamed_records.h"

namespace feedmill {
namespace {

// Records of a run that are looked up together.
constexpr uint64_t kRunRows = 2048;
// Small files that are on their way from the disk at once, for each thread.
constexpr size_t kFilesAhead = 32;

void ResetBlock(RecordBlock& out, std::span<const DType> dtypes) {
  out.rows = 0;
  out.progression.reset();
  out.error = absl::OkStatus();
  out.columns.resize(dtypes.size());
  size_t c = 0;
  for (const DType dtype : dtypes) {
    out.columns[c].Reset(dtype, {});
    if (dtype == DType::kBytes) out.columns[c].offsets.Push(int64_t{0});
    ++c;
  }
}

void AppendString(std::string_view bytes, OutputColumn& column) {
  column.values.Append(bytes.data(), bytes.size());
  column.offsets.Push(static_cast<int64_t>(column.values.size()));
}

// ---- range
constexpr std::array kNumber = {DType::kInt64};

class RangeRecords final : public RecordSource {
 public:
  explicit RangeRecords(const RangeSource& range) : range_(range) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch&,
                              RecordBlock& out) const override {
    ResetBlock(out, kNumber);
    const size_t count = std::min(
        indexes.size(), std::max<size_t>(bytes_max / sizeof(int64_t), 1));
    auto* items = reinterpret_cast<uint64_t*>(
        out.columns[0].values.Extend(count * sizeof(uint64_t)));
    // Unsigned: the sequence may wrap only past its end.
    const auto start = static_cast<uint64_t>(range_.start);
    const auto step = static_cast<uint64_t>(range_.step);
    for (size_t k = 0; k < count; ++k) items[k] = start + indexes[k] * step;
    out.rows = count;
    return count;
  }

  absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                 size_t bytes_max, Scratch&,
                                 RecordBlock& out) const override {
    ResetBlock(out, kNumber);
    const auto rows = static_cast<size_t>(std::min<uint64_t>(
        count, std::max<size_t>(bytes_max / sizeof(int64_t), 1)));
    const auto step = static_cast<uint64_t>(range_.step);
    const Progression numbers{
        static_cast<uint64_t>(range_.start) + first * step, step};
    if (out.takes_progression) {
      out.progression = numbers;
    } else {
      numbers.Fill(reinterpret_cast<uint64_t*>(
                       out.columns[0].values.Extend(rows * sizeof(uint64_t))),
                   rows);
    }
    out.rows = rows;
    return rows;
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return fmt::format("record {} of the range", index);
  }

 private:
  const RangeSource range_;
};

// ---- counted records of a format: found by an index, then decoded
class DecodedRecords final : public RecordSource {
 public:
  DecodedRecords(const Source& source,
                 const std::shared_ptr<const Manifest>& manifest,
                 const std::vector<bool>& live)
      : framing_(FramingOf(source)),
        raw_(MakeIndexedRecords(framing_, manifest)),
        files_(manifest),
        decoder_(RecordDecoder::Make(source, live)),
        heads_(framing_, Compression::kNone, *decoder_, files_) {}

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

  // The bytes from one record to the next, with what stands between.
  absl::Status DecodeRow(uint64_t index, std::string_view bytes,
                         ReadScratch& scratch, RecordBlock& out) const {
    const size_t file = files_.Find(index).file;
    scratch.found.clear();
    Framing framing = framing_;
    framing.first_is_header = false;
    FindRecords(framing, bytes, /*at_end=*/true, {files_.info(file).path, 0, 0},
                scratch.found);
    // The index came from these bytes; the file was edited in place.
    if (scratch.found.empty()) return files_.Changed(file);
    FM_ASSIGN_OR_RETURN(const auto head, heads_.Get(file));
    const size_t rows = out.rows;
    const absl::Status status =
        decoder_->Decode(*head, bytes, std::span(scratch.found).first(1), out);
    if (status.ok()) return absl::OkStatus();
    CutRows(rows, out);
    out.error = Annotate(status, Describe(index, 0));
    return absl::OkStatus();
  }

  const Framing framing_;
  const std::unique_ptr<const RecordSource> raw_;
  const ManifestFiles files_;
  const std::unique_ptr<const RecordDecoder> decoder_;
  const FileHeads heads_;
};

// ---- images: one file a record
class ImageFiles final : public RecordSource {
 public:
  ImageFiles(const ImagesSource& source,
             std::shared_ptr<const Manifest> manifest,
             const std::vector<bool>& live)
      : label_(source.label),
        files_(std::move(manifest)),
        makes_image_(live.empty() || live[0]),
        makes_label_(live.empty() || live[1]),
        makes_path_(live.empty() || live[2]) {
    if (makes_image_) dtypes_.push_back(DType::kBytes);
    if (makes_label_) dtypes_.push_back(DType::kInt64);
    if (makes_path_) dtypes_.push_back(DType::kBytes);
  }

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<AheadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& ahead = static_cast<AheadScratch&>(scratch).files;
    ResetBlock(out, dtypes_);
    size_t bytes = 0;
    for (size_t k = 0; k < indexes.size(); ++k) {
      const size_t file = files_.Find(indexes[k]).file;
      const ManifestFile& info = files_.info(file);
      bytes += makes_image_ ? info.size : info.path.size();
      if (out.rows > 0 && bytes > bytes_max) break;
      size_t c = 0;
      if (makes_image_) {
        OpenAhead(indexes.subspan(k), ahead);
        absl::StatusOr<std::unique_ptr<RandomAccessFile>> next =
            std::move(ahead.front().opened);
        ahead.pop_front();
        FM_ASSIGN_OR_RETURN(const auto opened, std::move(next));
        OutputColumn& image = out.columns[c++];
        std::byte* const at = image.values.Extend(info.size);
        FM_RETURN_IF_ERROR(files_.Read(file, *opened, 0, {at, info.size}));
        image.offsets.Push(static_cast<int64_t>(image.values.size()));
      }
      if (makes_label_) {
        out.columns[c++].values.Push(ImageLabel(
            ImageLabelName(info.path, label_), files_.manifest().classes));
      }
      if (makes_path_) AppendString(info.path, out.columns[c]);
      ++out.rows;
    }
    return out.rows;
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.info(files_.Find(index).file).path;
  }

 private:
  struct Ahead {
    uint64_t index;
    absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened;
  };
  struct AheadScratch final : Scratch {
    std::deque<Ahead> files;  // the next ones, as the last call knew them
  };

  // Makes `ahead` begin with the first of `indexes`, and the disk busy with
  // those after it: while one image is decoded, others come.
  void OpenAhead(std::span<const uint64_t> indexes,
                 std::deque<Ahead>& ahead) const {
    if (!ahead.empty() && ahead.front().index != indexes.front()) ahead.clear();
    const size_t most = std::min(indexes.size(), kFilesAhead);
    while (ahead.size() < most) {
      const uint64_t index = indexes[ahead.size()];
      const size_t file = files_.Find(index).file;
      ahead.push_back({index, files_.OpenOnce(file)});
      const auto& opened = ahead.back().opened;
      const ByteRange whole{0, files_.info(file).size};
      if (opened.ok()) (*opened)->Prefetch({&whole, 1});
    }
  }

  const ImagesSource::Label label_;
  const ManifestFiles files_;
  const bool makes_image_;  // else no file is opened
  const bool makes_label_;
  const bool makes_path_;
  std::vector<DType> dtypes_;  // of what is made
};

}  // namespace

absl::StatusOr<std::unique_ptr<const RecordSource>> RecordSource::Make(
    const Source& source, bool counted,
    std::shared_ptr<const Manifest> manifest, const std::vector<bool>& live) {
  using Result = std::unique_ptr<const RecordSource>;
  if (const auto* range = std::get_if<RangeSource>(&source)) {
    return Result(std::make_unique<RangeRecords>(*range));
  }
  if (manifest == nullptr)
    return Internal("a source of files needs a manifest");
  if (const auto* images = std::get_if<ImagesSource>(&source)) {
    for (const ManifestFile& file : manifest->files) {
      if (file.records != 1) {
        return DataLoss("the manifest is not one of images: {} has {} records",
                        file.path, file.records);
      }
    }
    return Result(
        std::make_unique<ImageFiles>(*images, std::move(manifest), live));
  }
  if (!counted) return MakeStreamedRecords(source, live, std::move(manifest));
  if (std::holds_alternative<FixedLengthSource>(source) ||
      std::holds_alternative<NpySource>(source)) {
    return MakeArrayRecords(source, live, std::move(manifest));
  }
  if (std::holds_alternative<TfRecordSource>(source) ||
      std::holds_alternative<TextSource>(source)) {
    return MakeIndexedRecords(FramingOf(source), std::move(manifest));
  }
  return Result(std::make_unique<DecodedRecords>(source, manifest, live));
}

absl::StatusOr<size_t> RecordSource::Read(std::span<const uint64_t>, size_t,
                                          Scratch&, RecordBlock&) const {
  return Internal("records of an uncounted source cannot be read by number");
}

absl::StatusOr<size_t> RecordSource::ReadRun(uint64_t first, uint64_t count,
                                             size_t bytes_max, Scratch& scratch,
                                             RecordBlock& out) const {
  std::vector<uint64_t> indexes(std::min<uint64_t>(count, kRunRows));
  std::iota(indexes.begin(), indexes.end(), first);
  return Read(indexes, bytes_max, scratch, out);
}

absl::StatusOr<bool> RecordSource::ReadBlock(uint64_t, uint64_t, size_t,
                                             RecordBlock&) const {
  return Internal("a counted source has no blocks");
}

}  // namespace feedmill
