#ifndef FEEDMILL_CORE_OPS_CHAT_TEMPLATE_H_
#define FEEDMILL_CORE_OPS_CHAT_TEMPLATE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// The texts around a message: `before`, the content, `end`, `after`.
struct ChatTurn {
  std::string_view before;
  std::string_view end;
  std::string_view after;
};

// The form of a chat in the texts that a family of models was trained on.
struct ChatTemplate {
  enum class SystemPlace { kTurn, kRefused, kInUser };
  // Python's str.strip of contents.
  enum class Strip { kNever, kAll, kUserAndAssistant };

  std::string_view name;
  std::string_view begin;
  ChatTurn system, user, assistant;
  // A message of another role: `other_role`, its name, `other`. Refused if
  // `other_role` is empty.
  std::string_view other_role = {};
  ChatTurn other = {};
  std::string_view finish = {};  // after the last message
  std::string_view prompt = {};  // begins the assistant's answer
  SystemPlace system_place = SystemPlace::kTurn;
  Strip strip = Strip::kNever;
  bool alternates = false;               // user, assistant, user, …
  std::string_view default_system = {};  // if there is no system message
};

// A chat as a text, and the places in bytes, [begin, end), that the assistant
// writes.
struct ChatText {
  std::string text;
  std::vector<std::pair<size_t, size_t>> answers;
};

// Returns the template of a name. InvalidArgument lists the names.
absl::StatusOr<const ChatTemplate*> FindChatTemplate(std::string_view name);

// Formats a JSON list of messages, [{"role": "user", "content": "…"}].
// `prompt`: with the beginning of the assistant's next answer. DataLoss if the
// template has no place for a message.
absl::Status FormatChat(const ChatTemplate& form, std::string_view messages,
                        bool prompt, ChatText& chat);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_OPS_CHAT_TEMPLATE_H_
