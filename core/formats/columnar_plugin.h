#ifndef FEEDMILL_CORE_FORMATS_COLUMNAR_PLUGIN_H_
#define FEEDMILL_CORE_FORMATS_COLUMNAR_PLUGIN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/io/aws_key_source.h"
#include "core/io/cloud_files.h"
#include "core/sources/columnar_file.h"

// libfeedmill_arrow.so reads Parquet and Arrow files with Apache Arrow, whose
// libraries take 80 MB, and has its AWS client's credential chain: feedmill
// itself does not need them, and loads the plugin when a pipeline first does.
//
// The plugin implements C++ classes of this source tree. Therefore both must be
// of one build: feedmill compares ColumnarBuild() with the plugin's before it
// calls anything else.

extern "C" {
// The one symbol of the plugin, `feedmill_arrow_plugin`.
struct FeedmillArrowPlugin {
  const char* build;  // ColumnarBuild() of the plugin
  const feedmill::ColumnarReader& (*reader)();
  // Null if the plugin is built without S3.
  const feedmill::AwsKeySource& (*aws_keys)();
  feedmill::MakeCloudFiles cloud_files;
};
}

namespace feedmill {

inline constexpr char kColumnarPluginSymbol[] = "feedmill_arrow_plugin";

// Identifies the build: the version of feedmill, of the classes of
// columnar_file.h, and of the compiler.
const char* ColumnarBuild();

// Returns the reader of the plugin. The first call loads the plugin, and it
// stays loaded. The candidates are, in this order:
//
// - the file of FEEDMILL_ARROW_PLUGIN
// - the file in ../lib/feedmill beside the folder of this program
// - the file beside the shared object that contains this code
//
// FailedPrecondition tells how to install it. Thread-safety: any thread.
absl::StatusOr<const ColumnarReader*> LoadColumnarReader();

// Returns the credential chain of the same plugin, loaded in the same way.
absl::StatusOr<const AwsKeySource*> LoadAwsKeySource();

// Returns a file system of the same plugin, loaded in the same way, for gs://
// or az:// names.
absl::StatusOr<std::unique_ptr<const FileSystem>> LoadCloudFiles(
    const std::string& scheme, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_COLUMNAR_PLUGIN_H_
