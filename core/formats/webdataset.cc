#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "core/base/ascii_text.h"
#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/tar.h"
#include "core/sources/value_text.h"

namespace feedmill {
namespace {

// Framing by key: a record is the adjacent members of one key.
class TarFraming final : public Framing {
 public:
  TarFraming() : Framing(NumberedName(5, {}), {}) {}

  Framed FindRecords(std::string_view window, bool at_end,
                     const WindowPlace& place,
                     std::vector<Extent>& records) const override {
    return FindTarGroups(window, at_end, place, records);
  }
};

constexpr std::string_view kKeyField = "__key__";

class TarDecoder final : public RecordDecoder {
 public:
  explicit TarDecoder(std::vector<SourceField> fields)
      : RecordDecoder(std::move(fields)) {}

  absl::Status Decode(const Head&, std::string_view window,
                      std::span<const Extent> records,
                      RecordBlock& out) const override {
    std::vector<std::string_view> values(fields_.size());
    std::vector<std::string> expanded(fields_.size());
    std::vector<bool> found(fields_.size());
    for (const Extent& record : records) {
      std::fill(found.begin(), found.end(), false);
      std::string key;
      std::string twice;
      absl::Status damage;
      ForEachTarMember(window.substr(record.begin, record.size),
                       [&](const TarMember& member) {
                         key = member.key;
                         for (size_t f = 0; f < fields_.size(); ++f) {
                           if (fields_[f].name != member.extension) continue;
                           if (found[f]) twice = member.extension;
                           found[f] = true;
                           values[f] = member.data;
                           if (member.sparse == nullptr) continue;
                           damage.Update(Expand(member, expanded[f]));
                           values[f] = expanded[f];
                         }
                       });
      FM_RETURN_IF_ERROR(damage);
      if (!twice.empty()) {
        return DataLoss("there are two members {}.{}", Shown(key),
                        Shown(twice));
      }
      for (size_t f = 0; f < fields_.size(); ++f) {
        if (fields_[f].name == kKeyField && !found[f]) {
          values[f] = key;
        } else if (!found[f] && fields_[f].default_text) {
          values[f] = *fields_[f].default_text;
        } else if (!found[f]) {
          return DataLoss(
              "{} has no member .{}; give it a default, as in fields: {{{}: "
              "\"{} = ...\"}}",
              Shown(key), Shown(fields_[f].name), Shown(fields_[f].name),
              DTypeName(fields_[f].dtype));
        }
        FM_RETURN_IF_ERROR(Append(f, key, values[f], out));
      }
      ++out.rows;
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Expand(const TarMember& member, std::string& content) {
    auto expanded = member.sparse->Expand(member.data);
    if (!expanded.ok()) {
      return Annotate(expanded.status(),
                      fmt::format("the member {}.{}", Shown(member.key),
                                  Shown(member.extension)));
    }
    content = *std::move(expanded);
    return absl::OkStatus();
  }

  absl::Status Append(size_t f, const std::string& key, std::string_view value,
                      RecordBlock& out) const {
    OutputColumn& column = out.columns[f];
    if (fields_[f].dtype == DType::kBytes) {
      column.values.Append(value.data(), value.size());
      column.offsets.Push(static_cast<int64_t>(column.values.size()));
    } else if (!AppendNumber(Trimmed(value), fields_[f].dtype, column.values)) {
      return DataLoss("the member {}.{}, \"{}\", is no {}", Shown(key),
                      fields_[f].name, Shown(value),
                      DTypeName(fields_[f].dtype));
    }
    return absl::OkStatus();
  }
};

// True for "cls" and similar names, which hold a class number, as WebDataset
// reads them.
bool HoldsNumber(std::string_view extension) {
  return extension == "cls" || extension == "cls2" || extension == "class" ||
         extension == "index" || extension == "count" || extension == "inx" ||
         extension == "id";
}

// Returns the fields of the first record.
absl::StatusOr<std::vector<SourceField>> FieldsOfMembers(
    const std::vector<std::string>& records) {
  std::vector<SourceField> fields = {
      {std::string(kKeyField), DType::kBytes, {}}};
  if (records.empty()) {
    return InvalidArgument("there are no members to find its fields in");
  }
  absl::Status twice;
  ForEachTarMember(records.front(), [&](const TarMember& member) {
    if (member.extension == kKeyField) return;  // the field exists already
    const bool number = HoldsNumber(member.extension);
    const auto same = [&](const SourceField& field) {
      return field.name == member.extension;
    };
    if (std::any_of(fields.begin(), fields.end(), same)) {
      twice = InvalidArgument(
          "record 0, \"{}\", has two members .{}; rename one, or name the "
          "members that are needed, as in fields: {{txt: bytes}}",
          Shown(member.key), Shown(member.extension));
    }
    fields.push_back(
        {member.extension, number ? DType::kInt64 : DType::kBytes, {}});
  });
  if (!twice.ok()) return twice;
  return fields;
}

struct WebDatasetFormat {
  using Options = WebDatasetSource;
  static constexpr std::string_view kName = "webdataset";
  static constexpr std::array<std::string_view, 1> kEndings = {".tar"};
  static bool Begins(std::string_view head) {
    return head.size() > 262 && head.substr(257).starts_with("ustar");
  }
  static constexpr Description kDescription = {
      .summary =
          "Reads tar files; the members of one name without its extension are "
          "an element.",
      .yaml = R"(webdataset: "digits-*.tar"
webdataset: {files: digits.tar, fields: {txt: bytes, cls: "int64 = -1"}})",
      .element =
          "the members of a key by extension (`cls`, `jpg`), and `__key__`",
      .details =
          "`__key__` is the key itself. `int64 = -1` is -1 in samples without "
          "that member.",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged archive, or a sample without a member of `fields`.",
      .example = R"(
>>> ds = fm.Dataset.webdataset("digits.tar", fields={"txt": "bytes", "cls": "bytes"})
>>> next(ds.read())
{'txt': b'digit 0', 'cls': b'0'}
)"};
  static constexpr size_t kSampledRecords = 1;

  static FieldList Fields(WebDatasetSource& s) {
    return {FilesField(s.files), CompressionField(s.compression, s.files),
            WindowLogField(s.zstd_window_log), FieldsField(s.fields)};
  }
  static SourceProperties Properties(const WebDatasetSource&) {
    return {.positions = Positions::kFiles};
  }
  static absl::StatusOr<ElementSpec> Output(const WebDatasetSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files, s.compression, s.zstd_window_log));
    return SpecOfFields(s.fields, FieldShapes::kScalars, /*named=*/true,
                        /*defaults=*/true);
  }
  static std::shared_ptr<const Framing> MakeFraming(const WebDatasetSource&) {
    return std::make_shared<TarFraming>();
  }
  static std::unique_ptr<const RecordDecoder> MakeDecoder(
      const WebDatasetSource& s, const std::vector<bool>& live) {
    return std::make_unique<TarDecoder>(LiveFields(s.fields, live));
  }
  static absl::StatusOr<std::vector<SourceField>> InferFields(
      const WebDatasetSource&, const std::vector<FileSample>& samples) {
    auto fields = FieldsOfMembers(RecordsOf(samples));
    if (!fields.ok()) return Annotate(fields.status(), samples[0].file);
    return fields;
  }
};

}  // namespace

const SourceKind& WebDatasetKind() { return FileKindOf<WebDatasetFormat>(); }

}  // namespace feedmill
