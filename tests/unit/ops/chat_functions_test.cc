// Tests format_chat, tokenize_chat and token_offsets with a tokenizer of pieces
// of equal length. tests/python/tokenizers_test.py compares real ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/status.h"
#include "core/ops/builtin_functions.h"
#include "core/ops/chat_template.h"
#include "core/ops/lookup_functions.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Tokens of `size` characters of an ASCII text; the id is the first of them.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(size_t size) : size_(size) {}

  absl::Status Encode(std::string_view text, const Options& options,
                      BufferBuilder& ids) const override {
    BufferBuilder places;
    return EncodePlaces(text, options, ids, places);
  }
  absl::Status EncodePlaces(std::string_view text, const Options& options,
                            BufferBuilder& ids,
                            BufferBuilder& places) const override {
    int64_t left = options.length_max == 0 ? INT64_MAX : options.length_max;
    for (size_t at = 0; at < text.size() && left-- > 0; at += size_) {
      ids.Push<int32_t>(text[at]);
      places.Push(static_cast<int32_t>(at));
      places.Push(static_cast<int32_t>(std::min(at + size_, text.size())));
    }
    return absl::OkStatus();
  }
  absl::Status Decode(std::span<const int32_t>, bool,
                      BufferBuilder&) const override {
    return absl::OkStatus();
  }

 private:
  size_t size_;
};

constexpr char kChat[] =
    R"([{"role": "user", "content": "ab"}, {"role": "assistant", "content": " cd "}])";

std::string Formatted(const std::string& name, const std::string& messages) {
  ChatText chat;
  const absl::Status made =
      FormatChat(*FindChatTemplate(name).value(), messages, false, chat);
  return made.ok() ? chat.text : std::string(made.message());
}

class ChatFunctionsTest : public ::testing::Test {
 protected:
  ChatFunctionsTest() {
    auto files = std::make_shared<LoadedFiles>();
    for (const size_t size : {size_t{1}, size_t{4}}) {
      files->tokenizers[{std::to_string(size), ""}] =
          std::make_shared<const PieceTokenizer>(size);
    }
    AddLookupFunctions(registry_, files);
  }

  CallResult Called(const char* function, const std::string& text,
                    std::vector<Expr::Literal> rest) {
    std::vector<CallArgument> arguments = {Of(BytesColumn({}, {text}))};
    for (const Expr::Literal& literal : rest) {
      arguments.push_back(LiteralOf(literal));
    }
    return Call(registry_, function, arguments, 1);
  }
  CallResult Chat(const std::string& size) {
    return Called("tokenize_chat", kChat, {{size}, {std::string("zephyr")}});
  }

  FunctionRegistry registry_ = BuiltinFunctions();
};

TEST(ChatTemplates, PutMessagesBetweenTheirMarks) {
  EXPECT_EQ(Formatted("zephyr", kChat),
            "<|user|>\nab</s>\n<|assistant|>\n cd </s>\n");
  EXPECT_EQ(Formatted("llama2", kChat), "<s>[INST] ab [/INST] cd </s>");
  EXPECT_THAT(Formatted("qwen2", kChat), HasSubstr("helpful assistant."));
}

TEST(ChatTemplates, StripAllSpacesOfUnicode) {
  EXPECT_EQ(Formatted("llama3", R"([{"role": "a", "content": )"
                                R"("\u3000\u00a0\n x\u2003y \u0085\u001c"}])"),
            "<|begin_of_text|><|start_header_id|>a<|end_header_id|>\n\n"
            "x\u2003y<|eot_id|>");
}

TEST(ChatTemplates, RefuseMessagesWithoutPlace) {
  EXPECT_THAT(Formatted("gemma", R"([{"role": "assistant", "content": "a"}])"),
              HasSubstr("message 0: gemma: roles must alternate"));
  EXPECT_THAT(Formatted("mistral", R"([{"role": "system", "content": "a"}])"),
              HasSubstr("no place for a message of the role system"));
  EXPECT_THAT(Formatted("phi3", R"([{"role": "tool", "content": "a"}])"),
              HasSubstr("phi3 has no role \"tool\""));
}

TEST_F(ChatFunctionsTest, TheMaskHasAnswersWithTheirEnds) {
  const CallResult result = Chat("1");
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  const std::vector<int32_t> items = Items<int32_t>(result.column);
  const size_t count = items.size() / 2;
  const std::vector<int32_t> mask(items.begin() + static_cast<int64_t>(count),
                                  items.end());
  std::string answer;
  for (size_t k = 0; k < count; ++k) {
    if (mask[k] == 1) answer.push_back(static_cast<char>(items[k]));
  }
  EXPECT_EQ(answer, " cd </s>");
}

TEST_F(ChatFunctionsTest, TokensThatBeginOutsideOfAnAnswerCount) {
  // <|us er|> \nab< /s>\n <|as sist ant| >\n c d </ s>\n
  const CallResult result = Chat("4");
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  const std::vector<int32_t> items = Items<int32_t>(result.column);
  EXPECT_EQ(std::vector<int32_t>(items.end() - 10, items.end()),
            (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST_F(ChatFunctionsTest, OffsetsAreCutAsTokensAre) {
  const CallResult result = Called("token_offsets", "abcdefghij",
                                   {{std::string("4")}, {true}, {int64_t{2}}});
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  EXPECT_THAT(Items<int32_t>(result.column), ElementsAre(0, 4, 4, 8));
}

}  // namespace
}  // namespace feedmill::testing
