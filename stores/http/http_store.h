#ifndef FEEDMILL_STORES_HTTP_HTTP_STORE_H_
#define FEEDMILL_STORES_HTTP_HTTP_STORE_H_

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
#include "core/io/fetch_ledger.h"
#include "core/io/file_identity.h"
#include "stores/http/http_options.h"
#include "stores/http/remote_file.h"
#include "stores/http/transfer_loop.h"

namespace feedmill {

class HttpFile;

// A whole file.
struct WholeFile {
  std::string url;
  FileIdentity identity;
  FileIdentity version;  // more than the identity, if more is known
  std::vector<std::byte> bytes;
};

// Shared by all files behind URLs of a process: the thread that drives the
// requests, and the memory for prefetched bytes. Any thread.
class HttpStore {
 public:
  explicit HttpStore(const HttpOptions& chosen)
      : options(chosen), loop(chosen), memory(chosen.memory_bytes) {}

  const HttpOptions options;
  TransferLoop loop;
  PrefetchMemory memory;

  // If less than `bytes` are free, drops bytes that were read, and bytes that
  // were prefetched long ago.
  void MakeRoom(uint64_t bytes);

  // Open files, whose bytes MakeRoom may drop.
  void Add(const HttpFile* file);
  void Remove(const HttpFile* file);

  // Runs a transfer to its end; abandons it if it fails.
  absl::Status Run(const std::shared_ptr<Transfer>& transfer);
  // Reads a whole file. `known`: the required version, if known.
  absl::StatusOr<std::shared_ptr<const WholeFile>> ReadWhole(
      const RemoteFile& file, const std::optional<FileIdentity>& known);

  // Result of a probe of a file.
  struct ProbeResult {
    absl::Status status{};
    FileIdentity identity{};
    std::string first{};  // the first bytes, up to Transfer::kProbeBytes
    // if the server does not support ranges
    std::shared_ptr<const WholeFile> whole{};
  };
  // Probes all files in parallel; results are in their order.
  std::vector<ProbeResult> FindAll(std::span<const RemoteFile> files);

 private:
  void FindOne(const RemoteFile& file, Transfer& probe, ProbeResult& found);
  std::shared_ptr<const WholeFile> FindKept(const std::string& url,
                                            const FileIdentity& known);
  void Keep(std::shared_ptr<const WholeFile> file);

  std::mutex mutex_;
  // Guarded by mutex_. A file's own mutex may be locked while it is held.
  std::set<const HttpFile*> files_;
  // Whole files, most recently read first.
  std::list<std::shared_ptr<const WholeFile>> kept_;
  uint64_t kept_bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_STORES_HTTP_HTTP_STORE_H_
