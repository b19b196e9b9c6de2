// Arbitrary bytes as a csv or jsonl whose fields are inferred. A record that is
// well formed has the inferred fields: what the inference accepts is read.
// The first byte chooses the format and its options.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_types.h"
#include "core/io/file_systems.h"
#include "core/operators/registry.h"
#include "core/sources/field_inference.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"
#include "core/sources/record_format.h"
#include "tests/unit/io/memory_files.h"

namespace feedmill {
namespace {

constexpr char kFile[] = "mem://f";
constexpr size_t kSampled = 1000;  // records that are certainly looked at

MemoryFiles& Files() {
  static const auto files = [] {
    auto made = std::make_shared<MemoryFiles>();
    FM_CHECK(ProcessFileSystems().Add("mem", made).ok());
    return made;
  }();
  return *files;
}

Source SourceOf(uint8_t kind) {
  const std::vector<std::string> files = {kFile};
  switch (kind % 8) {
    case 0:
      return MakeSource(
          JsonlSource{.files = files, .compression = Compression::kNone});
    case 1:
      return MakeSource(JsonlSource{.files = files,
                                    .compression = Compression::kNone,
                                    .encoding = TextEncoding::kLatin1});
    case 2:
      return MakeSource(
          CsvSource{.files = files, .compression = Compression::kNone});
    case 3:
      return MakeSource(CsvSource{.files = files,
                                  .compression = Compression::kNone,
                                  .header = false,
                                  .missing = {"", "NA", "-"}});
    case 4:
      return MakeSource(CsvSource{.files = files,
                                  .compression = Compression::kNone,
                                  .delimiter = ";",
                                  .multiline = true});
    case 5:
      return MakeSource(CsvSource{.files = files,
                                  .compression = Compression::kNone,
                                  .encoding = TextEncoding::kLatin1,
                                  .comment = "#",
                                  .skip_rows = 1});
    case 6:
      return MakeSource(CsvSource{.files = files,
                                  .compression = Compression::kNone,
                                  .header = false,
                                  .vectors = {"v=f0..f1"}});
    default:
      return MakeSource(CsvSource{.files = files,
                                  .compression = Compression::kNone,
                                  .multiline = true,
                                  .vectors = {"v=a..b", "w=c..c"}});
  }
}

// Decodes a record alone. True if it is a row of the source's fields.
bool Decodes(const Source& source, const RecordDecoder::Head& head,
             std::string_view window, const Extent& record) {
  const auto decoder = FormatOf(source).MakeDecoder(source.options(), {});
  RecordBlock block;
  decoder->Reset(block);
  const bool good =
      decoder->Decode(head, window, std::span(&record, 1), block).ok();
  if (!good) return false;
  const auto spec = source.kind().Output(source.options(), {});
  for (size_t c = 0; c < block.columns.size(); ++c) {
    FM_CHECK(block.columns[c].View().Validate(spec->components[c], 1).ok());
  }
  return true;
}

// The same source with all fields as bytes, which any well-formed record has.
Source AsBytes(Source source) {
  for (SourceField& field : *MutableSourceFields(source)) {
    field.dtype = DType::kBytes;
  }
  return source;
}

// Leaves out what a RecordStream leaves out at the beginning of a file.
std::string_view RecordsOf(const Framing& framing, std::string_view file) {
  if (file.starts_with("\xEF\xBB\xBF")) file.remove_prefix(3);
  for (uint64_t k = 0; k < framing.properties().skipped_lines; ++k) {
    file.remove_prefix(std::min(file.find('\n'), file.size() - 1) + 1);
  }
  return file;
}

void CheckRecords(const Source& source, std::string_view file) {
  const Source bytes = AsBytes(source);
  FM_CHECK(source.kind().Output(source.options(), {}).ok());
  const auto framing = FramingOf(source);
  file = RecordsOf(*framing, file);
  const std::string path = kFile;
  std::vector<Extent> records;
  (void)framing->FindRecords(file, true, {path}, records);
  std::span<const Extent> left(records);
  RecordDecoder::Head head;
  if (framing->properties().first_is_header) {
    if (left.empty()) return;
    const auto decoder = FormatOf(source).MakeDecoder(source.options(), {});
    const auto read =
        decoder->ReadHead(file.substr(left[0].begin, left[0].size));
    FM_CHECK(read.ok());
    head = *read;
    left = left.subspan(1);
  }
  for (const Extent& record : left.first(std::min(left.size(), kSampled))) {
    const bool well_formed = Decodes(bytes, head, file, record);
    FM_CHECK(Decodes(source, head, file, record) == well_formed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view file(reinterpret_cast<const char*>(data) + 1,
                              size - 1);
  Files().Write(kFile, std::string(file));
  Graph graph;
  graph.source = SourceOf(data[0]);
  const absl::Status inferred = InferFields(graph);
  FM_CHECK(inferred.ok() || absl::IsInvalidArgument(inferred) ||
           absl::IsDataLoss(inferred));
  if (inferred.ok()) CheckRecords(graph.source, file);
  return 0;
}

}  // namespace feedmill
