#include "core/plugins/shipped_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace feedmill {
namespace {

// An address in this code.
constexpr char kHere = 0;

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
  if (dladdr(reinterpret_cast<const void*>(&kHere), &found) == 0 ||
      found.dli_fname == nullptr) {
    return "";
  }
  const std::string file = found.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

std::vector<std::string> PlacesOf(const ShippedPlugin& plugin) {
  const char* const named = std::getenv(plugin.variable);
  if (named != nullptr && *named != '\0') return {named};
  const std::string prefix = ProgramPrefix();
  std::vector<std::string> files;
  for (const char* const folder : {"lib", FEEDMILL_LIBRARY_FOLDER}) {
    files.push_back(
        fmt::format("{}/{}/feedmill/{}", prefix, folder, plugin.file));
  }
  files.push_back(
      fmt::format("{}/{}", prefix, plugin.file));  // of a Python package
  if (const std::string folder = FolderOfThisCode(); !folder.empty()) {
    files.push_back(folder + plugin.file);
  }
  return files;
}

std::optional<std::string> FileOf(const ShippedPlugin& plugin) {
  for (std::string& file : PlacesOf(plugin)) {
    if (access(file.c_str(), F_OK) == 0) return std::move(file);
  }
  return std::nullopt;
}

}  // namespace feedmill
