#include "core/wire/message.h"

namespace feedmill {

const char* LinkName(LinkKind kind) {
  switch (kind) {
    case LinkKind::kTcp:
      return "tcp";
    case LinkKind::kMemory:
      return "memory";
    case LinkKind::kProcess:
      return "process";
    case LinkKind::kRelay:
      return "relay";
  }
  return "";
}

const char* CompressionName(LinkCompression codec) {
  switch (codec) {
    case LinkCompression::kNone:
      return "none";
    case LinkCompression::kLz4:
      return "lz4";
    case LinkCompression::kZstd:
      return "zstd";
    case LinkCompression::kAuto:
      return "auto";
  }
  return "";
}

}  // namespace feedmill
