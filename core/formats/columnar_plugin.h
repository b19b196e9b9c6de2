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

// Version of feedmill, of the classes of columnar_file.h, and of the compiler.
const char* ColumnarBuild();

// The reader of the plugin, which is loaded by the first call and stays loaded:
// the file of FEEDMILL_ARROW_PLUGIN, else the one in ../lib/feedmill beside the
// folder of this program, else the one beside the shared object that has this
// code. FailedPrecondition says how to install it.
// Thread-safety: any thread.
absl::StatusOr<const ColumnarReader*> LoadColumnarReader();

// The credential chain of the same plugin, as above.
absl::StatusOr<const AwsKeySource*> LoadAwsKeySource();

// A file system of the same plugin, as above, for gs:// or az:// names.
absl::StatusOr<std::unique_ptr<const FileSystem>> LoadCloudFiles(
    const std::string& scheme, const CloudSettings& settings);

}  // namespace feedmill

#endif  // FEEDMILL_CORE_FORMATS_COLUMNAR_PLUGIN_H_
