// Tests vocabulary, vocabulary_buckets and sentencepiece. pieces_cases.txt
// (made by make_pieces.py) has the results of SentencePiece's Python package.

#include "core/ops/lookup_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/base/status.h"
#include "core/ops/builtin_functions.h"
#include "tests/unit/ops/column_fixture.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string FileNamed(const std::string& name) {
  std::ifstream file(std::string(OPS_TEST_FILES) + "/" + name,
                     std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Vocabulary> WordsOf(std::string text) {
  auto words = Vocabulary::Parse(std::move(text));
  EXPECT_TRUE(words.ok()) << words.status();
  return std::make_shared<const Vocabulary>(*std::move(words));
}

constexpr const char* kModels[] = {"unigram", "bpe", "kept",
                                   "bare",    "nmt", "crossing"};

class LookupTest : public ::testing::Test {
 protected:
  LookupTest() {
    auto files = std::make_shared<LoadedFiles>();
    files->vocabularies["words"] =
        WordsOf("\xef\xbb\xbfthe\ncat\n\nsat\r\nlast");
    files->vocabularies["none"] = WordsOf("");
    std::string error;
    for (const char* name : kModels) {
      files->models[name] = SentencePieceModel::Parse(
          FileNamed(std::string("pieces_") + name + ".model"), error);
      EXPECT_NE(files->models[name], nullptr) << error;
    }
    AddLookupFunctions(registry_, files);
  }

  CallResult Words(Column column, size_t rows,
                   std::vector<Expr::Literal> rest = {},
                   const char* function = "vocabulary",
                   const char* file = "words") {
    std::vector<CallArgument> arguments = {Of(std::move(column)),
                                           LiteralOf({std::string(file)})};
    for (const Expr::Literal& literal : rest) {
      arguments.push_back(LiteralOf(literal));
    }
    return Call(registry_, function, arguments, rows);
  }

  FunctionRegistry registry_ = BuiltinFunctions();
};

TEST_F(LookupTest, WordsHaveTheNumbersOfTheirLines) {
  const CallResult result =
      Words(BytesColumn({}, {"last", "", "sat", "the", "cat"}), 5);
  ASSERT_TRUE(result.computed.ok()) << result.computed;
  EXPECT_EQ(result.type.dtype, DType::kInt64);
  EXPECT_THAT(Items<int64_t>(result.column), ElementsAre(4, 2, 3, 0, 1));
}

TEST_F(LookupTest, KeepsShapes) {
  const CallResult pairs =
      Words(BytesColumn({2}, {"the", "cat", "cat", "the"}), 2);
  ASSERT_TRUE(pairs.computed.ok()) << pairs.computed;
  EXPECT_EQ(pairs.column.shape, Shape{2});
  EXPECT_THAT(Items<int64_t>(pairs.column), ElementsAre(0, 1, 1, 0));
  const CallResult none = Words(BytesColumn({}, {}), 0);
  EXPECT_TRUE(none.computed.ok()) << none.computed;
  // Ragged: the output of split.
  const CallResult split = Call(
      registry_, "split", {Of(BytesColumn({}, {"the cat the", "", "cat"}))}, 3);
  ASSERT_TRUE(split.computed.ok()) << split.computed;
  const CallResult ragged = Words(split.column, 3);
  ASSERT_TRUE(ragged.computed.ok()) << ragged.computed;
  EXPECT_TRUE(ragged.column.ragged());
  EXPECT_THAT(Items<int64_t>(ragged.column), ElementsAre(0, 1, 0, 1));
}

TEST_F(LookupTest, UnknownWordsAreAnErrorOrANumberOrInBuckets) {
  const std::vector<std::string> words = {"the", "dog", "mat"};
  const CallResult failed = Words(BytesColumn({}, words), 3);
  EXPECT_TRUE(absl::IsDataLoss(failed.computed));
  EXPECT_EQ(failed.failed_row, 1U);
  EXPECT_THAT(ErrorText(failed.computed), HasSubstr("\"dog\" is not in words"));
  const CallResult returned = Words(BytesColumn({}, {"sat\r"}), 1);
  EXPECT_THAT(ErrorText(returned.computed), HasSubstr("rstrip(…)"));
  const CallResult numbered = Words(BytesColumn({}, words), 3, {{int64_t{-7}}});
  EXPECT_THAT(Items<int64_t>(numbered.column), ElementsAre(0, -7, -7));
  const CallResult hashed =
      Words(BytesColumn({}, words), 3, {{int64_t{10}}}, "vocabulary_buckets");
  EXPECT_THAT(
      Items<int64_t>(hashed.column),
      ElementsAre(0, 5 + static_cast<int64_t>(XXH3_64bits("dog", 3) % 10),
                  5 + static_cast<int64_t>(XXH3_64bits("mat", 3) % 10)));
  const CallResult empty = Words(BytesColumn({}, words), 3, {{int64_t{1}}},
                                 "vocabulary_buckets", "none");
  EXPECT_THAT(Items<int64_t>(empty.column), ElementsAre(0, 0, 0));
}

TEST_F(LookupTest, RefusesWhatDoesNotFit) {
  const Column words = BytesColumn({}, {"the"});
  const Column numbers = ColumnOf<int64_t>(DType::kInt64, {}, {1});
  EXPECT_FALSE(Words(numbers, 1).built.ok());
  EXPECT_FALSE(Words(words, 1, {{1.5}}).built.ok());
  EXPECT_FALSE(Words(words, 1, {}, "vocabulary_buckets").built.ok());
  EXPECT_FALSE(
      Words(words, 1, {{int64_t{0}}}, "vocabulary_buckets").built.ok());
  EXPECT_FALSE(Words(words, 1, {}, "vocabulary", "").built.ok());
  EXPECT_FALSE(
      Call(registry_, "vocabulary", {Of(words), Of(words)}, 1).built.ok());
  EXPECT_FALSE(Words(BytesColumn({1}, {"the"}), 1, {}, "sentencepiece", "bpe")
                   .built.ok());
  // Without a bound file, types are known but nothing is computed.
  const CallResult unbound = Words(words, 1, {}, "vocabulary", "other");
  EXPECT_TRUE(unbound.built.ok());
  EXPECT_TRUE(absl::IsInternal(unbound.computed));
}

TEST_F(LookupTest, AWordHasOneNumber) {
  const auto twice = Vocabulary::Parse("a\nb\na\n");
  EXPECT_TRUE(absl::IsInvalidArgument(twice.status()));
  EXPECT_THAT(ErrorText(twice.status()), HasSubstr("line 3 is line 1 again"));
}

TEST_F(LookupTest, ManyWordsAreFound) {
  std::string text;
  for (int k = 0; k < 20'000; ++k) text += "word" + std::to_string(k) + "\n";
  const auto words = WordsOf(text);
  EXPECT_EQ(words->size(), 20'000);
  for (int k = 0; k < 20'000; ++k) {
    ASSERT_EQ(words->Find("word" + std::to_string(k)), k);
  }
  EXPECT_EQ(words->Find("word20000"), -1);
}

struct TokensCase {
  std::string model;
  std::string text;
  std::vector<int32_t> ids;
};

std::vector<TokensCase> TokensCases() {
  std::istringstream lines(FileNamed("pieces_cases.txt"));
  std::vector<TokensCase> cases;
  for (std::string line; std::getline(lines, line);) {
    TokensCase one;
    const size_t tab = line.find('\t');
    const size_t next = line.find('\t', tab + 1);
    one.model = line.substr(0, tab);
    for (size_t at = tab + 1; at + 1 < next; at += 2) {
      unsigned byte = 0;
      std::from_chars(&line[at], &line[at] + 2, byte, 16);
      one.text += static_cast<char>(byte);
    }
    std::istringstream ids(line.substr(next + 1));
    for (int32_t id = 0; ids >> id;) one.ids.push_back(id);
    cases.push_back(std::move(one));
  }
  return cases;
}

TEST_F(LookupTest, TokensEqualThePythonPackages) {
  const std::vector<TokensCase> cases = TokensCases();
  ASSERT_EQ(cases.size(), 628U);
  for (const char* model : kModels) {
    std::vector<std::string> texts;
    std::vector<int32_t> ids;
    std::vector<int64_t> sizes;
    for (const TokensCase& one : cases) {
      if (one.model != model) continue;
      texts.push_back(one.text);
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      sizes.push_back(static_cast<int64_t>(one.ids.size()));
      // Also in a chunk of one element.
      const CallResult alone =
          Words(BytesColumn({}, {one.text}), 1, {}, "sentencepiece", model);
      EXPECT_EQ(Items<int32_t>(alone.column), one.ids);
    }
    const CallResult all =
        Words(BytesColumn({}, texts), texts.size(), {}, "sentencepiece", model);
    ASSERT_TRUE(all.computed.ok()) << all.computed;
    EXPECT_EQ(all.type.dtype, DType::kInt32);
    EXPECT_EQ(Items<int32_t>(all.column), ids);
    for (size_t row = 0; row < sizes.size(); ++row) {
      EXPECT_EQ(all.column.RowItems(row), sizes[row]) << row;
    }
  }
  EXPECT_TRUE(
      Words(BytesColumn({}, {}), 0, {}, "sentencepiece", "bpe").computed.ok());
}

TEST_F(LookupTest, AnInvalidModelIsAnError) {
  std::string error;
  EXPECT_EQ(SentencePieceModel::Parse("no model", error), nullptr);
  EXPECT_FALSE(error.empty());
  const std::string model = FileNamed("pieces_bpe.model");
  for (size_t size = 0; size < model.size(); size += 97) {
    SentencePieceModel::Parse(model.substr(0, size), error);
  }
}

}  // namespace
}  // namespace feedmill::testing
