#ifndef FEEDMILL_CORE_DEFINITION_VALUE_STACK_H_
#define FEEDMILL_CORE_DEFINITION_VALUE_STACK_H_

#include <utility>
#include <vector>

#include "core/definition/value.h"

namespace feedmill {

// Makes a value from the events of a parser: scalars, and the begins and ends
// of lists and maps. A map's keys and values come in turn.
class ValueStack {
 public:
  // Adds a value to the innermost open list or map, or as the whole.
  void Add(Value value) {
    if (open_.empty()) {
      whole_ = std::move(value);
      return;
    }
    open_.back().values.push_back(std::move(value));
  }
  // False if values are nested deeper than kValueDepthMax.
  bool Begin(bool map, Value::Place place = {}) {
    if (open_.size() == kValueDepthMax) return false;
    open_.push_back({map, place, {}});
    return true;
  }
  // Ends the innermost list or map, and returns it.
  Value End() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    Value value;
    if (ended.map) {
      Value::Map entries;
      for (size_t k = 0; k + 1 < ended.values.size(); k += 2) {
        entries.push_back(
            {std::move(ended.values[k]), std::move(ended.values[k + 1])});
      }
      value = Value(std::move(entries));
    } else {
      value = Value(std::move(ended.values));
    }
    value = std::move(value).At(ended.place);
    Add(value);
    return value;
  }
  Value Take() { return std::exchange(whole_, Value()); }

 private:
  struct Open {
    bool map;
    Value::Place place;
    Value::List values;
  };
  std::vector<Open> open_;
  Value whole_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_VALUE_STACK_H_
