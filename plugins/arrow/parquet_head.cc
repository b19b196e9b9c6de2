#include "plugins/arrow/parquet_head.h"

#include <arrow/buffer.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/status.h"
#include "plugins/arrow/arrow_status.h"
#include "plugins/arrow/bounded_pool.h"
#include "plugins/arrow/parquet_page.h"

namespace feedmill {
namespace {

// Bytes of the first pages of all columns that are fetched together, where the
// sizes of the pages are guessed.
constexpr int64_t kHeadBytes = int64_t{1} << 20;
// Bytes of the beginning of a page.
constexpr int64_t kLeastBeginning = 4 << 10;
constexpr int64_t kMostBeginning = 64 << 10;
// Writers end a page at this size, before its compression, or at this number of
// rows.
constexpr int64_t kPageBytes = int64_t{1} << 20;
constexpr int64_t kPageRows = 20'000;
// Bytes of a column that are fetched although its first page may be smaller.
// More than a page of indices of a dictionary has.
constexpr int64_t kSmallChunkBytes = 128 << 10;
// More than the header of a page without long statistics; Arrow looks for it in
// as many bytes as kPeekBytes.
constexpr int64_t kPageHeaderBytes = 1 << 10;
constexpr int64_t kPeekBytes = 16 << 10;

// Returns the guess of the size of a column's first page.
std::pair<int64_t, int64_t> FirstPageOf(
    const parquet::ColumnChunkMetaData& chunk, int64_t pages) {
  // Returns the bytes of a page with this part of all values.
  const auto page_of = [&](int64_t part, int64_t all) {
    const double share =
        static_cast<double>(part) / static_cast<double>(std::max(all, part));
    const auto page = static_cast<int64_t>(share * static_cast<double>(pages));
    return std::min(pages, std::max(page + kPageHeaderBytes, kPeekBytes));
  };
  int64_t most = pages <= kSmallChunkBytes
                     ? pages
                     : page_of(kPageBytes, chunk.total_uncompressed_size());
  if (chunk.has_dictionary_page()) {
    // The page has indices only, even if later pages have values.
    most = std::min(most, kSmallChunkBytes);
  }
  return {std::min(most, page_of(kPageRows, chunk.num_values())), most};
}

// Returns the bytes of a value without compression; 0: they differ.
int64_t WidthOf(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT:
      return 4;
    case parquet::Type::INT64:
    case parquet::Type::DOUBLE:
      return 8;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      return column.type_length();
    default:
      return 0;
  }
}

// Returns the number of values of a dictionary that `bytes` have whole.
int64_t WholeValues(const parquet::ColumnDescriptor& column,
                    const arrow::Buffer& bytes) {
  if (const int64_t width = WidthOf(column); width > 0) {
    return bytes.size() / width;
  }
  int64_t count = 0;
  for (int64_t at = 0; at + 4 <= bytes.size(); ++count) {
    uint32_t size = 0;
    std::memcpy(&size, bytes.data() + at, sizeof size);
    at += 4 + int64_t{size};
    if (at > bytes.size()) break;
  }
  return count;
}

absl::StatusOr<parquet::Encoding::type> EncodingOf(int64_t number) {
  if (number < 0 || number > parquet::Encoding::BYTE_STREAM_SPLIT) {
    return FailedPrecondition("a page of an unknown encoding");
  }
  return static_cast<parquet::Encoding::type>(number);
}

using Pages = std::vector<std::shared_ptr<parquet::Page>>;

class FirstPages final : public parquet::PageReader {
 public:
  explicit FirstPages(Pages pages) : pages_(std::move(pages)) {}
  std::shared_ptr<parquet::Page> NextPage() override {
    return next_ < pages_.size() ? pages_[next_++] : nullptr;
  }
  void set_max_page_header_size(uint32_t) override {}

 private:
  const Pages pages_;
  size_t next_ = 0;
};

absl::StatusOr<std::shared_ptr<parquet::Page>> DictionaryOf(
    const parquet::ColumnDescriptor& column, const ParquetPageBeginning& page) {
  FM_ASSIGN_OR_RETURN(const auto encoding, EncodingOf(page.header.encoding));
  const int64_t values =
      page.whole
          ? page.header.values
          : std::min(page.header.values, WholeValues(column, *page.bytes));
  return std::make_shared<parquet::DictionaryPage>(
      page.bytes, static_cast<int32_t>(values), encoding);
}

// Returns the first `rows` values of a page with values.
absl::StatusOr<std::shared_ptr<parquet::Page>> ValuesOf(
    const parquet::ColumnDescriptor& column, const ParquetPageBeginning& page,
    int64_t rows) {
  FM_ASSIGN_OR_RETURN(const auto encoding, EncodingOf(page.header.encoding));
  FM_ASSIGN_OR_RETURN(const auto definition_levels,
                      EncodingOf(page.header.definition_levels));
  FM_ASSIGN_OR_RETURN(const auto repetition_levels,
                      EncodingOf(page.header.repetition_levels));
  const bool indices = encoding == parquet::Encoding::RLE_DICTIONARY ||
                       encoding == parquet::Encoding::PLAIN_DICTIONARY;
  if (page.header.type != ParquetPageHeader::kData ||
      rows > page.header.values ||
      (!page.whole && !indices && encoding != parquet::Encoding::PLAIN)) {
    return FailedPrecondition("a page whose beginning cannot be read alone");
  }
  std::shared_ptr<arrow::Buffer> bytes = page.bytes;
  if (!page.whole && indices) {
    // Levels of nulls, then runs of at least eight indices: of at most 4 bytes
    // each, behind at most 5 bytes.
    int64_t levels = 0;
    if (column.max_definition_level() > 0) {
      uint32_t size = 0;
      if (bytes->size() < 4) return FailedPrecondition("a short page");
      std::memcpy(&size, bytes->data(), sizeof size);
      levels = 4 + int64_t{size};
    }
    if (levels + 1 + (rows / 8 + 1) * 37 > bytes->size()) {
      return FailedPrecondition("a page whose beginning is too short");
    }
  }
  return std::make_shared<parquet::DataPageV1>(
      std::move(bytes),
      static_cast<int32_t>(page.whole ? page.header.values : rows), encoding,
      definition_levels, repetition_levels, page.header.uncompressed_size);
}

absl::StatusOr<ParquetPageBeginning> ReadPage(
    arrow::io::RandomAccessFile& file, int64_t begin, int64_t size,
    parquet::Compression::type codec) {
  FM_ASSIGN_OR_RETURN_ARROW(const auto bytes, file.ReadAt(begin, size));
  return ParsePageBeginning(static_cast<std::string_view>(*bytes), codec);
}

// Makes the pages of a leaf.
using PagesOf = std::function<absl::StatusOr<Pages>(int leaf)>;

class HeadGroup final : public parquet::RowGroupReader::Contents {
 public:
  HeadGroup(std::unique_ptr<parquet::RowGroupMetaData> metadata, PagesOf pages)
      : metadata_(std::move(metadata)), pages_(std::move(pages)) {}

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    auto pages = pages_(leaf);
    if (!pages.ok()) {
      throw parquet::ParquetException(std::string(pages.status().message()));
    }
    return std::make_unique<FirstPages>(*std::move(pages));
  }
  const parquet::RowGroupMetaData* metadata() const override {
    return metadata_.get();
  }
  const parquet::ReaderProperties* properties() const override {
    return &properties_;
  }

 private:
  const std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  const PagesOf pages_;
  const parquet::ReaderProperties properties_{BoundedPool()};
};

class HeadContents final : public parquet::ParquetFileReader::Contents {
 public:
  HeadContents(std::shared_ptr<parquet::FileMetaData> metadata, PagesOf pages)
      : metadata_(std::move(metadata)), pages_(std::move(pages)) {}

  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int group) override {
    return std::make_shared<parquet::RowGroupReader>(
        std::make_unique<HeadGroup>(metadata_->RowGroup(group), pages_));
  }
  std::shared_ptr<parquet::FileMetaData> metadata() const override {
    return metadata_;
  }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override {
    return nullptr;
  }
  parquet::BloomFilterReader& GetBloomFilterReader() override {
    throw parquet::ParquetException("the first rows have no filter");
  }

 private:
  const std::shared_ptr<parquet::FileMetaData> metadata_;
  const PagesOf pages_;
};

}  // namespace

ParquetHead::ParquetHead(std::shared_ptr<parquet::FileMetaData> metadata,
                         int group, std::span<const int> leaves, int64_t rows)
    : metadata_(std::move(metadata)), group_(group), rows_(rows) {
  part_ =
      std::clamp(kHeadBytes / (2 * std::max<int64_t>(std::ssize(leaves), 1)),
                 kLeastBeginning, kMostBeginning);
  const auto columns = metadata_->RowGroup(group);
  for (const int leaf : leaves) {
    const auto column = columns->ColumnChunk(leaf);
    Chunk& chunk = chunks_[leaf];
    chunk.begin = column->data_page_offset();
    if (column->has_dictionary_page()) {
      chunk.begin = std::min(chunk.begin, column->dictionary_page_offset());
    }
    chunk.dictionary = column->data_page_offset() - chunk.begin;
    chunk.pages = std::max<int64_t>(
        column->total_compressed_size() - chunk.dictionary, 0);
    std::tie(chunk.page_least, chunk.page_most) =
        FirstPageOf(*column, chunk.pages);
    chunk.beginning = FitsBeginning(leaf);
  }
}

// True if a guess says that the rows are in the beginnings of the pages.
bool ParquetHead::FitsBeginning(int leaf) const {
  const parquet::ColumnDescriptor& column = *metadata_->schema()->Column(leaf);
  const parquet::Type::type type = column.physical_type();
  if (column.max_repetition_level() > 0 ||
      (WidthOf(column) == 0 && type != parquet::Type::BYTE_ARRAY)) {
    return false;
  }
  const auto metadata = metadata_->RowGroup(group_)->ColumnChunk(leaf);
  const double value =
      static_cast<double>(metadata->total_uncompressed_size()) /
      static_cast<double>(std::max<int64_t>(metadata->num_values(), 1));
  return 1.5 * value * static_cast<double>(rows_) + kPageHeaderBytes <
         static_cast<double>(part_);
}

bool ParquetHead::HasBeginning(int leaf) const {
  const auto found = chunks_.find(leaf);
  return found != chunks_.end() && found->second.beginning;
}

std::vector<arrow::io::ReadRange> ParquetHead::Ranges() const {
  int64_t least = 0;
  int64_t most = 0;
  for (const auto& [leaf, chunk] : chunks_) {
    least += chunk.beginning ? 2 * part_ : chunk.page_least;
    most += chunk.beginning ? 2 * part_ : chunk.page_most;
  }
  // The part of the bytes between `page_least` and `page_most` for which there
  // is room in kHeadBytes.
  const double spare =
      std::clamp(static_cast<double>(kHeadBytes - least) /
                     static_cast<double>(std::max<int64_t>(most - least, 1)),
                 0.0, 1.0);
  std::vector<arrow::io::ReadRange> ranges;
  for (const auto& [leaf, chunk] : chunks_) {
    int64_t page = std::min(chunk.pages, part_);
    if (!chunk.beginning) {
      page =
          chunk.page_least +
          static_cast<int64_t>(
              spare * static_cast<double>(chunk.page_most - chunk.page_least));
    }
    if (!chunk.beginning || chunk.dictionary <= part_) {
      ranges.push_back({chunk.begin, chunk.dictionary + page});
    } else {
      ranges.push_back({chunk.begin, part_});
      ranges.push_back({chunk.begin + chunk.dictionary, page});
    }
  }
  std::ranges::sort(ranges, std::ranges::greater(),
                    &arrow::io::ReadRange::offset);
  return ranges;
}

absl::StatusOr<std::unique_ptr<parquet::arrow::FileReader>>
ParquetHead::MakeReader(
    std::shared_ptr<arrow::io::RandomAccessFile> file,
    const parquet::ArrowReaderProperties& properties) const {
  const PagesOf pages_of = [head = *this,
                            file](int leaf) -> absl::StatusOr<Pages> {
    const Chunk& chunk = head.chunks_.at(leaf);
    const auto codec =
        head.metadata_->RowGroup(head.group_)->ColumnChunk(leaf)->compression();
    const auto& column = *head.metadata_->schema()->Column(leaf);
    Pages pages;
    if (chunk.dictionary > 0) {
      FM_ASSIGN_OR_RETURN(
          const ParquetPageBeginning page,
          ReadPage(*file, chunk.begin, std::min(chunk.dictionary, head.part_),
                   codec));
      if (page.header.type != ParquetPageHeader::kDictionary) {
        return FailedPrecondition("a dictionary is elsewhere");
      }
      FM_ASSIGN_OR_RETURN(pages.emplace_back(), DictionaryOf(column, page));
    }
    FM_ASSIGN_OR_RETURN(const ParquetPageBeginning page,
                        ReadPage(*file, chunk.begin + chunk.dictionary,
                                 std::min(chunk.pages, head.part_), codec));
    FM_ASSIGN_OR_RETURN(pages.emplace_back(),
                        ValuesOf(column, page, head.rows_));
    return pages;
  };
  auto reader = std::make_unique<parquet::ParquetFileReader>();
  reader->Open(std::make_unique<HeadContents>(metadata_, pages_of));
  FM_ASSIGN_OR_RETURN_ARROW(auto made,
                            parquet::arrow::FileReader::Make(
                                BoundedPool(), std::move(reader), properties));
  return made;
}

}  // namespace feedmill
