// A list of files of any bytes: refused, or files with names.

#include "core/base/check.h"
#include "core/io/file_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* const name :
       {"/data/list.jsonl", "s3://bucket/list.jsonl", "https://h/list?sig=1"}) {
    const auto files = feedmill::ParseFileList(text, name);
    if (!files.ok()) continue;
    FM_CHECK(!files->empty());
    for (const feedmill::FoundFile& file : *files) {
      FM_CHECK(!file.name.empty());
      FM_CHECK(file.name.find('\0') == std::string::npos);
    }
  }
  return 0;
}
