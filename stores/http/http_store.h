#ifndef FEEDMILL_STORES_HTTP_HTTP_STORE_H_
#define FEEDMILL_STORES_HTTP_HTTP_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/io/file_identity.h"
#include "stores/http/http_options.h"
#include "stores/http/remote_file.h"
#include "stores/http/transfer_loop.h"

namespace feedmill {

class HttpFile;

// A file that was read whole.
struct WholeFile {
  std::string url;
  FileIdentity identity;
  std::vector<std::byte> bytes;
};

// Shared by all files behind URLs of a process: the thread that drives the
// requests, and the memory for bytes that were fetched ahead. Any thread.
class HttpStore {
 public:
  explicit HttpStore(const HttpOptions& chosen)
      : options(chosen), loop(chosen) {}

  const HttpOptions options;
  TransferLoop loop;

  // Takes `bytes` of options.memory_bytes. False if they are not there. Give
  // back what was taken.
  bool Take(uint64_t bytes);
  void GiveBack(uint64_t bytes);
  uint64_t Left() const { return options.memory_bytes - taken_; }
  // If less than `bytes` are left, drops bytes that were read, and those that
  // were fetched ahead long ago.
  void MakeRoom(uint64_t bytes);

  // Open files, whose bytes MakeRoom may drop.
  void Add(const HttpFile* file);
  void Remove(const HttpFile* file);

  // Reads a file whole. `known`: the version that it must have, if that is
  // known.
  absl::StatusOr<std::shared_ptr<const WholeFile>> ReadWhole(
      const RemoteFile& file, const std::optional<FileIdentity>& known);

  // What a probe found of a file.
  struct Found {
    absl::Status status{};
    FileIdentity identity{};
    std::shared_ptr<const WholeFile> whole{};  // if the server has no ranges
  };
  // Asks for all files at once; in their order.
  std::vector<Found> FindAll(std::span<const RemoteFile> files);

 private:
  void FindOne(const RemoteFile& file, Transfer& probe, Found& found);
  std::shared_ptr<const WholeFile> FindKept(const std::string& url,
                                            const FileIdentity& known);
  void Keep(std::shared_ptr<const WholeFile> file);

  std::atomic<uint64_t> taken_ = 0;

  std::mutex mutex_;
  // Guarded by mutex_. A file's own mutex may be taken under it.
  std::set<const HttpFile*> files_;
  // Most recently read first.
  std::list<std::shared_ptr<const WholeFile>> kept_;
  uint64_t kept_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_STORE_H_
