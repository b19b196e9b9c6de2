// Files that change while their index, header or first records are read.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/io/file_systems.h"
#include "core/operators/registry.h"
#include "core/sources/field_inference.h"
#include "core/sources/manifest_resolution.h"
#include "tests/reference/riegeli_writer.h"
#include "tests/unit/sources/test_folder.h"

namespace feedmill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A file system of one file that behaves as a local one: an open file sees
// changes. Before read number `change_at`, the file gets other bytes.
class ChangingFile final : public FileSystem {
 public:
  void Set(std::string bytes, int change_at = -1, std::string changed = "") {
    bytes_ = std::move(bytes);
    changed_ = std::move(changed);
    ++version_;  // so that no index of an earlier file is known
    is_changed_ = false;
    change_at_ = change_at;
    reads_ = 0;
  }
  bool is_changed() const { return is_changed_; }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> Open(
      const std::string& name) const override {
    return std::make_unique<File>(name, *this);
  }
  absl::StatusOr<FileStat> Stat(const std::string&) const override {
    return FileStat{{bytes_.size(), version_}, false};
  }
  absl::StatusOr<std::vector<Entry>> List(const std::string&) const override {
    return std::vector<Entry>();
  }

 private:
  class File final : public RandomAccessFile {
   public:
    File(std::string name, const ChangingFile& owner)
        : RandomAccessFile(std::move(name)), owner_(owner) {}
    absl::StatusOr<FileIdentity> Identity() const override {
      return FileIdentity{owner_.bytes_.size(), owner_.version_};
    }
    absl::StatusOr<size_t> Read(uint64_t offset,
                                std::span<std::byte> out) const override {
      owner_.CountRead();
      const std::string& bytes = owner_.bytes_;
      if (offset >= bytes.size()) return size_t{0};
      const size_t size = std::min<size_t>(out.size(), bytes.size() - offset);
      std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()) + offset,
                  size, out.data());
      return size;
    }
    void Prefetch(std::span<const ByteRange>) const override {}

   private:
    const ChangingFile& owner_;
  };

  void CountRead() const {
    if (reads_++ != change_at_) return;
    bytes_ = changed_;
    ++version_;
    is_changed_ = true;
  }

  mutable std::string bytes_;
  mutable int64_t version_ = 0;
  mutable bool is_changed_ = false;
  mutable int reads_ = 0;
  std::string changed_;
  int change_at_ = -1;
};

ChangingFile& TheFile() {
  static const auto file = [] {
    auto made = std::make_shared<ChangingFile>();
    EXPECT_TRUE(ProcessFileSystems().Add("changing", made).ok());
    return made;
  }();
  return *file;
}

std::string Kept(const std::string& name) {
  std::ifstream file(FEEDMILL_FUZZ_CORPUS "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string NpyFile(bool fortran) {
  std::string header =
      fmt::format("{{'descr': '<i8', 'fortran_order': {}, 'shape': (9, 2), }}",
                  fortran ? "True" : "False");
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
         std::string(144, 'x');
}

struct FormatCase {
  const char* name;
  std::string bytes;
  Source source;
  bool needs_index = false;
};

constexpr char kName[] = "changing://data/file";

std::vector<FormatCase> Cases() {
  const std::vector<std::string> files = {kName};
  std::string lines = "number,text\n";
  for (int k = 0; k < 300; ++k) lines += fmt::format("{},x\n", k);
  const Compression plain = Compression::kNone;
  return {
      {"mds", Kept("mds/plain"), MakeSource(MdsSource{.files = files})},
      {"mds.zstd", Kept("mds/zstd"), MakeSource(MdsSource{.files = files})},
      {"lmdb", Kept("lmdb/some"), MakeSource(LmdbSource{files})},
      {"array_record", reference::ArrayRecordFile({"one", "two", "three"}, 2),
       MakeSource(ArrayRecordSource{files})},
      {"npy", NpyFile(false), MakeSource(NpySource{.files = files})},
      {"npy in Fortran order", NpyFile(true),
       MakeSource(NpySource{.files = files})},
      {"tfrecord", TfRecordFile({"a", "b"}),
       MakeSource(TfRecordSource{.files = files, .compression = plain}), true},
      {"text", lines,
       MakeSource(TextSource{.files = files, .compression = plain}), true},
      {"csv", lines,
       MakeSource(CsvSource{.files = files, .compression = plain}), true},
  };
}

absl::Status Prepare(const FormatCase& one) {
  AnalyzedGraph graph;
  graph.graph.source = one.source;
  graph.needs_index = one.needs_index;
  FM_RETURN_IF_ERROR(InferFields(graph.graph));
  return ResolveManifest(graph).status();
}

TEST(ChangedFiles, AreNotTakenForDamagedOnesWhileTheyArePrepared) {
  ChangingFile& file = TheFile();
  for (const FormatCase& one : Cases()) {
    file.Set(one.bytes);
    ASSERT_TRUE(Prepare(one).ok()) << one.name << Prepare(one);
    for (const bool shorter : {true, false}) {
      const std::string other(one.bytes.size() / (shorter ? 2 : 1), 'z');
      int changes = 0;
      for (int at = 0;; ++at) {
        file.Set(one.bytes, at, other);
        const absl::Status status = Prepare(one);
        if (!file.is_changed()) break;
        ++changes;
        EXPECT_TRUE(absl::IsFailedPrecondition(status))
            << one.name << ", read " << at << ": " << status;
        EXPECT_THAT(ErrorText(status),
                    AllOf(HasSubstr(fmt::format("{}: changed while it was read",
                                                kName)),
                          Not(HasSubstr(fmt::format("{}: {}", kName, kName)))))
            << one.name;
      }
      EXPECT_GT(changes, 0) << one.name;
    }
  }
}

}  // namespace
}  // namespace feedmill
