#include "tools/command/top_screen.h"

#include <curses.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr short kGoodColors = 1;
constexpr short kWarningColors = 2;

attr_t AttributesOf(TopStyle style) {
  switch (style) {
    case TopStyle::kPlain:
      return A_NORMAL;
    case TopStyle::kStrong:
      return A_BOLD;
    case TopStyle::kQuiet:
      return A_DIM;
    case TopStyle::kGood:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kGoodColors))
                          : A_NORMAL;
    case TopStyle::kWarning:
      return has_colors() ? static_cast<attr_t>(COLOR_PAIR(kWarningColors))
                          : A_BOLD;
    case TopStyle::kChosen:
      return A_REVERSE;
  }
  return A_NORMAL;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TopScreen>> TopScreen::Open() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return FailedPrecondition(
        "top needs a terminal; feedmill status --watch 1s prints to anything");
  }
  // initscr would end the process where this fails.
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    const char* name = std::getenv("TERM");
    return FailedPrecondition(
        "the terminal '{}' (TERM) is not known here; set TERM=xterm, or use "
        "feedmill status --watch 1s",
        name == nullptr ? "" : name);
  }
  cbreak();
  noecho();
  nodelay(stdscr, TRUE);
  keypad(stdscr, TRUE);
  curs_set(0);
  if (has_colors()) {
    start_color();
    use_default_colors();
    init_pair(kGoodColors, COLOR_GREEN, -1);
    init_pair(kWarningColors, COLOR_RED, -1);
  }
  return std::unique_ptr<TopScreen>(new TopScreen);
}

TopScreen::~TopScreen() { endwin(); }

std::pair<size_t, size_t> TopScreen::Size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 &&
      size.ws_col > 0 && (size.ws_row != LINES || size.ws_col != COLS)) {
    resizeterm(size.ws_row, size.ws_col);
    clear();
  }
  return {static_cast<size_t>(COLS), static_cast<size_t>(LINES)};
}

void TopScreen::Draw(const std::vector<TopLine>& lines) {
  erase();
  int row = 0;
  for (const TopLine& line : lines) {
    move(row++, 0);
    for (const TopSpan& span : line) {
      attrset(static_cast<int>(AttributesOf(span.style)));
      addnstr(span.text.c_str(), static_cast<int>(span.text.size()));
    }
  }
  attrset(A_NORMAL);
  refresh();
}

std::optional<TopScreen::Pressed> TopScreen::NextKey() {
  switch (getch()) {
    case ERR:
      return std::nullopt;
    case 'q':
    case 'Q':
      return Pressed{true, std::nullopt};
    case KEY_UP:
    case 'k':
      return Pressed{false, TopView::Key::kUp};
    case KEY_DOWN:
    case 'j':
      return Pressed{false, TopView::Key::kDown};
    case KEY_PPAGE:
      return Pressed{false, TopView::Key::kPageUp};
    case KEY_NPAGE:
      return Pressed{false, TopView::Key::kPageDown};
    default:
      return Pressed{false, std::nullopt};
  }
}

}  // namespace feedmill
