#ifndef FEEDMILL_SOURCES_H_
#define FEEDMILL_SOURCES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "feedmill/compression.h"
#include "feedmill/element_spec.h"

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// A component that a source reads from its records.
struct SourceField {
  std::string name;
  DType dtype = DType::kBytes;
  Shape shape;  // of one element: {} for a scalar
  // For errors only; no part of the graph. If one value among numbers made an
  // inferred type bytes: that value, and the type without it. If an array
  // cannot be read: the reason.
  std::string why_bytes{};
  // Value of a record that lacks the field: the text of a number, or bytes.
  // Absent: such a record is a data error. webdataset only.
  std::optional<std::string> default_text{};
  friend bool operator==(const SourceField& a, const SourceField& b) {
    return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape &&
           a.default_text == b.default_text;
  }
};

// Encoding of text files. Components are UTF-8 in any case.
enum class TextEncoding {
  kUtf8,  // bytes as they are
  kLatin1,
  kUtf16,  // by its byte order mark; little-endian without one
};

// Options of the built-in sources (docs/semantics/sources.md). `files` are
// names, globs and folders. Empty `fields` are inferred from the first records.
// `zstd_window_log` is the base-2 logarithm of the largest zstd window that is
// accepted, 10 to 31; 0: 27, as for `zstd -d`.

struct RangeSource {  // Python's range: one unnamed int64 a position
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};
struct TfRecordSource {  // one unnamed bytes component a record
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t zstd_window_log = 0;
};
struct TextSource {  // one unnamed bytes component a line, without its "\n"
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t zstd_window_log = 0;
};
// One unnamed bytes component of record_bytes a record; header and footer are
// left out of each file.
struct FixedLengthSource {
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t zstd_window_log = 0;
};
// The rows of arrays along their first axis: one unnamed component of a .npy,
// a component for each member of a .npz.
struct NpySource {
  std::vector<std::string> files{};
  std::vector<SourceField> fields{};
};
struct JsonlSource {  // one JSON object a line, its members by name
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  TextEncoding encoding = TextEncoding::kUtf8;
  int64_t zstd_window_log = 0;
};
struct CsvSource {  // one record a line, its columns by name
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  // The first record of each file has the names; else they are f0, f1, ….
  bool header = true;
  std::string delimiter = ",";  // one byte
  // Texts that stand for no value: NaN in floats, themselves in bytes.
  std::vector<std::string> missing = {""};
  // Quoted fields may hold line breaks; then files are not read in blocks.
  bool multiline = false;
  TextEncoding encoding = TextEncoding::kUtf8;
  // Lines that begin with this text are skipped; "": none.
  std::string comment{};
  // Number of lines to skip at the beginning of each file, before the header.
  int64_t skip_rows = 0;
  // Runs of columns that are one component each, a list of numbers:
  // "pixels=p0..p783" is the columns from p0 to p783 as the component pixels.
  std::vector<std::string> vectors{};
  int64_t zstd_window_log = 0;
};
// Tar files. Members with the same name up to the first '.' form an element,
// e.g. a/17.jpg and a/17.cls. The text after the '.' names the component, and
// the component "__key__" is the name before it (a/17).
struct WebDatasetSource {
  std::vector<std::string> files{};
  Compression compression = Compression::kByName;
  std::vector<SourceField> fields{};
  int64_t zstd_window_log = 0;
};
// The samples of MDS shards (MosaicML Streaming), their columns by name.
struct MdsSource {
  std::vector<std::string> files{};
  std::vector<SourceField> fields{};
};
// The entries of LMDB databases in the order of their keys: the components
// `key` and `value`, bytes.
struct LmdbSource {
  std::vector<std::string> files{};
};
// The records of ArrayRecord files: one unnamed bytes component.
struct ArrayRecordSource {
  std::vector<std::string> files{};
};
// The rows of Parquet files, and of Arrow IPC files and streams: columns by
// name, "a.b" for the member b of the struct a. `columns`: the columns to read;
// empty: all. `partitions`: folders called KEY=VALUE are columns, too.
struct ParquetSource {
  std::vector<std::string> files{};
  std::vector<std::string> columns{};
  std::vector<SourceField> fields{};
  bool partitions = false;
};
struct ArrowSource {
  std::vector<std::string> files{};
  std::vector<std::string> columns{};
  std::vector<SourceField> fields{};
  bool partitions = false;
};
// One file an element: image (bytes), label (int64), path (bytes). The name of
// a label is that of the file's folder (kFolder), or the part of the file's
// stem after the last '_' (kFilename). If all names are decimal integers,
// labels are these integers. Otherwise a label is the index of its name in the
// bytewise sorted list of all names.
struct ImagesSource {
  enum class Label { kFolder, kFilename };
  std::vector<std::string> files{};
  Label label = Label::kFolder;
};
// When a mixture of datasets ends (Dataset::Mixture).
enum class MixtureStop {
  kFirstExhausted,  // before the first element that an input lacks
  kAllExhausted,    // when each was read once; inputs that end begin again
  kRepeat,          // never; inputs that end begin again
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_SOURCES_H_
