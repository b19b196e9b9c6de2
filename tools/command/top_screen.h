#ifndef FEEDMILL_TOOLS_COMMAND_TOP_SCREEN_H_
#define FEEDMILL_TOOLS_COMMAND_TOP_SCREEN_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command/top_view.h"

namespace feedmill {

// The terminal as a screen of lines and keys. The only user of ncurses. One at
// a time; the destructor restores the terminal.
class TopScreen {
 public:
  // FailedPrecondition if this process has no terminal, or one that is not
  // known.
  static absl::StatusOr<std::unique_ptr<TopScreen>> Open();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  // Columns and rows. Reads the terminal's present size.
  std::pair<size_t, size_t> Size();
  void Draw(const std::vector<TopLine>& lines);
  struct Pressed {
    bool quits = false;
    std::optional<TopView::Key> key{};  // nullopt: another key
  };
  // A key that was pressed; nullopt if there is none now.
  std::optional<Pressed> NextKey();

 private:
  TopScreen() = default;
};

}  // namespace feedmill

#endif  // FEEDMILL_TOOLS_COMMAND_TOP_SCREEN_H_
