#ifndef FEEDMILL_TOOLS_COMMAND_TERMINAL_PICTURE_H_
#define FEEDMILL_TOOLS_COMMAND_TERMINAL_PICTURE_H_

#include <functional>
#include <string>
#include <string_view>

#include "feedmill/element.h"

namespace feedmill {

// Ways in which a terminal takes pictures.
enum class PictureProtocol {
  kNone,
  kKitty,  // graphics protocol: kitty, Ghostty
  kIterm,  // inline images: iTerm2, WezTerm, mintty
};

// Returns the protocol of the terminal that these variables name; kNone for an
// unknown one, and inside tmux and screen, which keep pictures back.
// `variable`: returns "" if there is no such variable.
PictureProtocol PictureProtocolOf(
    const std::function<std::string(const char*)>& variable);

// Returns the escape sequence that draws the image of a row, a few lines high:
// of encoded bytes, or of uint8 [height, width, 1 or 3]. "" if it is no image.
std::string TerminalPicture(PictureProtocol protocol, const Column& column,
                            size_t row);

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TERMINAL_PICTURE_H_
