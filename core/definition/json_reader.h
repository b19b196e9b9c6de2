#ifndef FEEDMILL_CORE_DEFINITION_JSON_READER_H_
#define FEEDMILL_CORE_DEFINITION_JSON_READER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "core/base/status.h"
#include "feedmill/expr.h"

namespace feedmill {

// Reads typed members of one JSON object of a graph's canonical text. After the
// first error, further reads do nothing. Only the .cc files that read that text
// include this header (nlohmann-json is heavy).
class JsonReader {
 public:
  using Json = nlohmann::json;

  JsonReader(const Json& json, std::string where) : json_(json), where_(where) {
    if (!json_.is_object()) Fail("is not an object");
  }

  // Checks that the object has exactly these keys.
  JsonReader& Expect(const std::vector<const char*>& keys) {
    if (!status_.ok()) return *this;
    for (const char* key : keys) {
      if (!json_.contains(key)) {
        Fail(fmt::format("lacks \"{}\"", key));
        return *this;
      }
    }
    if (json_.size() != keys.size()) Fail("has an unknown key");
    return *this;
  }
  JsonReader& Get(const char* key, int64_t& out) {
    if (!status_.ok()) return *this;
    const Json& value = json_[key];
    constexpr auto kMax = std::numeric_limits<int64_t>::max();
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() &&
         value.get<uint64_t>() > static_cast<uint64_t>(kMax))) {
      Fail(fmt::format("\"{}\" is not an int64", key));
    } else {
      out = value.get<int64_t>();
    }
    return *this;
  }
  JsonReader& Get(const char* key, std::optional<int64_t>& out) {
    if (!status_.ok() || json_[key].is_null()) return *this;
    return Get(key, out.emplace());
  }
  JsonReader& Get(const char* key, std::optional<uint64_t>& out) {
    if (!status_.ok() || json_[key].is_null()) return *this;
    if (!json_[key].is_number_unsigned()) {
      Fail(fmt::format("\"{}\" is not a uint64", key));
    } else {
      out = json_[key].get<uint64_t>();
    }
    return *this;
  }
  JsonReader& Get(const char* key, bool& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_boolean()) {
      Fail(fmt::format("\"{}\" is not a bool", key));
    } else {
      out = json_[key].get<bool>();
    }
    return *this;
  }
  JsonReader& Get(const char* key, double& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_number()) {
      Fail(fmt::format("\"{}\" is not a number", key));
    } else {
      out = json_[key].get<double>();
    }
    return *this;
  }
  JsonReader& Get(const char* key, Expr& out) {
    if (!status_.ok()) return *this;
    status_ = GetExpr(json_[key], out);
    return *this;
  }
  JsonReader& GetBytes(const char* key, std::string& out) {
    if (status_.ok()) status_ = Bytes(json_[key], out);
    return *this;
  }
  JsonReader& Get(const char* key, std::vector<std::string>& out) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_array()) {
      Fail(fmt::format("\"{}\" is not a list", key));
      return *this;
    }
    for (const Json& item : json_[key]) {
      status_ = Bytes(item, out.emplace_back());
      if (!status_.ok()) return *this;
    }
    return *this;
  }
  JsonReader& Get(const char* key, std::vector<int64_t>& out) {
    if (!status_.ok()) return *this;
    const Json& list = json_[key];
    const bool integers =
        list.is_array() &&
        std::all_of(list.begin(), list.end(), [](const Json& item) {
          return item.is_number_integer() &&
                 (!item.is_number_unsigned() || item.get<int64_t>() >= 0);
        });
    if (!integers) {
      Fail(fmt::format("\"{}\" is not a list of int64", key));
    } else {
      out = list.get<std::vector<int64_t>>();
    }
    return *this;
  }
  // Reads one of two words and sets `out` to the corresponding value.
  template <class T>
  JsonReader& Get(const char* key, const char* first, T first_value,
                  const char* second, T second_value, T& out) {
    if (!status_.ok()) return *this;
    if (json_[key] == first) {
      out = first_value;
    } else if (json_[key] == second) {
      out = second_value;
    } else {
      Fail(fmt::format("\"{}\" is neither {} nor {}", key, first, second));
    }
    return *this;
  }
  // Reads one of a few words; `out` is its index.
  JsonReader& GetWord(const char* key,
                      const std::vector<std::string_view>& words, size_t& out) {
    if (!status_.ok()) return *this;
    const Json& value = json_[key];
    const auto found = value.is_string() ? std::find(words.begin(), words.end(),
                                                     value.get<std::string>())
                                         : words.end();
    if (found == words.end()) {
      Fail(fmt::format("\"{}\" is none of the known words", key));
    } else {
      out = static_cast<size_t>(found - words.begin());
    }
    return *this;
  }
  // Calls read for each item of a list.
  template <class F>
  JsonReader& ForEach(const char* key, F&& read) {
    if (!status_.ok()) return *this;
    if (!json_[key].is_array()) Fail(fmt::format("\"{}\" is not a list", key));
    if (!status_.ok()) return *this;
    for (const Json& item : json_[key]) {
      status_ = read(item);
      if (!status_.ok()) break;
    }
    return *this;
  }

  absl::Status status() const { return status_; }

  static absl::Status Bytes(const Json& json, std::string& out) {
    if (json.is_string()) {
      out = json.get<std::string>();
      return absl::OkStatus();
    }
    const bool hex = json.is_object() && json.size() == 1 &&
                     json.contains("hex") && json["hex"].is_string();
    if (!hex) return InvalidArgument("a name is not a string");
    const auto digits = json["hex"].get<std::string>();
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (digits.size() % 2 != 0 ||
        digits.find_first_not_of(kDigits) != std::string::npos) {
      return InvalidArgument("a name's hex is not hexadecimal");
    }
    out.clear();
    for (size_t i = 0; i < digits.size(); i += 2) {
      out += static_cast<char>(kDigits.find(digits[i]) * 16 +
                               kDigits.find(digits[i + 1]));
    }
    return absl::OkStatus();
  }
  static absl::Status GetExpr(const Json& json, Expr& out) {
    if (!json.is_string()) {
      return InvalidArgument("an expression is not a string");
    }
    FM_ASSIGN_OR_RETURN(out, Expr::Parse(json.get<std::string>()));
    return absl::OkStatus();
  }

 private:
  void Fail(const std::string& what) {
    status_ = InvalidArgument("{} {}", where_, what);
  }

  const Json& json_;
  std::string where_;
  absl::Status status_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DEFINITION_JSON_READER_H_
