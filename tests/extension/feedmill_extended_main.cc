// The feedmill command with the step and the source of this folder.

#include "core/operators/registry.h"
#include "core/ops/builtin_functions.h"
#include "tests/extension/extensions.h"
#include "tools/command/commands.h"

int main(int argc, char** argv) {
  feedmill::RegisterStep(feedmill::extension::ScaleBytesKind());
  feedmill::RegisterSource(feedmill::extension::SizedKind());
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions());
}
