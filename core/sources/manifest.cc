#include "core/sources/manifest.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/named_files.h"
#include "core/dataset/source_types.h"
#include "core/sources/array_file.h"
#include "core/sources/file_system.h"
#include "core/sources/record_index.h"

namespace feedmill {
namespace {

constexpr std::string_view kMagic = "feedmill manifest 1\n";
// Of a source made of inputs: their number, and the text of each.
constexpr std::string_view kInputsMagic = "feedmill manifest of inputs 1\n";
constexpr size_t kDepthMax = 16;  // inputs in inputs
// What one file, class name or file that is named takes at least, to bound
// counts.
constexpr uint64_t kFileBytesMin = 32;
constexpr uint64_t kClassBytesMin = 8;
constexpr uint64_t kContentBytesMin = 24;
constexpr uint64_t kNamedBytesMax = uint64_t{1} << 30;
constexpr size_t kIntegerLabelDigitsMax = 18;

void PutU64(uint64_t value, std::string& out) {
  char bytes[8];
  for (size_t k = 0; k < 8; ++k) {
    bytes[k] = static_cast<char>((value >> (8 * k)) & 0xff);
  }
  out.append(bytes, sizeof bytes);
}

void PutString(std::string_view text, std::string& out) {
  PutU64(text.size(), out);
  out.append(text);
}

void PutContents(const std::vector<NamedContent>& contents, std::string& out) {
  if (contents.empty()) return;
  PutU64(contents.size(), out);
  for (const NamedContent& content : contents) {
    PutString(content.path, out);
    PutU64(content.hash_low, out);
    PutU64(content.hash_high, out);
  }
}

class ManifestParser {
 public:
  ManifestParser(std::string_view text, size_t depth)
      : text_(text), depth_(depth) {}

  absl::StatusOr<Manifest> Parse() {
    if (text_.substr(0, kInputsMagic.size()) == kInputsMagic) {
      text_.remove_prefix(kInputsMagic.size());
      return ParseInputs();
    }
    if (text_.substr(0, kMagic.size()) != kMagic) return Bad("no header");
    text_.remove_prefix(kMagic.size());
    Manifest manifest;
    uint64_t count = 0;
    if (!U64(count) || count > text_.size() / kFileBytesMin) {
      return Bad("the number of files");
    }
    manifest.files.resize(count);
    for (ManifestFile& file : manifest.files) {
      uint64_t mtime = 0;
      if (!String(file.path) || !U64(file.size) || !U64(mtime) ||
          !U64(file.records)) {
        return Bad("a file");
      }
      file.mtime_ns = static_cast<int64_t>(mtime);
    }
    if (!U64(count) || count > text_.size() / kClassBytesMin) {
      return Bad("the number of classes");
    }
    manifest.classes.resize(count);
    for (std::string& name : manifest.classes) {
      if (!String(name)) return Bad("a class");
    }
    if (!Contents(manifest)) return Bad("bytes after its end");
    uint64_t total = 0;
    for (const ManifestFile& file : manifest.files) {
      if (__builtin_add_overflow(total, file.records, &total)) {
        return Bad("more records than can be counted");
      }
    }
    return manifest;
  }

 private:
  absl::StatusOr<Manifest> ParseInputs() {
    if (depth_ == kDepthMax) return Bad("inputs in inputs too deep");
    Manifest manifest;
    uint64_t count = 0;
    if (!U64(count) || count == 0 || count > text_.size() / kMagic.size()) {
      return Bad("the number of inputs");
    }
    uint64_t total = 0;
    for (uint64_t k = 0; k < count; ++k) {
      std::string text;
      if (!String(text)) return Bad("an input");
      FM_ASSIGN_OR_RETURN(manifest.inputs.emplace_back(),
                          ManifestParser(text, depth_ + 1).Parse());
      if (__builtin_add_overflow(total, manifest.inputs.back().TotalRecords(),
                                 &total)) {
        return Bad("more records than can be counted");
      }
    }
    if (!Contents(manifest)) return Bad("bytes after its end");
    return manifest;
  }
  // What follows, where expressions name files, up to the end.
  bool Contents(Manifest& manifest) {
    if (text_.empty()) return true;
    uint64_t count = 0;
    if (!U64(count) || count == 0 || count > text_.size() / kContentBytesMin) {
      return false;
    }
    manifest.contents.resize(count);
    for (NamedContent& content : manifest.contents) {
      if (!String(content.path) || !U64(content.hash_low) ||
          !U64(content.hash_high)) {
        return false;
      }
    }
    return text_.empty();
  }
  static absl::Status Bad(std::string_view what) {
    return DataLoss("not a manifest, or a damaged one: {}", what);
  }
  bool U64(uint64_t& value) {
    if (text_.size() < 8) return false;
    value = 0;
    for (size_t k = 0; k < 8; ++k) {
      value |= uint64_t{static_cast<uint8_t>(text_[k])} << (8 * k);
    }
    text_.remove_prefix(8);
    return true;
  }
  bool String(std::string& value) {
    uint64_t size = 0;
    if (!U64(size) || size > text_.size()) return false;
    value.assign(text_.substr(0, size));
    text_.remove_prefix(size);
    return true;
  }

  std::string_view text_;
  const size_t depth_;
};

bool IsIntegerLabel(std::string_view name) {
  if (name.empty() || name.size() > kIntegerLabelDigitsMax) return false;
  if (name.front() == '0' && name.size() > 1) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// The open file is the one that is counted, whatever its name means by now.
absl::StatusOr<std::unique_ptr<File>> OpenFor(ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(auto opened, LocalFileSystem().Open(file.path));
  FM_ASSIGN_OR_RETURN(const FileStat stat, opened->Stat());
  file.size = stat.size;
  file.mtime_ns = stat.mtime_ns;
  return opened;
}

absl::StatusOr<uint64_t> CountByIndex(const Framing& framing,
                                      ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
  FM_ASSIGN_OR_RETURN(
      const auto index,
      ProcessRecordIndexes().Get(framing, *opened, file.path,
                                 FileStat{file.size, file.mtime_ns, false}));
  return index->records();
}

absl::StatusOr<uint64_t> CountRows(const Source& source, ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const auto opened, OpenFor(file));
  FM_ASSIGN_OR_RETURN(const auto arrays,
                      ArraysOf(source, *opened, file.path, file.size));
  return arrays[0].rows;
}

absl::Status FillFile(const AnalyzedGraph& graph, ManifestFile& file) {
  FM_ASSIGN_OR_RETURN(const FileStat stat, LocalFileSystem().Stat(file.path));
  file.size = stat.size;
  file.mtime_ns = stat.mtime_ns;
  const Source& source = graph.graph.source;
  const Positions positions = SourcePositions(source);
  if (graph.needs_index) {
    FM_ASSIGN_OR_RETURN(file.records, CountByIndex(FramingOf(source), file));
  } else if (positions == Positions::kBlocks) {
    file.records = BlocksOf(stat.size);
  } else if (positions == Positions::kFiles ||
             std::holds_alternative<ImagesSource>(source)) {
    file.records = 1;
  } else if (std::holds_alternative<TfRecordSource>(source)) {
    FM_ASSIGN_OR_RETURN(file.records, CountByIndex(FramingOf(source), file));
  } else {
    FM_ASSIGN_OR_RETURN(file.records, CountRows(source, file));
  }
  return absl::OkStatus();
}

std::vector<std::string> LabelClasses(const std::vector<ManifestFile>& files,
                                      ImagesSource::Label label) {
  std::vector<std::string> names;
  bool all_integers = true;
  for (const ManifestFile& file : files) {
    const std::string_view name = ImageLabelName(file.path, label);
    all_integers = all_integers && IsIntegerLabel(name);
    // Files of one folder stand together: most repeats end here.
    if (names.empty() || names.back() != name) names.emplace_back(name);
  }
  if (all_integers) return {};
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

uint64_t Manifest::TotalRecords() const {
  uint64_t total = 0;
  for (const ManifestFile& file : files) total += file.records;
  for (const Manifest& input : inputs) total += input.TotalRecords();
  return total;
}

uint64_t Manifest::TotalBytes() const {
  uint64_t total = 0;
  for (const ManifestFile& file : files) total += file.size;
  for (const Manifest& input : inputs) total += input.TotalBytes();
  return total;
}

std::string Manifest::Serialize() const {
  if (!inputs.empty()) {
    std::string out(kInputsMagic);
    PutU64(inputs.size(), out);
    for (const Manifest& input : inputs) PutString(input.Serialize(), out);
    PutContents(contents, out);
    return out;
  }
  std::string out(kMagic);
  PutU64(files.size(), out);
  for (const ManifestFile& file : files) {
    PutString(file.path, out);
    PutU64(file.size, out);
    PutU64(static_cast<uint64_t>(file.mtime_ns), out);
    PutU64(file.records, out);
  }
  PutU64(classes.size(), out);
  for (const std::string& name : classes) PutString(name, out);
  PutContents(contents, out);
  return out;
}

absl::StatusOr<Manifest> Manifest::Parse(std::string_view text) {
  return ManifestParser(text, 0).Parse();
}

std::string Manifest::Hash() const {
  const std::string text = Serialize();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string_view ImageLabelName(std::string_view path,
                                ImagesSource::Label label) {
  const size_t slash = path.rfind('/');
  const std::string_view name =
      slash == std::string_view::npos ? path : path.substr(slash + 1);
  switch (label) {
    case ImagesSource::Label::kFolder: {
      if (slash == std::string_view::npos) return {};
      const std::string_view folder = path.substr(0, slash);
      const size_t above = folder.rfind('/');
      return above == std::string_view::npos ? folder
                                             : folder.substr(above + 1);
    }
    case ImagesSource::Label::kFilename: {
      const size_t dot = name.rfind('.');
      const std::string_view stem = dot == std::string_view::npos || dot == 0
                                        ? name
                                        : name.substr(0, dot);
      const size_t underscore = stem.rfind('_');
      return underscore == std::string_view::npos ? stem
                                                  : stem.substr(underscore + 1);
    }
  }
  return {};
}

int64_t ImageLabel(std::string_view name,
                   const std::vector<std::string>& classes) {
  if (classes.empty()) {
    uint64_t value = 0;
    for (const char c : name.substr(0, kIntegerLabelDigitsMax)) {
      value = value * 10 + static_cast<uint64_t>(c - '0');
    }
    return static_cast<int64_t>(value);
  }
  return std::lower_bound(classes.begin(), classes.end(), name) -
         classes.begin();
}

namespace {

absl::StatusOr<Manifest> ResolveSources(const AnalyzedGraph& graph) {
  Manifest manifest;
  for (const auto& input : graph.inputs) {
    FM_ASSIGN_OR_RETURN(manifest.inputs.emplace_back(), ResolveSources(*input));
  }
  const std::vector<std::string>* patterns = SourceFiles(graph.graph.source);
  if (patterns == nullptr) return manifest;
  for (const std::string& pattern : *patterns) {
    FM_ASSIGN_OR_RETURN(const auto paths, ResolveGlob(pattern));
    for (const std::string& path : paths) {
      ManifestFile& file = manifest.files.emplace_back();
      file.path = path;
      FM_RETURN_IF_ERROR(FillFile(graph, file));
    }
  }
  if (const auto* images = std::get_if<ImagesSource>(&graph.graph.source)) {
    manifest.classes = LabelClasses(manifest.files, images->label);
  }
  return manifest;
}

}  // namespace

absl::StatusOr<std::string> ReadNamedFile(const std::string& path,
                                          NamedContent& content) {
  FM_ASSIGN_OR_RETURN(const auto file, LocalFileSystem().Open(path));
  FM_ASSIGN_OR_RETURN(const FileStat stat, file->Stat());
  if (stat.size > kNamedBytesMax) {
    return InvalidArgument(
        "{}: {} bytes; a file that an expression names has "
        "at most {}",
        path, stat.size, kNamedBytesMax);
  }
  std::string bytes(stat.size, '\0');
  FM_ASSIGN_OR_RETURN(
      const size_t got,
      file->ReadAt(0, std::as_writable_bytes(std::span<char>(bytes))));
  bytes.resize(got);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  content = {path, hash.low64, hash.high64};
  return bytes;
}

absl::StatusOr<Manifest> ResolveManifest(const AnalyzedGraph& graph) {
  FM_ASSIGN_OR_RETURN(Manifest manifest, ResolveSources(graph));
  for (const NamedFile& file : NamedFiles(graph.graph)) {
    NamedContent content;
    FM_RETURN_IF_ERROR(ReadNamedFile(file.path, content).status());
    const bool known =
        !manifest.contents.empty() && manifest.contents.back() == content;
    if (!known) manifest.contents.push_back(std::move(content));
  }
  return manifest;
}

}  // namespace feedmill
