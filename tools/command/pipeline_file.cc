#include "tools/command/pipeline_file.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>

#include "core/base/status.h"

namespace feedmill {
namespace {

std::string PipelineName(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

}  // namespace

absl::StatusOr<Pipeline> LoadPipeline(const std::string& path) {
  constexpr size_t kTextMax = (size_t{1} << 20) + 1;  // the parser's, and one
  std::string text(kTextMax, '\0');
  std::error_code error;
  std::string directory = std::filesystem::current_path(error).string();
  if (path == "-") {
    std::cin.read(text.data(), static_cast<std::streamsize>(kTextMax));
    text.resize(static_cast<size_t>(std::cin.gcount()));
    auto pipeline = ParsePipelineYaml(text, directory);
    if (!pipeline.ok()) return Annotate(pipeline.status(), PipelineName(path));
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
  file.read(text.data(), static_cast<std::streamsize>(kTextMax));
  text.resize(static_cast<size_t>(file.gcount()));
  directory = std::filesystem::absolute(path, error).parent_path().string();
  auto pipeline = ParsePipelineYaml(text, directory);
  if (!pipeline.ok()) return Annotate(pipeline.status(), path);
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
