#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/analysis.h"
#include "core/dataset/source_types.h"
#include "core/definition/pipeline_file.h"
#include "core/definition/source_by_name.h"
#include "core/io/glob.h"
#include "core/operators/registry.h"
#include "core/pipeline/executor.h"
#include "core/sources/field_inference.h"
#include "core/sources/index_files.h"
#include "core/sources/record_format.h"
#include "tools/command/commands.h"
#include "tools/command/exit_code.h"
#include "tools/command/flags.h"
#include "tools/command/op_plugin_flag.h"
#include "tools/command/read_watch.h"
#include "tools/command/source_guess.h"

namespace feedmill {
namespace {

constexpr char kIndexSummary[] =
    "Builds indexes of large files (where their records begin) before a read "
    "needs\n"
    "them, and keeps them where reads and workers on this machine find them.\n"
    "Each argument is a pipeline's file (*.yaml, *.yml, '-'), whose files are\n"
    "indexed if a read needs it, or a file, folder or glob of records.";
constexpr char kIndexExamples[] =
    "TFRecord files always need an index. Files of the other formats need one "
    "if a\n"
    "step changes the order of records (a global shuffle, an input of a "
    "mixture).\n"
    "Compressed files have none. Indexes of files of 1 MiB and more "
    "are\n"
    "kept in FEEDMILL_INDEXES or ~/.cache/feedmill/indexes, at most 1 GiB in "
    "all.\n"
    "An index holds for one path, size and modification time. If a file is\n"
    "corrupt, it is named on stderr, the others are indexed, and the exit "
    "status\n"
    "is not 0.\n"
    "\n"
    "Examples:\n"
    "  feedmill index train.yaml\n"
    "  feedmill index '/data/*.tfrecord' more/ --as tfrecord\n"
    "  FEEDMILL_INDEXES=/data/indexes feedmill index lines.txt --format json";

// The kinds of sources whose files may need an index.
std::vector<const SourceKind*> IndexedKinds() {
  std::vector<const SourceKind*> kinds;
  for (const SourceKind* const kind : SourceKinds()) {
    if (MayNeedIndex(*kind)) kinds.push_back(kind);
  }
  return kinds;
}

struct IndexFlags {
  std::vector<std::string> words;
  std::string as = "by-name";
  std::string format = "text";
  uint64_t threads = 0;
  OpPluginFlag op_plugins;

  void Declare(FlagSet& flags) {
    std::vector<std::string> choices = {"by-name"};
    std::vector<std::string_view> endings;
    for (const SourceKind* const kind : IndexedKinds()) {
      choices.emplace_back(kind->name());
      const std::vector<std::string_view> more = kind->endings();
      endings.insert(endings.end(), more.begin(), more.end());
    }
    flags.OneOf("--as", choices,
                fmt::format("Format of the files named here; by-name: from {}",
                            fmt::join(endings, ", ")),
                &as);
    flags.OneOf("--format", {"text", "json"}, "Format of the output", &format);
    flags.Count(
        "--threads", 1, 1024,
        "Files indexed at the same time; default: the CPUs available to it",
        &threads);
    op_plugins.Declare(flags);
    flags.Configurable();
    flags.Positionals("FILE", "Pipelines' files, and files of records", &words);
  }
};

// ---- files to index

// Returns the kind of a record file, from its name or from --as; null if
// unknown.
const SourceKind* KindOf(const std::string& path, const std::string& as) {
  const SourceKind* const kind =
      as == "by-name" ? KindByName(path) : FindSourceKind(as);
  return kind != nullptr && MayNeedIndex(*kind) ? kind : nullptr;
}

absl::Status AddFile(const std::string& path, const std::string& as,
                     std::vector<IndexedFile>& files) {
  const SourceKind* const kind = KindOf(path, as);
  if (kind == nullptr) {
    return InvalidArgument(
        "{}: the name does not tell the format; give --as FORMAT, or name a "
        "pipeline",
        path);
  }
  Source source = kind->New();
  *MutableSourceFiles(source) = {path};
  if (SourceCompression(source) != Compression::kNone) {
    return InvalidArgument(
        "{}: a compressed file is read from its beginning and has no index",
        path);
  }
  files.push_back({FramingOf(source), path});
  return absl::OkStatus();
}

absl::Status AddPipeline(const std::string& path,
                         const FunctionRegistry& functions,
                         std::vector<IndexedFile>& files,
                         std::vector<absl::Status>& errors) {
  FM_ASSIGN_OR_RETURN(Pipeline pipeline, LoadPipeline(path));
  FM_RETURN_IF_ERROR(Annotate(InferFields(pipeline.graph), path));
  const auto analyzed = Analyze(pipeline.graph, functions);
  if (!analyzed.ok()) return WithLine(analyzed.status(), pipeline, path);
  FindIndexedFiles(**analyzed, files, errors);
  return absl::OkStatus();
}

// Finds all files that the arguments name, each once.
std::vector<IndexedFile> FindFiles(const IndexFlags& flags,
                                   const FunctionRegistry& functions,
                                   std::vector<absl::Status>& errors) {
  std::vector<IndexedFile> files;
  const auto note = [&](const absl::Status& status) {
    if (!status.ok()) errors.push_back(status);
  };
  for (const std::string& word : flags.words) {
    if (IsPipelineName(word)) {
      note(AddPipeline(word, functions, files, errors));
      continue;
    }
    const auto paths = ResolveGlob(word);
    note(paths.status());
    if (!paths.ok()) continue;
    for (const std::string& path : *paths) note(AddFile(path, flags.as, files));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// ---- building indexes

struct Done {
  uint64_t built = 0;
  uint64_t there = 0;
  uint64_t small = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t index_bytes = 0;

  void Add(const KeptIndex& kept) {
    using How = KeptIndex::How;
    ++(kept.how == How::kBuilt   ? built
       : kept.how == How::kThere ? there
                                 : small);
    records += kept.records;
    bytes += kept.file_bytes;
    index_bytes += kept.index_bytes;
  }
  uint64_t files() const { return built + there + small; }
};

// Indexes all files on the threads of an executor.
class Indexer {
 public:
  Indexer(const std::vector<IndexedFile>& files, const IndexFolder& folder)
      : files_(files), folder_(folder), results_(files.size()) {}

  Done Run(int threads, std::vector<absl::Status>& errors) {
    Executor executor(threads);
    const auto begun = absl::Now();
    const bool draw = isatty(STDERR_FILENO) != 0;
    const ReadWatch watch({.draw = draw,
                           .output_fd = -1,
                           .progress =
                               [&] {
                                 return ReadProgress{finished_, bytes_,
                                                     absl::Now() - begun,
                                                     files_.size(), "files"};
                               },
                           .on_closed_output = {}});
    for (int k = 0; k < executor.threads(); ++k) {
      FM_CHECK(executor.Submit([this](int) { Work(); }));
    }
    std::unique_lock lock(mutex_);
    all_finished_.wait(lock, [this] { return finished_ == files_.size(); });
    Done done;
    for (const auto& result : results_) {
      if (result.ok()) done.Add(*result);
      if (!result.ok()) errors.push_back(result.status());
    }
    return done;
  }

 private:
  void Work() {
    for (size_t at = next_++; at < files_.size(); at = next_++) {
      results_[at] = KeepIndex(files_[at], folder_);
      if (results_[at].ok()) bytes_ += results_[at]->file_bytes;
      const std::lock_guard lock(mutex_);
      ++finished_;
      if (finished_ == files_.size()) all_finished_.notify_all();
    }
  }

  const std::vector<IndexedFile>& files_;
  const IndexFolder& folder_;
  // each is written by one thread
  std::vector<absl::StatusOr<KeptIndex>> results_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> finished_ = 0;  // modified under mutex_
  std::atomic<uint64_t> bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable all_finished_;
};

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void Print(const Done& done, size_t failed, const std::string& folder,
           bool json) {
  if (json) {
    fmt::print("{}\n", nlohmann::json({{"files", done.files()},
                                       {"records", done.records},
                                       {"bytes", done.bytes},
                                       {"indexed", done.built},
                                       {"there", done.there},
                                       {"small", done.small},
                                       {"failed", failed},
                                       {"index_bytes", done.index_bytes},
                                       {"folder", folder}})
                           .dump(-1, ' ', false,
                                 nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print(
      "{} file{} of {} records, {}: {} indexed, {} already there, {} too "
      "small to keep\n{}: {} of indexes of them\n",
      done.files(), done.files() == 1 ? "" : "s", done.records,
      Megabytes(done.bytes), done.built, done.there, done.small, folder,
      Megabytes(done.index_bytes));
}

void PrintErrors(const std::vector<absl::Status>& errors) {
  constexpr size_t kShown = 4;
  for (size_t k = 0; k < std::min(errors.size(), kShown); ++k) {
    std::fputs(StderrText(ErrorText(errors[k])).c_str(), stderr);
  }
  if (errors.size() > kShown) {
    fmt::print(stderr, "feedmill: and {} more\n", errors.size() - kShown);
  }
}

}  // namespace

absl::StatusOr<int> RunIndex(const Invocation& invocation) {
  IndexFlags index;
  FlagSet flags("index", kIndexSummary, kIndexExamples);
  index.Declare(flags);
  FM_ASSIGN_OR_RETURN(const bool go_on,
                      flags.Parse(invocation.arguments, invocation.describe));
  if (!go_on) return 0;
  if (index.words.empty()) {
    return flags.Error("a pipeline's file, or files to index, are missing");
  }
  const IndexFolder folder(IndexFolder::OfUser());
  if (folder.path().empty()) {
    return InvalidArgument(
        "there is no folder to keep indexes in: set FEEDMILL_INDEXES");
  }
  FM_ASSIGN_OR_RETURN(const auto functions,
                      index.op_plugins.AddTo(invocation.registry));
  std::vector<absl::Status> errors;
  const std::vector<IndexedFile> files = FindFiles(index, *functions, errors);
  Done done;
  if (!files.empty()) {
    done = Indexer(files, folder).Run(static_cast<int>(index.threads), errors);
  }
  if (done.files() > 0 || errors.empty()) {
    Print(done, errors.size(), folder.path(), index.format == "json");
  }
  if (done.index_bytes > IndexFolder::kFolderBytesMax) {
    errors.push_back(ResourceExhausted(
        "{} of indexes exceed the {} that are kept: the oldest were deleted",
        Megabytes(done.index_bytes), Megabytes(IndexFolder::kFolderBytesMax)));
  }
  PrintErrors(errors);
  return errors.empty() ? kExitSuccess : ExitCodeOf(errors.front());
}

}  // namespace feedmill
