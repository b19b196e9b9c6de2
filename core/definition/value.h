#ifndef FEEDMILL_CORE_DEFINITION_VALUE_H_
#define FEEDMILL_CORE_DEFINITION_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace feedmill {

struct Pipeline;  // pipeline_text.h

// Part of a definition before it has a meaning: a tree of scalars, lists and
// maps, with the places of a text. YAML, the canonical text and Python make
// one, and GraphReader (graph_reader.h) reads all of them. Copies share lists
// and maps.
class Value {
 public:
  struct Entry;
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;
  // Numbers of a line and of a column, from 1. 0: the value is of no text.
  struct Place {
    int line = 0;
    int column = 0;
  };

  Value() = default;  // nothing, YAML's null
  // `quoted`: the text is no number and no bool.
  Value(std::string text, bool quoted)
      : quoted_(quoted), value_(std::move(text)) {}
  explicit Value(List items)
      : value_(std::make_shared<const List>(std::move(items))) {}
  explicit Value(Map entries)
      : value_(std::make_shared<const Map>(std::move(entries))) {}
  // A whole pipeline as an input. It must live as long as this value.
  explicit Value(const Pipeline& pipeline) : value_(&pipeline) {}

  Value At(Place place) && {
    place_ = place;
    return std::move(*this);
  }
  const Place& place() const { return place_; }

  bool is_nothing() const { return value_.index() == 0; }
  bool is_scalar() const { return value_.index() == 1; }
  bool is_list() const { return value_.index() == 2; }
  bool is_map() const { return value_.index() == 3; }
  bool quoted() const { return quoted_; }

  // REQUIRES: of the three, that the value has this form.
  const std::string& text() const { return std::get<std::string>(value_); }
  const List& list() const { return *std::get<2>(value_); }
  const Map& map() const { return *std::get<3>(value_); }
  // Null if the value is no pipeline.
  const Pipeline* pipeline() const {
    const auto* const found = std::get_if<const Pipeline*>(&value_);
    return found == nullptr ? nullptr : *found;
  }
  // Returns the value of a key of a map, or null.
  const Value* Find(std::string_view key) const;

 private:
  Place place_;
  bool quoted_ = false;
  std::variant<std::monostate, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Map>, const Pipeline*>
      value_;
};

struct Value::Entry {
  Value key;
  Value value;
};

// Lists and maps within each other, in any text.
inline constexpr size_t kValueDepthMax = 100;

// Reads one YAML document of at most 1 MiB. InvalidArgument: "line 4, column 5:
// not YAML: …".
absl::StatusOr<Value> ValueOfYaml(std::string_view text);
// Reads JSON of at most 64 MiB. Its values have no place.
absl::StatusOr<Value> ValueOfJson(std::string_view text);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_VALUE_H_
