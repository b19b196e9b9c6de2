#ifndef FEEDMILL_TOOLS_COMMAND_ELEMENT_TABLE_H_
#define FEEDMILL_TOOLS_COMMAND_ELEMENT_TABLE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "feedmill/element.h"
#include "tools/command/terminal_picture.h"

namespace feedmill {

// Cells of a table for people, row by row; the first row has the names.
using TableRows = std::vector<std::vector<std::string>>;

// Returns the rows with aligned columns; columns with numbers only are aligned
// at their right end. If lines were longer than `width` characters, or a cell
// has several lines, each row is a block of lines "name  cell".
std::string AlignedTable(const TableRows& rows, size_t width);

// Returns elements as such rows. Large arrays are shown by dtype and shape, and
// byte strings as ShownBytes does. With a protocol, images have a picture on a
// line of its own.
TableRows TableOfElements(const ElementSpec& spec,
                          std::span<const Chunk> chunks,
                          PictureProtocol pictures = PictureProtocol::kNone);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_ELEMENT_TABLE_H_
