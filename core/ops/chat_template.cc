#include "core/ops/chat_template.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "core/ops/shown_text.h"

namespace feedmill {
namespace {

using SystemPlace = ChatTemplate::SystemPlace;
using Strip = ChatTemplate::Strip;

constexpr std::string_view kImEnd = "<|im_end|>";
constexpr ChatTurn kImOther{"\n", kImEnd, "\n"};
constexpr std::string_view kImPrompt = "<|im_start|>assistant\n";

// The models' own templates are in tests/python/tokenizers/make_chats.py.
constexpr std::array kTemplates{
    ChatTemplate{.name = "chatml",
                 .begin = "",
                 .system = {"<|im_start|>system\n", kImEnd, "\n"},
                 .user = {"<|im_start|>user\n", kImEnd, "\n"},
                 .assistant = {kImPrompt, kImEnd, "\n"},
                 .other_role = "<|im_start|>",
                 .other = kImOther,
                 .prompt = kImPrompt},
    ChatTemplate{.name = "qwen2",
                 .begin = "",
                 .system = {"<|im_start|>system\n", kImEnd, "\n"},
                 .user = {"<|im_start|>user\n", kImEnd, "\n"},
                 .assistant = {kImPrompt, kImEnd, "\n"},
                 .other_role = "<|im_start|>",
                 .other = kImOther,
                 .prompt = kImPrompt,
                 .default_system = "You are a helpful assistant."},
    ChatTemplate{
        .name = "llama3",
        .begin = "<|begin_of_text|>",
        .system = {"<|start_header_id|>system<|end_header_id|>\n\n",
                   "<|eot_id|>", ""},
        .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>",
                 ""},
        .assistant = {"<|start_header_id|>assistant<|end_header_id|>\n\n",
                      "<|eot_id|>", ""},
        .other_role = "<|start_header_id|>",
        .other = {"<|end_header_id|>\n\n", "<|eot_id|>", ""},
        .prompt = "<|start_header_id|>assistant<|end_header_id|>\n\n",
        .strip = Strip::kAll},
    ChatTemplate{.name = "llama2",
                 .begin = "",
                 .system = {"<<SYS>>\n", "\n<</SYS>>\n\n", ""},
                 .user = {"<s>[INST] ", " [/INST]", ""},
                 .assistant = {" ", " </s>", ""},
                 .system_place = SystemPlace::kInUser,
                 .strip = Strip::kUserAndAssistant,
                 .alternates = true},
    ChatTemplate{.name = "mistral",
                 .begin = "<s>",
                 .system = {},
                 .user = {"[INST] ", " [/INST]", ""},
                 .assistant = {"", "</s>", ""},
                 .system_place = SystemPlace::kRefused,
                 .alternates = true},
    ChatTemplate{.name = "gemma",
                 .begin = "<bos>",
                 .system = {},
                 .user = {"<start_of_turn>user\n", "<end_of_turn>", "\n"},
                 .assistant = {"<start_of_turn>model\n", "<end_of_turn>", "\n"},
                 .prompt = "<start_of_turn>model\n",
                 .system_place = SystemPlace::kRefused,
                 .strip = Strip::kAll,
                 .alternates = true},
    ChatTemplate{.name = "zephyr",
                 .begin = "",
                 .system = {"<|system|>\n", "</s>", "\n"},
                 .user = {"<|user|>\n", "</s>", "\n"},
                 .assistant = {"<|assistant|>\n", "</s>", "\n"},
                 .prompt = "<|assistant|>\n"},
    ChatTemplate{.name = "phi3",
                 .begin = "",
                 .system = {"<|system|>\n", "<|end|>", "\n"},
                 .user = {"<|user|>\n", "<|end|>", "\n"},
                 .assistant = {"<|assistant|>\n", "<|end|>", "\n"},
                 .finish = "<|endoftext|>",
                 .prompt = "<|assistant|>\n"},
};

// Returns the bytes of the space with which a text begins; 0 if it begins with
// another character. Python's str.strip has the same spaces.
size_t SpaceAtBegin(std::string_view text) {
  const auto c = text.empty() ? '\0' : text.front();
  if (c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f')) {
    return 1;
  }
  for (const std::string_view two : {"\u0085", "\u00a0"}) {
    if (text.starts_with(two)) return 2;
  }
  if (text.size() < 3) return 0;
  const std::string_view three = text.substr(0, 3);
  const bool in_row = three >= "\u2000" && three <= "\u200a";
  return in_row || three == "\u1680" || three == "\u2028" ||
                 three == "\u2029" || three == "\u202f" || three == "\u205f" ||
                 three == "\u3000"
             ? 3
             : 0;
}

std::string_view Stripped(std::string_view text) {
  while (const size_t size = SpaceAtBegin(text)) text.remove_prefix(size);
  for (;;) {
    size_t size = 0;
    for (size_t k = 1; k <= std::min<size_t>(3, text.size()); ++k) {
      if (SpaceAtBegin(text.substr(text.size() - k)) == k) size = k;
    }
    if (size == 0) return text;
    text.remove_suffix(size);
  }
}

// Writes the messages of one chat.
class ChatWriter {
 public:
  ChatWriter(const ChatTemplate& form, ChatText& chat)
      : form_(form), chat_(chat) {}

  void Begin(bool has_system) {
    chat_.text += form_.begin;
    if (!has_system && !form_.default_system.empty()) {
      Write(form_.system, form_.default_system);
    }
  }

  absl::Status Add(std::string_view role, std::string_view content) {
    const bool first = count_++ == 0;
    if (role == "system") return AddSystem(content, first);
    const bool is_user = role == "user", is_assistant = role == "assistant";
    if (form_.alternates && is_user != expects_user_) {
      return DataLoss("{}: roles must alternate: user, assistant, …",
                      form_.name);
    }
    expects_user_ = !is_user;
    if (is_user) {
      const std::string whole = system_.empty() ? "" : system_.append(content);
      Write(form_.user, Kept(whole.empty() ? content : whole));
      system_.clear();
    } else if (is_assistant) {
      chat_.text += form_.assistant.before;
      const size_t begin = chat_.text.size();
      Write({"", form_.assistant.end, ""}, Kept(content));
      chat_.answers.emplace_back(begin, chat_.text.size());
      chat_.text += form_.assistant.after;
    } else if (form_.other_role.empty()) {
      return DataLoss("{} has no role \"{}\"", form_.name, ShownText(role));
    } else {
      chat_.text.append(form_.other_role).append(role);
      Write(form_.other, Kept(content));
    }
    return absl::OkStatus();
  }

  void Finish(bool prompt) {
    chat_.text += prompt ? form_.prompt : form_.finish;
  }

 private:
  absl::Status AddSystem(std::string_view content, bool first) {
    const bool placed = form_.system_place == SystemPlace::kTurn ||
                        (form_.system_place == SystemPlace::kInUser && first);
    if (!placed) {
      return DataLoss("{} has no place for {} of the role system", form_.name,
                      first ? "a message" : "a later message");
    }
    if (form_.system_place == SystemPlace::kTurn) {
      Write(form_.system,
            form_.strip == Strip::kAll ? Stripped(content) : content);
    } else {
      system_ =
          fmt::format("{}{}{}", form_.system.before, content, form_.system.end);
    }
    return absl::OkStatus();
  }

  std::string_view Kept(std::string_view content) const {
    return form_.strip == Strip::kNever ? content : Stripped(content);
  }
  void Write(const ChatTurn& turn, std::string_view content) {
    chat_.text.append(turn.before).append(content);
    chat_.text.append(turn.end).append(turn.after);
  }

  const ChatTemplate& form_;
  ChatText& chat_;
  std::string system_{};  // waits for the first message of the user
  int64_t count_ = 0;
  bool expects_user_ = true;
};

// Returns a text member of a message, or null.
const std::string* MemberOf(const nlohmann::json& message, const char* name) {
  if (!message.is_object()) return nullptr;
  const auto found = message.find(name);
  return found == message.end() ? nullptr
                                : found->get_ptr<const std::string*>();
}

}  // namespace

absl::StatusOr<const ChatTemplate*> FindChatTemplate(std::string_view name) {
  std::string names;
  for (const ChatTemplate& known : kTemplates) {
    if (known.name == name) return &known;
    names.append(names.empty() ? "" : ", ").append(known.name);
  }
  return InvalidArgument("no chat template is called '{}'; there are {}",
                         ShownText(name), names);
}

absl::Status FormatChat(const ChatTemplate& form, std::string_view messages,
                        bool prompt, ChatText& chat) {
  chat.text.clear();
  chat.answers.clear();
  const auto list =
      nlohmann::json::parse(messages.begin(), messages.end(), nullptr,
                            /*allow_exceptions=*/false);
  if (!list.is_array() || list.empty()) {
    return DataLoss(
        "messages are a JSON list of objects with a role and a content, not {}",
        ShownText(messages));
  }
  ChatWriter writer(form, chat);
  const std::string* const first = MemberOf(list.front(), "role");
  writer.Begin(first != nullptr && *first == "system");
  size_t k = 0;
  for (const auto& message : list) {
    const std::string* const role = MemberOf(message, "role");
    const std::string* const content = MemberOf(message, "content");
    if (role == nullptr || content == nullptr) {
      return DataLoss("message {} lacks a role or a content that is a text", k);
    }
    FM_RETURN_IF_ERROR(
        Annotate(writer.Add(*role, *content), fmt::format("message {}", k)));
    ++k;
  }
  writer.Finish(prompt);
  return absl::OkStatus();
}

}  // namespace feedmill
