#include "core/sources/record_source.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/sources/file_heads.h"
#include "core/sources/manifest_files.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_index.h"
#include "core/sources/streamed_records.h"
#include "core/sources/tfrecord.h"

namespace feedmill {
namespace {

// Neighbours that are joined into one read: how far apart, how much in all.
constexpr uint64_t kJoinGapBytes = uint64_t{16} << 10;
constexpr uint64_t kJoinBytesMax = uint64_t{1} << 20;
// Records in order are read together as long as they stay in the cache while
// they are taken apart.
constexpr size_t kSequentialBytes = size_t{256} << 10;
// Records of a run that are looked up together.
constexpr uint64_t kRunRows = 2048;
// Small files that are on their way from the disk at once, for each thread.
constexpr size_t kFilesAhead = 32;

void ResetBlock(RecordBlock& out, std::initializer_list<DType> dtypes) {
  out.rows = 0;
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
class RangeRecords final : public RecordSource {
 public:
  explicit RangeRecords(const RangeSource& range) : range_(range) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch&,
                              RecordBlock& out) const override {
    ResetBlock(out, {DType::kInt64});
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
    ResetBlock(out, {DType::kInt64});
    out.rows = static_cast<size_t>(std::min<uint64_t>(
        count, std::max<size_t>(bytes_max / sizeof(int64_t), 1)));
    auto* const items = reinterpret_cast<uint64_t*>(
        out.columns[0].values.Extend(out.rows * sizeof(uint64_t)));
    const auto step = static_cast<uint64_t>(range_.step);
    const uint64_t start = static_cast<uint64_t>(range_.start) + first * step;
    for (size_t k = 0; k < out.rows; ++k) items[k] = start + k * step;
    return out.rows;
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return fmt::format("record {} of the range", index);
  }

 private:
  const RangeSource range_;
};

// ---- records that an index of offsets finds: TFRecord, lines, and the bytes
// of others
class IndexedRecords final : public RecordSource {
 public:
  IndexedRecords(const Framing& framing,
                 std::shared_ptr<const Manifest> manifest)
      : framing_(framing), files_(std::move(manifest)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<ReadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override;

  std::string Describe(uint64_t index, uint64_t) const override {
    const auto place = files_.Find(index);
    const std::string& path = files_.info(place.file).path;
    if (framing_.kind == Framing::Kind::kLines) {
      return fmt::format("{}: line {}", path, place.record + 1);
    }
    const auto record_index = files_.Index(framing_, place.file);
    if (!record_index.ok()) {
      return fmt::format("{}: record {}", path, place.record);
    }
    return fmt::format("{}: record {} at offset {}", path, place.record,
                       (*record_index)->offsets[place.record]);
  }

 private:
  // A record that is to be read, and where its bytes go.
  struct Wanted {
    size_t file;
    uint64_t offset;
    uint64_t size;  // in the file
    uint64_t record;
    size_t row;
    size_t to;  // in the values
  };
  struct ReadScratch final : Scratch {
    std::vector<Wanted> wanted;  // in the order of the files
    std::vector<size_t> by_row;  // where in `wanted`; if that is not by rows
    BufferBuilder raw;
    std::shared_ptr<const RecordIndex> index;
    size_t index_file = 0;
    std::shared_ptr<const File> opened;
    size_t opened_file = 0;
  };

  // How many bytes of a record in the file are not its data.
  uint64_t Overhead() const {
    return framing_.kind == Framing::Kind::kTfRecords ? kTfRecordOverheadBytes
                                                      : 0;
  }
  absl::Status Locate(std::span<const uint64_t> indexes, size_t bytes_max,
                      ReadScratch& scratch, RecordBlock& out) const;
  absl::Status LocateByFile(std::span<const uint64_t> indexes,
                            ReadScratch& scratch) const;
  absl::Status FindOffset(Wanted& wanted, ReadScratch& scratch) const;
  absl::Status ReadGroup(std::span<const Wanted> group, ReadScratch& scratch,
                         size_t& bad_row, RecordBlock& out) const;

  const Framing framing_;
  const ManifestFiles files_;
};

absl::Status IndexedRecords::FindOffset(Wanted& wanted,
                                        ReadScratch& scratch) const {
  if (scratch.index == nullptr || scratch.index_file != wanted.file) {
    FM_ASSIGN_OR_RETURN(scratch.index, files_.Index(framing_, wanted.file));
    scratch.index_file = wanted.file;
  }
  const auto& offsets = scratch.index->offsets;
  wanted.offset = offsets[wanted.record];
  wanted.size = offsets[wanted.record + 1] - wanted.offset;
  return absl::OkStatus();
}

// Fills scratch.wanted, and makes room for the records in the order of
// `indexes`.
absl::Status IndexedRecords::Locate(std::span<const uint64_t> indexes,
                                    size_t bytes_max, ReadScratch& scratch,
                                    RecordBlock& out) const {
  auto& all = scratch.wanted;
  all.clear();
  const bool sorted = std::is_sorted(indexes.begin(), indexes.end());
  if (sorted) {
    bytes_max = std::min(bytes_max, kSequentialBytes);
  } else {
    FM_RETURN_IF_ERROR(LocateByFile(indexes, scratch));
  }
  OutputColumn& column = out.columns[0];
  size_t to = 0;
  size_t rows = 0;
  for (; rows < indexes.size(); ++rows) {
    if (sorted) {
      const auto place = files_.Find(indexes[rows]);
      all.push_back({place.file, 0, 0, place.record, rows, 0});
      FM_RETURN_IF_ERROR(FindOffset(all[rows], scratch));
    }
    Wanted& wanted = all[sorted ? rows : scratch.by_row[rows]];
    const uint64_t size = wanted.size - Overhead();
    if (rows > 0 && to + size > bytes_max) break;
    wanted.to = to;
    to += size;
    column.offsets.Push(static_cast<int64_t>(to));
  }
  std::erase_if(all, [&](const Wanted& one) { return one.row >= rows; });
  column.values.Extend(to);
  return absl::OkStatus();
}

// In the order of the files, so that the index of each is asked for once,
// however often its records alternate with those of others.
absl::Status IndexedRecords::LocateByFile(std::span<const uint64_t> indexes,
                                          ReadScratch& scratch) const {
  auto& all = scratch.wanted;
  for (size_t row = 0; row < indexes.size(); ++row) {
    const auto place = files_.Find(indexes[row]);
    all.push_back({place.file, 0, 0, place.record, row, 0});
  }
  std::sort(all.begin(), all.end(), [](const Wanted& a, const Wanted& b) {
    return std::pair(a.file, a.record) < std::pair(b.file, b.record);
  });
  scratch.by_row.resize(all.size());
  for (size_t k = 0; k < all.size(); ++k) {
    scratch.by_row[all[k].row] = k;
    FM_RETURN_IF_ERROR(FindOffset(all[k], scratch));
  }
  return absl::OkStatus();
}

absl::Status IndexedRecords::ReadGroup(std::span<const Wanted> group,
                                       ReadScratch& scratch, size_t& bad_row,
                                       RecordBlock& out) const {
  const size_t file = group.front().file;
  const uint64_t begin = group.front().offset;
  const uint64_t end = group.back().offset + group.back().size;
  if (scratch.opened == nullptr || scratch.opened_file != file) {
    FM_ASSIGN_OR_RETURN(scratch.opened, files_.Open(file));
    scratch.opened_file = file;
  }
  scratch.raw.Truncate(0);
  const std::span<std::byte> raw(scratch.raw.Extend(end - begin), end - begin);
  FM_RETURN_IF_ERROR(files_.Fill(file, *scratch.opened, begin, raw));
  std::byte* const values = out.columns[0].values.data();
  for (const Wanted& wanted : group) {
    std::span<const std::byte> data =
        raw.subspan(wanted.offset - begin, wanted.size);
    if (framing_.kind == Framing::Kind::kTfRecords) {
      const auto parsed = ParseTfRecord(
          data, {files_.info(file).path, wanted.record, wanted.offset});
      if (!parsed.ok()) {
        if (wanted.row < bad_row) {
          bad_row = wanted.row;
          out.error = parsed.status();
        }
        continue;
      }
      data = *parsed;
      // The index came from these headers; the file was edited in place.
      if (data.size() != wanted.size - kTfRecordOverheadBytes) {
        return files_.Changed(file);
      }
    }
    if (!data.empty()) {
      std::memcpy(values + wanted.to, data.data(), data.size());
    }
  }
  return absl::OkStatus();
}

// Lines end in a '\n' that is not theirs: closes the gaps.
void DropNewlines(OutputColumn& column, size_t rows) {
  auto* const offsets = column.offsets.As<int64_t>();
  std::byte* const values = column.values.data();
  int64_t to = 0;
  int64_t from = 0;
  for (size_t row = 0; row < rows; ++row) {
    const int64_t next = offsets[row + 1];
    int64_t size = next - from;
    if (size > 0 && values[next - 1] == std::byte{'\n'}) --size;
    if (to != from) {
      std::memmove(values + to, values + from, static_cast<size_t>(size));
    }
    to += size;
    from = next;
    offsets[row + 1] = to;
  }
  column.values.Truncate(static_cast<size_t>(to));
}

absl::StatusOr<size_t> IndexedRecords::Read(std::span<const uint64_t> indexes,
                                            size_t bytes_max, Scratch& scratch,
                                            RecordBlock& out) const {
  auto& read = static_cast<ReadScratch&>(scratch);
  ResetBlock(out, {DType::kBytes});
  FM_RETURN_IF_ERROR(Locate(indexes, bytes_max, read, out));
  const size_t count = read.wanted.size();
  size_t bad_row = count;
  for (size_t k = 0; k < count;) {
    const Wanted& first = read.wanted[k];
    uint64_t group_end = first.offset + first.size;
    size_t next = k + 1;
    for (; next < count; ++next) {
      const Wanted& wanted = read.wanted[next];
      if (wanted.file != first.file ||
          wanted.offset > group_end + kJoinGapBytes ||
          wanted.offset + wanted.size > first.offset + kJoinBytesMax) {
        break;
      }
      group_end = wanted.offset + wanted.size;
    }
    const size_t file = first.file;
    FM_RETURN_IF_ERROR(ReadGroup(std::span(read.wanted).subspan(k, next - k),
                                 read, bad_row, out));
    k = next;
    if (k == count || read.wanted[k].file != file) {
      FM_RETURN_IF_ERROR(files_.Check(file, *read.opened));
    }
  }
  if (framing_.kind == Framing::Kind::kLines)
    DropNewlines(out.columns[0], count);
  out.rows = bad_row;
  if (bad_row < count) {
    OutputColumn& column = out.columns[0];
    column.offsets.Truncate((bad_row + 1) * sizeof(int64_t));
    column.values.Truncate(
        static_cast<size_t>(column.offsets.As<int64_t>()[bad_row]));
  }
  return bad_row;
}

// ---- counted records of a format: found by an index, then decoded
class DecodedRecords final : public RecordSource {
 public:
  DecodedRecords(const Source& source,
                 const std::shared_ptr<const Manifest>& manifest)
      : framing_(FramingOf(source)),
        raw_(framing_, manifest),
        files_(manifest),
        decoder_(RecordDecoder::Make(source)),
        heads_(framing_, Compression::kNone, *decoder_, files_) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    auto scratch = std::make_unique<ReadScratch>();
    scratch->raw = raw_.NewScratch();
    return scratch;
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& read = static_cast<ReadScratch&>(scratch);
    decoder_->Reset(out);
    FM_ASSIGN_OR_RETURN(const size_t count,
                        raw_.Read(indexes, bytes_max, *read.raw, read.block));
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
    return raw_.Describe(index, row);
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
  const IndexedRecords raw_;
  const ManifestFiles files_;
  const std::unique_ptr<const RecordDecoder> decoder_;
  const FileHeads heads_;
};

// ---- images: one file a record
class ImageFiles final : public RecordSource {
 public:
  ImageFiles(const ImagesSource& source,
             std::shared_ptr<const Manifest> manifest)
      : label_(source.label), files_(std::move(manifest)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<AheadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& ahead = static_cast<AheadScratch&>(scratch).files;
    ResetBlock(out, {DType::kBytes, DType::kInt64, DType::kBytes});
    OutputColumn& image = out.columns[0];
    for (size_t k = 0; k < indexes.size(); ++k) {
      const size_t file = files_.Find(indexes[k]).file;
      const ManifestFile& info = files_.info(file);
      if (out.rows > 0 && image.values.size() + info.size > bytes_max) break;
      OpenAhead(indexes.subspan(k), ahead);
      absl::StatusOr<std::unique_ptr<File>> next =
          std::move(ahead.front().opened);
      ahead.pop_front();
      FM_ASSIGN_OR_RETURN(const auto opened, std::move(next));
      std::byte* const at = image.values.Extend(info.size);
      FM_RETURN_IF_ERROR(files_.Read(file, *opened, 0, {at, info.size}));
      image.offsets.Push(static_cast<int64_t>(image.values.size()));
      out.columns[1].values.Push(ImageLabel(ImageLabelName(info.path, label_),
                                            files_.manifest().classes));
      AppendString(info.path, out.columns[2]);
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
    absl::StatusOr<std::unique_ptr<File>> opened;
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
      if (opened.ok()) (*opened)->Prefetch(0, files_.info(file).size);
    }
  }

  const ImagesSource::Label label_;
  const ManifestFiles files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const RecordSource>> RecordSource::Make(
    const Source& source, bool counted,
    std::shared_ptr<const Manifest> manifest) {
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
    return Result(std::make_unique<ImageFiles>(*images, std::move(manifest)));
  }
  if (!counted) return MakeStreamedRecords(source, std::move(manifest));
  if (std::holds_alternative<FixedLengthSource>(source) ||
      std::holds_alternative<NpySource>(source)) {
    return MakeArrayRecords(source, std::move(manifest));
  }
  if (std::holds_alternative<TfRecordSource>(source) ||
      std::holds_alternative<TextSource>(source)) {
    return Result(std::make_unique<IndexedRecords>(FramingOf(source),
                                                   std::move(manifest)));
  }
  return Result(std::make_unique<DecodedRecords>(source, manifest));
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
