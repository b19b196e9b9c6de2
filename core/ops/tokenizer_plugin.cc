#include "core/ops/tokenizer_plugin.h"

#include <algorithm>
#include <exception>
#include <mutex>

#include "core/base/status.h"
#include "core/plugins/shared_object.h"
#include "core/plugins/shipped_plugin.h"
#include "feedmill/plugin.h"

namespace feedmill {
namespace {

constexpr ShippedPlugin kTokenizers{"FEEDMILL_TOKENIZER_PLUGIN",
                                    "libfeedmill_tokenizers.so"};
constexpr char kTokenizerEntry[] = "feedmill_tokenizer_plugin_v2";
constexpr size_t kReasonMax = 300;  // bytes of an error text from a plugin

// Receives the reason of a failure.
struct TokenizerError {
  std::string text{};
  feedmill_op_error error{this, Say, 0};

  static void Say(void* sink, const char* text, size_t size) {
    static_cast<TokenizerError*>(sink)->text.assign(text,
                                                    std::min(size, kReasonMax));
  }
};

// Receives a result. An exception must not pass through the plugin's frames.
struct Result {
  BufferBuilder& to;
  BufferBuilder* places = nullptr;
  std::exception_ptr refused{};

  template <class Item>
  static void Take(void* sink, const Item* items, size_t count) {
    TakePlaces(sink, items, nullptr, count);
  }
  template <class Item>
  static void TakePlaces(void* sink, const Item* items, const int32_t* places,
                         size_t count) {
    auto* const result = static_cast<Result*>(sink);
    try {
      result->to.Append(items, count * sizeof(Item));
      if (places != nullptr) {
        result->places->Append(places, 2 * count * sizeof(int32_t));
      }
    } catch (...) {
      result->refused = std::current_exception();
    }
  }
};

class PluginTokenizer final : public Tokenizer {
 public:
  PluginTokenizer(const feedmill_tokenizer_v2& plugin, void* loaded)
      : plugin_(plugin), loaded_(loaded) {}
  ~PluginTokenizer() override { plugin_.unload(loaded_); }

  absl::Status Encode(std::string_view text, const Options& options,
                      BufferBuilder& ids) const override {
    Result result{ids};
    TokenizerError reason;
    return Checked(
        plugin_.encode(loaded_, text.data(), text.size(),
                       options.special ? 1 : 0,
                       static_cast<size_t>(options.length_max), &result,
                       Result::Take<int32_t>, &reason.error),
        result, reason);
  }
  absl::Status EncodePlaces(std::string_view text, const Options& options,
                            BufferBuilder& ids,
                            BufferBuilder& places) const override {
    Result result{ids, &places};
    TokenizerError reason;
    return Checked(
        plugin_.encode_places(loaded_, text.data(), text.size(),
                              options.special ? 1 : 0,
                              static_cast<size_t>(options.length_max), &result,
                              Result::TakePlaces<int32_t>, &reason.error),
        result, reason);
  }
  absl::Status Decode(std::span<const int32_t> ids, bool special,
                      BufferBuilder& text) const override {
    Result result{text};
    TokenizerError reason;
    return Checked(
        plugin_.decode(loaded_, ids.data(), ids.size(), special ? 1 : 0,
                       &result, Result::Take<char>, &reason.error),
        result, reason);
  }

 private:
  static absl::Status Checked(int status, const Result& result,
                              const TokenizerError& reason) {
    if (result.refused != nullptr) std::rethrow_exception(result.refused);
    if (status == FEEDMILL_OP_OK) return absl::OkStatus();
    return DataLoss("{}", reason.text);
  }

  const feedmill_tokenizer_v2& plugin_;
  void* const loaded_;
};

absl::StatusOr<const feedmill_tokenizer_v2*> LoadFrom(const std::string& path) {
  FM_ASSIGN_OR_RETURN(SharedObject object, SharedObject::Load(path));
  const auto entry =
      object.Find<feedmill_tokenizer_plugin_v2_type>(kTokenizerEntry);
  const feedmill_tokenizer_v2* const plugin =
      entry == nullptr ? nullptr : entry();
  if (plugin == nullptr) {
    return FailedPrecondition("{} is no tokenizer plugin: it has no {}", path,
                              kTokenizerEntry);
  }
  object.Keep();
  return plugin;
}

absl::StatusOr<const feedmill_tokenizer_v2*> FindTokenizerPlugin() {
  if (const auto path = FileOf(kTokenizers)) return LoadFrom(*path);
  return FailedPrecondition(
      "tokenize needs the plugin {}, which is not at {}; tools/setup "
      "--tokenizers builds it (or set {} to its path)",
      kTokenizers.file, PlacesOf(kTokenizers).front(), kTokenizers.variable);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Tokenizer>> ReadTokenizer(
    const std::string& path, const std::string& pattern,
    std::string_view bytes) {
  static std::mutex mutex;
  static const feedmill_tokenizer_v2* plugin = nullptr;  // guarded by mutex
  const std::lock_guard lock(mutex);
  if (plugin == nullptr) {
    FM_ASSIGN_OR_RETURN(plugin, FindTokenizerPlugin());
  }
  TokenizerError reason;
  void* const loaded =
      plugin->load(path.c_str(), pattern.empty() ? nullptr : pattern.c_str(),
                   bytes.data(), bytes.size(), &reason.error);
  if (loaded == nullptr) {
    return InvalidArgument("{}: no tokenizer: {}", path, reason.text);
  }
  return std::make_shared<const PluginTokenizer>(*plugin, loaded);
}

}  // namespace feedmill
