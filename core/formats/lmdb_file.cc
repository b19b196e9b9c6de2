#include "core/formats/lmdb_file.h"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/little_endian.h"
#include "core/base/status.h"
#include "core/sources/framing.h"
#include "core/sources/record_decoder.h"

namespace feedmill {
namespace {

constexpr uint32_t kMagic = 0xbeefc0de;
constexpr uint32_t kVersion = 1;
constexpr uint64_t kNoPage = ~uint64_t{0};
constexpr size_t kPageHeadBytes = 16;
constexpr size_t kNodeHeadBytes = 8;
constexpr size_t kMetaBytes = kPageHeadBytes + 136;
constexpr uint64_t kPageBytesMin = 256;
constexpr uint64_t kPageBytesMax = 65536;
constexpr size_t kTreeDepthMax = 32;  // MDB_CURSOR_STACK

enum PageFlag : uint16_t {
  kBranch = 0x01,
  kLeaf = 0x02,
  kOverflow = 0x04,
  kMeta = 0x08,
  kLeafOfKeys = 0x20,
};
enum NodeFlag : uint16_t { kBigData = 0x01, kSubData = 0x02, kDupData = 0x04 };

// The main database, as the newest of the two meta pages describes it.
struct Tree {
  uint64_t page_bytes = 0;
  uint64_t pages = 0;  // pages of the file in use
  uint64_t transaction = 0;
  uint64_t entries = 0;
  uint64_t root = kNoPage;
};

// Parses a meta page. nullopt if the page is none.
std::optional<Tree> ParseMeta(std::string_view page) {
  if (page.size() < kMetaBytes) return std::nullopt;
  if ((LoadLittleEndian<uint16_t>(page, 10) & kMeta) == 0) return std::nullopt;
  const std::string_view meta = page.substr(kPageHeadBytes);
  if (LoadLittleEndian<uint32_t>(meta, 0) != kMagic) return std::nullopt;
  if (LoadLittleEndian<uint32_t>(meta, 4) != kVersion) return std::nullopt;
  constexpr size_t kMainAt = 24 + 48;
  Tree tree;
  tree.page_bytes = LoadLittleEndian<uint32_t>(meta, 24);
  tree.entries = LoadLittleEndian<uint64_t>(meta, kMainAt + 32);
  tree.root = LoadLittleEndian<uint64_t>(meta, kMainAt + 40);
  tree.pages = LoadLittleEndian<uint64_t>(meta, 120);
  tree.transaction = LoadLittleEndian<uint64_t>(meta, 128);
  if (tree.page_bytes < kPageBytesMin || tree.page_bytes > kPageBytesMax ||
      !std::has_single_bit(tree.page_bytes) ||
      __builtin_add_overflow(tree.pages, 1, &tree.pages)) {
    return std::nullopt;
  }
  return tree;
}

absl::StatusOr<Tree> ReadTree(const RandomAccessFile& file, uint64_t size) {
  if (size < kMetaBytes) return DataLoss("it is no LMDB file, or cut short");
  FM_ASSIGN_OR_RETURN(const std::string first, ReadWhole(file, 0, kMetaBytes));
  const bool magic =
      LoadLittleEndian<uint32_t>(first, kPageHeadBytes) == kMagic;
  const auto version = LoadLittleEndian<uint32_t>(first, kPageHeadBytes + 4);
  if (magic && version != kVersion) {
    return DataLoss(
        "it is an LMDB file of format {}; format 1 can be read, which LMDB 0.9 "
        "writes",
        version);
  }
  std::optional<Tree> tree = ParseMeta(first);
  if (!tree) {
    return DataLoss("{}", magic ? "its first page is damaged"
                                : "it is no LMDB file (data.mdb)");
  }
  if (size >= tree->page_bytes + kMetaBytes) {
    FM_ASSIGN_OR_RETURN(const std::string second,
                        ReadWhole(file, tree->page_bytes, kMetaBytes));
    const std::optional<Tree> other = ParseMeta(second);
    if (other && other->transaction > tree->transaction &&
        other->page_bytes == tree->page_bytes) {
      tree = other;
    }
  }
  uint64_t needed = 0;
  if (__builtin_mul_overflow(tree->pages, tree->page_bytes, &needed) ||
      needed > size) {
    return DataLoss("it is cut short: {} bytes, and its pages need more", size);
  }
  if (tree->entries > size / kNodeHeadBytes) {
    return DataLoss("its first pages are damaged: {} entries do not fit",
                    tree->entries);
  }
  return *tree;
}

struct Node {
  uint16_t flags = 0;
  uint64_t value_bytes = 0;  // leaf only
  uint64_t child = 0;        // branch only
  std::string_view key;
  std::string_view rest;  // page after the key
};

// Parses the node at the beginning of `bytes`, which extend to the end of the
// page.
std::optional<Node> ParseNode(std::string_view bytes) {
  if (bytes.size() < kNodeHeadBytes) return std::nullopt;
  const uint64_t low = LoadLittleEndian<uint16_t>(bytes, 0);
  const uint64_t high = LoadLittleEndian<uint16_t>(bytes, 2);
  Node node;
  node.flags = LoadLittleEndian<uint16_t>(bytes, 4);
  const size_t key_bytes = LoadLittleEndian<uint16_t>(bytes, 6);
  if (key_bytes > bytes.size() - kNodeHeadBytes) return std::nullopt;
  node.value_bytes = low | high << 16;
  node.child = node.value_bytes | uint64_t{node.flags} << 32;
  node.key = bytes.substr(kNodeHeadBytes, key_bytes);
  node.rest = bytes.substr(kNodeHeadBytes + key_bytes);
  return node;
}

// Walks a tree and collects the offsets of the nodes of its leaves.
class TreeWalk {
 public:
  TreeWalk(const RandomAccessFile& file, const Tree& tree)
      : file_(file), tree_(tree) {}

  absl::StatusOr<std::vector<uint64_t>> Entries() {
    if (tree_.root != kNoPage) FM_RETURN_IF_ERROR(Visit(tree_.root, 1));
    if (nodes_.size() == tree_.entries) return std::move(nodes_);
    return DataLoss("its tree has {} entries, where its first pages say {}",
                    nodes_.size(), tree_.entries);
  }

 private:
  absl::Status Visit(uint64_t number, size_t depth) {
    if (number < 2 || number >= tree_.pages || depth > kTreeDepthMax ||
        ++visited_ > tree_.pages) {
      return DataLoss("page {} of its tree cannot be one", number);
    }
    FM_ASSIGN_OR_RETURN(
        const std::string page,
        ReadWhole(file_, number * tree_.page_bytes, tree_.page_bytes));
    const auto flags = LoadLittleEndian<uint16_t>(page, 10);
    const size_t lower = LoadLittleEndian<uint16_t>(page, 12);
    if (LoadLittleEndian<uint64_t>(page, 0) != number ||
        lower < kPageHeadBytes || lower > page.size() ||
        (lower - kPageHeadBytes) % 2 != 0) {
      return DataLoss("page {} is damaged", number);
    }
    const size_t count = (lower - kPageHeadBytes) / 2;
    if ((flags & kLeafOfKeys) == 0 && (flags & kLeaf) != 0) {
      return AddLeaf(page, number, count);
    }
    if ((flags & kBranch) != 0) return VisitBelow(page, number, count, depth);
    return DataLoss("page {} of its tree is of an unknown kind", number);
  }

  static size_t PlaceOf(std::string_view page, size_t k) {
    return LoadLittleEndian<uint16_t>(page, kPageHeadBytes + 2 * k);
  }

  absl::Status AddLeaf(std::string_view page, uint64_t number, size_t count) {
    if (nodes_.size() + count > tree_.entries) {
      return DataLoss("its tree has more entries than its first pages say");
    }
    for (size_t k = 0; k < count; ++k) {
      const size_t at = PlaceOf(page, k);
      if (at < kPageHeadBytes || at + kNodeHeadBytes > page.size()) {
        return DataLoss("page {} is damaged", number);
      }
      const auto node = ParseNode(page.substr(at));
      if (node && (node->flags & kSubData) != 0) {
        return DataLoss(
            "\"{}\" is a database of its own; only the main one is read. Copy "
            "its entries into a file of their own",
            Shown(node->key));
      }
      if (node && (node->flags & kDupData) != 0) {
        return DataLoss("the key \"{}\" has several values", Shown(node->key));
      }
      nodes_.push_back(number * tree_.page_bytes + at);
    }
    return absl::OkStatus();
  }

  absl::Status VisitBelow(std::string_view page, uint64_t number, size_t count,
                          size_t depth) {
    std::vector<uint64_t> children;
    std::vector<ByteRange> ranges;
    for (size_t k = 0; k < count; ++k) {
      const size_t at = PlaceOf(page, k);
      const auto node = at < kPageHeadBytes || at > page.size()
                            ? std::nullopt
                            : ParseNode(page.substr(at));
      if (!node || node->child >= tree_.pages) {
        return DataLoss("page {} is damaged", number);
      }
      children.push_back(node->child);
      ranges.push_back({node->child * tree_.page_bytes, tree_.page_bytes});
    }
    if (file_.ahead_bytes() > 0) file_.Prefetch(ranges);
    for (const uint64_t child : children) {
      FM_RETURN_IF_ERROR(Visit(child, depth + 1));
    }
    return absl::OkStatus();
  }

  const RandomAccessFile& file_;
  const Tree tree_;
  uint64_t visited_ = 0;
  std::vector<uint64_t> nodes_;
};

class LmdbFile final : public ItemFile {
 public:
  LmdbFile(const Tree& tree, std::vector<uint64_t> nodes,
           const std::vector<SourceField>& fields)
      : tree_(tree), nodes_(std::move(nodes)) {
    for (size_t f = 0; f < fields.size(); ++f) {
      (fields[f].name == "key" ? key_ : value_) = f;
    }
  }

  uint64_t records() const override { return nodes_.size(); }
  size_t bytes() const override { return nodes_.size() * sizeof(uint64_t); }
  ByteRange RangeOf(uint64_t record) const override {
    const uint64_t at = nodes_[record];
    return {at, tree_.page_bytes - at % tree_.page_bytes};
  }

  absl::Status Append(uint64_t record, const ReadFileAt& read,
                      std::vector<std::byte>& scratch,
                      std::vector<EncodedColumn>& columns) const override {
    const ByteRange range = RangeOf(record);
    std::array<std::byte, kPageBytesMax> memory;
    const auto bytes = std::span(memory).first(range.size);
    FM_RETURN_IF_ERROR(read(range.offset, bytes));
    const auto node =
        ParseNode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!node) return DataLoss("its node is damaged");
    if (key_) Put(node->key, columns[*key_]);
    if (!value_) return absl::OkStatus();
    FM_ASSIGN_OR_RETURN(const std::string_view value,
                        ValueOf(*node, read, scratch));
    Put(value, columns[*value_]);
    return absl::OkStatus();
  }

 private:
  static void Put(std::string_view bytes, OutputColumn& column) {
    column.values.Append(bytes.data(), bytes.size());
    column.offsets.Push(static_cast<int64_t>(column.values.size()));
  }

  // A large value has pages of its own. The node holds the number of the first.
  absl::StatusOr<std::string_view> ValueOf(
      const Node& node, const ReadFileAt& read,
      std::vector<std::byte>& scratch) const {
    if ((node.flags & kBigData) == 0) {
      if (node.value_bytes <= node.rest.size()) {
        return node.rest.substr(0, node.value_bytes);
      }
      return DataLoss("its value does not fit into its page");
    }
    if (node.rest.size() < sizeof(uint64_t)) {
      return DataLoss("its node is damaged");
    }
    const auto page = LoadLittleEndian<uint64_t>(node.rest, 0);
    const uint64_t bytes = kPageHeadBytes + node.value_bytes;
    const uint64_t pages = (bytes + tree_.page_bytes - 1) / tree_.page_bytes;
    if (node.value_bytes > kRecordBytesMax || page < 2 || page >= tree_.pages ||
        pages > tree_.pages - page) {
      return DataLoss("the place of its value is outside the file");
    }
    scratch.resize(bytes);
    FM_RETURN_IF_ERROR(read(page * tree_.page_bytes, scratch));
    const std::string_view all(reinterpret_cast<const char*>(scratch.data()),
                               scratch.size());
    if (LoadLittleEndian<uint64_t>(all, 0) != page ||
        (LoadLittleEndian<uint16_t>(all, 10) & kOverflow) == 0) {
      return DataLoss("the pages of its value are damaged");
    }
    return all.substr(kPageHeadBytes);
  }

  const Tree tree_;
  const std::vector<uint64_t> nodes_;  // offsets in the file, by record
  std::optional<size_t> key_;          // which columns they are
  std::optional<size_t> value_;
};

}  // namespace

const std::vector<SourceField>& LmdbFields() {
  static const std::vector<SourceField>& fields = *new std::vector<SourceField>{
      {"key", DType::kBytes, {}}, {"value", DType::kBytes, {}}};
  return fields;
}

absl::StatusOr<uint64_t> CountLmdbEntries(const RandomAccessFile& file,
                                          uint64_t size) {
  FM_ASSIGN_OR_RETURN(const Tree tree, ReadTree(file, size));
  return tree.entries;
}

absl::StatusOr<std::unique_ptr<const ItemFile>> OpenLmdbFile(
    const RandomAccessFile& file, uint64_t size,
    const std::vector<SourceField>& fields) {
  FM_ASSIGN_OR_RETURN(const Tree tree, ReadTree(file, size));
  FM_ASSIGN_OR_RETURN(auto nodes, TreeWalk(file, tree).Entries());
  return std::make_unique<const LmdbFile>(tree, std::move(nodes), fields);
}

}  // namespace feedmill
