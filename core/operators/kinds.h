#ifndef FEEDMILL_CORE_OPERATORS_KINDS_H_
#define FEEDMILL_CORE_OPERATORS_KINDS_H_

#include <vector>

#include "core/dataset/source_kind.h"
#include "core/dataset/step_kind.h"

namespace feedmill {

// The kinds of steps of feedmill, one file each, in the order of docs/steps.md.
// Add a new kind here, in both lists.
const StepKind& MapKind();
const StepKind& WithColumnsKind();
const StepKind& SelectKind();
const StepKind& DropKind();
const StepKind& RenameKind();
const StepKind& FilterKind();
const StepKind& ParseExampleKind();
const StepKind& DecodeImageKind();
const StepKind& ResizeKind();
const StepKind& RandomFlipKind();
const StepKind& ShuffleKind();
const StepKind& BatchKind();
const StepKind& UnbatchKind();
const StepKind& RebatchKind();
const StepKind& WindowKind();
const StepKind& TokenBatchKind();
const StepKind& BucketBySequenceLengthKind();
const StepKind& PackKind();
const StepKind& RepeatKind();
const StepKind& TakeKind();
const StepKind& SkipKind();
const StepKind& ShardKind();
const StepKind& EnumerateKind();
const StepKind& FlatMapKind();
const StepKind& OnErrorKind();
const StepKind& ParseSequenceExampleKind();
const StepKind& CacheKind();
const StepKind& PythonKind();

inline std::vector<const StepKind*> BuiltinKinds() {
  return {
      &MapKind(),
      &WithColumnsKind(),
      &SelectKind(),
      &DropKind(),
      &RenameKind(),
      &FilterKind(),
      &ParseExampleKind(),
      &DecodeImageKind(),
      &ResizeKind(),
      &RandomFlipKind(),
      &ShuffleKind(),
      &BatchKind(),
      &UnbatchKind(),
      &RebatchKind(),
      &WindowKind(),
      &TokenBatchKind(),
      &BucketBySequenceLengthKind(),
      &PackKind(),
      &RepeatKind(),
      &TakeKind(),
      &SkipKind(),
      &ShardKind(),
      &EnumerateKind(),
      &FlatMapKind(),
      &OnErrorKind(),
      &ParseSequenceExampleKind(),
      &CacheKind(),
      &PythonKind(),
  };
}

// The kinds of sources that combine other pipelines, in the order of
// docs/semantics/sources.md. Add a new kind here, in both lists.
const SourceKind& ConcatenateKind();
const SourceKind& ZipKind();
const SourceKind& InterleaveKind();
const SourceKind& MixtureKind();

inline std::vector<const SourceKind*> BuiltinCombiningSources() {
  return {
      &ConcatenateKind(),
      &ZipKind(),
      &InterleaveKind(),
      &MixtureKind(),
  };
}

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_KINDS_H_
