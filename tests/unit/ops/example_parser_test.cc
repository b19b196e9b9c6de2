#include "core/ops/example_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/status.h"
#include "core/chunk/order_hash.h"

namespace feedmill::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
  return out;
}
std::string Tag(uint32_t number, uint32_t wire_type) {
  return Varint(number << 3 | wire_type);
}
std::string Message(uint32_t number, const std::string& bytes) {
  return Tag(number, 2) + Varint(bytes.size()) + bytes;
}
std::string Floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof(float));
}
std::string BytesFeature(const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += Message(1, value);
  return Message(1, list);
}
std::string PackedInts(const std::vector<int64_t>& values) {
  std::string packed;
  for (int64_t v : values) packed += Varint(static_cast<uint64_t>(v));
  return Message(3, Message(1, packed));
}
std::string UnpackedInts(const std::vector<int64_t>& values) {
  std::string list;
  for (int64_t v : values) list += Tag(1, 0) + Varint(static_cast<uint64_t>(v));
  return Message(3, list);
}
std::string Entry(const std::string& key, const std::string& feature) {
  return Message(1, Message(1, key) + Message(2, feature));
}
std::string Example(const std::string& entries) { return Message(1, entries); }

const Features kFeatures = {{"image", DType::kBytes, {}},
                            {"label", DType::kInt64, {}},
                            {"box", DType::kFloat32, {2}}};

absl::Status ParseOne(ExampleParser& parser, std::string_view record,
                      ChunkBuilder& builder) {
  size_t failed = 0;
  return parser.Parse({&record, 1}, builder, failed);
}

// A row of kFeatures, or the error.
struct Row {
  absl::Status status;
  std::string image;
  int64_t label = 0;
  std::vector<float> box;
};

Row Parse(const std::string& record) {
  const auto spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"image", DType::kBytes, {}},
                   {"label", DType::kInt64, {}},
                   {"box", DType::kFloat32, {2}}}});
  ChunkBuilder builder(spec);
  ExampleParser parser(kFeatures);
  Row row;
  row.status = ParseOne(parser, record, builder);
  if (!row.status.ok()) {
    EXPECT_EQ(std::move(builder).Finish().rows, 0U);
    return row;
  }
  builder.FinishRows(1);
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_TRUE(chunk.Validate().ok());
  row.image = chunk.columns[0].BytesAt(0);
  row.label = chunk.columns[1].values.As<int64_t>()[0];
  const auto box = chunk.columns[2].values.As<float>();
  row.box.assign(box.begin(), box.end());
  return row;
}

const std::string kImage = Entry("image", BytesFeature({"jpeg"}));
const std::string kLabel = Entry("label", PackedInts({-3}));
const std::string kBox =
    Entry("box", Message(2, Message(1, Floats({0.5, -2}))));

TEST(ExampleParserTest, ReadsWhatIsWanted) {
  const Row row = Parse(
      Example(kBox + Entry("other", PackedInts({1, 2})) + kImage + kLabel));
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.image, "jpeg");
  EXPECT_EQ(row.label, -3);
  EXPECT_THAT(row.box, ElementsAre(0.5F, -2.0F));
}

TEST(ExampleParserTest, UnpackedAndSplitListsCountAlike) {
  const std::string one_float =
      Tag(1, 5) + Floats({1.5}) + Message(1, Floats({2.5}));
  const Row row =
      Parse(Example(kImage + Entry("label", UnpackedInts({1LL << 40})) +
                    Entry("box", Message(2, one_float))));
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.label, 1LL << 40);
  EXPECT_THAT(row.box, ElementsAre(1.5F, 2.5F));
  const Row parts =
      Parse(Example(kImage + kLabel +
                    Entry("box", Message(2, Message(1, Floats({1}))) +
                                     Message(2, Message(1, Floats({2}))))));
  EXPECT_THAT(parts.box, ElementsAre(1.0F, 2.0F));
}

TEST(ExampleParserTest, TheLastOfRepeatedKeysWins) {
  const Row row =
      Parse(Example(kImage + kLabel + kBox + Entry("label", PackedInts({8}))) +
            Example(Entry("image", BytesFeature({"png"}))));
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.label, 8);
  EXPECT_EQ(row.image, "png");
}

TEST(ExampleParserTest, TheLastKindOfAFeatureWins) {
  const Row row = Parse(Example(
      kImage + kBox +
      Entry("label", PackedInts({1}) + BytesFeature({"x"}) + PackedInts({2}))));
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.label, 2);
}

TEST(ExampleParserTest, UnknownFieldsAreSkipped) {
  const std::string unknown = Tag(9, 0) + Varint(5) + Tag(10, 1) + "12345678" +
                              Tag(11, 5) + "1234" + Message(12, "x");
  const Row row = Parse(unknown + Message(1, unknown + kImage + kLabel + kBox));
  EXPECT_TRUE(row.status.ok()) << row.status;
}

TEST(ExampleParserTest, ErrorsNameTheFeature) {
  EXPECT_THAT(ErrorText(Parse(Example(kImage + kBox)).status),
              HasSubstr("no feature 'label'"));
  EXPECT_THAT(ErrorText(Parse(Example(kImage + kBox +
                                      Entry("label", BytesFeature({"1"}))))
                            .status),
              HasSubstr("'label' holds bytes, not int64"));
  EXPECT_THAT(ErrorText(Parse(Example(kImage + kBox +
                                      Entry("label", PackedInts({1, 2}))))
                            .status),
              HasSubstr("'label' has 2 values, not 1"));
  EXPECT_THAT(
      ErrorText(Parse(Example(kImage + kBox + Entry("label", ""))).status),
      HasSubstr("'label' has 0 values, not 1"));
  EXPECT_TRUE(absl::IsDataLoss(Parse("").status));
}

TEST(ExampleParserTest, EveryTruncationIsAnError) {
  const std::string record = Example(kImage + kLabel + kBox);
  for (size_t size = 0; size < record.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(Parse(record.substr(0, size)).status)) << size;
  }
}

TEST(ExampleParserTest, MalformedMessages) {
  const std::string cases[] = {
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",  // infinite varint
      std::string("\x00\x00", 2),                      // field number 0
      Tag(1, 3),                                       // a group
      Tag(1, 7),
      Tag(1, 2) + Varint(~uint64_t{0}),
      Example(kImage + kBox + Entry("label", Message(3, Message(1, "\x80")))),
      Example(kImage + kLabel + Entry("box", Message(2, Message(1, "12345")))),
  };
  for (const std::string& record : cases) {
    EXPECT_THAT(ErrorText(Parse(record).status), HasSubstr("malformed"));
  }
}

TEST(ExampleParserTest, OneParserReadsManyRecords) {
  const auto spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"words", DType::kBytes, {2}}}});
  ChunkBuilder builder(spec);
  ExampleParser parser({{"words", DType::kBytes, {2}}});
  const auto record = [](const std::string& a) {
    return Example(Entry("words", BytesFeature({a, ""})));
  };
  ASSERT_TRUE(ParseOne(parser, record("one"), builder).ok());
  builder.FinishRows(1);
  EXPECT_FALSE(
      ParseOne(parser, Example(Entry("words", BytesFeature({"1"}))), builder)
          .ok());
  ASSERT_TRUE(ParseOne(parser, record("two"), builder).ok());
  builder.FinishRows(1);
  const Chunk chunk = std::move(builder).Finish();
  ASSERT_TRUE(chunk.Validate().ok());
  EXPECT_EQ(chunk.rows, 2U);
  EXPECT_EQ(chunk.columns[0].BytesAt(2), "two");
}

// ---- many records at a time

// The rows of the records, and the index of a bad one, if any.
struct Rows {
  absl::Status status;
  size_t failed = 0;
  Chunk chunk;
};

Rows ParseAll(ExampleParser& parser, const std::vector<std::string>& records) {
  const auto spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"image", DType::kBytes, {}},
                   {"label", DType::kInt64, {}},
                   {"box", DType::kFloat32, {2}}}});
  ChunkBuilder builder(spec);
  Rows rows;
  const std::vector<std::string_view> views(records.begin(), records.end());
  rows.status = parser.Parse(views, builder, rows.failed);
  if (rows.status.ok()) {
    builder.FinishRows(records.size());
  } else {
    builder.DropUnfinished();
  }
  rows.chunk = std::move(builder).Finish();
  EXPECT_TRUE(rows.chunk.Validate().ok()) << rows.chunk.Validate();
  return rows;
}

std::string OrderHashOf(const Chunk& chunk) {
  OrderHash hash;
  hash.Add(chunk);
  return hash.Hex();
}

std::string RecordOf(const std::string& image, int64_t label, float box) {
  return Example(Entry("other", BytesFeature({image + "!"})) +
                 Entry("image", BytesFeature({image})) +
                 Entry("label", PackedInts({label})) +
                 Entry("box", Message(2, Message(1, Floats({box, 1})))));
}

TEST(ExampleParserTest, RecordsOfOneSizeAndOfOthersKeepTheirValues) {
  std::vector<std::string> records;
  // in runs, so that the parser learns from some
  for (int64_t k = 0; k < 1000; ++k) {
    const size_t size = k % 100 < 90 ? 5 : static_cast<size_t>(k % 7);
    records.push_back(RecordOf(std::string(size, static_cast<char>(k)), k,
                               static_cast<float>(k)));
  }
  ExampleParser parser(kFeatures);
  for (int again = 0; again < 2; ++again) {
    const Rows rows = ParseAll(parser, records);
    ASSERT_TRUE(rows.status.ok()) << rows.status;
    ASSERT_EQ(rows.chunk.rows, records.size());
    for (int64_t k = 0; k < 1000; ++k) {
      const size_t size = k % 100 < 90 ? 5 : static_cast<size_t>(k % 7);
      EXPECT_EQ(rows.chunk.columns[0].BytesAt(k),
                std::string(size, static_cast<char>(k)));
      const auto row = static_cast<size_t>(k);
      EXPECT_THAT(rows.chunk.columns[1].Items<int64_t>(row), ElementsAre(k));
      EXPECT_THAT(rows.chunk.columns[2].Items<float>(row),
                  ElementsAre(static_cast<float>(k), 1.0F));
    }
  }
}

TEST(ExampleParserTest, AParserThatKnowsARecordReadsAnyOtherLikeAFreshOne) {
  const std::string record = RecordOf("jpeg", 300, 0.5);
  ExampleParser knows(kFeatures);
  ASSERT_TRUE(ParseAll(knows, {100, record}).status.ok());
  for (size_t at = 0; at < record.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string other = record;
      other[at] = static_cast<char>(byte);
      ExampleParser fresh(kFeatures);
      const Rows want = ParseAll(fresh, {other});
      const Rows got = ParseAll(knows, {other});
      ASSERT_EQ(got.status, want.status) << at << " " << byte;
      ASSERT_EQ(OrderHashOf(got.chunk), OrderHashOf(want.chunk))
          << at << " " << byte;
    }
  }
}

TEST(ExampleParserTest, SaysWhichOfManyRecordsIsBad) {
  for (const size_t bad : {0U, 7U, 63U, 64U, 199U}) {
    std::vector<std::string> records(200, RecordOf("jpeg", 3, 0.5));
    records[bad] = Example(kImage + kBox);
    records.back() = "";
    ExampleParser parser(kFeatures);
    const Rows rows = ParseAll(parser, records);
    EXPECT_TRUE(absl::IsDataLoss(rows.status)) << rows.status;
    EXPECT_EQ(rows.failed, bad);
    EXPECT_EQ(rows.chunk.rows, 0U);
  }
}

// ---- ragged features and feature lists

absl::Status ParseInto(ExampleParser parser, const std::string& record,
                       ChunkBuilder& builder) {
  const absl::Status status = ParseOne(parser, record, builder);
  if (status.ok()) builder.FinishRows(1);
  return status;
}

TEST(ExampleParserTest, AnUnknownFirstDimensionFollowsTheValues) {
  const Features features = {{"ids", DType::kInt64, {kUnknownDim}},
                             {"box", DType::kFloat32, {kUnknownDim, 2}}};
  const auto spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"ids", DType::kInt64, {kUnknownDim}},
                   {"box", DType::kFloat32, {kUnknownDim, 2}}}});
  ChunkBuilder builder(spec);
  const ExampleParser parser(features);
  EXPECT_TRUE(ParseInto(parser,
                        Example(Entry("ids", PackedInts({4, 5, 6})) + kBox),
                        builder)
                  .ok());
  EXPECT_TRUE(ParseInto(parser, Example(""), builder).ok());
  const auto odd = ParseInto(
      parser, Example(Entry("box", Message(2, Message(1, Floats({1, 2, 3}))))),
      builder);
  EXPECT_THAT(ErrorText(odd), HasSubstr("3 values, not a multiple of 2"));
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_TRUE(chunk.Validate().ok()) << chunk.Validate();
  EXPECT_THAT(chunk.columns[0].RowDims(0), ElementsAre(3));
  EXPECT_THAT(chunk.columns[0].RowDims(1), ElementsAre(0));
  EXPECT_THAT(chunk.columns[1].RowDims(0), ElementsAre(1, 2));
  EXPECT_THAT(chunk.columns[1].RowDims(1), ElementsAre(0, 2));
}

TEST(ExampleParserTest, ManyRecordsWrittenInManyWaysByOneParser) {
  const Features features = {{"ids", DType::kInt64, {kUnknownDim}},
                             {"box", DType::kFloat32, {2}}};
  const auto spec = std::make_shared<ElementSpec>(ElementSpec{
      {{"ids", DType::kInt64, {kUnknownDim}}, {"box", DType::kFloat32, {2}}}});
  ChunkBuilder builder(spec);
  ExampleParser parser(features);
  const std::string packed = Entry("ids", PackedInts({7, -8}));
  const std::string unpacked = Entry("ids", UnpackedInts({7, -8}));
  const std::pair<std::string, bool> records[] = {
      {Example(packed + kBox), true},
      {Example(kBox + unpacked), true},
      {Example(packed), false},                 // earlier data is forgotten
      {Example(kBox), true},                    // no ids
      {Example(packed + kBox + packed), true},  // the last value counts
      {Example(packed + kBox) + "x", false},
      {Example(kLabel + kBox + kImage + packed), true}};
  for (const auto& [record, good] : records) {
    const absl::Status status = ParseOne(parser, record, builder);
    EXPECT_EQ(status.ok(), good) << status;
    if (status.ok()) builder.FinishRows(1);
  }
  const Chunk chunk = std::move(builder).Finish();
  EXPECT_TRUE(chunk.Validate().ok()) << chunk.Validate();
  ASSERT_EQ(chunk.rows, 5U);
  for (const size_t row : {0U, 1U, 3U, 4U}) {
    EXPECT_THAT(chunk.columns[0].Items<int64_t>(row), ElementsAre(7, -8));
  }
  EXPECT_THAT(chunk.columns[0].RowDims(2), ElementsAre(0));
  for (size_t row = 0; row < 5; ++row) {
    EXPECT_THAT(chunk.columns[1].Items<float>(row), ElementsAre(0.5F, -2.0F));
  }
}

TEST(ExampleParserTest, ReadsContextAndFeatureListsOfASequenceExample) {
  const ParseSequenceExampleStep step{
      {{"label", DType::kInt64, {}}},
      {{"words", DType::kBytes, {}}, {"at", DType::kFloat32, {2}}}};
  const auto spec = std::make_shared<ElementSpec>(
      ElementSpec{{{"label", DType::kInt64, {}},
                   {"words", DType::kBytes, {kUnknownDim}},
                   {"at", DType::kFloat32, {kUnknownDim, 2}}}});
  const auto list = [](const std::string& key, const std::string& features) {
    return Entry(key, features);  // of FeatureList {feature = 1}
  };
  const std::string words = list("words", Message(1, BytesFeature({"a"})) +
                                              Message(1, BytesFeature({"bc"})));
  const std::string at =
      list("at", Message(1, Message(2, Message(1, Floats({1, 2})))));
  ChunkBuilder builder(spec);
  const ExampleParser parser(step);
  // A list with the name of a context feature is separate from it.
  const std::string record =
      Message(1, kLabel) + Message(2, words + at + list("label", ""));
  EXPECT_TRUE(ParseInto(parser, record, builder).ok());
  EXPECT_TRUE(ParseInto(parser, Message(1, kLabel), builder).ok());
  const auto two = ParseInto(
      parser,
      Message(1, kLabel) +
          Message(2, list("words", Message(1, BytesFeature({"a", "b"})))),
      builder);
  EXPECT_THAT(ErrorText(two),
              HasSubstr("step 0 of feature list 'words' has 2 values, not 1"));
  EXPECT_THAT(ErrorText(ParseInto(parser, Message(2, words), builder)),
              HasSubstr("no feature 'label'"));
  const Chunk chunk = std::move(builder).Finish();
  ASSERT_EQ(chunk.rows, 2u);
  EXPECT_TRUE(chunk.Validate().ok()) << chunk.Validate();
  EXPECT_THAT(chunk.columns[1].RowDims(0), ElementsAre(2));
  EXPECT_EQ(chunk.columns[1].BytesAt(1), "bc");
  EXPECT_THAT(chunk.columns[2].RowDims(0), ElementsAre(1, 2));
  EXPECT_THAT(chunk.columns[2].RowDims(1), ElementsAre(0, 2));
}

}  // namespace
}  // namespace feedmill::testing
