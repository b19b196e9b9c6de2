#include "client/quarantine.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/io/file_systems.h"
#include "core/process/owned_fd.h"
#include "core/process/write_error.h"

namespace feedmill {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// Longer lines are not from feedmill, whose messages shorten what they quote.
constexpr size_t kLineMax = size_t{1} << 20;

std::string LineOf(const std::string& plan, const SkippedElement& skipped) {
  std::string line = "{\"plan\":";
  AppendJson(plan, line);
  line += fmt::format(R"(,"position":{},"index":{},"records":)",
                      skipped.cursor.p, skipped.cursor.i);
  AppendJson(skipped.records, line);
  line += ",\"error\":";
  AppendJson(skipped.error, line);
  line += "}\n";
  return line;
}

// A file on this machine.
class QuarantineFile {
 public:
  explicit QuarantineFile(std::string path) : path_(std::move(path)) {}

  absl::Status Add(const std::string& plan, const SkippedElement& skipped) {
    if (!file_.valid()) {
      file_ = OwnedFd(
          open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
      if (!file_.valid()) return Failed("open");
    }
    while (flock(file_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return Failed("lock");
    }
    absl::Status status = ReadNew(plan);
    if (status.ok() && !there_.contains(skipped.cursor)) {
      status = Append(plan, skipped);
    }
    flock(file_.get(), LOCK_UN);
    return status;
  }

 private:
  absl::Status Failed(const char* what) const {
    return Unavailable("cannot {} the quarantine file {}: {}", what, path_,
                       WriteErrorText(errno));
  }

  // Reads the lines that were added since the last call.
  absl::Status ReadNew(const std::string& plan) {
    std::string part(kReadBytes, '\0');
    for (;;) {
      const ssize_t got = pread(file_.get(), part.data(), part.size(), read_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("read");
      if (got == 0) return absl::OkStatus();
      read_ += got;
      line_.append(part, 0, static_cast<size_t>(got));
      size_t begin = 0;
      for (size_t end = 0; (end = line_.find('\n', begin)) != line_.npos;
           begin = end + 1) {
        TakeLine(plan, std::string_view(line_).substr(begin, end - begin));
      }
      line_.erase(0, begin);
      if (line_.size() > kLineMax) line_.resize(1);
    }
  }

  void TakeLine(const std::string& plan, std::string_view line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("plan") || json["plan"] != plan) {
      return;
    }
    const auto number = [&](const char* key) -> uint64_t {
      return json.contains(key) && json[key].is_number_unsigned()
                 ? json[key].get<uint64_t>()
                 : 0;
    };
    there_.insert({number("position"), number("index")});
  }

  absl::Status Append(const std::string& plan, const SkippedElement& skipped) {
    // Ends a partial line that a crash has left.
    const std::string line =
        (line_.empty() ? "" : "\n") + LineOf(plan, skipped);
    for (std::string_view left = line; !left.empty();) {
      const ssize_t written = write(file_.get(), left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed("write");
      left.remove_prefix(static_cast<size_t>(written));
    }
    read_ += static_cast<off_t>(line.size());
    line_.clear();
    there_.insert(skipped.cursor);
    return absl::OkStatus();
  }

  const std::string path_;
  OwnedFd file_;
  off_t read_ = 0;          // all before this offset was read
  std::string line_;        // a partial line at the end of the file
  std::set<Cursor> there_;  // elements that the file has a line for
};

// A folder of a store: an object for each element, because objects cannot grow.
class QuarantineObjects {
 public:
  explicit QuarantineObjects(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Add(const std::string& plan, const SkippedElement& skipped) {
    if (there_.contains({plan, skipped.cursor})) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(const FileSystem* const files, FileSystemOf(folder_));
    const std::string name = files->NameIn(
        files->NameIn(folder_, plan),
        fmt::format("{:020}-{}.jsonl", skipped.cursor.p, skipped.cursor.i));
    FM_RETURN_IF_ERROR(
        Annotate(files->WriteNew(name, LineOf(plan, skipped)).status(),
                 "cannot write the quarantine"));
    there_.insert({plan, skipped.cursor});
    return absl::OkStatus();
  }

 private:
  const std::string folder_;
  std::set<std::pair<std::string, Cursor>> there_;
};

template <class Quarantine>
OnSkipped WriterOf(const std::string& place) {
  const auto quarantine = std::make_shared<Quarantine>(place);
  return [quarantine](const std::string& plan, const SkippedElement& skipped) {
    return quarantine->Add(plan, skipped);
  };
}

}  // namespace

std::string SkippedText(const SkippedElement& skipped) {
  std::string text;
  if (!skipped.records.empty()) {
    const RecordOrigin& first = skipped.records.front();
    text = first.file.empty()
               ? fmt::format("record {}", first.record)
               : fmt::format("record {} of {}", first.record, first.file);
    if (first.offset > 0) text += fmt::format(" after byte {}", first.offset);
    if (skipped.records.size() > 1) {
      text += fmt::format(" and {} more", skipped.records.size() - 1);
    }
    text += ": ";
  }
  text = HideUrlSecrets(text + skipped.error);
  if (text.size() > kSkippedTextMax) text.resize(kSkippedTextMax);
  return text;
}

OnSkipped QuarantineOf(const Graph& graph) {
  const auto skips = SkippingOf(graph);
  if (!skips || skips->quarantine.empty()) return nullptr;
  return SchemeOf(skips->quarantine).empty()
             ? WriterOf<QuarantineFile>(skips->quarantine)
             : WriterOf<QuarantineObjects>(skips->quarantine);
}

}  // namespace feedmill
