#ifndef FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
#define FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_

#include <cstdint>
#include <string>

#include "core/wire/message.h"

namespace feedmill::sim {

// What a message says, on one line.
std::string Describe(const Message& message);

// Folds what a message says into `hash`; what stands in the line does, in less
// time.
uint64_t Fold(uint64_t hash, const Message& message);
uint64_t Fold(uint64_t hash, const std::string& text);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
