#include "core/io/manifest.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/little_endian.h"
#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr std::string_view kManifestMagic = "feedmill manifest 1\n";
// Magic of a manifest in which a file has an etag. The etag of each file
// follows its records.
constexpr std::string_view kEtagsMagic = "feedmill manifest 2\n";
// Magic of a manifest whose source is made of inputs. The number of inputs
// follows, and the text of each.
constexpr std::string_view kInputsMagic = "feedmill manifest of inputs 1\n";
// Magic of a manifest with tables. Their number follows, the text of each, and
// the text of the manifest without them.
constexpr std::string_view kTablesMagic = "feedmill manifest with tables 1\n";
constexpr size_t kInputsDepthMax = 16;  // inputs in inputs
// Least bytes of a file, a class name and a named file. They bound counts.
constexpr uint64_t kFileBytesMin = 32;
constexpr uint64_t kClassBytesMin = 8;
constexpr uint64_t kContentBytesMin = 24;

void PutString(std::string_view text, std::string& out) {
  PutU64(out, text.size());
  out.append(text);
}

void PutContents(const std::vector<NamedContent>& contents, std::string& out) {
  if (contents.empty()) return;
  PutU64(out, contents.size());
  for (const NamedContent& content : contents) {
    PutString(content.path, out);
    PutU64(out, content.hash_low);
    PutU64(out, content.hash_high);
  }
}

bool HasEtags(const Manifest& manifest) {
  return std::any_of(
      manifest.files.begin(), manifest.files.end(),
      [](const ManifestFile& file) { return !file.etag.empty(); });
}

// Clears the weak ETags, also of inputs and tables.
void ClearWeakEtags(Manifest& manifest) {
  for (ManifestFile& file : manifest.files) {
    if (IsWeakEtag(file.etag)) file.etag.clear();
  }
  for (Manifest& input : manifest.inputs) ClearWeakEtags(input);
  for (Manifest& table : manifest.tables) ClearWeakEtags(table);
}

bool HasWeakEtags(const Manifest& manifest) {
  return std::ranges::any_of(
             manifest.files,
             [](const ManifestFile& file) { return IsWeakEtag(file.etag); }) ||
         std::ranges::any_of(manifest.inputs, HasWeakEtags) ||
         std::ranges::any_of(manifest.tables, HasWeakEtags);
}

class ManifestParser {
 public:
  ManifestParser(std::string_view text, size_t depth)
      : text_(text), depth_(depth) {}

  absl::StatusOr<Manifest> Parse() {
    if (text_.starts_with(kTablesMagic)) {
      text_.remove_prefix(kTablesMagic.size());
      return ParseTables();
    }
    if (text_.substr(0, kInputsMagic.size()) == kInputsMagic) {
      text_.remove_prefix(kInputsMagic.size());
      return ParseInputs();
    }
    const bool etags = text_.substr(0, kEtagsMagic.size()) == kEtagsMagic;
    if (!etags && text_.substr(0, kManifestMagic.size()) != kManifestMagic) {
      return Bad("no header");
    }
    static_assert(kEtagsMagic.size() == kManifestMagic.size());
    text_.remove_prefix(kManifestMagic.size());
    Manifest manifest;
    uint64_t count = 0;
    if (!U64(count) || count > text_.size() / kFileBytesMin) {
      return Bad("the number of files");
    }
    manifest.files.resize(count);
    for (ManifestFile& file : manifest.files) {
      uint64_t mtime = 0;
      if (!String(file.path) || !U64(file.size) || !U64(mtime) ||
          !U64(file.records) || (etags && !String(file.etag))) {
        return Bad("a file");
      }
      file.mtime_ns = static_cast<int64_t>(mtime);
    }
    // A manifest has exactly one serialized text.
    if (etags != HasEtags(manifest)) return Bad("no etag");
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
  absl::StatusOr<Manifest> ParseTables() {
    if (depth_ == kInputsDepthMax) return Bad("inputs in inputs too deep");
    uint64_t count = 0;
    if (!U64(count) || count == 0 ||
        count > text_.size() / kManifestMagic.size()) {
      return Bad("the number of tables");
    }
    std::vector<Manifest> tables;
    for (uint64_t k = 0; k < count; ++k) {
      std::string text;
      if (!String(text)) return Bad("a table");
      FM_ASSIGN_OR_RETURN(tables.emplace_back(),
                          ManifestParser(text, depth_ + 1).Parse());
    }
    if (text_.starts_with(kTablesMagic)) return Bad("tables twice");
    FM_ASSIGN_OR_RETURN(Manifest manifest,
                        ManifestParser(text_, depth_).Parse());
    manifest.tables = std::move(tables);
    return manifest;
  }
  absl::StatusOr<Manifest> ParseInputs() {
    if (depth_ == kInputsDepthMax) return Bad("inputs in inputs too deep");
    Manifest manifest;
    uint64_t count = 0;
    if (!U64(count) || count == 0 ||
        count > text_.size() / kManifestMagic.size()) {
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
  // Reads the files that expressions name, up to the end.
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
  if (!tables.empty()) {
    std::string out(kTablesMagic);
    PutU64(out, tables.size());
    for (const Manifest& table : tables) PutString(table.Serialize(), out);
    Manifest others = *this;
    others.tables.clear();
    return out + others.Serialize();
  }
  if (!inputs.empty()) {
    std::string out(kInputsMagic);
    PutU64(out, inputs.size());
    for (const Manifest& input : inputs) PutString(input.Serialize(), out);
    PutContents(contents, out);
    return out;
  }
  const bool etags = HasEtags(*this);
  std::string out(etags ? kEtagsMagic : kManifestMagic);
  PutU64(out, files.size());
  for (const ManifestFile& file : files) {
    PutString(file.path, out);
    PutU64(out, file.size);
    PutU64(out, static_cast<uint64_t>(file.mtime_ns));
    PutU64(out, file.records);
    if (etags) PutString(file.etag, out);
  }
  PutU64(out, classes.size());
  for (const std::string& name : classes) PutString(name, out);
  PutContents(contents, out);
  return out;
}

absl::StatusOr<Manifest> Manifest::Parse(std::string_view text) {
  return ManifestParser(text, 0).Parse();
}

std::string Manifest::Hash() const {
  if (HasWeakEtags(*this)) {
    Manifest other = *this;
    ClearWeakEtags(other);
    return other.Hash();
  }
  const std::string text = Serialize();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace feedmill
