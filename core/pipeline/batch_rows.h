#ifndef FEEDMILL_CORE_PIPELINE_BATCH_ROWS_H_
#define FEEDMILL_CORE_PIPELINE_BATCH_ROWS_H_

#include <memory>

#include "core/pipeline/client_step.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

namespace feedmill {

// Returns a step that makes batches of `input` on the client.
std::unique_ptr<ClientStep> MakeBatchRows(
    const BatchStep& step, const ElementSpec& input,
    std::shared_ptr<const ElementSpec> output);

// Returns a step that splits elements along their first axes. The records share
// the memory of the element.
std::unique_ptr<ClientStep> MakeUnbatchRows(
    std::shared_ptr<const ElementSpec> output);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_BATCH_ROWS_H_
