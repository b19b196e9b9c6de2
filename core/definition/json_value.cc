// ValueOfJson: the events of nlohmann-json to values. The text may come from
// the network or a journal, so it is untrusted.

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/status.h"
#include "core/definition/value.h"
#include "core/definition/value_stack.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

// More than any text within the bounds of YAML, with all escapes.
constexpr size_t kJsonTextMax = size_t{64} << 20;
constexpr size_t kJsonValuesMax = 8'000'000;

// A SAX handler; false from an event ends the parsing.
class JsonBuilder {
 public:
  Value Take() { return stack_.Take(); }

  // NOLINTBEGIN(readability-identifier-naming): the names of nlohmann-json
  bool null() { return Add(Value()); }
  bool boolean(bool value) { return Plain(value ? "true" : "false"); }
  bool number_integer(Json::number_integer_t value) {
    return Plain(fmt::format("{}", value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    return Plain(fmt::format("{}", value));
  }
  bool number_float(Json::number_float_t, const std::string& text) {
    return Plain(text);
  }
  bool string(std::string& text) { return Add(Value(std::move(text), true)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(size_t) { return stack_.Begin(/*map=*/true); }
  bool key(std::string& text) { return string(text); }
  bool end_object() { return End(); }
  bool start_array(size_t) { return stack_.Begin(/*map=*/false); }
  bool end_array() { return End(); }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) {
    return false;
  }
  // NOLINTEND

 private:
  bool Plain(std::string text) { return Add(Value(std::move(text), false)); }
  bool Add(Value value) {
    stack_.Add(std::move(value));
    return ++values_ <= kJsonValuesMax;
  }
  bool End() {
    stack_.End();
    return ++values_ <= kJsonValuesMax;
  }

  ValueStack stack_;
  size_t values_ = 0;
};

}  // namespace

absl::StatusOr<Value> ValueOfJson(std::string_view text) {
  if (text.size() > kJsonTextMax) {
    return InvalidArgument("a graph of {} bytes is too long (at most {})",
                           text.size(), kJsonTextMax);
  }
  JsonBuilder builder;
  if (!Json::sax_parse(text, &builder)) {
    return InvalidArgument("the graph is not JSON");
  }
  return builder.Take();
}

}  // namespace feedmill
