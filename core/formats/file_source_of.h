#ifndef FEEDMILL_CORE_FORMATS_FILE_SOURCE_OF_H_
#define FEEDMILL_CORE_FORMATS_FILE_SOURCE_OF_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/status.h"
#include "core/dataset/source_kind_of.h"
#include "core/dataset/source_types.h"
#include "core/io/byte_stream.h"
#include "core/sources/field_inference.h"
#include "core/sources/framed_records.h"
#include "core/sources/record_format.h"

namespace feedmill {

// A format meets DescribesSource and one of the three concepts below.

// Format of files whose records follow one another and are decoded one by one.
// Optional members:
//   MakeCounted(options, live, manifest), if records of uncompressed files can
//     be found faster than by an index and the decoder;
//   CountRecords(options, file, size), if they can be counted faster;
//   InferFields(options, samples) and kSampledRecords, if the source has
//     fields to declare; kSamplesFurtherFiles, if records of later files may
//     change them.
template <class S>
concept FramesRecords = requires(const typename S::Options& options,
                                 const std::vector<bool>& live) {
  { S::MakeFraming(options) } -> std::same_as<std::shared_ptr<const Framing>>;
  {
    S::MakeDecoder(options, live)
  } -> std::same_as<std::unique_ptr<const RecordDecoder>>;
};
// Format that reads its records itself. Optional members: Size(options) or
// CountRecords(options, file, size), and InferFieldsOfFile(options, file) of
// the first file or InferFieldsOfFiles(options, files).
template <class S>
concept MakesRecords = requires(const typename S::Options& options,
                                std::shared_ptr<const Manifest> manifest,
                                const std::vector<bool>& live) {
  {
    S::MakeRecords(options, std::move(manifest), live)
  } -> std::same_as<absl::StatusOr<std::unique_ptr<const RecordSource>>>;
};
// The same, of a format that uses the filters behind the source
// (RecordSource::Make).
template <class S>
concept MakesFilteredRecords =
    requires(const typename S::Options& options,
             std::shared_ptr<const Manifest> manifest,
             const std::vector<bool>& live, const RowFilter& filter) {
      {
        S::MakeRecords(options, std::move(manifest), live, filter)
      } -> std::same_as<absl::StatusOr<std::unique_ptr<const RecordSource>>>;
    };

// Makes a SourceKind of the static members of `S`. text.cc is a short example
// of FramesRecords, range.cc of MakesRecords.
template <class S>
  requires DescribesSource<S> &&
               (FramesRecords<S> || MakesRecords<S> || MakesFilteredRecords<S>)
class FileSourceOf final : public SourceKindOf<S>, private RecordFormat {
  using SourceKindOf<S>::Cast;
  using Options = typename S::Options;
  using Records = absl::StatusOr<std::unique_ptr<const RecordSource>>;

 public:
  const RecordFormat* format() const override { return this; }

 private:
  std::optional<uint64_t> Size(const void* options) const override {
    if constexpr (requires { S::Size(Cast(options)); }) {
      return S::Size(Cast(options));
    } else {
      return std::nullopt;
    }
  }
  std::shared_ptr<const Framing> MakeFraming(
      const void* options) const override {
    if constexpr (FramesRecords<S>) {
      return S::MakeFraming(Cast(options));
    } else {
      return nullptr;
    }
  }
  std::unique_ptr<const RecordDecoder> MakeDecoder(
      const void* options, const std::vector<bool>& live) const override {
    if constexpr (FramesRecords<S>) {
      return S::MakeDecoder(Cast(options), live);
    } else {
      return nullptr;
    }
  }
  absl::StatusOr<std::vector<SourceField>> InferFields(
      const void* options, const std::vector<FoundFile>& files) const override {
    if constexpr (requires { S::kSampledRecords; }) {
      const auto framing = S::MakeFraming(Cast(options));
      const StreamCoding coding = CodingOfFiles(options);
      constexpr bool kFurther = requires { S::kSamplesFurtherFiles; };
      FM_ASSIGN_OR_RETURN(
          auto samples,
          SampleFiles(*framing, coding, files, S::kSampledRecords,
                      kFurther ? kSmallRecords : S::kSampledRecords));
      if constexpr (kFurther) {
        AddFurtherFiles(*framing, coding, files, samples);
      }
      const auto more = RemoveMore(samples, S::kSampledRecords);
      auto fields = S::InferFields(Cast(options), samples);
      if (more.empty() || !fields.ok()) return fields;
      RestoreMore(more, samples);
      const auto wider = S::InferFields(Cast(options), samples);
      if (wider.ok()) WidenNumbers(*wider, *fields);
      return fields;
    } else if constexpr (requires { &S::InferFieldsOfFiles; }) {
      return S::InferFieldsOfFiles(Cast(options), files);
    } else if constexpr (requires { &S::InferFieldsOfFile; }) {
      return S::InferFieldsOfFile(Cast(options), files.front());
    } else {
      return Internal("{} has no fields", S::kName);
    }
  }
  absl::StatusOr<std::vector<FoundFile>> FilesToRead(
      const std::string& pattern, std::vector<FoundFile> found) const override {
    if constexpr (requires { &S::FilesToRead; }) {
      return S::FilesToRead(pattern, std::move(found));
    } else {
      return found;
    }
  }
  absl::StatusOr<uint64_t> CountRecords(const void* options,
                                        const RandomAccessFile& file,
                                        uint64_t size) const override {
    if constexpr (requires { &S::CountRecords; }) {
      return S::CountRecords(Cast(options), file, size);
    } else {
      return Internal("{} does not count records", S::kName);
    }
  }
  void FinishManifest(const void* options, Manifest& manifest) const override {
    if constexpr (requires { &S::FinishManifest; }) {
      S::FinishManifest(Cast(options), manifest);
    }
  }
  std::string DescribeManifest(const void* options, const Manifest& manifest,
                               const ElementSpec& made,
                               const std::string& of) const override {
    if constexpr (requires { &S::DescribeManifest; }) {
      return S::DescribeManifest(Cast(options), manifest, made, of);
    } else {
      return "";
    }
  }
  Records MakeRecords(const void* options, bool counted,
                      std::shared_ptr<const Manifest> manifest,
                      const std::vector<bool>& live,
                      const RowFilter& filter) const override {
    if constexpr (MakesFilteredRecords<S>) {
      return S::MakeRecords(Cast(options), std::move(manifest), live, filter);
    } else if constexpr (MakesRecords<S>) {
      return S::MakeRecords(Cast(options), std::move(manifest), live);
    } else {
      if constexpr (requires { &S::MakeCounted; }) {
        if (counted) {
          return S::MakeCounted(Cast(options), std::move(manifest), live);
        }
      }
      FramedRecords records{.framing = S::MakeFraming(Cast(options)),
                            .decoder = S::MakeDecoder(Cast(options), live),
                            .coding = CodingOfFiles(options),
                            .properties = S::Properties(Cast(options))};
      return counted
                 ? MakeDecodedRecords(std::move(records), std::move(manifest))
                 : MakeStreamedRecords(std::move(records), std::move(manifest));
    }
  }

  static StreamCoding CodingOfFiles(const void* options) {
    if constexpr (requires { Cast(options).compression; }) {
      StreamCoding coding(
          ResolvedCompression(Cast(options).compression, Cast(options).files));
      if constexpr (requires { Cast(options).zstd_window_log; }) {
        coding.zstd_window_log = Cast(options).zstd_window_log;
      }
      if constexpr (requires { Cast(options).encoding; }) {
        coding.utf16 = Cast(options).encoding == TextEncoding::kUtf16;
      }
      return coding;
    } else {
      return Compression::kNone;
    }
  }
};

// Returns the only object of the kind.
template <class S>
const SourceKind& FileKindOf() {
  static const FileSourceOf<S> kind;
  return kind;
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_FILE_SOURCE_OF_H_
