#ifndef FEEDMILL_CORE_CHUNK_JSONL_H_
#define FEEDMILL_CORE_CHUNK_JSONL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "feedmill/element.h"

namespace feedmill {

// Appends row `row` as one line of JSON without its newline (docs/design.md,
// Output). A single unnamed component is a bare value; other components form an
// object in component order. Separators are compact, UTF-8 is unescaped, and
// floats are written as Python's repr of their own dtype.
void AppendJson(const Chunk& chunk, size_t row, std::string& out);

// Appends a byte string the same way.
void AppendJson(std::string_view bytes, std::string& out);

// Appends one item of a column the same way, independent of its row.
void AppendJsonItem(const Column& column, int64_t item, std::string& out);

// Appends [{"file":…,"offset":…,"record":…,"epoch":…}, …]. File and offset are
// left out if the record has none.
void AppendJson(const std::vector<RecordOrigin>& records, std::string& out);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_CHUNK_JSONL_H_
