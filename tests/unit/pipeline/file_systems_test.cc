// Pipelines over a file system that behaves like an object store. No source
// knows of it: the elements must equal the elements of local files.

#include "core/io/file_systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/definition/pipeline_text.h"
#include "core/sources/field_inference.h"
#include "tests/reference/riegeli_writer.h"
#include "tests/unit/io/memory_files.h"
#include "tests/unit/pipeline/builtin_registry.h"
#include "tests/unit/pipeline/local_reader.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kStore[] = "store://bucket";

MemoryFiles& Store() {
  static const auto files = [] {
    auto made = std::make_shared<MemoryFiles>();
    EXPECT_TRUE(ProcessFileSystems().Add("store", made).ok());
    return made;
  }();
  return *files;
}

std::string Gzip(const std::string& text) {
  std::string out(compressBound(text.size()) + 64, '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                         Z_DEFAULT_STRATEGY),
            Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Npy(int rows) {
  std::string header = fmt::format(
      "{{'descr': '<i8', 'fortran_order': False, 'shape': ({}, 3), }}", rows);
  header.resize((header.size() + 10 + 63) / 64 * 64 - 10, ' ');
  std::string out("\x93NUMPY\x01\x00", 8);
  AppendLittleEndian(header.size(), 2, out);
  out += header;
  for (int k = 0; k < 3 * rows; ++k) {
    AppendLittleEndian(static_cast<uint64_t>(k), 8, out);
  }
  return out;
}

std::string Tar(int groups) {
  std::string out;
  for (int k = 0; k < groups; ++k) {
    for (const char* extension : {"seg", "txt"}) {
      const std::string data = fmt::format("{} of {}", extension, k);
      std::string header(512, '\0');
      fmt::format("{:06}.{}", k, extension).copy(header.data(), 100);
      fmt::format("{:07o}", 0644).copy(header.data() + 100, 8);
      fmt::format("{:011o}", data.size()).copy(header.data() + 124, 12);
      fmt::format("{:011o}", 0).copy(header.data() + 136, 12);
      header[156] = '0';
      std::string(
          "ustar\0"
          "00",
          8)
          .copy(header.data() + 257, 8);
      std::string(8, ' ').copy(header.data() + 148, 8);
      unsigned sum = 0;
      for (const char c : header) sum += static_cast<unsigned char>(c);
      fmt::format("{:06o}", sum).copy(header.data() + 148, 6);
      out += header + data + std::string(512 - data.size(), '\0');
    }
  }
  return out + std::string(1024, '\0');
}

// The same files in a folder and in the store.
class Objects {
 public:
  Objects() {
    std::string lines;
    std::string table = "number,text\n";
    std::string objects;
    std::vector<std::string> records;
    for (int k = 0; k < 20'000; ++k) {
      const std::string text(static_cast<size_t>(k * 37 % 61), 'x');
      lines += fmt::format("line {} {}\n", k, text);
      table += fmt::format("{},{}\n", k, text);
      objects += fmt::format("{{\"number\":{},\"text\":\"{}\"}}\n", k, text);
      records.push_back(fmt::format("record {} {}", k, text));
    }
    for (const char* part : {"1", "2", "3"}) {
      const std::string name(part);
      Write("text/" + name + ".txt", lines);
      Write("zipped/" + name + ".txt.gz", Gzip(lines));
      Write("csv/" + name + ".csv", table);
      Write("jsonl/" + name + ".jsonl", objects);
      Write("tfrecord/" + name + ".tfrecord", TfRecordFile(records));
      Write("npy/" + name + ".npy", Npy(5'000));
      Write("fixed/" + name + ".bin", lines.substr(0, 30'000));
      Write("tar/" + name + ".tar", Tar(400));
      Write(
          "arrays/" + name + ".array_record",
          reference::ArrayRecordFile({records.begin(), records.begin() + 3'000},
                                     name == "1" ? 1 : 10));
    }
    for (int k = 0; k < 200; ++k) {
      Write(fmt::format("images/{}/{}.jpg", k % 3, k),
            std::string(static_cast<size_t>(k), 'i'));
    }
  }

  const std::string& folder() const { return folder_.path(); }

 private:
  void Write(const std::string& name, const std::string& content) {
    folder_.Write(name, content);
    Store().Write(std::string(kStore) + "/" + name, content);
  }

  TestFolder folder_;
};

const Objects& SomeObjects() {
  static const Objects objects;
  return objects;
}

// The elements as lines, and the final error.
struct StoreRead {
  std::vector<std::string> lines;
  absl::Status status;
};

StoreRead ReadFrom(const std::string& place, const std::string& pipeline) {
  StoreRead out;
  std::string yaml = pipeline;
  while (yaml.find("PLACE") != std::string::npos) {
    yaml.replace(yaml.find("PLACE"), 5, place);
  }
  auto graph = ParseGraphYaml(yaml, "/");
  out.status = graph.status();
  if (graph.ok()) out.status = InferFields(*graph);
  if (!out.status.ok()) return out;
  const auto reader =
      LocalReader::Make(*graph, BuiltinRegistry(), {.threads = 1});
  out.status = reader.status();
  while (out.status.ok()) {
    const auto chunk = (*reader)->Next(absl::InfiniteFuture());
    out.status = chunk.status();
    if (!chunk.ok() || !*chunk) break;
    for (size_t row = 0; row < (*chunk)->rows; ++row) {
      AppendJson(**chunk, row, out.lines.emplace_back());
    }
  }
  // Image elements contain the names of their objects.
  for (std::string& line : out.lines) {
    const size_t at = line.find(place);
    if (at != std::string::npos) line.replace(at, place.size(), "PLACE");
  }
  return out;
}

StoreRead ReadFromStore(const std::string& pipeline) {
  SomeObjects();
  return ReadFrom(kStore, pipeline);
}

constexpr const char* kSources[] = {
    R"({text: {files: "PLACE/text/*.txt"}})",
    R"({text: {files: "PLACE/zipped/*.gz"}})",
    R"({csv: {files: "PLACE/csv/*.csv"}})",
    R"({jsonl: {files: "PLACE/jsonl/*"}})",
    R"({tfrecord: {files: "PLACE/**/*.tfrecord"}})",
    R"({npy: {files: "PLACE/npy/*.npy"}})",
    R"({fixed_length: {files: "PLACE/fixed/*", record_bytes: 30}})",
    R"({webdataset: {files: "PLACE/tar/[12].tar"}})",
    R"({array_record: {files: "PLACE/arrays"}})",
    R"({images: {files: "PLACE/images"}})",
};

class StoredSource : public ::testing::TestWithParam<const char*> {
 protected:
  std::string InOrder() const {
    return fmt::format("source: {}\noptions: {{seed: 7}}", GetParam());
  }
  std::string Shuffled() const {
    return fmt::format("source: {}\nsteps: [shuffle]\noptions: {{seed: 7}}",
                       GetParam());
  }
  bool IsCompressed() const {
    return std::string_view(GetParam()).find(".gz") != std::string_view::npos;
  }
};

TEST_P(StoredSource, IsReadAsFilesAre) {
  for (const std::string& pipeline : {InOrder(), Shuffled()}) {
    const StoreRead files = ReadFrom(SomeObjects().folder(), pipeline);
    if (pipeline == Shuffled() && IsCompressed()) {
      EXPECT_FALSE(files.status.ok());
      continue;
    }
    ASSERT_TRUE(files.status.ok()) << files.status;
    EXPECT_GT(files.lines.size(), 100u);
    for (const uint64_t ahead : {0U, 1U << 16, 4U << 20}) {
      Store().Reset();
      Store().SetAhead(ahead);
      const StoreRead objects = ReadFromStore(pipeline);
      ASSERT_TRUE(objects.status.ok()) << objects.status;
      EXPECT_EQ(objects.lines, files.lines) << pipeline;
    }
  }
}

TEST_P(StoredSource, AnnouncesItsReads) {
  for (const std::string& pipeline : {InOrder(), Shuffled()}) {
    if (pipeline == Shuffled() && IsCompressed()) continue;
    Store().Reset();
    Store().SetAhead(4 << 20);
    const StoreRead objects = ReadFromStore(pipeline);
    ASSERT_TRUE(objects.status.ok()) << objects.status;
    const MemoryFiles::Calls calls = Store().calls();
    EXPECT_GT(calls.announced, 0u);
    // Headers, and records of the files for inferring fields.
    EXPECT_LE(calls.unannounced, 16u) << pipeline;
    // Listings have identities. Single objects are looked up only to count
    // records or to infer fields.
    EXPECT_LE(calls.stats, 5u) << pipeline;
    EXPECT_LE(calls.opens, 4u) << pipeline;
  }
}

TEST_P(StoredSource, ReadsAgainWhatFailedOnce) {
  Store().Reset();
  Store().SetAhead(1 << 16);
  const StoreRead sound = ReadFromStore(InOrder());
  size_t reads = Store().calls().reads;
  // Fewer faults than the retries of one piece.
  Store().SetFault([&reads](const std::string& name, uint64_t) {
    return --reads == 0 ? Unavailable("{}: the connection was reset", name)
                        : absl::OkStatus();
  });
  const StoreRead read = ReadFromStore(InOrder());
  EXPECT_TRUE(read.status.ok()) << read.status;
  EXPECT_EQ(read.lines, sound.lines);
}

TEST_P(StoredSource, NamesTheObjectThatCannotBeRead) {
  const std::string bad = "store://bucket/";
  const auto is_second = [](const std::string& name) {
    return name.find("/2.") != std::string::npos;
  };
  Store().Reset();
  const StoreRead sound = ReadFromStore(InOrder());
  Store().SetFault([&](const std::string& name, uint64_t) {
    return is_second(name) ? Unavailable("{}: the server answers 503", name)
                           : absl::OkStatus();
  });
  const StoreRead read = ReadFromStore(InOrder());
  Store().Reset();
  EXPECT_TRUE(absl::IsUnavailable(read.status)) << read.status;
  EXPECT_THAT(ErrorText(read.status), HasSubstr("the server answers 503"));
  EXPECT_THAT(ErrorText(read.status), HasSubstr(bad));
  ASSERT_LE(read.lines.size(), sound.lines.size());
  EXPECT_TRUE(
      std::equal(read.lines.begin(), read.lines.end(), sound.lines.begin()));
}

TEST_P(StoredSource, NoticesObjectsThatAreCutShort) {
  Store().Reset();
  Store().SetMissing("", 1);
  const StoreRead read = ReadFromStore(InOrder());
  Store().Reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(read.status)) << read.status;
  // Before the job begins, or after.
  EXPECT_THAT(ErrorText(read.status),
              AnyOf(HasSubstr("changed since the job began"),
                    HasSubstr("changed while it was read")));
}

TEST(StoredSources, NeedAKnownScheme) {
  const StoreRead read =
      ReadFrom("nowhere://bucket", R"(source: {text: {files: "PLACE/*"}})");
  EXPECT_TRUE(absl::IsInvalidArgument(read.status)) << read.status;
  EXPECT_THAT(ErrorText(read.status),
              HasSubstr("has no file system for nowhere://"));
}

INSTANTIATE_TEST_SUITE_P(All, StoredSource, ::testing::ValuesIn(kSources));

}  // namespace
}  // namespace feedmill
