#ifndef FEEDMILL_CORE_OPERATORS_EXAMPLE_FEATURES_H_
#define FEEDMILL_CORE_OPERATORS_EXAMPLE_FEATURES_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/dataset/step_kind.h"
#include "core/ops/example_parser.h"
#include "core/pipeline/program_builder.h"
#include "core/pipeline/record_instruction.h"
#include "feedmill/dataset_options.h"
#include "feedmill/element.h"

// Shared parts of parse_example and parse_sequence_example.

namespace feedmill {

// Checks that `input` has one component of bytes: one `message` per record.
absl::Status CheckMessages(const StepInput& input, std::string_view message);

// Adds the component of a feature. `listed`: the feature is a list of steps,
// each with one value of that shape.
absl::Status AddFeature(const Feature& feature, bool listed,
                        const StepInput& input, ElementSpec& out);

// Replaces the single component by the components that `parser` makes of it.
void CompileParser(const ExampleParser& parser, ElementSpec parsed,
                   ProgramBuilder& program);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPERATORS_EXAMPLE_FEATURES_H_
