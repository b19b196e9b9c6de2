#include "core/definition/pipeline_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>

#include "core/base/status.h"

namespace feedmill {
namespace {

std::string PipelineName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

// Takes "WORD NUMBER" from the front of `text` and returns the digits, or "" if
// `text` does not begin so.
std::string TakeNumber(std::string_view word, std::string_view& text) {
  if (!text.starts_with(word)) return "";
  const std::string_view rest = text.substr(word.size());
  const size_t digits =
      std::min(rest.find_first_not_of("0123456789"), rest.size());
  text = rest.substr(digits);
  return std::string(rest.substr(0, digits));
}

// Adds the file to an error of the parser ("line 4, column 5: …") in the format
// of compilers: "photos.yaml:4:5: …".
absl::Status WithFile(const absl::Status& status, const std::string& path) {
  const std::string message = ErrorText(status);
  std::string_view text = message;
  std::string place = PipelineName(path);
  if (const std::string line = TakeNumber("line ", text); !line.empty()) {
    place += ":" + line;
    const std::string column = TakeNumber(", column ", text);
    if (!column.empty()) place += ":" + column;
    if (text.starts_with(": ")) {
      return absl::Status(status.code(), place + std::string(text));
    }
  }
  return Annotate(status, PipelineName(path));
}

}  // namespace

absl::StatusOr<Pipeline> LoadPipeline(const std::string& path) {
  constexpr size_t kReadMax =
      (size_t{1} << 20) + 1;  // one more than the parser accepts
  std::string text(kReadMax, '\0');
  std::error_code error;
  std::string directory = std::filesystem::current_path(error).string();
  if (path == "-") {
    std::cin.read(text.data(), static_cast<std::streamsize>(kReadMax));
    text.resize(static_cast<size_t>(std::cin.gcount()));
    auto pipeline = ParsePipelineYaml(text, directory);
    if (!pipeline.ok()) return WithFile(pipeline.status(), path);
    return pipeline;
  }
  if (!std::filesystem::exists(path, error)) {
    return NotFound("{}: there is no such file", path);
  }
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument("{}: is a folder; name a pipeline's file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return InvalidArgument("{}: no permission to read it", path);
  file.read(text.data(), static_cast<std::streamsize>(kReadMax));
  text.resize(static_cast<size_t>(file.gcount()));
  directory = std::filesystem::absolute(path, error).parent_path().string();
  auto pipeline = ParsePipelineYaml(text, directory);
  if (!pipeline.ok()) return WithFile(pipeline.status(), path);
  return pipeline;
}

absl::Status WithLine(absl::Status status, const Pipeline& pipeline,
                      const std::string& path) {
  const std::optional<GraphPlace> place = GraphPlaceOf(status);
  if (!place.has_value()) return status;
  return Annotate(status, fmt::format("{}:{}", PipelineName(path),
                                      pipeline.lines.Of(*place)));
}

}  // namespace feedmill
