// Decode on arbitrary parts. An input has the form of a golden frame: parts one
// after another, each after its length in eight bytes. A length beyond the
// input is cut. Two fields of the header are replaced. The version becomes the
// present one, so that inputs stay useful in later versions. The last eight
// bytes become the right checksum, so that the code behind it is reached.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/chunk/jsonl.h"
#include "core/chunk/order_hash.h"
#include "core/wire/codec.h"

namespace feedmill {
namespace {

constexpr std::string_view kCluster = "golden";
constexpr size_t kMaxParts = 64;

Parts PartsOf(std::span<const std::byte> input) {
  Parts parts;
  while (parts.size() < kMaxParts && input.size() >= sizeof(uint64_t)) {
    uint64_t size = 0;
    std::memcpy(&size, input.data(), sizeof(size));
    input = input.subspan(sizeof(size));
    size = std::min<uint64_t>(size, input.size());
    parts.push_back(Buffer::CopyOf(input.first(size)));
    input = input.subspan(size);
  }
  return parts;
}

// Returns the number at `place`, or 0 if the bytes end before it.
template <class T>
T At(std::span<const std::byte> bytes, uint64_t place) {
  T value{};
  if (place < bytes.size() && sizeof(T) <= bytes.size() - place) {
    std::memcpy(&value, bytes.data() + place, sizeof(T));
  }
  return value;
}

// The first field of the root table.
void SetVersion(std::span<std::byte> header) {
  const uint64_t table = At<uint32_t>(header, 0);
  const uint64_t vtable =
      table - static_cast<uint64_t>(At<int32_t>(header, table));
  const uint64_t field = table + At<uint16_t>(header, vtable + 4);
  if (field == table || field + sizeof(kProtocolVersion) > header.size())
    return;
  std::memcpy(&header[field], &kProtocolVersion, sizeof(kProtocolVersion));
}

void Seal(Buffer& header) {
  if (header.size() < sizeof(XXH64_hash_t)) return;
  std::vector<std::byte> bytes(header.span().begin(), header.span().end());
  const auto body = std::span(bytes).first(bytes.size() - sizeof(XXH64_hash_t));
  SetVersion(body);
  const XXH64_hash_t checksum = XXH3_64bits(body.data(), body.size());
  std::memcpy(body.data() + body.size(), &checksum, sizeof(checksum));
  header = Buffer::CopyOf(bytes);
}

bool SameParts(const Parts& a, const Parts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Buffer& x, const Buffer& y) {
                      return std::ranges::equal(x.span(), y.span());
                    });
}

// Everything that a reader does with a piece.
void Use(const Piece& piece) {
  FM_CHECK(piece.Validate().ok());
  const Chunk& chunk = piece.chunk;
  chunk.ElementBytes();
  if (chunk.rows == 0) return;
  OrderHash whole;
  whole.Add(chunk);
  OrderHash halves;
  halves.Add(chunk.Slice(0, chunk.rows / 2));
  halves.Add(chunk.Slice(chunk.rows / 2, chunk.rows));
  FM_CHECK(whole.value() == halves.value());
  std::string line;
  AppendJson(chunk, chunk.rows - 1, line);
  const Piece rest = piece.From(piece.CursorOf(chunk.rows - 1));
  FM_CHECK(rest.chunk.rows == 1 && rest.Validate().ok());
}

// Any place within 256 KiB is shared.
class Memory : public PartBorrower {
 public:
  absl::StatusOr<std::vector<Buffer>> Borrow(
      const SharedParts& shared) override {
    std::vector<Buffer> borrowed;
    for (const SharedPart& part : shared.parts) {
      if (part.offset > bytes_.size() ||
          part.size > bytes_.size() - part.offset) {
        return InvalidArgument("outside");
      }
      borrowed.push_back(bytes_.Slice(part.offset, part.size));
    }
    return borrowed;
  }

 private:
  const Buffer bytes_ =
      Buffer::CopyOf(std::vector<std::byte>(size_t{256} << 10));
};

void Try(const Parts& parts) {
  static Memory memory;
  const auto message = Decode(parts, kCluster, &memory);
  if (!message.ok()) return;
  // A decoded message encodes to the same bytes each time.
  const Parts again = Encode(*message, kCluster);
  const auto back = Decode(again, kCluster);
  FM_CHECK(back.ok());
  FM_CHECK(SameParts(Encode(*back, kCluster), again));
  if (const auto* frame = std::get_if<Frame>(&*message)) Use(frame->piece);
}

}  // namespace
}  // namespace feedmill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  feedmill::Parts parts =
      feedmill::PartsOf(std::as_bytes(std::span(data, size)));
  feedmill::Try(parts);
  if (parts.empty()) return 0;
  feedmill::Seal(parts.front());
  feedmill::Try(parts);
  return 0;
}
