#include "core/formats/columnar_plugin.h"

#include <cstring>

#include "core/base/status.h"
#include "core/plugins/shared_object.h"
#include "core/plugins/shipped_plugin.h"

namespace feedmill {
namespace {

constexpr ShippedPlugin kPlugin{"FEEDMILL_ARROW_PLUGIN",
                                "libfeedmill_arrow.so"};
constexpr char kAdvice[] =
    "in Python, `pip install pyarrow==26.*`; for a build from source, "
    "tools/setup --arrow, configure and build feedmill again, and install it";

absl::StatusOr<const FeedmillArrowPlugin*> LoadFrom(const std::string& path) {
  auto object = SharedObject::Load(path);
  if (!object.ok()) {
    return FailedPrecondition("{}; {}", ErrorText(object.status()), kAdvice);
  }
  const auto* const plugin =
      object->Find<const FeedmillArrowPlugin*>(kColumnarPluginSymbol);
  if (plugin == nullptr) {
    return FailedPrecondition(
        "{}: it is no libfeedmill_arrow.so; set {} to one", path,
        kPlugin.variable);
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
  if (const auto file = FileOf(kPlugin)) return LoadFrom(*file);
  return FailedPrecondition(
      "{} need the plugin libfeedmill_arrow.so, which is not at {}; {} (or set "
      "{} to its path)",
      need, PlacesOf(kPlugin).front(), kAdvice, kPlugin.variable);
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
