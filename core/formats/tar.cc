#include "core/formats/tar.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/data_warnings.h"
#include "core/base/status.h"
#include "core/formats/tar_sparse.h"
#include "core/io/byte_stream.h"
#include "core/sources/compression_inference.h"

namespace feedmill {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kExtendedBytesMax = size_t{1} << 20;
// Number of blocks of zeros that end an archive.
constexpr size_t kEndBlocks = 2;

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
  return TarNumber(header.substr(kAt, kSize)) == sum;
}

// Calls `visit` with the key and the value of the records of a pax header, such
// as "17 path=a/b.jpg\n". Stops at the first malformed record.
template <class Visit>
void ForEachPaxRecord(std::string_view records, Visit&& visit) {
  while (!records.empty()) {
    size_t length = 0;
    size_t digits = 0;
    while (digits < records.size() && digits < 9 && records[digits] >= '0' &&
           records[digits] <= '9') {
      length = length * 10 + static_cast<size_t>(records[digits] - '0');
      ++digits;
    }
    if (length <= digits + 1 || length > records.size()) return;
    const std::string_view record =
        records.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos) return;
    visit(record.substr(0, equals), record.substr(equals + 1));
    records.remove_prefix(length);
  }
}

struct Member {
  size_t begin = 0;  // offset of its first header, long names included
  std::string name;  // empty: unknown
  std::string_view data;
  TarSparseMap sparse;
  bool regular = false;
  bool link = false;  // to another member or file
};

std::string NameOf(std::string_view header) {
  std::string name(UpToZero(header.substr(0, 100)));
  if (header.substr(257, 6) == std::string_view("ustar\0", 6)) {
    const std::string_view prefix = UpToZero(header.substr(345, 155));
    if (!prefix.empty()) name = std::string(prefix) + "/" + name;
  }
  return name;
}

// The headers before a member that extend its own.
struct ExtendedHeaders {
  bool any = false;
  std::string path;
  std::string sparse_path;
  std::optional<uint64_t> size;
  TarSparseMap sparse;

  static bool IsType(char type) {
    return type == 'L' || type == 'K' || type == 'x' || type == 'g';
  }
  void Take(char type, std::string_view data) {
    any = true;
    if (type == 'L') path = UpToZero(data);
    if (type != 'x') return;
    ForEachPaxRecord(data, [&](std::string_view key, std::string_view value) {
      if (key == "path") {
        path = value;
      } else if (key == "GNU.sparse.name") {
        sparse_path = value;
      } else if (key == "size") {
        size = PaxNumber(value);
      } else {
        sparse.AddPaxRecord(key, value);
      }
    });
  }
};

class Walk {
 public:
  enum class Result { kMember, kMore, kEnd, kBad };

  Walk(std::string_view window, bool at_end)
      : window_(window), at_end_(at_end) {}

  // Finds the next member. kMore: the window ends before its end. kBad:
  // `member` has the name of the bad member, if it is known.
  Result Next(Member& member) {
    member = {};
    member.begin = at_;
    extended_ = {};
    while (true) {
      const std::string_view rest = window_.substr(at_);
      if (rest.size() < kBlock) return NoHeader(rest.empty());
      const std::string_view header = rest.substr(0, kBlock);
      if (IsZero(header)) {
        if (extended_.any) return Bad("no member follows its long name");
        ++zero_blocks_;
        at_ += kBlock;
        member.begin = at_;
        continue;
      }
      if (!ChecksumFits(header)) {
        if (ended()) return Result::kEnd;
        return Bad("no tar header (its checksum does not fit)");
      }
      zero_blocks_ = 0;
      const Result result = Take(header, member);
      const bool extended = ExtendedHeaders::IsType(header[156]);
      if (result != Result::kMember || !extended) return result;
    }
  }

  size_t at() const { return at_; }
  // True after the end mark of an archive. With kEnd, the bytes after it belong
  // to no archive.
  bool ended() const { return zero_blocks_ >= kEndBlocks; }
  // Number of bytes before at() that may be part of an end mark.
  size_t end_mark_bytes() const {
    return std::min(zero_blocks_, kEndBlocks) * kBlock;
  }
  const std::string& error() const { return error_; }

 private:
  // Takes the header at at_ and the data after it.
  Result Take(std::string_view header, Member& member) {
    const char type = header[156];
    const bool extended = ExtendedHeaders::IsType(type);
    size_t headers = kBlock;
    if (!extended) {
      SetName(header, member);
      member.sparse = std::move(extended_.sparse);
      if (type == 'S' && !TakeSparseHeaders(header, headers, member.sparse)) {
        return Cut("ends inside the header of a member");
      }
    }
    auto size = TarNumber(header.substr(124, 12));
    if (!extended && extended_.size) size = extended_.size;
    // Some programs give a link the size of its target. No data follows it.
    if (!HasData(type)) size = 0;
    if (!size || *size > kRecordBytesMax) {
      return Bad(fmt::format("the member \"{}\" is too large", member.name));
    }
    if (extended && *size > kExtendedBytesMax) {
      return Bad("an extended header is too long");
    }
    const std::string_view rest = window_.substr(at_ + headers);
    const size_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    if (rest.size() < (at_end_ ? *size : padded)) {
      return Cut(fmt::format("ends inside the member \"{}\"", member.name));
    }
    const std::string_view data = rest.substr(0, *size);
    padding_cut_ = rest.size() < padded;
    at_ += headers + std::min(rest.size(), padded);
    if (extended) {
      extended_.Take(type, data);
    } else {
      member.regular =
          type == '0' || type == '\0' || type == '7' || type == 'S';
      member.link = type == '1' || type == '2';
      member.data = data;
    }
    return Result::kMember;
  }

  // False for links, devices, folders and pipes.
  static bool HasData(char type) { return type < '1' || type > '6'; }

  void SetName(std::string_view header, Member& member) const {
    member.name = !extended_.sparse_path.empty() ? extended_.sparse_path
                  : !extended_.path.empty()      ? extended_.path
                                                 : NameOf(header);
  }

  // Adds the bytes of the region blocks after an old GNU header to `headers`.
  // False if the window ends before their end.
  bool TakeSparseHeaders(std::string_view header, size_t& headers,
                         TarSparseMap& sparse) const {
    bool more = sparse.AddOldHeader(header);
    while (more) {
      const std::string_view rest = window_.substr(at_ + headers);
      if (rest.size() < kBlock) return false;
      more = sparse.AddOldBlock(rest.substr(0, kBlock));
      headers += kBlock;
    }
    return true;
  }

  // Result at the end of the window, or less than a block before it.
  Result NoHeader(bool window_is_empty) {
    if (!at_end_) return Result::kMore;
    if (extended_.any || !(window_is_empty || ended())) {
      return Bad("ends inside a header");
    }
    if (padding_cut_) {
      return Bad("ends inside the padding after the last member");
    }
    return Result::kEnd;
  }
  Result Cut(std::string what) {
    if (!at_end_) return Result::kMore;
    return Bad(std::move(what));
  }
  Result Bad(std::string what) {
    error_ = std::move(what);
    return Result::kBad;
  }

  const std::string_view window_;
  const bool at_end_;
  size_t at_ = 0;
  size_t zero_blocks_ = 0;  // directly before at_
  bool padding_cut_ = false;
  ExtendedHeaders extended_;
  std::string error_;
};

// Returns the length of a name's key, which ends before the first '.' of its
// last part; npos if the name has no key or no extension.
size_t KeySize(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', base);
  return dot == base || dot + 1 == name.size() ? std::string_view::npos : dot;
}

// Links in a part of an archive, which are left out.
class LeftOutLinks {
 public:
  void Add(const Member& member) {
    if (member.link && KeySize(member.name) != std::string_view::npos) {
      begins_.push_back(member.begin);
      names_.push_back(member.name);
    }
  }
  // Notes those before `end`: the others are found again.
  void NoteBefore(size_t end, const std::string& path) const {
    const auto count = static_cast<size_t>(
        std::lower_bound(begins_.begin(), begins_.end(), end) -
        begins_.begin());
    if (count == 0) return;
    NoteDataWarning(DataWarning::kTarLink,
                    fmt::format("{}: {}", path, names_.front()), count);
  }

 private:
  std::vector<size_t> begins_;
  std::vector<std::string> names_;
};

}  // namespace

Framed FindTarGroups(std::string_view window, bool at_end,
                     const WindowPlace& place, std::vector<Extent>& records) {
  Framed framed;
  Walk walk(window, at_end);
  Member member;
  LeftOutLinks links;
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
        links.Add(member);
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
      // The group is complete unless the bad member belongs to it.
      const size_t size = KeySize(member.name);
      const bool of_group =
          open && size != std::string_view::npos &&
          std::string_view(member.name).substr(0, size) == key;
      if (open && !of_group) records.push_back({begin, end - begin});
      const uint64_t at = place.offset + walk.at();
      const std::string advice =
          at > 0 ? "" : FormatAdvice(window.substr(0, kCompressionBytes));
      framed.error = DataLoss("{}: record {} at offset {}: {}{}{}", place.path,
                              place.record + records.size(), at, walk.error(),
                              advice.empty() ? "" : "; ", advice);
    } else if (result == Walk::Result::kEnd) {
      if (open) records.push_back({begin, end - begin});
      framed.used = window.size();
      framed.ended = walk.ended();
    } else if (!open) {
      // The bytes before this member are no longer needed, except its end mark.
      framed.used = std::max(framed.used, member.begin - walk.end_mark_bytes());
    }
    links.NoteBefore(framed.used, place.path);
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
    out.sparse = member.sparse.used() ? &member.sparse : nullptr;
    visit(out);
  }
}

}  // namespace feedmill
