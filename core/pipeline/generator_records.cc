#include "core/pipeline/generator_records.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/dataset/python_functions.h"

namespace feedmill {
namespace {

class GeneratorRecords final : public RecordSource {
 public:
  // `lengths`: the promised number of elements of each shard; empty: unknown.
  GeneratorRecords(std::shared_ptr<PythonGenerator> generator,
                   std::vector<bool> live, std::vector<int64_t> lengths)
      : generator_(std::move(generator)),
        live_(std::move(live)),
        lengths_(std::move(lengths)) {}

  std::unique_ptr<Scratch> NewScratch() const override {
    return std::make_unique<Scratch>();
  }

  absl::StatusOr<bool> ReadBlock(uint64_t index, uint64_t row, size_t bytes_max,
                                 RecordBlock& out) const override {
    out.rows = 0;
    out.error = absl::OkStatus();
    out.ends_block = false;
    const auto count =
        static_cast<size_t>(std::count(live_.begin(), live_.end(), true));
    out.columns.resize(count);
    std::vector<OutputColumn*> columns(live_.size(), nullptr);
    size_t next = 0;
    for (size_t c = 0; c < live_.size(); ++c) {
      if (live_[c]) columns[c] = &out.columns[next++];
    }
    FM_ASSIGN_OR_RETURN(
        const PythonGenerator::Rows made,
        generator_->Read(index, row, std::max<size_t>(bytes_max, 1), columns));
    out.rows = made.rows;
    absl::Status error = made.error;
    if (error.ok()) error = CheckLength(index, row, made.more, out);
    if (error.ok()) return made.more;
    out.error = Annotate(error, Describe(index, row + out.rows));
    out.ends_block = true;
    return false;
  }

  std::optional<RowState> StateBefore(uint64_t index,
                                      uint64_t row) const override {
    return generator_->StateBefore(index, row);
  }
  void Restore(uint64_t index, RowState state) const override {
    generator_->Restore(index, std::move(state));
  }

  std::string Describe(uint64_t index, uint64_t row) const override {
    return fmt::format("element {} of shard {} of the generator", row, index);
  }

 private:
  // Compares the number of elements of a shard with the promised one, and cuts
  // rows that are too many.
  absl::Status CheckLength(uint64_t index, uint64_t row, bool more,
                           RecordBlock& out) const {
    if (lengths_.empty()) return absl::OkStatus();
    const auto length = static_cast<uint64_t>(lengths_.at(index));
    const uint64_t end = row + out.rows;
    if (end > length) {
      out.Truncate(static_cast<size_t>(length - row));
      return DataLoss(
          "it is one element too many: the generator's length is {} for this "
          "shard",
          length);
    }
    if (more || end == length) return absl::OkStatus();
    return DataLoss(
        "it is missing: the shard ended after {} elements, and the generator's "
        "length is {} for it",
        end, length);
  }

  const std::shared_ptr<PythonGenerator> generator_;
  const std::vector<bool> live_;  // of all components
  const std::vector<int64_t> lengths_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const RecordSource>> MakeGeneratorRecords(
    const GeneratorSource& source, const FunctionRegistry& registry,
    const std::vector<bool>& live) {
  if (registry.python() == nullptr) {
    return FailedPrecondition("this process allows no Python functions");
  }
  std::vector<bool> all = live;
  if (all.empty()) all.assign(source.output.size(), true);
  const bool of_each =
      source.length.size() == static_cast<size_t>(source.shards);
  return std::make_unique<GeneratorRecords>(
      registry.python()->LoadGenerator(source), std::move(all),
      of_each ? source.length : std::vector<int64_t>());
}

}  // namespace feedmill
