#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"
#include "core/formats/image_files.h"
#include "core/io/manifest_files.h"

namespace feedmill {
namespace {

// Number of small files read at once: from the disk, for each thread; from
// URLs, for the reader or worker.
constexpr size_t kFilesAhead = 32;
constexpr size_t kLabelsShown = 20;

void AppendString(std::string_view bytes, OutputColumn& column) {
  column.values.Append(bytes.data(), bytes.size());
  column.offsets.Push(static_cast<int64_t>(column.values.size()));
}

// Record source whose records are files.
class ImageFiles final : public RecordSource {
 public:
  ImageFiles(const ImagesSource& source,
             std::shared_ptr<const Manifest> manifest,
             const std::vector<bool>& live)
      : label_(source.label),
        files_(std::move(manifest)),
        makes_image_(live.empty() || live[0]),
        makes_label_(live.empty() || live[1]),
        makes_path_(live.empty() || live[2]) {
    for (size_t k = 0; k < source.classes.size(); ++k) {
      numbers_.emplace(source.classes[k], static_cast<int64_t>(k));
    }
    if (makes_image_) dtypes_.push_back(DType::kBytes);
    if (makes_label_) dtypes_.push_back(DType::kInt64);
    if (makes_path_) dtypes_.push_back(DType::kBytes);
  }

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<AheadScratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch& scratch,
                              RecordBlock& out) const override {
    auto& ahead = static_cast<AheadScratch&>(scratch).files;
    out.ResetScalars(dtypes_);
    size_t bytes = 0;
    for (size_t k = 0; k < indexes.size(); ++k) {
      const size_t file = files_.Find(indexes[k]).file;
      const ManifestFile& info = files_.info(file);
      bytes += makes_image_ ? info.size : info.path.size();
      if (out.rows > 0 && bytes > bytes_max) break;
      size_t c = 0;
      int64_t label = 0;
      if (makes_label_) {
        const absl::StatusOr<int64_t> found = LabelOf(info.path);
        if (!found.ok()) {
          out.error = found.status();
          break;
        }
        label = *found;
      }
      if (makes_image_) {
        OpenAhead(indexes.subspan(k), ahead);
        Opened next = std::move(ahead.front().opened);
        ahead.pop_front();
        FM_ASSIGN_OR_RETURN(const auto opened, std::move(next));
        OutputColumn& image = out.columns[c++];
        std::byte* const at = image.values.Extend(info.size);
        FM_RETURN_IF_ERROR(files_.Read(file, *opened, 0, {at, info.size}));
        image.offsets.Push(static_cast<int64_t>(image.values.size()));
      }
      if (makes_label_) out.columns[c++].values.Push(label);
      if (makes_path_) AppendString(info.path, out.columns[c]);
      ++out.rows;
    }
    return out.rows;
  }

  size_t records_ahead() const override {
    return makes_image_ && files_.has_urls() ? kFilesAhead : 0;
  }

  // Errors are left to the read.
  void PrefetchRecords(std::span<const uint64_t> indexes) const override {
    for (const uint64_t index : indexes) {
      const size_t file = files_.Find(index).file;
      const auto opened = files_.Open(file);
      if (!opened.ok()) return;
      const ByteRange whole{0, files_.info(file).size};
      (*opened)->Prefetch({&whole, 1});
    }
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return files_.info(files_.Find(index).file).path;
  }

 private:
  using Opened = absl::StatusOr<std::shared_ptr<const RandomAccessFile>>;
  struct Ahead {
    uint64_t index;
    Opened opened;
  };
  struct AheadScratch final : Scratch {
    std::deque<Ahead> files;  // next files, as of the last call
  };

  // DataLoss if the name is not among the given classes.
  absl::StatusOr<int64_t> LabelOf(const std::string& path) const {
    const std::string_view name = ImageLabelName(path, label_);
    if (numbers_.empty()) return ImageLabel(name, files_.manifest().classes);
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    return DataLoss("{}: its label \"{}\" is none of the {} `classes`", path,
                    Shown(name), numbers_.size());
  }

  // Files behind URLs may have been opened and fetched by PrefetchRecords.
  Opened Open(size_t file) const {
    if (files_.has_urls()) return files_.Open(file);
    return files_.OpenOnce(file);
  }

  // Makes `ahead` begin with the first of `indexes`, and prefetches the files
  // of the next ones. They are read while one image is decoded.
  void OpenAhead(std::span<const uint64_t> indexes,
                 std::deque<Ahead>& ahead) const {
    if (!ahead.empty() && ahead.front().index != indexes.front()) ahead.clear();
    const size_t most = std::min(indexes.size(), kFilesAhead);
    while (ahead.size() < most) {
      const uint64_t index = indexes[ahead.size()];
      const size_t file = files_.Find(index).file;
      ahead.push_back({index, Open(file)});
      const auto& opened = ahead.back().opened;
      const ByteRange whole{0, files_.info(file).size};
      if (opened.ok()) (*opened)->Prefetch({&whole, 1});
    }
  }

  const ImagesSource::Label label_;
  std::map<std::string, int64_t, std::less<>> numbers_;  // of given classes
  const ManifestFiles files_;
  const bool makes_image_;  // false: no file is opened
  const bool makes_label_;
  const bool makes_path_;
  std::vector<DType> dtypes_;  // dtypes of the produced components
};

struct ImagesFormat {
  using Options = ImagesSource;
  static constexpr std::string_view kName = "images";
  static constexpr auto kEndings = kImageSuffixes;
  static bool Begins(std::string_view head) { return BeginsAsImage(head); }
  static constexpr Description kDescription = {
      .summary =
          "Reads a file an element: image (bytes), label (int64), path "
          "(bytes).",
      .yaml = R"(images: "photos/*/*.jpg"
images: {files: photos/, label: filename}
images: {files: "val/*/*.jpg", classes: [cat, dog]})",
      .element = "`image` bytes, `label` int64, `path` bytes",
      .details =
          "The label is the number of the file's folder among the sorted "
          "names of the folders, or the name itself if all are integers. With "
          "the label `filename`, it is the text behind the last `_` of the "
          "file's name. With `classes`, the label is the number of the name "
          "in that list.",
      .errors =
          "Reading raises NotFoundError if no file matches, "
          "InvalidArgumentError if a label cannot be found out.",
      .example = R"(
>>> first = next(fm.Dataset.images("photos/*/*.jpg").decode_image().read())
>>> first["image"].dtype, first["label"], first["path"][-9:]
(dtype('uint8'), np.int64(0), b'cat/0.jpg')
)"};

  static FieldList Fields(ImagesSource& s) {
    return {FilesField(s.files),
            {"label", Word(s.label, {"folder", "filename"}), Field::kOptional,
             "The name that labels an image: its folder's, or the end of its "
             "own."},
            {"classes", &s.classes, Field::kSparse,
             "The names of labels, in the order of their numbers.",
             "the sorted names of the files"},
            {"classes_file", FilePath{&s.classes_file}, Field::kSparse,
             "A file with such a name a line.", "none"}};
  }
  static SourceProperties Properties(const ImagesSource&) {
    return {.record_per_file = true, .heavy_component = "image"};
  }
  static absl::StatusOr<ElementSpec> Output(const ImagesSource& s,
                                            std::span<const ElementSpec>) {
    FM_RETURN_IF_ERROR(CheckFiles(s.files));
    if (!s.classes_file.empty()) {
      return InvalidArgument(
          "{}", s.classes.empty()
                    ? "the names of classes_file are not read"
                    : "give the names of labels by `classes` or by "
                      "`classes_file`");
    }
    std::set<std::string_view> names;
    for (const std::string& name : s.classes) {
      if (names.insert(name).second) continue;
      return InvalidArgument("`classes` has \"{}\" twice", Shown(name));
    }
    return ElementSpec{{{"image", DType::kBytes, {}},
                        {"label", DType::kInt64, {}},
                        {"path", DType::kBytes, {}}}};
  }
  static absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) {
    return ImagesAmong(pattern, std::move(found));
  }
  static void FinishManifest(const ImagesSource& s, Manifest& manifest) {
    manifest.classes =
        s.classes.empty() ? LabelClasses(manifest.files, s.label) : s.classes;
  }
  static std::string DescribeManifest(const ImagesSource& s,
                                      const Manifest& manifest,
                                      const ElementSpec& made,
                                      const std::string& of) {
    if (made.Find("label") < 0) return "";
    const std::vector<std::string>& names = manifest.classes;
    if (names.empty()) {
      return fmt::format("labels  {}integers: {}\n", of,
                         s.label == ImagesSource::Label::kFolder
                             ? "the names of the files' folders"
                             : "the ends of the files' names");
    }
    std::string listed;
    for (size_t k = 0; k < std::min(names.size(), kLabelsShown); ++k) {
      listed += fmt::format("{}{} = {}", k == 0 ? "" : ", ", names[k], k);
    }
    if (names.size() > kLabelsShown) {
      listed += fmt::format(", … ({} in all)", names.size());
    }
    return fmt::format("labels  {}{}\n", of, listed);
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const ImagesSource& s, std::shared_ptr<const Manifest> manifest,
      const std::vector<bool>& live) {
    for (const ManifestFile& file : manifest->files) {
      if (file.records == 1) continue;
      return DataLoss("the manifest is not one of images: {} has {} records",
                      file.path, file.records);
    }
    return std::make_unique<ImageFiles>(s, std::move(manifest), live);
  }
};

}  // namespace

std::unique_ptr<const RecordSource> MakeImageFiles(
    std::shared_ptr<const Manifest> manifest) {
  return std::make_unique<ImageFiles>(ImagesSource{}, std::move(manifest),
                                      std::vector{true, false, false});
}

const SourceKind& ImagesKind() { return FileKindOf<ImagesFormat>(); }

}  // namespace feedmill
