#include <algorithm>
#include <optional>

#include "core/base/status.h"
#include "core/formats/file_checks.h"
#include "core/formats/file_source_of.h"

namespace feedmill {
namespace {

class RangeRecords final : public RecordSource {
 public:
  explicit RangeRecords(const RangeSource& range) : range_(range) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<size_t> Read(std::span<const uint64_t> indexes,
                              size_t bytes_max, Scratch&,
                              RecordBlock& out) const override {
    out.ResetScalars({{DType::kInt64}});
    const size_t count = std::min(
        indexes.size(), std::max<size_t>(bytes_max / sizeof(int64_t), 1));
    auto* items = reinterpret_cast<uint64_t*>(
        out.columns[0].values.Extend(count * sizeof(uint64_t)));
    // Unsigned: the sequence may wrap only past its end.
    const auto start = static_cast<uint64_t>(range_.start);
    const auto step = static_cast<uint64_t>(range_.step);
    for (size_t k = 0; k < count; ++k) items[k] = start + indexes[k] * step;
    out.rows = count;
    return count;
  }

  absl::StatusOr<size_t> ReadRun(uint64_t first, uint64_t count,
                                 size_t bytes_max, Scratch&,
                                 RecordBlock& out) const override {
    out.ResetScalars({{DType::kInt64}});
    const auto step = static_cast<uint64_t>(range_.step);
    out.columns[0].SetSequence(
        static_cast<uint64_t>(range_.start) + first * step, step);
    out.rows = static_cast<size_t>(std::min<uint64_t>(
        count, std::max<size_t>(bytes_max / sizeof(int64_t), 1)));
    return out.rows;
  }

  std::string Describe(uint64_t index, uint64_t) const override {
    return fmt::format("record {} of the range", index);
  }

 private:
  const RangeSource range_;
};

struct RangeFormat {
  using Options = RangeSource;
  static constexpr std::string_view kName = "range";
  static constexpr Description kDescription = {
      .summary =
          "Makes the integers of Python's range: one unnamed int64 an "
          "element.",
      .yaml = R"(range: 10
range: {start: 0, stop: 10, step: 1})",
      .element = "one unnamed int64 (`x`)"};

  static FieldList Fields(RangeSource& s) {
    return {{"start", &s.start, Field::kOptional, "The first integer."},
            {"stop", &s.stop, Field::kRequired | Field::kShort,
             "The end, which is left out."},
            {"step", &s.step, Field::kOptional,
             "From one integer to the next; below 0 counts down."}};
  }
  static SourceProperties Properties(const RangeSource&) { return {}; }
  static std::string Describe(const RangeSource& s) {
    return fmt::format("range({}, {}, {})", s.start, s.stop, s.step);
  }
  static absl::StatusOr<ElementSpec> Output(const RangeSource& s,
                                            std::span<const ElementSpec>) {
    if (s.step == 0) return InvalidArgument("range's step must not be 0");
    return UnnamedSpec(DType::kInt64);
  }
  static std::optional<uint64_t> Size(const RangeSource& range) {
    const auto start = static_cast<uint64_t>(range.start);
    const auto stop = static_cast<uint64_t>(range.stop);
    const auto step = static_cast<uint64_t>(range.step);
    if (range.step > 0 && range.start < range.stop) {
      return (stop - start - 1) / step + 1;
    }
    if (range.step < 0 && range.start > range.stop) {
      return (start - stop - 1) / (0 - step) + 1;
    }
    return 0;
  }
  static absl::StatusOr<std::unique_ptr<const RecordSource>> MakeRecords(
      const RangeSource& s, std::shared_ptr<const Manifest>,
      const std::vector<bool>&) {
    return std::make_unique<RangeRecords>(s);
  }
};

}  // namespace

const SourceKind& RangeKind() { return FileKindOf<RangeFormat>(); }

}  // namespace feedmill
