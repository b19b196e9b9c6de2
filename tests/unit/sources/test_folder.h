#ifndef FEEDMILL_TESTS_UNIT_SOURCES_TEST_FOLDER_H_
#define FEEDMILL_TESTS_UNIT_SOURCES_TEST_FOLDER_H_

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/sources/crc32c.h"

namespace feedmill {

// A temporary folder, deleted with this object.
class TestFolder {
 public:
  TestFolder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "feedmill-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const std::string& name) const {
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

  // Writes a file and creates its folders; returns its path.
  std::string Write(const std::string& name, std::string_view text) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(
        std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    return path;
  }

 private:
  std::string path_;
};

inline void AppendLittleEndian(uint64_t value, size_t bytes, std::string& out) {
  for (size_t k = 0; k < bytes; ++k) {
    out += static_cast<char>((value >> (8 * k)) & 0xff);
  }
}

// Returns the bytes of a TFRecord file.
inline std::string TfRecordFile(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) {
    std::string length;
    AppendLittleEndian(record.size(), 8, length);
    const auto masked = [](const std::string& text) {
      return MaskCrc32c(
          Crc32c(std::as_bytes(std::span(text.data(), text.size()))));
    };
    out += length;
    AppendLittleEndian(masked(length), 4, out);
    out += record;
    AppendLittleEndian(masked(record), 4, out);
  }
  return out;
}

}  // namespace feedmill

#endif  // FEEDMILL_TESTS_UNIT_SOURCES_TEST_FOLDER_H_
