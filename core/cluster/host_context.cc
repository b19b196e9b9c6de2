#include "core/cluster/host_context.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/status.h"

namespace feedmill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileMax = size_t{16} << 20;
constexpr size_t kDevicesMax = 100'000;

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return InvalidArgument("{} is a folder; name the file in it", path);
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int cause = errno;
    if (cause == ENOENT || cause == ENOTDIR) {
      return NotFound("there is no file {}", path);
    }
    return FailedPrecondition("cannot open {}: {}", path, std::strerror(cause));
  }
  std::string text;
  char block[65'536];
  while (file.read(block, sizeof(block)), file.gcount() > 0) {
    text.append(block, static_cast<size_t>(file.gcount()));
    if (text.size() > kFileMax) {
      return InvalidArgument("{} is over the limit of {} bytes", path,
                             kFileMax);
    }
  }
  if (file.bad()) return FailedPrecondition("cannot read {}", path);
  return text;
}

// Reads a hexadecimal number of sysfs, e.g. "0x10de
// ". 0 if there is none.
uint32_t ReadHex(const fs::path& path) {
  std::ifstream file(path);
  uint32_t value = 0;
  file >> std::hex >> value;
  return value;
}

}  // namespace

absl::StatusOr<DeviceListing> ProbeDevices(const std::string& dev,
                                           const std::string& pci_devices) {
  DeviceListing listing;
  std::error_code error;
  for (fs::directory_iterator at(dev, error), end;
       !error && at != end && listing.device_files.size() < kDevicesMax;
       at.increment(error)) {
    listing.device_files.push_back(at->path().filename().string());
  }
  for (fs::directory_iterator at(pci_devices, error), end;
       !error && at != end && listing.pci.size() < kDevicesMax;
       at.increment(error)) {
    std::error_code unbound;
    const fs::path driver = fs::read_symlink(at->path() / "driver", unbound);
    listing.pci.push_back({ReadHex(at->path() / "vendor"),
                           ReadHex(at->path() / "class"),
                           unbound ? "" : driver.filename().string(),
                           ReadHex(at->path() / "device")});
  }
  return listing;
}

ResolverContext HostContext() {
  return {
      Environment([](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return value;
      }),
      ReadWholeFile,
      [] { return ProbeDevices("/dev", "/sys/bus/pci/devices"); },
  };
}

}  // namespace feedmill
