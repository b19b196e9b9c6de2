#include <numeric>
#include <optional>

#include "core/base/status.h"
#include "core/dataset/generator_source.h"
#include "core/dataset/python_functions.h"
#include "core/formats/file_source_of.h"

namespace feedmill {
namespace {

constexpr int64_t kShardsMax = 1'000'000;
constexpr int64_t kLengthMax = int64_t{1} << 40;  // of a shard

absl::Status CheckLength(const GeneratorSource& s) {
  const size_t count = s.length.size();
  if (count > 1 && count != static_cast<size_t>(s.shards)) {
    return InvalidArgument(
        "length has {} numbers; it is one number for all of the {} shards, or "
        "one for each",
        count, s.shards);
  }
  for (const int64_t length : s.length) {
    if (length >= 0 && length <= kLengthMax) continue;
    return InvalidArgument("a length must be at least 0, at most {}; it is {}",
                           kLengthMax, length);
  }
  return absl::OkStatus();
}

struct GeneratorFormat {
  using Options = GeneratorSource;
  static constexpr std::string_view kName = "generator";
  static constexpr Description kDescription = {
      .summary =
          "Makes the elements that a Python function yields for each shard.",
      .yaml =
          R"(generator: {function: gAWV, output: {x: int64}, python: "3.11.2", packages: ["numpy==2.4.6"]})",
      .element = "these components",
      .details = "Python's `from_generator` writes it."};

  static FieldList Fields(GeneratorSource& s) {
    return {{"function", &s.function,
             Field::kRequired | (s.version.empty() ? 0U : Field::kUnidentified),
             "The function, pickled by cloudpickle, in Base64."},
            {"version", &s.version, Field::kSparse, "Identifies the function.",
             "its bytes"},
            {"output", &s.output, Field::kRequired,
             "The types of the components that it yields."},
            {"python", &s.python, Field::kRequired,
             "The version of Python that pickled it."},
            {"packages", &s.packages, Field::kSparse,
             "Packages that it needs, in exactly these versions."},
            {"shards", &s.shards, Field::kOptional,
             "The number of calls, function(shard, shards)."},
            {"length", &s.length, Field::kSparse,
             "The number of elements of all shards, or of each.", "unknown"},
            {"timeout_seconds", &s.timeout_seconds, Field::kOptional,
             "An element that takes longer is an error."},
            {"memory_bytes", &s.memory_bytes, Field::kSparse,
             "Most bytes that a process allocates.", "any number"}};
  }
  static SourceProperties Properties(const GeneratorSource& s) {
    SourceProperties properties{.positions = Positions::kFiles};
    if (!s.length.empty()) {
      properties.elements =
          std::accumulate(s.length.begin(), s.length.end(), uint64_t{0});
    }
    return properties;
  }
  static std::string Describe(const GeneratorSource& s) {
    return fmt::format("Python {}, {} shard{}", s.python, s.shards,
                       s.shards == 1 ? "" : "s");
  }
  static absl::StatusOr<ElementSpec> Output(const GeneratorSource& s,
                                            std::span<const ElementSpec>) {
    if (s.shards < 1 || s.shards > kShardsMax) {
      return InvalidArgument("shards must be at least 1, at most {}",
                             kShardsMax);
    }
    FM_RETURN_IF_ERROR(CheckLength(s));
    FM_RETURN_IF_ERROR(
        CheckPythonCode(s.function, s.timeout_seconds, s.memory_bytes));
    FM_RETURN_IF_ERROR(CheckPythonOutput(s.output));
    if (s.output.empty()) {
      return InvalidArgument("output must list the components that it yields");
    }
    return SpecOfPython(s.output);
  }
  static std::optional<uint64_t> Size(const GeneratorSource& s) {
    return static_cast<uint64_t>(s.shards);
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const GeneratorSource&, std::shared_ptr<const Manifest>,
      const std::vector<bool>&) {
    return Internal("a generator runs in processes of an interpreter");
  }
};

}  // namespace

const SourceKind& GeneratorKind() { return FileKindOf<GeneratorFormat>(); }

}  // namespace feedmill
