#include "core/sources/origins.h"

#include <utility>

#include "core/base/url_secrets.h"
#include "core/dataset/source_types.h"
#include "core/sources/framing.h"

namespace feedmill {
namespace {

using Origins = std::vector<RecordOrigin>;

const std::shared_ptr<const Manifest>& NoFiles() {
  static const std::shared_ptr<const Manifest>& none =
      *new std::shared_ptr<const Manifest>(std::make_shared<const Manifest>());
  return none;
}

RecordOrigin Origin(const Plan& plan, const Manifest& manifest,
                    const FileOrder& order, const RecordRef& ref,
                    uint64_t row) {
  const bool counted = plan.graph().source.counted;
  RecordOrigin origin;
  origin.epoch = ref.pass;
  uint64_t index = order.At(ref);
  origin.record = plan.graph().source.streamed ? row : index;
  for (const ManifestFile& file : manifest.files) {
    if (index >= file.records) {
      index -= file.records;
      continue;
    }
    origin.file = ShownName(file.path);
    origin.record = counted ? index : row;
    if (!counted) origin.offset = index * kBlockBytes;
    break;
  }
  return origin;
}

void Add(const Plan& plan, const SourcePlan& source, const Manifest& manifest,
         const FileOrder& order, const RecordRef& ref, uint64_t row,
         Origins& out);

void AddOfInput(const SourcePlan& source, const Manifest& manifest,
                const InputPlace& place, uint64_t pass, Origins& out) {
  const SourcePlan::Input& input = source.inputs[place.input];
  const Manifest& own =
      manifest.inputs.empty() ? *NoFiles() : manifest.inputs[place.input];
  const FileOrder order(*input.plan, own);
  std::vector<RecordRef> refs;
  input.plan->Records(place.position, place.position + 1, refs,
                      pass * input.turns + place.turn);
  for (const RecordRef& ref : refs) {
    Add(*input.plan, input.source, own, order, ref, 0, out);
  }
}

// Adds the origins of a cached record, with the passes of a pipeline without
// the cache.
void AddCached(const SourcePlan::Input& cached, const Manifest& manifest,
               const RecordRef& ref, uint64_t row, Origins& out) {
  const FileOrder order(*cached.plan, manifest);
  std::vector<RecordRef> refs;
  cached.plan->Records(ref.index, ref.index + 1, refs);
  const size_t first = out.size();
  for (const RecordRef& below : refs) {
    Add(*cached.plan, cached.source, manifest, order, below, row, out);
  }
  for (size_t k = first; k < out.size(); ++k) {
    out[k].epoch += ref.pass * cached.plan->passes();
  }
}

void Add(const Plan& plan, const SourcePlan& source, const Manifest& manifest,
         const FileOrder& order, const RecordRef& ref, uint64_t row,
         Origins& out) {
  if (!source.cached.empty()) {
    AddCached(source.cached[0], manifest, ref, row, out);
  } else if (source.inputs.empty()) {
    out.push_back(Origin(plan, manifest, order, ref, row));
  } else if (PropertiesOf(plan.graph().graph.source).pairs_inputs) {
    for (uint32_t i = 0; i < source.inputs.size(); ++i) {
      AddOfInput(source, manifest, {i, ref.index, 0}, ref.pass, out);
    }
  } else {
    InputPlace place;
    source.combination->Find({&ref.index, 1}, {&place, 1});
    AddOfInput(source, manifest, place, ref.pass, out);
  }
}

}  // namespace

OriginFinder::OriginFinder(std::shared_ptr<const Plan> plan,
                           std::shared_ptr<const Manifest> manifest,
                           SourcePlan source)
    : plan_(std::move(plan)),
      manifest_(manifest != nullptr ? std::move(manifest) : NoFiles()),
      source_(std::move(source)),
      order_(*plan_, *manifest_) {}

void OriginFinder::Find(const RecordRef& ref, uint64_t row,
                        Origins& out) const {
  Add(*plan_, source_, *manifest_, order_, ref, row, out);
}

}  // namespace feedmill
