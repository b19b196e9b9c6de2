#include "tests/reference/shards.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/base/leb128.h"
#include "core/base/little_endian.h"
#include "tests/reference/items.h"

namespace feedmill::reference {
namespace {

Tensor Bytes(const std::string& text) {
  return {DType::kBytes, {}, {}, {text}};
}

// Converts a value of a column to the dtype that the encoding has.
Tensor FromMds(const std::string& encoding, const std::string& data) {
  const auto number = [](DType dtype, long double value) {
    return Tensor{dtype, {}, {value}, {}};
  };
  if (encoding == "int")
    return number(DType::kInt64, LoadLittleEndian<int64_t>(data, 0));
  if (encoding == "int32")
    return number(DType::kInt32, LoadLittleEndian<int32_t>(data, 0));
  if (encoding == "uint8")
    return number(DType::kUInt8, LoadLittleEndian<uint8_t>(data, 0));
  if (encoding == "float32")
    return number(DType::kFloat32, LoadLittleEndian<float>(data, 0));
  if (encoding == "str_int") return number(DType::kInt64, std::stoll(data));
  return Bytes(data);
}

// The pages of an LMDB file, of 4 KiB.
class Pages {
 public:
  explicit Pages(const std::string& file) : file_(file) {}

  // Appends the entries below a page.
  void Visit(uint64_t number, std::vector<Element>& out) const {
    const std::string page = At(number, 1);
    const auto flags = LoadLittleEndian<uint16_t>(page, 10);
    const size_t nodes = (LoadLittleEndian<uint16_t>(page, 12) - 16u) / 2;
    for (size_t k = 0; k < nodes; ++k) {
      const std::string node =
          page.substr(LoadLittleEndian<uint16_t>(page, 16 + 2 * k));
      const uint64_t low = LoadLittleEndian<uint32_t>(node, 0);
      if ((flags & 1) != 0) {  // a branch
        Visit(low | uint64_t{LoadLittleEndian<uint16_t>(node, 4)} << 32, out);
        continue;
      }
      const size_t key = LoadLittleEndian<uint16_t>(node, 6);
      const bool large = (LoadLittleEndian<uint16_t>(node, 4) & 1) != 0;
      const std::string value =
          large ? At(LoadLittleEndian<uint64_t>(node, 8 + key), 2 + low / kPage)
                      .substr(16, low)
                : node.substr(8 + key, low);
      out.push_back(
          {{"key", Bytes(node.substr(8, key))}, {"value", Bytes(value)}});
    }
  }

 private:
  static constexpr size_t kPage = 4096;

  std::string At(uint64_t number, size_t pages) const {
    return file_.substr(number * kPage, pages * kPage);
  }

  const std::string& file_;
};

}  // namespace

std::vector<Element> MdsSamples(const std::vector<SourceField>& fields,
                                const std::string& file) {
  const auto samples = LoadLittleEndian<uint32_t>(file, 0);
  const size_t table_end = 8 + size_t{4} * samples;
  const auto head = nlohmann::json::parse(
      file.substr(table_end, LoadLittleEndian<uint32_t>(file, 4) - table_end));
  const auto& sizes = head["column_sizes"];
  std::vector<Element> out;
  for (uint32_t k = 0; k < samples; ++k) {
    size_t at = LoadLittleEndian<uint32_t>(file, 4 + size_t{4} * k);
    std::vector<size_t> bytes;
    for (const auto& size : sizes) {
      bytes.push_back(size.is_null() ? LoadLittleEndian<uint32_t>(file, at)
                                     : size.get<size_t>());
      if (size.is_null()) at += 4;
    }
    std::map<std::string, Tensor> values;
    for (size_t c = 0; c < bytes.size(); ++c) {
      values[head["column_names"][c]] =
          FromMds(head["column_encodings"][c], file.substr(at, bytes[c]));
      at += bytes[c];
    }
    Element element;
    for (const SourceField& field : fields)
      element.push_back({field.name, values.at(field.name)});
    out.push_back(element);
  }
  return out;
}

std::vector<Element> LmdbEntries(const std::string& file) {
  // Each of the first two pages describes a state; the later one counts.
  const size_t meta = LoadLittleEndian<uint64_t>(file, 16 + 128) >
                              LoadLittleEndian<uint64_t>(file, 4096 + 16 + 128)
                          ? 16
                          : 4096 + 16;
  const auto root = LoadLittleEndian<uint64_t>(file, meta + 112);
  std::vector<Element> out;
  if (root != ~uint64_t{0}) Pages(file).Visit(root, out);
  return out;
}

std::vector<Element> ArrayRecords(const std::string& file) {
  // The chunks follow each other once the headers of blocks are left out.
  std::string chunks;
  for (size_t block = 0; block < file.size(); block += 65536) {
    chunks += file.substr(block + 24, 65536 - 24);
  }
  std::vector<std::vector<Element>> found;
  for (size_t at = 0; at + 40 <= chunks.size();) {
    const auto size = LoadLittleEndian<uint64_t>(chunks, at + 8);
    if (chunks[at + 24] == 'r') {
      std::string_view data = std::string_view(chunks).substr(at + 40, size);
      data.remove_prefix(1);
      const size_t sizes_size = *TakeLeb128(data);
      std::string_view sizes = data.substr(0, sizes_size);
      data.remove_prefix(sizes_size);
      found.emplace_back();
      while (!sizes.empty()) {
        const size_t record = *TakeLeb128(sizes);
        found.back().push_back(
            {{"", Bytes(std::string(data.substr(0, record)))}});
        data.remove_prefix(record);
      }
    }
    at += 40 + size;
  }
  // The last two chunks are the footer and the postscript.
  std::vector<Element> out;
  for (size_t k = 0; k + 2 < found.size(); ++k) {
    out.insert(out.end(), found[k].begin(), found[k].end());
  }
  return out;
}

}  // namespace feedmill::reference
