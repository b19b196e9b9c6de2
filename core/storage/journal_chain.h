#ifndef FEEDMILL_CORE_STORAGE_JOURNAL_CHAIN_H_
#define FEEDMILL_CORE_STORAGE_JOURNAL_CHAIN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace feedmill {

// The version of what journals hold.
inline constexpr uint64_t kJournalFormat = 1;

// XXH3-128 checksum of a journal up to an event.
using ChainChecksum = std::array<uint64_t, 2>;

// Returns the checksum of all before, extended by one payload.
ChainChecksum Extend(const ChainChecksum& before, std::string_view payload);

std::string_view BytesOf(const ChainChecksum& chain);

// The chain before the first event; it differs between journals.
ChainChecksum ChainOf(uint64_t journal);

// Draws the id of a new journal; never 0.
uint64_t DrawJournal();

// Returns "process 7 on HOST": a writer, for people.
std::string ThisProcess();

}  // namespace feedmill

#endif  // FEEDMILL_CORE_STORAGE_JOURNAL_CHAIN_H_
