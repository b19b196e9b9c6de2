#ifndef FEEDMILL_CORE_CHUNK_JSONL_H_
#define FEEDMILL_CORE_CHUNK_JSONL_H_

#include <string>
#include <string_view>
#include <vector>

#include "feedmill/chunk.h"
#include "feedmill/provenance.h"

namespace feedmill {

// Appends row `row` as one line of JSON without its newline (docs/design.md,
// Output): a bare value for a single unnamed component, else an object in
// component order; compact separators; UTF-8 unescaped; floats as Python's
// repr of their own dtype.
void AppendJson(const Chunk& chunk, size_t row, std::string& out);

// The same for a byte string.
void AppendJson(std::string_view bytes, std::string& out);

// [{"file":…,"offset":…,"record":…,"epoch":…}, …]; file and offset where they
// say something.
void AppendJson(const std::vector<RecordOrigin>& records, std::string& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_JSONL_H_
