#include "stores/http/transfer_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace feedmill {
namespace {

constexpr size_t kBlock = TransferMemory::kBlockBytes;

TEST(TransferMemory, GivesBackWhatWasWrittenInPartsOfAnySize) {
  for (const size_t size :
       {size_t{1}, size_t{4'000}, kBlock - 1, kBlock, kBlock + 1,
        2 * kBlock + TransferMemory::kKeptSizeMin, 3 * kBlock + 17}) {
    std::vector<std::byte> bytes(size);
    for (size_t k = 0; k < size; ++k) {
      bytes[k] = static_cast<std::byte>(k * 7 + k / 251);
    }
    TransferMemory memory(size);
    const size_t step = size / 5 + 1;
    for (size_t at = 0; at < size; at += step) {
      memory.Write(at, std::span(bytes).subspan(at, std::min(step, size - at)));
    }
    std::vector<std::byte> read(size);
    memory.Read(0, read);
    EXPECT_EQ(read, bytes) << size;
    std::vector<std::byte> end(size - size / 2);
    memory.Read(size / 2, end);
    EXPECT_TRUE(std::equal(end.begin(), end.end(), bytes.begin() + size / 2));
  }
}

TEST(TransferMemory, BytesThatWereWrittenMayBeReadBeforeTheRestArrives) {
  TransferMemory memory(size_t{1} << 36);
  const std::vector<std::byte> bytes(3 * kBlock, std::byte{5});
  memory.Write(kBlock / 2, bytes);
  std::vector<std::byte> read(bytes.size());
  memory.Read(kBlock / 2, read);
  EXPECT_EQ(read, bytes);
}

}  // namespace
}  // namespace feedmill
