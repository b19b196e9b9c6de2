#ifndef FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
#define FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_

#include <cstdint>
#include <string>

#include "core/wire/message.h"

namespace feedmill::sim {

// Describes a message on one line.
std::string Describe(const Message& message);

// Adds a message to `hash`. Covers the fields that Describe prints, but is
// faster.
uint64_t Fold(uint64_t hash, const Message& message);
uint64_t Fold(uint64_t hash, const std::string& text);

}  // namespace feedmill::sim

#endif  // FEEDMILL_TESTS_SIM_DESCRIBE_MESSAGE_H_
