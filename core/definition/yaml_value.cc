// ValueOfYaml: the events of yaml-cpp to values.

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "core/base/status.h"
#include "core/definition/value.h"
#include "core/definition/value_stack.h"

namespace feedmill {
namespace {

constexpr size_t kYamlTextMax = size_t{1} << 20;

Value::Place PlaceOf(const YAML::Mark& mark) {
  return {mark.line + 1, mark.column + 1};
}

// Makes the value of each document.
class YamlBuilder final : public YAML::EventHandler {
 public:
  Value Take() { return stack_.Take(); }
  Value::Place start() const { return start_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    start_ = PlaceOf(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Value().At(PlaceOf(mark)), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Value& anchored = anchored_[anchor];
    if (anchored.is_nothing() && anchored.place().line == 0) {
      throw YAML::ParserException(mark, "an alias within what it stands for");
    }
    stack_.Add(anchored);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& text) override {
    Add(Value(text, tag == "!").At(PlaceOf(mark)), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Begin(/*map=*/false, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    Begin(/*map=*/true, mark, anchor);
  }
  void OnSequenceEnd() override { End(); }
  void OnMapEnd() override { End(); }

 private:
  void Add(Value value, YAML::anchor_t anchor) {
    Keep(value, anchor);
    stack_.Add(std::move(value));
  }
  void Begin(bool map, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (!stack_.Begin(map, PlaceOf(mark))) {
      throw YAML::ParserException(
          mark, fmt::format("nested more than {} deep", kValueDepthMax));
    }
    Keep(Value(), anchor);  // no alias is of it before its end
    open_.push_back(anchor);
  }
  void End() {
    Keep(stack_.End(), open_.back());
    open_.pop_back();
  }
  void Keep(const Value& value, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    anchored_.resize(std::max(anchored_.size(), size_t{anchor} + 1));
    anchored_[anchor] = value;
  }

  ValueStack stack_;
  std::vector<YAML::anchor_t> open_;  // of each open list and map
  std::vector<Value> anchored_;       // by anchor
  Value::Place start_;
};

// Checks that YAML is text without control characters, because the parser can
// take minutes for a megabyte of other bytes.
absl::Status CheckIsText(std::string_view text) {
  size_t line = 1;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\n') ++line;
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') ||
        byte == 0x7f) {
      return InvalidArgument(
          "line {}: not YAML: the byte {:#04x} is not text; is this the right "
          "file?",
          line, byte);
    }
  }
  return absl::OkStatus();
}

// Returns the code unit of a JSON escape "\\ud83d" that begins here, if it is
// half of a pair.
std::optional<uint32_t> HalfPairAt(std::string_view text, size_t at) {
  uint32_t unit = 0;
  if (text.substr(at, 2) != "\\u" || at + 6 > text.size()) return std::nullopt;
  const char* const end = text.data() + at + 6;
  if (std::from_chars(end - 4, end, unit, 16).ptr != end) return std::nullopt;
  return unit >= 0xd800 && unit < 0xe000 ? std::optional(unit) : std::nullopt;
}

// Writes the pairs of escapes with which JSON has characters beyond 16 bits,
// "\\ud83d\\ude00", as YAML has them: "\\U0001f600".
std::string WithYamlEscapes(std::string_view text) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const auto high = HalfPairAt(text, at);
    const auto low = HalfPairAt(text, std::min(at + 6, text.size()));
    if (high && low && *high < 0xdc00 && *low >= 0xdc00) {
      const uint32_t code = 0x10000 + ((*high - 0xd800) << 10) + *low - 0xdc00;
      out += fmt::format("\\U{:08x}", code);
      at += 12;
      continue;
    }
    // A backslash that is escaped begins no escape.
    const size_t size = text[at] == '\\' && !high ? 2 : 1;
    out += text.substr(at, size);
    at += size;
  }
  return out;
}

// Throws YAML::Exception if the text is not YAML.
absl::StatusOr<Value> OneDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  YamlBuilder builder;
  if (!parser.HandleNextDocument(builder)) {
    return InvalidArgument("the pipeline is empty; write source: and steps:");
  }
  Value document = builder.Take();
  if (!parser.HandleNextDocument(builder)) return document;
  return InvalidArgument(
      "line {}, column {}: a pipeline is one YAML document, another begins "
      "here",
      builder.start().line, builder.start().column);
}

}  // namespace

absl::StatusOr<Value> ValueOfYaml(std::string_view text) {
  if (text.size() > kYamlTextMax) {
    return InvalidArgument("a pipeline of {} bytes is too long (at most {})",
                           text.size(), kYamlTextMax);
  }
  FM_RETURN_IF_ERROR(CheckIsText(text));
  try {
    const std::string copy(text);
    try {
      return OneDocument(copy);
    } catch (const YAML::Exception& error) {
      // The parser refuses pairs of escapes, which programs write in JSON.
      const std::string escaped = WithYamlEscapes(text);
      if (escaped == copy) throw;
      return OneDocument(escaped);
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) {
      return InvalidArgument("not YAML: {}", error.msg);
    }
    return InvalidArgument("line {}, column {}: not YAML: {}",
                           error.mark.line + 1, error.mark.column + 1,
                           error.msg);
  }
}

}  // namespace feedmill
