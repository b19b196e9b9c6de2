#include "core/formats/columnar_plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "core/base/status.h"
#include "core/plugins/shared_object.h"

namespace feedmill {
namespace {

constexpr char kVariable[] = "FEEDMILL_ARROW_PLUGIN";
constexpr char kAdvice[] =
    "in Python, `pip install pyarrow==26.*`; for a build from source, "
    "tools/setup --arrow, configure and build feedmill again, and install it";

// Returns the parent of this program's folder. "" if the system does not report
// it.
std::string ProgramPrefix() {
  std::array<char, 4096> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0 || static_cast<size_t>(size) == path.size()) return "";
  std::string prefix(path.data(), static_cast<size_t>(size));
  for (int part = 0; part < 2; ++part) {
    const size_t slash = prefix.rfind('/');
    if (slash == std::string::npos) return "";
    prefix.resize(slash);
  }
  return prefix;
}

// Returns the folder of the program or shared object that contains this code.
// "" if the system does not report it. In a Python package it is a shared
// object.
std::string FolderOfThisCode() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&kVariable), &found) == 0 ||
      found.dli_fname == nullptr) {
    return "";
  }
  const std::string file = found.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

// Returns the candidate files of the plugin, the preferred one first.
std::vector<std::string> Candidates() {
  const char* const named = std::getenv(kVariable);
  if (named != nullptr && *named != '\0') return {named};
  const std::string prefix = ProgramPrefix();
  std::vector<std::string> files;
  for (const char* const folder : {"lib", FEEDMILL_LIBRARY_FOLDER}) {
    files.push_back(
        fmt::format("{}/{}/feedmill/libfeedmill_arrow.so", prefix, folder));
  }
  files.push_back(prefix + "/libfeedmill_arrow.so");  // of a Python package
  if (const std::string folder = FolderOfThisCode(); !folder.empty()) {
    files.push_back(folder + "libfeedmill_arrow.so");
  }
  return files;
}

absl::StatusOr<const FeedmillArrowPlugin*> LoadFrom(const std::string& path) {
  auto object = SharedObject::Load(path);
  if (!object.ok()) {
    return FailedPrecondition("{}; {}", ErrorText(object.status()), kAdvice);
  }
  const auto* const plugin =
      object->Find<const FeedmillArrowPlugin*>(kColumnarPluginSymbol);
  if (plugin == nullptr) {
    return FailedPrecondition(
        "{}: it is no libfeedmill_arrow.so; set {} to one", path, kVariable);
  }
  if (std::strcmp(plugin->build, ColumnarBuild()) != 0) {
    return FailedPrecondition(
        "{}: it is of another build: \"{}\", where this program is \"{}\"; "
        "install both from one build",
        path, plugin->build, ColumnarBuild());
  }
  object->Keep();
  return plugin;
}

// `need`: names the purpose in the error, as the beginning of a sentence.
absl::StatusOr<const FeedmillArrowPlugin*> FindPlugin(const char* need) {
  const std::vector<std::string> files = Candidates();
  for (const std::string& file : files) {
    if (access(file.c_str(), F_OK) == 0) return LoadFrom(file);
  }
  return FailedPrecondition(
      "{} need the plugin libfeedmill_arrow.so, which is not at {}; {} (or set "
      "{} to its path)",
      need, files.front(), kAdvice, kVariable);
}

absl::StatusOr<const AwsKeySource*> FindAwsKeySource() {
  FM_ASSIGN_OR_RETURN(
      const FeedmillArrowPlugin* const plugin,
      FindPlugin("Keys for S3 that the variables AWS_ACCESS_KEY_ID and "
                 "AWS_SECRET_ACCESS_KEY do not have"));
  if (plugin->aws_keys != nullptr) return &plugin->aws_keys();
  return FailedPrecondition(
      "libfeedmill_arrow.so is built with an Arrow that has no S3: {}",
      kAdvice);
}

}  // namespace

absl::StatusOr<const ColumnarReader*> LoadColumnarReader() {
  static const absl::StatusOr<const ColumnarReader*> reader =
      []() -> absl::StatusOr<const ColumnarReader*> {
    FM_ASSIGN_OR_RETURN(const FeedmillArrowPlugin* const plugin,
                        FindPlugin("Parquet and Arrow files"));
    return &plugin->reader();
  }();
  return reader;
}

absl::StatusOr<std::unique_ptr<const FileSystem>> LoadCloudFiles(
    const std::string& scheme, const CloudSettings& settings) {
  FM_ASSIGN_OR_RETURN(const FeedmillArrowPlugin* const plugin,
                      FindPlugin(fmt::format("{}:// files", scheme).c_str()));
  return plugin->cloud_files(scheme, settings);
}

absl::StatusOr<const AwsKeySource*> LoadAwsKeySource() {
  static const absl::StatusOr<const AwsKeySource*> source = FindAwsKeySource();
  return source;
}

}  // namespace feedmill
