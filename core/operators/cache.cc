#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct CacheOperator : NeedsAllComponents {
  using Options = CacheStep;
  static constexpr std::string_view kName = "cache";
  static constexpr Description kDescription = {
      .summary =
          "Caches the elements of the steps before it, for later passes and "
          "jobs.",
      .yaml = R"(cache:
cache: kept/
cache: {memory_bytes: 4294967296})",
      .element = "unchanged; the steps before it run once for each element",
      .errors =
          "Reading raises InvalidArgumentError if a step before it may give "
          "other elements when it runs again, such as a random function.",
      .example = R"(
>>> ds = fm.Dataset.images("photos/*/*.jpg").decode_image().cache().shuffle().repeat(2)
>>> len(ds.read())
12
)"};

  static FieldList Fields(CacheStep& s) {
    return {{"path", FilePath{&s.path, true}, Field::kShort,
             "A folder on the workers' machines, or of s3://, gs:// or az://.",
             "none: in memory"},
            {"memory_bytes", &s.memory_bytes, Field::kOptional,
             "Most bytes of elements in the memory of a process.", "1 GiB"}};
  }
  static StepTraits Traits(const CacheStep&) {
    return {.needs = StepNeeds::kElement};
  }
  static std::string Describe(const CacheStep& s) {
    if (!s.path.empty()) return "in " + ShownName(s.path);
    return fmt::format("in memory, at most {} MiB a process",
                       s.memory_bytes.value_or(CacheStep::kMemoryBytes) >> 20);
  }
  static absl::StatusOr<ElementSpec> Output(const CacheStep& s,
                                            const StepInput& in) {
    FM_RETURN_IF_ERROR(CheckWritten(s.path, "a cache"));
    if (!s.memory_bytes) return in.spec;
    if (!s.path.empty()) {
      return InvalidArgument(
          "memory_bytes bounds a cache in memory, and this cache is in {}; "
          "leave out memory_bytes or the folder",
          s.path);
    }
    FM_RETURN_IF_ERROR(CheckCount(*s.memory_bytes));
    return in.spec;
  }
  // A cache is part of the worker's input, so no program contains this step.
  static absl::Status Compile(const CacheStep&, ProgramBuilder& program) {
    return Internal("step {} is a cache", program.step());
  }
};

}  // namespace

const StepKind& CacheKind() { return KindOf<CacheOperator>(); }

}  // namespace feedmill
