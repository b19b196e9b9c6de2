// Files of tokenizers from outside: any bytes give a tokenizer or
// InvalidArgument, in time and memory that fit their size. Its tokens stand
// within the text. "#PATTERN" in the first line is the pattern of ranks. The
// plugin is not instrumented, so inputs are changed as JSON values.

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/buffer_builder.h"
#include "core/ops/tokenizer_plugin.h"

namespace feedmill {
namespace {

using Json = nlohmann::json;

#ifdef FEEDMILL_FUZZ
constexpr double kSecondsMax = 2;  // with sanitizers
constexpr int64_t kKilobytesMax = 400 << 10;
#else
constexpr double kSecondsMax = 0.2;
constexpr int64_t kKilobytesMax = 50 << 10;
#endif

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

int64_t PeakKilobytes() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_maxrss;
}

void CheckTokens(const Tokenizer& tokenizer, std::string_view text,
                 const Tokenizer::Options& options) {
  BufferBuilder ids, also_ids, places, again;
  const absl::Status made = tokenizer.Encode(text, options, ids);
  FM_CHECK(made.ok() || absl::IsDataLoss(made));
  const absl::Status placed =
      tokenizer.EncodePlaces(text, options, also_ids, places);
  FM_CHECK(placed.ok() || absl::IsDataLoss(placed));
  FM_CHECK(places.size() == 2 * also_ids.size());
  const auto size = static_cast<int32_t>(text.size());
  for (size_t k = 0; k < places.size() / sizeof(int32_t); k += 2) {
    const int32_t begin = places.As<int32_t>()[k];
    const int32_t end = places.As<int32_t>()[k + 1];
    FM_CHECK(0 <= begin && begin <= end && end <= size);
  }
  const std::span tokens(ids.As<int32_t>(), ids.size() / sizeof(int32_t));
  const absl::Status decoded = tokenizer.Decode(tokens, true, again);
  FM_CHECK(decoded.ok() || absl::IsDataLoss(decoded));
}

// ---- changes

#ifdef FEEDMILL_FUZZ
// Returns a value that may matter anywhere in a tokenizer.json.
Json OddValue(std::minstd_rand& draw) {
  static const Json values = {nullptr,
                              true,
                              false,
                              0,
                              1,
                              -1,
                              255,
                              65536,
                              1 << 24,
                              4294967295,
                              1e300,
                              9223372036854775807,
                              "",
                              " ",
                              "a",
                              "\u2581",
                              "\u0120",
                              "<unk>",
                              "[UNK]",
                              ".*",
                              "(a|b)+",
                              "\\s+(?!\\S)|\\s+",
                              "(?i:x)",
                              "[^",
                              "(a{100}){100}",
                              "(?:)",
                              "BPE",
                              "WordPiece",
                              "Unigram",
                              "WordLevel",
                              "NFC",
                              "NFKD",
                              "Replace",
                              "Prepend",
                              "Lowercase",
                              "StripAccents",
                              "BertNormalizer",
                              "Metaspace",
                              "ByteLevel",
                              "Split",
                              "Digits",
                              "Punctuation",
                              "FixedLength",
                              "UnicodeScripts",
                              "Whitespace",
                              "WhitespaceSplit",
                              "CharDelimiterSplit",
                              "Sequence",
                              "TemplateProcessing",
                              "BertProcessing",
                              "RobertaProcessing",
                              "ByteFallback",
                              "Fuse",
                              "Strip",
                              "CTC",
                              "Isolated",
                              "Removed",
                              "MergedWithNext",
                              "always",
                              "first",
                              "Left",
                              "OnlySecond",
                              "LongestFirst",
                              Json::array(),
                              Json::object(),
                              {{"Regex", "a*"}},
                              {{"String", ""}},
                              {{"type", "Prepend"}, {"prepend", "\u2581"}},
                              {{"Fixed", 60000}}};
  return values[draw() % values.size()];
}

void Collect(Json& value, std::vector<Json*>& found) {
  constexpr size_t kMembers = 12;  // of a vocabulary
  found.push_back(&value);
  size_t count = 0;
  for (Json& member : value) {
    if (++count > kMembers) break;
    if (value.is_structured()) Collect(member, found);
  }
}

void Change(Json& file, std::minstd_rand& draw) {
  std::vector<Json*> found;
  Collect(file, found);
  Json& at = *found[draw() % found.size()];
  const Json other = *found[draw() % found.size()];
  const auto kind = draw() % 6;
  if (kind == 0 && at.is_structured() && !at.empty()) {
    at.erase(
        std::next(at.begin(), static_cast<std::ptrdiff_t>(draw() % at.size())));
  } else if (kind == 1 && at.is_array()) {
    at.push_back(draw() % 2 == 0 ? other : OddValue(draw));
  } else if (kind == 2 && at.is_object()) {
    const Json name = OddValue(draw);
    if (name.is_string()) at[name.get<std::string>()] = OddValue(draw);
  } else if (kind == 3) {
    at = other;
  } else if (kind == 4 && at.is_string()) {
    at = at.get<std::string>() + at.get<std::string>();
  } else {
    at = OddValue(draw);
  }
}

#endif  // FEEDMILL_FUZZ

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view file(reinterpret_cast<const char*>(data), size);
  std::string pattern;
  if (file.starts_with('#')) {
    const size_t line = std::min(file.find('\n'), file.size() - 1);
    pattern = file.substr(1, line - 1);
    file.remove_prefix(line + 1);
    if (pattern.find('\0') != std::string::npos) return 0;
  }
  const double begin = feedmill::CpuSeconds();
  const int64_t peak = feedmill::PeakKilobytes();
  const auto tokenizer = feedmill::ReadTokenizer("file", pattern, file);
  FM_CHECK(feedmill::CpuSeconds() - begin < feedmill::kSecondsMax);
  FM_CHECK(tokenizer.ok() || absl::IsInvalidArgument(tokenizer.status()));
  if (tokenizer.ok()) {
    for (const std::string_view text :
         {"", "It's 2 words.\n", "a\u0301\u00e4 \u4e2d\U0001f600  <unk>"}) {
      feedmill::CheckTokens(**tokenizer, text, {});
      feedmill::CheckTokens(**tokenizer, text, {false, 3});
    }
  }
  FM_CHECK(feedmill::PeakKilobytes() - peak < feedmill::kKilobytesMax);
  return 0;
}

#ifdef FEEDMILL_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  std::minstd_rand draw(seed);
  auto file = feedmill::Json::parse(data, data + size, nullptr, false);
  if (!file.is_object() || draw() % 16 == 0) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (auto changes = draw() % 3 + 1; changes > 0; --changes) {
    feedmill::Change(file, draw);
  }
  const std::string text =
      file.dump(-1, ' ', false, feedmill::Json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
#endif
