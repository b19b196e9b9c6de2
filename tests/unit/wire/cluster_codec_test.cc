#include "core/wire/cluster_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "feedmill/cluster.h"
#include "schemas/server_generated.h"
#include "tests/unit/wire/golden_file.h"

namespace feedmill {
namespace {

using flatbuffers::FlatBufferBuilder;
using ::testing::HasSubstr;

ClusterDef TheCluster() {
  return {.jobs = {{"dispatcher", {{0, "d0.example.org:5050"}}},
                   {"empty", {}},
                   {"worker", {{0, "[::1]:5051"}, {3, "w3:%port%"}}}}};
}
ServerDef TheServer() {
  return {.cluster = TheCluster(),
          .job_name = "worker",
          .task_index = 3,
          .protocol = "tcp",
          .port = 5051};
}

void ExpectRefused(const absl::Status& status, const std::string& why) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(ErrorText(status), HasSubstr(why));
}

std::string Finished(const FlatBufferBuilder& builder) {
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                     builder.GetSize());
}

// Encodes a job's tasks like another program might.
std::string BytesOf(const std::string& job,
                    const std::vector<std::pair<int64_t, std::string>>& tasks,
                    int jobs = 1) {
  FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::TaskDef>> written;
  for (const auto& [index, address] : tasks) {
    written.push_back(
        fb::CreateTaskDef(builder, index, builder.CreateSharedString(address)));
  }
  const auto one = fb::CreateJobDef(builder, builder.CreateString(job),
                                    builder.CreateVector(written));
  const std::vector all(static_cast<size_t>(jobs), one);
  fb::FinishClusterDefBuffer(
      builder, fb::CreateClusterDef(builder, builder.CreateVector(all)));
  return Finished(builder);
}

TEST(ClusterCodec, DefsAreDecodedUnchanged) {
  for (const ClusterDef& def :
       {ClusterDef{}, TheCluster(), ClusterDef{{{"ps", {{37, "h:0"}}}}}}) {
    const auto back = DecodeClusterDef(EncodeClusterDef(def));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, def);
  }
  const ServerDef only_cluster{.cluster = TheCluster()};
  const ServerDef first{.cluster = TheCluster(), .task_index = 0};
  for (const ServerDef& def : {ServerDef{}, only_cluster, first, TheServer()}) {
    const auto back = DecodeServerDef(EncodeServerDef(def));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, def);
  }
}

TEST(ClusterCodec, EqualSpecsHaveEqualBytes) {
  const auto one =
      ClusterSpec::FromYaml("{worker: ['a:1', 'b:1'], ps: ['c:1']}");
  const auto other =
      ClusterSpec::FromYaml("{ps: {0: 'c:1'}, worker: {1: 'b:1', 0: 'a:1'}}");
  EXPECT_EQ(EncodeClusterDef(one->AsClusterDef()),
            EncodeClusterDef(other->AsClusterDef()));
}

TEST(ClusterCodec, ShortenedAndChangedBytesAreRefusedOrSound) {
  const std::string whole = EncodeServerDef(TheServer());
  for (size_t size = 0; size < whole.size(); ++size) {
    ExpectRefused(DecodeServerDef(whole.substr(0, size)).status(),
                  "no ServerDef");
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto def = DecodeServerDef(changed);
      if (!def.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(def.status())) << def.status();
        continue;
      }
      EXPECT_TRUE(ClusterSpec::FromDef(def->cluster).ok());
    }
  }
}

TEST(ClusterCodec, OtherDocumentsAreRefused) {
  for (const std::string& bytes :
       {std::string(), std::string("FMCL"), std::string(1000, '\xff'),
        std::string("worker: ['a:1']\n"), EncodeServerDef(TheServer())}) {
    ExpectRefused(DecodeClusterDef(bytes).status(),
                  "no ClusterDef: they do not have its mark 'FMCL'");
  }
  ExpectRefused(DecodeServerDef(EncodeClusterDef(TheCluster())).status(),
                "'FMSV'");
  ExpectRefused(DecodeClusterDef(std::string((16 << 20) + 1, ' ')).status(),
                "over the limit");
}

TEST(ClusterCodec, AnInvalidClusterIsNamed) {
  const std::pair<std::string, const char*> wrong[] = {
      {BytesOf("worker", {{2, "a:1"}, {2, "b:1"}}),
       "job 'worker': task 2 is there twice"},
      {BytesOf("worker", {{-1, "a:1"}}), "task index -1 is negative"},
      {BytesOf("worker", {{0, "a"}}), "it has no port"},
      {BytesOf("", {}), "empty name"},
      {BytesOf("worker", {}, /*jobs=*/2), "'worker' is written twice"},
  };
  for (const auto& [bytes, why] : wrong) {
    ExpectRefused(DecodeClusterDef(bytes).status(), why);
  }
}

TEST(ClusterCodec, ATextThatIsNamedManyTimesIsRefused) {
  const std::string address = std::string(200, 'h').append(":1");
  std::vector<std::pair<int64_t, std::string>> tasks;
  for (int64_t index = 0; index < 10'000; ++index) {
    tasks.emplace_back(index, address);
  }
  ExpectRefused(DecodeClusterDef(BytesOf("worker", tasks)).status(),
                "many times");
}

TEST(ClusterCodec, BytesMayLieAnywhere) {
  const std::string shifted = "x" + EncodeClusterDef(TheCluster());
  const auto def = DecodeClusterDef(std::string_view(shifted).substr(1));
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_EQ(*def, TheCluster());
}

// These bytes must never change, because other programs keep such documents.
// FEEDMILL_WRITE_GOLDEN=1 cluster_codec_test writes them.
TEST(ClusterCodec, GoldenBytesStay) {
  const std::pair<std::string, std::string> golden[] = {
      {"cluster_def.fmcl", EncodeClusterDef(TheCluster())},
      {"server_def.fmsv", EncodeServerDef(TheServer())}};
  for (const auto& [name, bytes] : golden) {
    testing::ExpectGolden(name, bytes);
  }
}

}  // namespace
}  // namespace feedmill
