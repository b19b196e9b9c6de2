// The feedmill command with the steps of this folder.

#include "core/operators/registry.h"
#include "core/ops/builtin_functions.h"
#include "tests/extension/extensions.h"
#include "tools/command/feedmill_command.h"

int main(int argc, char** argv) {
  feedmill::RegisterStep(feedmill::extension::ScaleBytesKind());
  return feedmill::FeedmillMain(argc, argv, feedmill::BuiltinFunctions());
}
