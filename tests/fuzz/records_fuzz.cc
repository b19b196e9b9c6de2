// Arbitrary bytes as a file in any format. The records do not depend on where
// a window ends, decoding them ends, and a text is JSON if nlohmann accepts it.
// The first byte chooses the format, the second the end of the window.

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/check.h"
#include "core/dataset/source_types.h"
#include "core/formats/json_scanner.h"
#include "core/formats/npy_file.h"
#include "core/io/byte_stream.h"
#include "core/operators/registry.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_format.h"
#include "tests/fuzz/memory_file.h"

namespace feedmill {
namespace {

const std::vector<SourceField>& Fields() {
  static const std::vector<SourceField> fields = {
      {"a", DType::kInt64, {}},
      {"b", DType::kBytes, {}},
      {"c", DType::kFloat32, {}},
      {"d", DType::kBool, {}},
      {"l", DType::kInt16, {kUnknownDim}}};
  return fields;
}

Source SourceOf(uint8_t kind) {
  const std::vector<SourceField> scalars(Fields().begin(), Fields().end() - 1);
  switch (kind) {
    case 0:
      return MakeSource(CsvSource{.files = {"f"}, .fields = scalars});
    case 1:
      return MakeSource(
          CsvSource{.files = {"f"}, .fields = scalars, .multiline = true});
    case 2:
      return MakeSource(JsonlSource{.files = {"f"}, .fields = Fields()});
    case 3:
      return MakeSource(WebDatasetSource{.files = {"f"}, .fields = scalars});
    case 4:
      return MakeSource(TfRecordSource{{"f"}});
    case 16:
      return MakeSource(CsvSource{.files = {"f"},
                                  .fields = scalars,
                                  .quote = "'",
                                  .escape = "\\",
                                  .decimal = ",",
                                  .thousands = "."});
    case 13:
      return MakeSource(CsvSource{.files = {"f"},
                                  .fields = scalars,
                                  .multiline = true,
                                  .encoding = TextEncoding::kLatin1,
                                  .comment = "#/"});
    case 14:
      return MakeSource(CsvSource{
          .files = {"f"},
          .fields = {{"v", DType::kInt64, {3}}, {"b", DType::kBytes, {}}},
          .comment = "#",
          .vectors = {"v=x..z"}});
    case 15:
      return MakeSource(JsonlSource{.files = {"f"},
                                    .fields = Fields(),
                                    .encoding = TextEncoding::kLatin1});
    case 5:
      return MakeSource(FixedLengthSource{.files = {"f"},
                                          .record_bytes = 3,
                                          .header_bytes = 0,
                                          .footer_bytes = 1});
    default:
      return MakeSource(TextSource{{"f"}});
  }
}

void CheckWindows(const Framing& framing, std::string_view file, size_t split,
                  const std::vector<Extent>& whole, bool failed) {
  const std::string path = "f";
  std::vector<Extent> parts;
  const Framed first =
      framing.FindRecords(file.substr(0, split), false, {path}, parts);
  bool error = !first.error.ok();
  if (!error && !first.ended) {
    const size_t count = parts.size();
    const Framed rest =
        framing.FindRecords(file.substr(first.used), true, {path}, parts);
    error = !rest.error.ok();
    for (size_t k = count; k < parts.size(); ++k) parts[k].begin += first.used;
  }
  FM_CHECK(error == failed && parts.size() == whole.size());
  for (size_t k = 0; k < whole.size(); ++k) {
    FM_CHECK(parts[k].begin == whole[k].begin &&
             parts[k].size == whole[k].size);
  }
}

void CheckRecords(const Source& source, size_t split, std::string_view file) {
  const auto framing = FramingOf(source);
  const std::string path = "f";
  std::vector<Extent> records;
  const Framed framed = framing->FindRecords(file, true, {path}, records);
  CheckWindows(*framing, file, split, records, !framed.error.ok());

  const auto decoder = FormatOf(source).MakeDecoder(source.options(), {});
  std::span<const Extent> left(records);
  RecordDecoder::Head head;
  if (framing->properties().first_is_header) {
    if (records.empty()) return;
    const auto read =
        decoder->ReadHead(file.substr(records[0].begin, records[0].size));
    if (!read.ok()) return;
    head = *read;
    left = left.subspan(1);
  }
  RecordBlock block;
  decoder->Reset(block);
  const absl::Status status = decoder->Decode(head, file, left, block);
  FM_CHECK(status.ok() ? block.rows == left.size() : block.rows < left.size());
  block.Truncate(block.rows);
  const auto spec = source.kind().Output(source.options(), {});
  for (size_t c = 0; c < block.columns.size(); ++c) {
    FM_CHECK(
        block.columns[c].View().Validate(spec->components[c], block.rows).ok());
  }
}

void CheckJson(std::string_view text) {
  const auto deep = std::count_if(text.begin(), text.end(),
                                  [](char c) { return c == '[' || c == '{'; });
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x80 && c != 'N' && c != 'I' &&
           c != '\0';
  });
  if (!plain || deep > 400) return;
  JsonScanner scanner(text);
  const auto value = scanner.Value();
  const bool mine = value.ok() && scanner.AtEnd();
  const auto theirs = nlohmann::json::parse(text, nullptr, false);
  if (!theirs.is_discarded()) FM_CHECK(mine);
  if (theirs.is_discarded() && mine) {
    // Half a surrogate pair, or a number beyond any range.
    FM_CHECK(text.find("\\u") != text.npos || text.find('e') != text.npos ||
             text.find('E') != text.npos || text.size() > 300);
  }
}

void CheckArrays(std::string_view bytes) {
  constexpr uint64_t kWholeMost = uint64_t{1} << 24;
  const MemoryFile file(bytes);
  const auto arrays = ReadArrayFile(file, bytes.size());
  FM_CHECK(arrays.ok() || absl::IsDataLoss(arrays.status()));
  if (!arrays.ok()) return;
  for (const FileArray& array : *arrays) {
    if (array.whole) {
      if (array.rows * array.row_bytes > kWholeMost) continue;
      const auto rows = array.whole(file);
      FM_CHECK(rows.ok() ? rows->size() == array.rows * array.row_bytes
                         : absl::IsDataLoss(rows.status()));
      continue;
    }
    FM_CHECK(array.offset <= bytes.size());
    FM_CHECK(array.row_bytes == 0 ||
             array.rows <= (bytes.size() - array.offset) / array.row_bytes);
  }
}

// All of a stream up to a bound, in parts of `size`.
std::string Inflate(const StreamCoding& coding, std::string_view file,
                    size_t size, bool& failed) {
  constexpr size_t kMost = size_t{1} << 20;
  const auto read = [&](uint64_t offset, std::span<std::byte> out) {
    std::memcpy(out.data(), file.data() + offset, out.size());
    return absl::OkStatus();
  };
  const auto stream = MakeByteStream(coding, read, 0, file.size());
  std::string out;
  std::vector<std::byte> part(size);
  while (out.size() < kMost) {
    const auto got = stream->Read(part);
    failed = !got.ok();
    if (!got.ok() || *got == 0) break;
    out.append(reinterpret_cast<const char*>(part.data()), *got);
  }
  out.resize(std::min(out.size(), kMost));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 2,
                              size - 2);
  const uint8_t kind = data[0] == 239   ? 16
                       : data[0] >= 240 ? 10 + data[0] % 6
                                        : data[0] % 10;
  if (kind == 7) {
    CheckArrays(file);
  } else if (kind >= 8 && kind < 13) {
    StreamCoding coding(kind == 8    ? Compression::kGzip
                        : kind == 9  ? Compression::kZstd
                        : kind == 10 ? Compression::kBz2
                        : kind == 11 ? Compression::kXz
                                     : Compression::kNone);
    coding.utf16 = kind == 12;
    bool failed = false;
    bool again = false;
    const std::string all = Inflate(coding, file, 1 << 16, failed);
    FM_CHECK(Inflate(coding, file, 777, again) == all || failed);
    FM_CHECK(failed == again || all.size() == size_t{1} << 20);
  } else {
    if (kind == 2) CheckJson(file);
    CheckRecords(SourceOf(kind), file.size() * data[1] / 256, file);
  }
  return 0;
}

}  // namespace feedmill
