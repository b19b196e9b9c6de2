#ifndef FEEDMILL_CORE_DATASET_FIELDS_H_
#define FEEDMILL_CORE_DATASET_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "feedmill/dataset_options.h"
#include "feedmill/expr.h"

// The options of a step or a source as a list of fields. YAML, the canonical
// text, Dataset::Apply and --help all use this one list, so that an option is
// declared once.

namespace feedmill {

struct Graph;  // graph.h

// ---- targets of fields whose C++ type alone is ambiguous

struct ComponentName {  // the name of a component
  std::string* name;
};
struct FilePath {  // relative paths become absolute
  std::string* path;
  bool folder = false;
};
// Files, globs and folders that a source reads; relative ones become absolute.
struct FileNames {
  std::vector<std::string>* files;
};
// The compression of a source's files. In the canonical text, kByName is
// resolved by the name of the first file.
struct FileCompression {
  Compression* compression;
  const std::vector<std::string>* files;
};
// The components that a source takes from its records. If empty, they are
// inferred from the first records before the graph is checked (InferFields in
// core/sources/field_inference.h).
struct DeclaredFields {
  std::vector<SourceField>* fields;
};
// The types of some of the components that are inferred. InferFields empties
// them.
struct DeclaredTypes : DeclaredFields {};
// The pipelines that a source combines, or the table of a step.
struct InputPipelines {
  std::vector<Graph>* inputs;
  // One source without steps, which YAML may write as the name of its files.
  bool table = false;
};
// An enumeration as words; the first word has the value `first`.
class Word {
 public:
  template <class E>
  Word(E& value, std::initializer_list<std::string_view> words,
       size_t first = 0)
      : at_(&value),
        first_(first),
        get_([](const void* at) {
          return static_cast<size_t>(*static_cast<const E*>(at));
        }),
        set_([](void* at, size_t index) {
          *static_cast<E*>(at) = static_cast<E>(index);
        }),
        words_(words) {}

  const std::vector<std::string_view>& words() const { return words_; }
  // True if the value belongs to the first word.
  bool is_first() const { return get_(at_) == first_; }
  // "" if no word has the value.
  std::string_view word() const {
    const size_t index = get_(at_) - first_;
    return index < words_.size() ? words_[index] : std::string_view();
  }
  void set(size_t index) const { set_(at_, index + first_); }

 private:
  void* at_;
  size_t first_;
  size_t (*get_)(const void*);
  void (*set_)(void*, size_t);
  std::vector<std::string_view> words_;
};
// Two YAML keys, `shapes` and `values`, are one "padding" in the canonical
// text.
struct PaddingList {
  std::vector<Padding>* padding;
  bool shapes = true;  // else the step defines one length for all
};

using FieldValue = std::variant<
    bool*, int64_t*, double*, std::string*, std::optional<int64_t>*,
    std::optional<uint64_t>*, std::vector<int64_t>*, std::vector<double>*,
    std::vector<std::string>*, ComponentName, FilePath, Word, Expr*, Outputs*,
    Features*, PaddingList, FileNames, FileCompression, DeclaredFields,
    DeclaredTypes, InputPipelines>;

// One option. The pointer in `value` is valid as long as the options struct.
struct Field {
  enum Flag : unsigned {
    kOptional = 0,
    kRequired = 1,  // YAML must have it
    // YAML may be this value alone: `batch: 32` is `batch: {size: 32}`.
    kShort = 2,
    // YAML is always this value alone: `filter: "x > 3"`.
    kWhole = 4,
    // The canonical text has it only if it is set.
    kSparse = 8,
    kPositive = 16,  // if written, at least 1
    // No part of the graph's fingerprint: another field identifies it.
    kUnidentified = 32,
    // A bool that is set where the source's fields are inferred.
    kSetIfInferred = 64,
    // A list of integers that may be as long as a definition.
    kLong = 128,
    // A list of numbers that may be written as lists of them, its rows.
    kRows = 256,
    // Python takes it by position, although it may be absent.
    kPositional = 512,
  };

  std::string_view name;
  FieldValue value;
  unsigned flags = kOptional;
  std::string_view help;  // for --help: one sentence
  // For --help: what an unset field stands for, e.g. "all inputs". "": none.
  std::string_view unset{};
  // The integer that 0 stands for; absent: 0 itself.
  std::optional<int64_t> if_unset{};

  bool Has(Flag flag) const { return (flags & flag) != 0; }
};
using FieldList = std::vector<Field>;

// Returns the YAML keys of a field; usually its name alone.
std::vector<std::string_view> YamlKeysOf(const Field& field);

// True if the field is absent, empty, 0, false or its first word.
bool IsUnset(const FieldValue& value);

// Calls f(expr) for each expression of the fields.
void ForEachExpr(const FieldList& fields, const std::function<void(Expr&)>& f);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_FIELDS_H_
