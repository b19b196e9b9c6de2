#include "core/formats/tar.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/status.h"

namespace feedmill {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kNameBytesMax = size_t{64} << 10;

// A number field: octal digits, or GNU's big-endian with the first bit set.
std::optional<uint64_t> Number(std::string_view field) {
  uint64_t value = 0;
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (size_t k = 0; k < field.size(); ++k) {
      auto byte = static_cast<uint64_t>(static_cast<unsigned char>(field[k]));
      if (k == 0) byte &= 0x7f;
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    if (value >> 60 != 0) return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return value;
}

std::string_view UpToZero(std::string_view field) {
  return field.substr(0, field.find('\0'));
}

bool IsZero(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

bool ChecksumFits(std::string_view header) {
  constexpr size_t kAt = 148;
  constexpr size_t kSize = 8;
  uint64_t sum = kSize * ' ';
  for (size_t k = 0; k < kBlock; ++k) {
    if (k >= kAt && k < kAt + kSize) continue;
    sum += static_cast<unsigned char>(header[k]);
  }
  return Number(header.substr(kAt, kSize)) == sum;
}

// The value of "path" in a pax header's records ("17 path=a/b.jpg\n").
std::string_view PaxPath(std::string_view records) {
  std::string_view path;
  while (!records.empty()) {
    size_t length = 0;
    size_t digits = 0;
    while (digits < records.size() && digits < 9 && records[digits] >= '0' &&
           records[digits] <= '9') {
      length = length * 10 + static_cast<size_t>(records[digits] - '0');
      ++digits;
    }
    if (length <= digits + 1 || length > records.size()) break;
    const std::string_view record =
        records.substr(digits + 1, length - digits - 2);
    if (record.starts_with("path=")) path = record.substr(5);
    records.remove_prefix(length);
  }
  return path;
}

struct Member {
  size_t begin = 0;  // of its first header, long names included
  std::string name;
  std::string_view data;
  bool regular = false;
};

class Walk {
 public:
  enum class Result { kMember, kMore, kEnd, kBad };

  Walk(std::string_view window, bool at_end)
      : window_(window), at_end_(at_end) {}

  // The next member; kMore: it is not whole in the window.
  Result Next(Member& member) {
    member = {};
    member.begin = at_;
    bool named = false;
    while (true) {
      const std::string_view rest = window_.substr(at_);
      if (rest.empty() && !named) return at_end_ ? Result::kEnd : Result::kMore;
      if (rest.size() < kBlock) return Cut("ends inside a header");
      const std::string_view header = rest.substr(0, kBlock);
      if (IsZero(header)) {
        at_ += kBlock;
        if (!named) member.begin = at_;
        continue;
      }
      if (!ChecksumFits(header)) {
        return Bad("no tar header (its checksum does not fit)");
      }
      const auto size = Number(header.substr(124, 12));
      if (!size || *size > kRecordBytesMax) return Bad("a member is too large");
      const size_t padded = (*size + kBlock - 1) / kBlock * kBlock;
      // The padding of a last member may be missing.
      if (rest.size() - kBlock < (at_end_ ? *size : padded)) {
        return Cut("ends inside a member");
      }
      const std::string_view data = rest.substr(kBlock, *size);
      at_ += std::min(rest.size(), kBlock + padded);
      const char type = header[156];
      if (type == 'L' || type == 'x') {
        if (data.size() > kNameBytesMax) return Bad("a name is too long");
        const std::string_view name =
            type == 'L' ? UpToZero(data) : PaxPath(data);
        if (!name.empty()) member.name = name;
        named = true;
        continue;
      }
      if (type == 'K' || type == 'g') {
        named = true;
        continue;
      }
      member.regular = type == '0' || type == '\0' || type == '7';
      member.data = data;
      if (member.name.empty()) member.name = NameOf(header);
      return Result::kMember;
    }
  }

  size_t at() const { return at_; }
  const char* what() const { return what_; }

 private:
  static std::string NameOf(std::string_view header) {
    std::string name(UpToZero(header.substr(0, 100)));
    if (header.substr(257, 6) == std::string_view("ustar\0", 6)) {
      const std::string_view prefix = UpToZero(header.substr(345, 155));
      if (!prefix.empty()) name = std::string(prefix) + "/" + name;
    }
    return name;
  }
  Result Cut(const char* what) {
    if (!at_end_) return Result::kMore;
    return Bad(what);
  }
  Result Bad(const char* what) {
    what_ = what;
    return Result::kBad;
  }

  const std::string_view window_;
  const bool at_end_;
  size_t at_ = 0;
  const char* what_ = "";
};

// Where the key of a name ends: before the first '.' of its last part; npos if
// it has no key or no extension.
size_t KeySize(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  return dot == base || dot + 1 == name.size() ? std::string_view::npos : dot;
}

}  // namespace

Framed FindTarGroups(std::string_view window, bool at_end,
                     const WindowPlace& place, std::vector<Extent>& records) {
  Framed framed;
  Walk walk(window, at_end);
  Member member;
  bool open = false;  // a group has begun, at `begin`
  std::string key;
  size_t begin = 0;
  size_t end = 0;
  while (true) {
    const Walk::Result result = walk.Next(member);
    if (result == Walk::Result::kMember) {
      const size_t size =
          member.regular ? KeySize(member.name) : std::string_view::npos;
      if (size == std::string_view::npos) {
        if (!open) framed.used = walk.at();
        continue;
      }
      const std::string_view own =
          std::string_view(member.name).substr(0, size);
      if (open && own != key) {
        records.push_back({begin, end - begin});
        framed.used = member.begin;
      }
      if (!open || own != key) {
        begin = member.begin;
        key = own;
        open = true;
      }
      end = walk.at();
      continue;
    }
    if (result == Walk::Result::kBad) {
      framed.error = DataLoss("{}: record {} at offset {}: {}", place.path,
                              place.record + records.size(),
                              place.offset + walk.at(), walk.what());
    } else if (result == Walk::Result::kEnd) {
      if (open) records.push_back({begin, end - begin});
      framed.used = window.size();
    } else if (!open) {
      // Nothing before this member is needed again.
      framed.used = std::max(framed.used, member.begin);
    }
    return framed;
  }
}

void ForEachTarMember(std::string_view record,
                      const std::function<void(const TarMember&)>& visit) {
  Walk walk(record, /*at_end=*/true);
  Member member;
  TarMember out;
  while (walk.Next(member) == Walk::Result::kMember) {
    const size_t size =
        member.regular ? KeySize(member.name) : std::string_view::npos;
    if (size == std::string_view::npos) continue;
    out.key = member.name.substr(0, size);
    out.extension = member.name.substr(size + 1);
    for (char& c : out.extension) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    out.data = member.data;
    visit(out);
  }
}

}  // namespace feedmill
