#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/lmdb_file.h"
#include "core/io/file_errors.h"

namespace feedmill {
namespace {

struct LmdbFormat {
  using Options = LmdbSource;
  static constexpr std::string_view kName = "lmdb";
  static constexpr std::array<std::string_view, 2> kEndings = {".mdb", ".lmdb"};
  static bool Begins(std::string_view head) {
    return head.size() >= 20 && head.substr(16).starts_with("\xde\xc0\xef\xbe");
  }
  static constexpr Description kDescription = {
      .summary =
          "Reads the entries of LMDB files by their keys: key and value, "
          "bytes.",
      .yaml = "lmdb: entries.lmdb",
      .element =
          "the entries of LMDB files in the order of their keys: `key` and "
          "`value`",
      .errors =
          "Reading raises NotFoundError if no file matches, DataLossError for "
          "a damaged file.",
      .example = R"(
>>> sorted(next(fm.Dataset.lmdb("entries.lmdb").read()))
['key', 'value']
)"};

  static FieldList Fields(LmdbSource& s) { return {FilesField(s.files)}; }
  static SourceProperties Properties(const LmdbSource&) { return {}; }
  static absl::StatusOr<ElementSpec> Output(const LmdbSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    return SpecOfFields(LmdbFields(), FieldShapes::kScalars);
  }
  // Selects the data files of a folder or a glob.
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) {
    if (found.size() == 1 && found[0].name == pattern) return found;
    std::erase_if(found, [](const FoundFile& file) {
      const std::string_view name = file.name;
      return !name.ends_with(".mdb") && !name.ends_with(".lmdb");
    });
    std::erase_if(found, [](const FoundFile& file) {
      return file.name.ends_with("/lock.mdb");
    });
    if (!found.empty()) return found;
    return NotFound("{}: there is no LMDB file (*.mdb, *.lmdb) in it", pattern);
  }
  static absl::StatusOr<uint64_t> CountRecords(const LmdbSource&,
                                               const RandomAccessFile& file,
                                               uint64_t size) {
    const auto count = CountLmdbEntries(file, size);
    if (!count.ok()) return NameFile(count.status(), file.name());
    return count;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const LmdbSource&, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    return MakeItemRecords(OpenLmdbFile, LmdbFields(), live,
                           std::move(manifest));
  }
};

}  // namespace

const SourceKind& LmdbKind() { return FileKindOf<LmdbFormat>(); }

}  // namespace feedmill
