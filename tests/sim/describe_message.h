#ifndef FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
#define FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_

#include <string>

#include "core/wire/message.h"

namespace feedmill::sim {

// What a message says, on one line. Two messages that read the same do the
// same, so that the hash of all lines stands for a run.
std::string Describe(const Message& message);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
