#ifndef FEEDMILL_PLUGINS_ARROW_AWS_KEY_CHAIN_H_
#define FEEDMILL_PLUGINS_ARROW_AWS_KEY_CHAIN_H_

#include "core/io/aws_key_source.h"

namespace feedmill {

// The default credential chain of Arrow's AWS client. Set up by the first call
// of Keys; finalized when the process exits.
const AwsKeySource& AwsKeyChain();

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_AWS_KEY_CHAIN_H_
