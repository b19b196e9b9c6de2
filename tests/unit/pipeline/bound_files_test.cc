// Files named in expressions, from the pipeline's text to elements.

#include "core/pipeline/bound_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/dataset/analysis.h"
#include "core/dataset/named_files.h"
#include "core/definition/pipeline_text.h"
#include "core/io/manifest.h"
#include "core/ops/builtin_functions.h"
#include "core/pipeline/worker_stage.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "core/sources/source_plan.h"
#include "tests/unit/pipeline/local_reader.h"

namespace feedmill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class BoundFilesTest : public ::testing::Test {
 protected:
  BoundFilesTest() {
    std::string name = ::testing::TempDir() + "bound_files.XXXXXX";
    directory_ = mkdtemp(name.data());
    Write("text.txt", "the cat\n\nsat\n");
    Write("words.txt", "the\ncat\nsat\n");
  }
  ~BoundFilesTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << text;
  }

  Graph GraphOf(const std::string& steps,
                const std::string& source = "text: {files: text.txt}") const {
    auto graph = ParseGraphYaml(
        "source: {" + source + "}\nsteps: [" + steps + "]\n", directory_);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return *std::move(graph);
  }

  // Returns the elements, one per line, or the error.
  absl::StatusOr<std::vector<std::string>> Read(const Graph& graph) const {
    FM_ASSIGN_OR_RETURN(const auto reader,
                        LocalReader::Make(graph, registry_, {.threads = 2}));
    std::vector<std::string> lines;
    while (true) {
      FM_ASSIGN_OR_RETURN(const auto chunk,
                          reader->Next(absl::InfiniteFuture()));
      if (!chunk) return lines;
      for (size_t row = 0; row < chunk->rows; ++row) {
        AppendJson(*chunk, row, lines.emplace_back());
      }
    }
  }

  const std::shared_ptr<const FunctionRegistry> registry_ =
      std::make_shared<const FunctionRegistry>(BuiltinFunctions());
  std::string directory_;
};

TEST_F(BoundFilesTest, WorkersLookIntoThem) {
  const auto whole =
      Read(GraphOf("map: \"vocabulary(split(x), 'words.txt')\""));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_THAT(*whole, ElementsAre("[0,1]", "[]", "[2]"));
  // The first half of a flat_map also runs on workers; so do inputs.
  const auto flat =
      Read(GraphOf("flat_map: \"vocabulary(split(x), './words.txt', -1)\""));
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_THAT(*flat, ElementsAre("0", "1", "2"));
  const auto combined =
      Read(GraphOf("map: \"x + vocabulary('sat', 'words.txt')\"",
                   "concatenate: [{source: {range: {stop: 2}}, steps: [map: "
                   "\"vocabulary(to_string(x), 'words.txt', 40)\"]}]"));
  ASSERT_TRUE(combined.ok()) << combined.status();
  EXPECT_THAT(*combined, ElementsAre("42", "42"));
  const auto batched =
      Read(GraphOf("map: \"to_string(x)\", batch: 2, map: "
                   "\"vocabulary_buckets(x, 'words.txt', 1)\"",
                   "range: {stop: 3}"));
  ASSERT_TRUE(batched.ok()) << batched.status();
  EXPECT_THAT(*batched, ElementsAre("[3,3]", "[3]"));
}

TEST_F(BoundFilesTest, ContentIsPartOfThePlan) {
  const Graph graph = GraphOf("map: \"vocabulary(x, 'words.txt', -1)\"");
  EXPECT_THAT(NamedFiles(graph),
              ElementsAre(NamedFile{directory_ + "/words.txt",
                                    NamedFile::Kind::kVocabulary}));
  const auto analyzed = Analyze(graph, *registry_).value();
  EXPECT_TRUE(analyzed->source.needs_files);
  const Manifest before = ResolveManifest(*analyzed).value();
  ASSERT_EQ(before.contents.size(), 1U);
  const auto parsed = Manifest::Parse(before.Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->contents, before.contents);
  EXPECT_EQ(parsed->Hash(), before.Hash());
  for (size_t cut = 1; cut < 60; ++cut) {
    const std::string text = before.Serialize();
    EXPECT_FALSE(Manifest::Parse(text.substr(0, text.size() - cut)).ok() &&
                 cut != 24 + 8 + before.contents[0].path.size());
  }
  Write("words.txt", "the\ncat\nSAT\n");  // the same size
  EXPECT_NE(ResolveManifest(*analyzed)->Hash(), before.Hash());
}

// ---- lookup

TEST_F(BoundFilesTest, LookupAddsTheColumnsOfAKey) {
  Write("users.csv", "id,name,age\n2,bo,20\n0,al,\n1,cy,10\n");
  const std::string table =
      "{source: {csv: {files: users.csv, fields: {id: int32, name: bytes, age: "
      "'int64?'}, missing: ''}}}";
  const auto read = [&](const std::string& options, const char* source) {
    return Read(GraphOf(
        "lookup: {table: " + table + ", table_key: id, key: x" + options + "}",
        source));
  };
  EXPECT_THAT(*read("", "range: {stop: 3}"),
              ElementsAre(R"({"x":0,"name":"al","age":null})",
                          R"({"x":1,"name":"cy","age":10})",
                          R"({"x":2,"name":"bo","age":20})"));
  EXPECT_THAT(
      *read(", columns: [name], unmatched: drop", "range: {start: 2, stop: 5}"),
      ElementsAre(R"({"x":2,"name":"bo"})"));
  EXPECT_THAT(*read(", unmatched: nulls", "range: {start: 2, stop: 4}"),
              ElementsAre(R"({"x":2,"name":"bo","age":20})",
                          R"({"x":3,"name":null,"age":null})"));
  const auto failed = read("", "range: {start: 2, stop: 4}").status();
  EXPECT_TRUE(absl::IsDataLoss(failed));
  EXPECT_THAT(ErrorText(failed),
              HasSubstr("steps[0] lookup: " + directory_ +
                        "/users.csv has no row whose id is 3; `unmatched: "
                        "drop`"));
}

TEST_F(BoundFilesTest, ATableIsNamedByItsFile) {
  Write("labels.jsonl",
        "{\"x\": \"cat\", \"n\": [1, 2]}\n"
        "{\"x\": \"the cat\", \"n\": [3]}\n");
  Graph graph = GraphOf(
      "lookup: {table: ./labels.jsonl, key: x, unmatched: "
      "nulls}");
  ASSERT_TRUE(InferFields(graph).ok());
  EXPECT_THAT(*Read(graph),
              ElementsAre(R"({"x":"the cat","n":[3]})", R"({"x":"","n":null})",
                          R"({"x":"sat","n":null})"));
  EXPECT_THAT(
      ErrorText(ParseGraphYaml("source: {range: 3}\nsteps: [lookup: {table: "
                               "labels, key: x}]",
                               "")
                    .status()),
      HasSubstr("the name labels does not say what it is"));
}

TEST_F(BoundFilesTest, KeysOfATableOccurOnce) {
  Write("twice.csv", "id,n\n7,1\n,2\n,3\n8,4\n7,5\n");
  const auto failed =
      Read(GraphOf("lookup: {table: {source: {csv: {files: twice.csv, fields: "
                   "{id: 'int64?', n: int64}, missing: ''}}}, key: x, "
                   "table_key: id}",
                   "range: {stop: 3}"))
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(failed));
  EXPECT_EQ(ErrorText(failed),
            directory_ + "/twice.csv: record 4: its id 7 is that of " +
                directory_ +
                "/twice.csv: record 0 again; each key must occur once");
}

TEST_F(BoundFilesTest, ATableThatChangedFailsTheStage) {
  Write("users.csv", "x,n\n2,20\n");
  const Graph graph = GraphOf(
      "lookup: {table: {source: {csv: {files: users.csv, fields: {x: int64, n: "
      "int64}}}}, key: x}",
      "range: {stop: 1}");
  const auto analyzed = Analyze(graph, *registry_).value();
  EXPECT_TRUE(analyzed->source.needs_files);
  const Manifest before = ResolveManifest(*analyzed).value();
  ASSERT_EQ(before.tables.size(), 1U);
  const auto parsed = Manifest::Parse(before.Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(parsed->Hash(), before.Hash());
  Write("users.csv", "x,n\n2,200\n");
  EXPECT_NE(ResolveManifest(*analyzed)->Hash(), before.Hash());
  const auto bound = BindFiles(*analyzed, &before, registry_);
  EXPECT_TRUE(absl::IsFailedPrecondition(bound.status())) << bound.status();
}

TEST_F(BoundFilesTest, ALookupSaysWhatDoesNotFit) {
  Write("users.csv", "x,n\n2,20\n");
  const auto refused = [&](const std::string& steps) {
    const auto read = Read(GraphOf(steps, "range: {stop: 1}"));
    return std::string(ErrorText(read.status()));
  };
  const std::string table =
      "lookup: {table: {source: {csv: {files: users.csv, fields: {x: int64, n: "
      "int64}}}}, ";
  EXPECT_THAT(refused(table + "key: y}"), HasSubstr("has no column \"y\""));
  EXPECT_THAT(refused(table + "key: y, table_key: x}"),
              HasSubstr("there is no component \"y\""));
  EXPECT_THAT(refused(table + "key: x, columns: [m]}"),
              HasSubstr("has no column \"m\""));
  EXPECT_THAT(refused("map: {n: x, x: x}, " + table + "key: x}"),
              HasSubstr("has a column \"n\", as the element has"));
  EXPECT_THAT(refused("map: {x: 'to_string(x)'}, " + table + "key: x}"),
              HasSubstr("the key x is str, and the column x of "));
  EXPECT_THAT(refused("batch: 2, " + table + "key: x}"),
              HasSubstr("write it before the batch"));
  EXPECT_THAT(refused("filter: 'x >= 0', take: 1, " + table + "key: x}"),
              HasSubstr("use it in a step before that one"));
  EXPECT_THAT(refused("lookup: {table: {source: {range: 3}}, key: x}"),
              HasSubstr("the table is the source range"));
}

TEST_F(BoundFilesTest, AFileThatChangedFailsTheStage) {
  const Graph graph = GraphOf("map: \"vocabulary(x, 'words.txt', -1)\"");
  const auto analyzed = Analyze(graph, *registry_).value();
  const auto before =
      std::make_shared<const Manifest>(ResolveManifest(*analyzed).value());
  const auto bound = BindFiles(*analyzed, before.get(), registry_);
  ASSERT_TRUE(bound.ok()) << bound.status();
  Write("words.txt", "other\n");
  // A loaded file is not read again and keeps its content.
  EXPECT_TRUE(BindFiles(*analyzed, before.get(), registry_).ok());
  const Manifest after = ResolveManifest(*analyzed).value();
  EXPECT_TRUE(BindFiles(*analyzed, &after, registry_).ok());
}

TEST_F(BoundFilesTest, AChangedFileIsNotLoaded) {
  const Graph graph = GraphOf("map: \"vocabulary(x, 'words.txt', -1)\"");
  const auto analyzed = Analyze(graph, *registry_).value();
  const Manifest before = ResolveManifest(*analyzed).value();
  Write("words.txt", "other\n");
  const auto bound = BindFiles(*analyzed, &before, registry_);
  EXPECT_TRUE(absl::IsFailedPrecondition(bound.status()));
  EXPECT_THAT(ErrorText(bound.status()), HasSubstr("changed since"));
  EXPECT_TRUE(
      absl::IsInternal(BindFiles(*analyzed, nullptr, registry_).status()));
}

TEST_F(BoundFilesTest, BadFilesAreClearErrors) {
  const auto missing = Read(GraphOf("map: \"vocabulary(x, 'none.txt')\""));
  EXPECT_TRUE(absl::IsNotFound(missing.status())) << missing.status();
  EXPECT_THAT(ErrorText(missing.status()), HasSubstr("/none.txt"));
  Write("twice.txt", "a\na\n");
  const auto twice = Read(GraphOf("map: \"vocabulary(x, 'twice.txt')\""));
  EXPECT_TRUE(absl::IsInvalidArgument(twice.status())) << twice.status();
  EXPECT_THAT(ErrorText(twice.status()), HasSubstr("twice.txt: line 2 is"));
  const auto no_model = Read(GraphOf("map: \"sentencepiece(x, 'words.txt')\""));
  EXPECT_TRUE(absl::IsInvalidArgument(no_model.status())) << no_model.status();
  EXPECT_THAT(ErrorText(no_model.status()),
              HasSubstr("words.txt: not a SentencePiece model"));
  const auto folder = Read(GraphOf("map: \"vocabulary(x, '.')\""));
  EXPECT_FALSE(folder.ok());
  const auto unknown = Read(GraphOf("map: \"vocabulary(x, 'words.txt')\""));
  EXPECT_TRUE(absl::IsDataLoss(unknown.status())) << unknown.status();
}

TEST_F(BoundFilesTest, ClientStepsDoNotLookIntoThem) {
  const auto refused = Analyze(GraphOf("filter: \"x != ''\", batch: 2, map: "
                                       "\"vocabulary(x, 'words.txt')\""),
                               *registry_);
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  EXPECT_THAT(ErrorText(refused.status()),
              HasSubstr("as do all steps from steps[1] batch on"));
}

}  // namespace
}  // namespace feedmill
