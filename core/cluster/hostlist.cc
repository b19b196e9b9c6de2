#include "core/cluster/hostlist.h"

#include <optional>

#include "core/base/status.h"
#include "core/cluster/words.h"

namespace feedmill {
namespace {

constexpr size_t kHostlistTextMax = size_t{1} << 20;
constexpr size_t kNameMax = 253;

// Shortens a list for messages: it may be a megabyte long.
std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 100;
  return fmt::format("'{}{}'", text.substr(0, kShown),
                     text.size() > kShown ? "…" : "");
}

bool IsNameLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

class HostlistParser {
 public:
  explicit HostlistParser(std::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<std::string>> Parse() {
    if (text_.empty()) return InvalidArgument("the host list is empty");
    if (text_.size() > kHostlistTextMax) {
      return InvalidArgument("a host list of {} bytes is over the limit of {}",
                             text_.size(), kHostlistTextMax);
    }
    for (;;) {
      FM_RETURN_IF_ERROR(ParseItem());
      if (at_ == text_.size()) return std::move(hosts_);
      ++at_;  // the comma that ended the item
    }
  }

 private:
  absl::Status Wrong(std::string_view why) const {
    return InvalidArgument("the host list {} is wrong at character {}: {}",
                           Quoted(text_), at_ + 1, why);
  }

  // Parses names and groups up to a comma or the end. A group multiplies the
  // names.
  absl::Status ParseItem() {
    std::vector<std::string> names = {""};
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',') {
      const char c = text_[at_];
      if (c == '[') {
        FM_RETURN_IF_ERROR(ParseGroup(&names));
      } else if (IsNameLetter(c)) {
        const size_t from = at_;
        while (at_ < text_.size() && IsNameLetter(text_[at_])) ++at_;
        FM_RETURN_IF_ERROR(
            Append({std::string(text_.substr(from, at_ - from))}, &names));
      } else {
        return Wrong(c == ']' ? "']' without a '['"
                              : "a host name cannot have this character");
      }
    }
    if (at_ == start) return Wrong("a host name is missing");
    if (hosts_.size() + names.size() > kHostsMax) return TooMany();
    hosts_.insert(hosts_.end(), names.begin(), names.end());
    return absl::OkStatus();
  }

  // Parses "[08-10,12]" and appends each number to each of the names.
  absl::Status ParseGroup(std::vector<std::string>* names) {
    const size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return Wrong("'[' without a ']'");
    std::vector<std::string> numbers;
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    for (const std::string_view range : SplitWords(inside, ',')) {
      FM_RETURN_IF_ERROR(ParseRange(range, &numbers));
    }
    FM_RETURN_IF_ERROR(Append(numbers, names));
    at_ = end + 1;
    return absl::OkStatus();
  }

  absl::Status ParseRange(std::string_view range,
                          std::vector<std::string>* numbers) const {
    constexpr size_t kDigitsMax = 18;
    const size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    const std::string_view high =
        dash == std::string_view::npos ? low : range.substr(dash + 1);
    const std::optional<int64_t> first = ParseDecimal(low);
    const std::optional<int64_t> last = ParseDecimal(high);
    if (!first || !last || low.size() > kDigitsMax ||
        high.size() > kDigitsMax) {
      return Wrong("between brackets stand numbers and ranges such as 1-3");
    }
    if (*last < *first) {
      return Wrong(fmt::format("the range {} runs down", range));
    }
    if (static_cast<uint64_t>(*last - *first) >= kHostsMax - numbers->size()) {
      return TooMany();
    }
    const size_t width = low.front() == '0' ? low.size() : 0;
    for (int64_t number = *first; number <= *last; ++number) {
      numbers->push_back(fmt::format("{:0{}}", number, width));
    }
    return absl::OkStatus();
  }

  absl::Status Append(const std::vector<std::string>& ends,
                      std::vector<std::string>* names) const {
    if (ends.size() > kHostsMax / names->size()) return TooMany();
    std::vector<std::string> all;
    all.reserve(names->size() * ends.size());
    for (const std::string& name : *names) {
      for (const std::string& end : ends) {
        if (name.size() + end.size() > kNameMax) {
          return Wrong("a host name has more than 253 characters");
        }
        all.push_back(name + end);
      }
    }
    *names = std::move(all);
    return absl::OkStatus();
  }

  absl::Status TooMany() const {
    return Wrong(fmt::format("it has more than {} hosts", kHostsMax));
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::vector<std::string> hosts_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandHostlist(std::string_view text) {
  return HostlistParser(text).Parse();
}

absl::StatusOr<std::vector<int64_t>> ExpandTasksPerNode(std::string_view text) {
  const auto wrong = [&](std::string_view why) {
    return InvalidArgument("the tasks per node {} are wrong: {}", Quoted(text),
                           why);
  };
  constexpr auto kMax = static_cast<int64_t>(kHostsMax);
  std::vector<int64_t> counts;
  int64_t total = 0;
  for (std::string_view item :
       SplitWords(text.substr(0, kHostlistTextMax), ',')) {
    std::optional<int64_t> times = 1;
    const size_t open = item.find("(x");
    if (open != std::string_view::npos) {
      if (!item.ends_with(')')) return wrong("a '(x' without its ')'");
      times = ParseDecimal(item.substr(open + 2, item.size() - open - 3));
    }
    const std::optional<int64_t> count = ParseDecimal(item.substr(0, open));
    if (!count || !times || *count < 1 || *times < 1) {
      return wrong("write counts and repetitions from 1 on, such as 3(x2),1");
    }
    if (*count > kMax || *times > kMax || *count * *times > kMax - total) {
      return wrong(fmt::format("more than {} tasks", kMax));
    }
    total += *count * *times;
    counts.insert(counts.end(), static_cast<size_t>(*times), *count);
  }
  return counts;
}

}  // namespace feedmill
