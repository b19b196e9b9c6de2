// A source format that is no part of feedmill: everything about it is in this
// file, and nothing in feedmill knows of it.
//
//   sized: {files: "*.sized", magic: "SIZE"}
//
// reads files that begin with `magic` and have records one after the other: a
// byte that is the length, and the bytes. It makes one component, `data`.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "tests/extension/extensions.h"

namespace feedmill::extension {
namespace {

struct SizedSource {
  std::vector<std::string> files;
  Compression compression = Compression::kByName;
  std::string magic;
};

class SizedFraming final : public Framing {
 public:
  explicit SizedFraming(const SizedSource& source)
      : Framing("sized " + source.magic,
                {.header_bytes = source.magic.size(), .prefix_bytes = 1}) {}

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override {
    Framed framed;
    while (framed.used < window.size()) {
      const size_t size = static_cast<unsigned char>(window[framed.used]);
      if (framed.used + 1 + size > window.size()) {
        if (at_end) {
          framed.error = DataLoss("{}: record {} at offset {}: it is cut short",
                                  place.path, place.record + records.size(),
                                  place.offset + framed.used);
        }
        break;
      }
      records.push_back({framed.used + 1, size});
      framed.used += 1 + size;
    }
    return framed;
  }
};

class SizedDecoder final : public RecordDecoder {
 public:
  SizedDecoder() : RecordDecoder({{"data", DType::kBytes, {}}}) {}

  absl::Status Decode(const Head&, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    OutputColumn& column = out.columns[0];
    for (const Extent& record : records) {
      column.values.Append(window.data() + record.begin, record.size);
      column.offsets.Push(static_cast<int64_t>(column.values.size()));
      ++out.rows;
    }
    return absl::OkStatus();
  }
};

struct SizedFormat {
  using Options = SizedSource;
  static constexpr std::string_view kName = "sized";
  static constexpr std::array<std::string_view, 1> kEndings = {".sized"};
  static constexpr Description kDescription = {
      .summary = "Reads records that begin with a byte for their length.",
      .yaml = "sized: records.sized",
      .element = "one unnamed bytes component"};

  static FieldList Fields(SizedSource& s) {
    return {FilesField(s.files),
            CompressionField(s.compression, s.files),
            {"magic", &s.magic, Field::kOptional,
             "Bytes that each file begins with."}};
  }
  static SourceProperties Properties(const SizedSource& s) {
    return {.positions =
                FilesIfCompressed(s.compression, s.files, Positions::kRecords),
            .indexed = true};
  }
  static absl::StatusOr<ElementSpec> Output(const SizedSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression));
    return ElementSpec{{{"data", DType::kBytes, {}}}};
  }
  static std::shared_ptr<const Framing> MakeFraming(const SizedSource& s) {
    return std::make_shared<SizedFraming>(s);
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const SizedSource&, const std::vector<bool>&) {
    return std::make_unique<SizedDecoder>();
  }
};

}  // namespace

const SourceKind& SizedKind() { return FileKindOf<SizedFormat>(); }

}  // namespace feedmill::extension
