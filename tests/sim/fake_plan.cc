#include "tests/sim/fake_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/status.h"
#include "core/chunk/chunk_builder.h"

namespace feedmill::sim {
namespace {

constexpr size_t kNameBytes = 3 * sizeof(uint64_t);
constexpr uint64_t kPerString = 8;  // credit per string beside its bytes
constexpr uint64_t kMostPasses = 8;

PythonNeedsPtr Needs() {
  return std::make_shared<const std::vector<PythonNeeds>>(
      std::vector<PythonNeeds>{{"3.11.2", {"numpy==2.1.0"}}});
}

}  // namespace

PythonInterpreter FakePlan::Interpreter(bool fit) {
  return {
      "/usr/bin/python3", "3.11.4", {fit ? "numpy==2.1.0" : "numpy==1.26.4"}};
}

FakePlan::FakePlan(Random& random, bool in_passes, uint64_t longer, bool python,
                   bool generates)
    : in_passes_(in_passes),
      python_(python),
      generates_(generates),
      spec_(std::make_shared<const ElementSpec>(
          ElementSpec{{{"", DType::kBytes, {}}}})) {
  shape_ = random.Choice({Shape::kDense, Shape::kFiltered, Shape::kFlat});
  if (generates_) shape_ = Shape::kFlat;
  needs_manifest_ = random.OneIn(3);
  first_split_ = random.Between(1, 6);
  const uint64_t positions =
      longer * (in_passes_ ? random.Between(8, 30) : random.Between(30, 120));
  const uint64_t large_percent =
      random.Choice({uint64_t{0}, uint64_t{10}, uint64_t{30}});
  const uint64_t cost_ms =
      random.Choice({uint64_t{2}, uint64_t{10}, uint64_t{40}});
  const uint64_t kept_percent = random.Choice({uint64_t{10}, uint64_t{60}});
  for (uint64_t p = 0; p < positions; ++p) {
    uint64_t count = 1;
    if (shape_ == Shape::kFiltered) count = random.Percent(kept_percent);
    if (shape_ == Shape::kFlat) count = random.Between(0, generates_ ? 12 : 3);
    const uint64_t size = random.Percent(large_percent)
                              ? random.Between(150, 200)
                              : random.Between(kNameBytes, 60);
    counts_.push_back(count);
    sizes_.push_back(size);
    costs_.push_back(random.UpTo(absl::Milliseconds(cost_ms)) /
                     static_cast<int64_t>(longer));
    position_bytes_max_ =
        std::max(position_bytes_max_, count * (size + kPerString));
  }
  if (random.OneIn(8)) poison_ = random.Between(0, positions - 1);
  graph_ = fmt::format("fake {} positions", positions);
  MakeReference();
}

void FakePlan::RemovePoison() {
  poison_.reset();
  MakeReference();
}

void FakePlan::MakeReference() {
  reference_.clear();
  const uint64_t end = in_passes_ ? kMostPasses * positions() : positions();
  for (uint64_t p = 0; p < poison_.value_or(end); ++p) {
    for (uint64_t i = 0; i < counts_[Within(p)]; ++i) {
      reference_.push_back({p, i});
    }
  }
}

size_t FakePlan::IndexOf(Cursor cursor) const {
  return static_cast<size_t>(
      std::lower_bound(reference_.begin(), reference_.end(), cursor) -
      reference_.begin());
}

absl::Duration FakePlan::CostOf(uint64_t position) const {
  return costs_.at(Within(position));
}

Piece FakePlan::Compute(uint64_t iteration, Cursor begin, Cursor end,
                        uint64_t bytes_target, Share share) const {
  Piece piece;
  piece.begin = piece.end = begin;
  ChunkBuilder builder(spec_);
  RunRows runs;
  BitmapRows bitmap;
  uint64_t bytes = 0;
  std::string value;
  while (piece.end < end && bytes < bytes_target) {
    const uint64_t p = piece.end.p;
    const bool own = !numbered() || share.Has(p);
    if (own && Within(p) == poison_) {
      piece.error = DataLoss("position {} is corrupt", p);
      break;
    }
    const uint64_t from = piece.end.i;
    CursorRun run{p, from, 0};
    const uint64_t count = counts_.at(Within(p));
    uint64_t i = from;
    for (; own && i < count && Cursor{p, i} < end; ++i) {
      if (generates_ && bytes >= bytes_target) break;
      const uint64_t name[] = {iteration, p, i};
      value.assign(sizes_.at(Within(p)), '.');
      std::memcpy(value.data(), name, kNameBytes);
      builder.AppendBytes(0, value);
      builder.FinishRows(1);
      bytes += value.size() + kPerString;
      ++run.count;
    }
    const uint64_t bit = p - begin.p;
    if (bit % 8 == 0) bitmap.bits.push_back(0);
    if (run.count > 0) {
      runs.runs.push_back(run);
      bitmap.bits.back() =
          static_cast<uint8_t>(bitmap.bits.back() | (1U << (bit % 8)));
    }
    piece.end =
        std::min(end, i < count && own ? Cursor{p, i} : Cursor{p + 1, 0});
  }
  if (generates_ && piece.end.i > 0) {
    const Cursor at{piece.end.p, piece.end.i - piece.end.i % 2};
    piece.state = std::make_shared<const GeneratorState>(
        GeneratorState{at, StateOf(iteration, at)});
  }
  piece.chunk = std::move(builder).Finish();
  switch (shape_) {
    case Shape::kDense:
      // otherwise some shares are empty
      if (begin.i == 0 && share.whole()) break;
      [[fallthrough]];
    case Shape::kFiltered:
      piece.cursors = std::move(bitmap);
      break;
    case Shape::kFlat:
      piece.cursors = std::move(runs);
      break;
  }
  return piece;
}

Planner FakePlan::MakePlanner() const {
  Planner planner;
  planner.fingerprint = [](const std::string& graph) { return graph; };
  planner.needs_manifest = [needs = needs_manifest_ || in_passes_ || python_](
                               const std::string&) { return needs; };
  if (python_) {
    planner.python_needs = [needs = Needs()](const std::string&) {
      return needs;
    };
  }
  planner.run_graph = [graph = run_graph()](const std::string&) {
    return graph;
  };
  planner.numbered = [numbered = numbered()](const std::string&) {
    return numbered;
  };
  planner.shape = [positions = positions(), first = first_split_,
                   in_passes = in_passes_](const std::string& graph,
                                           const std::string& manifest,
                                           uint64_t, uint64_t) {
    return JobShape{graph, manifest, positions, positions, first, in_passes};
  };
  return planner;
}

std::string FakePlan::StateOf(uint64_t iteration, Cursor at) {
  return fmt::format("{}/{}.{}", iteration, at.p, at.i);
}

ElementName FakePlan::NameOf(const Chunk& chunk, size_t row) {
  const std::string_view value =
      chunk.columns.at(0).BytesAt(static_cast<int64_t>(row));
  uint64_t name[3] = {~uint64_t{0}, 0, 0};
  if (value.size() >= kNameBytes) std::memcpy(name, value.data(), kNameBytes);
  return {name[0], {name[1], name[2]}};
}

}  // namespace feedmill::sim
