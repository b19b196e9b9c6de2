#ifndef FEEDMILL_CORE_DEFINITION_VALUE_READER_H_
#define FEEDMILL_CORE_DEFINITION_VALUE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/dataset/graph.h"
#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"
#include "core/definition/pipeline_text.h"
#include "core/definition/value.h"

namespace feedmill {

// The writer of a definition.
enum class DefinitionForm {
  kWritten,    // by people: short forms, missing keys mean defaults, bounds
  kCanonical,  // by CanonicalText: every key, nothing else, typed scalars
};

// Reads typed values of one definition. Errors have the line and the column, if
// the value has a place. In the form kWritten all values are counted against a
// bound, YAML's aliases at each use. `where` names the value: "steps[1] batch
// size". Not thread-safe.
class ValueReader {
 public:
  using Names = std::vector<std::string_view>;
  using OnKey =
      std::function<absl::Status(const std::string& key, const Value& value)>;
  using OnEntry = std::function<absl::Status(
      const Value& at, const std::string& name, const Value& value)>;

  // `size`: of the part of the definition that was read before. `folder`: of
  // relative paths.
  ValueReader(DefinitionForm form, const DefinitionCounts& size,
              std::string folder)
      : form_(form), size_(size), folder_(std::move(folder)) {}

  bool canonical() const { return form_ == DefinitionForm::kCanonical; }
  DefinitionCounts& size() { return size_; }

  static absl::Status Error(const Value& value, const std::string& where,
                            const std::string& what);
  // Returns an error "expected …, found …".
  static absl::Status Unexpected(const Value& value, const std::string& where,
                                 std::string_view expected);
  // Returns "a list", "nothing", or the scalar in quotes, for "found …".
  static std::string KindOf(const Value& value);
  static std::string Quoted(const std::string& text);
  static std::string Joined(const Names& names);
  // Returns the end of the message about a name that is not among `known`:
  // advice about another library's name, the nearest name, or all names. "" in
  // the form kCanonical.
  std::string HintFor(const std::string& name, const std::string& where,
                      const Names& known) const;

  // True for the name of a file in place of its values.
  bool IsFile(const Value& value) const;
  // Returns a path as this process opens it.
  std::string PathOf(const std::string& name) const;

  absl::Status Count(const Value& value);
  absl::Status ReadKey(const Value& key, const std::string& where,
                       std::string& out);
  // Calls on_entry for the entries of a map, whose keys must be unique. In the
  // form kCanonical it may be a list of lists, each with its name first:
  // `value` is such a list. `expected`: for the error about any other value.
  absl::Status ForEachEntry(const Value& map, const std::string& where,
                            std::string_view expected, const OnEntry& on_entry);
  // Calls on_key for the keys of a map, which must be known and unique.
  absl::Status ForEachKey(const Value& map, const std::string& where,
                          const Names& known, const OnKey& on_key);
  // Reads an unquoted decimal or 0x… integer.
  absl::Status ReadInteger(const Value& value, const std::string& where,
                           int64_t& out);
  // Reads a seed, or none.
  absl::Status ReadSeed(const Value& value, const std::string& where,
                        std::optional<uint64_t>& out);
  absl::Status ReadReal(const Value& value, const std::string& where,
                        double& out);
  absl::Status ReadBool(const Value& value, const std::string& where,
                        bool& out);
  // Reads a scalar; otherwise, the error says that `what` is expected.
  absl::Status ReadString(const Value& value, const std::string& where,
                          std::string_view what, std::string& out);
  // Reads one of a few words; `out` is its index.
  absl::Status ReadWord(const Value& value, const std::string& where,
                        const Names& words, size_t& out);
  // Calls read for each item of a list.
  template <class Read>
  absl::Status ForEachItem(const Value& list, const std::string& where,
                           std::string_view expected, Read&& read) {
    if (absl::Status counted = Count(list); !counted.ok()) return counted;
    if (!list.is_list()) return Unexpected(list, where, expected);
    for (const Value& item : list.list()) {
      if (absl::Status status = read(item); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  template <class T>
  absl::Status ReadAnyInteger(const Value& value, const std::string& where,
                              T& out);

  const DefinitionForm form_;
  DefinitionCounts size_;
  const std::string folder_;
};

// Reads one input of a source: its source and steps.
using ReadInput = std::function<absl::Status(const Value&, Graph&)>;

// Read the options of a step or a source. `at`: value with the place of its
// name; `where` is "steps[1] batch".
absl::StatusOr<Step> ReadStepOptions(ValueReader& values,
                                     const ReadInput& read_input,
                                     const StepKind& kind,
                                     const std::string& name,
                                     const std::string& where, const Value& at,
                                     const Value& value);
absl::StatusOr<Source> ReadSourceOptions(ValueReader& values,
                                         const ReadInput& read_input,
                                         const SourceKind& kind,
                                         const Value& at, const Value& value);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_VALUE_READER_H_
