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

// A component that a source takes out of its records.
struct SourceField {
  std::string name;
  DType dtype = DType::kBytes;
  Shape shape;  // of one element: {} for a scalar
  // If the type was found out and one value among numbers made it bytes: which
  // value, and what the type is without it. If an array cannot be read: why.
  // For errors; no part of the graph.
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

// The options of the sources that feedmill has (docs/semantics/sources.md).
// `files` are names, globs and folders; `fields` are found out from the first
// records if they are empty. `zstd_window_log` is the base-2 logarithm of the
// largest zstd window that is accepted, 10 to 31; 0: 27, as for `zstd -d`.

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
  // Lines that begin with this text are passed over; "": none.
  std::string comment{};
  // Lines that are left out at the beginning of each file, before the header.
  int64_t skip_rows = 0;
  // Runs of columns that are one component each, a list of numbers:
  // "pixels=p0..p783" is the columns from p0 to p783 as the component pixels.
  std::vector<std::string> vectors{};
  int64_t zstd_window_log = 0;
};
// Tar files; members of one name up to the first '.' of its last part are an
// element, its components named by what follows that '.'; "__key__" is the
// name itself.
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
// The rows of Parquet files, and of Arrow IPC files and streams: columns by
// name, "a.b" for the member b of the struct a. `columns`: those to find out,
// all if it is empty. `partitions`: folders called KEY=VALUE are columns, too.
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
// One file an element: image (bytes), label (int64), path (bytes).
// label folder: the name of the file's folder; filename: what follows the last
// '_' (or the whole stem). Names that all are decimal integers are those
// integers; otherwise the index in the bytewise sorted list of all names.
struct ImagesSource {
  enum class Label { kFolder, kFilename };
  std::vector<std::string> files{};
  Label label = Label::kFolder;
};
// When a mixture of datasets ends (Dataset::Mixture).
enum class MixtureStop {
  kFirstExhausted,  // before the first element that an input lacks
  kAllExhausted,    // once all were read whole; those that end begin again
  kRepeat,          // never; those that end begin again
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_SOURCES_H_
