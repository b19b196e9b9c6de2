// Runs a fuzz target on every file of the folders and files named on the
// command line, for builds without libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  std::set<std::filesystem::path> files;
  for (int k = 1; k < argc; ++k) {
    if (!std::filesystem::is_directory(argv[k])) {
      files.insert(argv[k]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[k])) {
      if (entry.is_regular_file()) files.insert(entry.path());
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "no inputs: name a file or a folder with some\n");
    return 1;
  }
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file.good()) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 1;
    }
    // To stderr first, so that the culprit of a crash is named.
    std::fprintf(stderr, "%s\n", path.c_str());
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()),
                           bytes.size());
  }
  std::fprintf(stderr, "%zu inputs\n", files.size());
  return 0;
}
