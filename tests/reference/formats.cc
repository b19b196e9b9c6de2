#include "tests/reference/formats.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/dataset/source_types.h"
#include "tests/reference/records.h"
#include "tests/reference/shards.h"

namespace feedmill::reference {
namespace {

constexpr size_t kBlock = size_t{4} << 20;

// A record and its offset.
struct Found {
  size_t begin;
  Element element;
};

Tensor Number(const std::string& text, DType dtype) {
  const bool real = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  if (text.empty()) {
    const long double none = std::numeric_limits<long double>::quiet_NaN();
    return {dtype, {}, {none}, {}, !real};
  }
  if (dtype == DType::kBool)
    return {dtype,
            {},
            {text == "true" ? 1.0L : 0.0L},
            {},
            text != "true" && text != "false"};
  char* end = nullptr;
  const long double value =
      dtype == DType::kFloat32   ? std::strtof(text.c_str(), &end)
      : dtype == DType::kFloat64 ? std::strtod(text.c_str(), &end)
                                 : std::strtold(text.c_str(), &end);
  return {dtype, {}, {value}, {}, std::strspn(end, " \n") != std::strlen(end)};
}

Tensor Scalar(const std::string& text, DType dtype) {
  if (dtype == DType::kBytes) return {dtype, {}, {}, {text}};
  return Number(text, dtype);
}

// Returns the value that stands for a null.
Tensor Null(DType dtype) {
  if (dtype == DType::kBytes) return {dtype, {}, {}, {""}};
  return {dtype, {}, {0}, {}};
}

std::string Uncompressed(const std::string& path, Compression compression) {
  const std::string file = ReadFile(path);
  if (compression == Compression::kZstd) {
    std::string out(ZSTD_getFrameContentSize(file.data(), file.size()), '\0');
    ZSTD_decompress(out.data(), out.size(), file.data(), file.size());
    return out;
  }
  if (compression != Compression::kGzip) return file;
  std::string out;
  gzFile in = gzopen(path.c_str(), "rb");
  char part[4096];
  for (int got; (got = gzread(in, part, sizeof part)) > 0;)
    out.append(part, static_cast<size_t>(got));
  gzclose(in);
  return out;
}

Compression CompressionOf(Compression written, const std::string& name) {
  if (written != Compression::kByName) return written;
  if (name.ends_with(".gz")) return Compression::kGzip;
  return name.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

// Returns the offset of the first line: after the byte order mark, if any.
size_t FirstLine(const std::string& file) {
  return file.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

std::vector<Found> Lines(const std::string& file) {
  std::vector<Found> out;
  for (size_t at = FirstLine(file); at < file.size();) {
    const size_t end = std::min(file.find('\n', at), file.size());
    out.push_back(
        {at, {{"", Scalar(file.substr(at, end - at), DType::kBytes)}}});
    at = end + 1;
  }
  return out;
}

std::vector<Found> Fixed(const FixedLengthSource& source,
                         const std::string& file) {
  const auto header = static_cast<size_t>(source.header_bytes);
  const auto size = static_cast<size_t>(source.record_bytes);
  const size_t end = file.size() - static_cast<size_t>(source.footer_bytes);
  std::vector<Found> out;
  for (size_t at = header; at + size <= end; at += size)
    out.push_back({at, {{"", Scalar(file.substr(at, size), DType::kBytes)}}});
  return out;
}

Tensor FromJson(const nlohmann::json& value, const SourceField& field) {
  Tensor out{field.dtype, {}, {}, {}};
  if (!field.shape.empty()) {
    out.shape = {static_cast<int64_t>(value.size())};
    for (const auto& item : value) {
      const Tensor one = FromJson(item, {field.name, field.dtype, {}});
      out.numbers.insert(out.numbers.end(), one.numbers.begin(),
                         one.numbers.end());
      out.strings.insert(out.strings.end(), one.strings.begin(),
                         one.strings.end());
    }
    return out;
  }
  if (field.dtype == DType::kBytes) {
    return Scalar(value.is_string() ? value.get<std::string>()
                  : value.is_null() ? ""
                                    : value.dump(),
                  DType::kBytes);
  }
  return Number(value.is_null() ? "" : value.dump(), field.dtype);
}

std::vector<Found> Jsonl(const JsonlSource& source, const std::string& file) {
  std::vector<Found> out;
  for (Found& line : Lines(file)) {
    const std::string& text = line.element[0].value.strings[0];
    if (text.empty() || text == "\r") continue;
    const auto object = nlohmann::json::parse(text);
    Element element;
    for (const SourceField& field : source.fields) {
      const std::string before = element.empty() ? "" : element.back().name;
      if (field.name == "valid(" + before + ")") {
        const bool null = !object.contains(before) || object[before].is_null();
        element.push_back(
            {field.name, {DType::kBool, {}, {null ? 0.0L : 1}, {}}});
        Tensor& value = element[element.size() - 2].value;
        if (null) value = Null(value.dtype);
        continue;
      }
      element.push_back(
          {field.name, FromJson(object.contains(field.name) ? object[field.name]
                                                            : nlohmann::json(),
                                field)});
    }
    out.push_back({line.begin, element});
  }
  return out;
}

// Returns the number that the marks of the source write, as C++ writes it.
std::string PlainNumber(const CsvSource& source, std::string text) {
  for (size_t at = 0; !source.thousands.empty() &&
                      (at = text.find(source.thousands)) != std::string::npos;)
    text.erase(at, source.thousands.size());
  std::replace(text.begin(), text.end(), source.decimal[0], '.');
  return text;
}

// Parses character by character, like Python's csv module.
std::vector<Found> Csv(const CsvSource& source, const std::string& file) {
  std::vector<std::pair<size_t, std::vector<std::string>>> rows;
  std::vector<std::string> row;
  std::string text;
  bool quoted = false, any = false;
  size_t begin = 0;
  const auto is_quote = [&](char c) {
    return !source.quote.empty() && c == source.quote[0];
  };
  const auto finish = [&](size_t next) {
    row.push_back(text);
    if (row.size() > 1 || any) rows.push_back({begin, row});
    row.clear();
    text.clear();
    any = false;
    begin = next;
  };
  for (size_t k = FirstLine(file); k < file.size(); ++k) {
    const char c = file[k];
    if (!source.escape.empty() && c == source.escape[0]) {
      text += file[++k];
      any = true;
    } else if (quoted && is_quote(c) && k + 1 < file.size() &&
               is_quote(file[k + 1])) {
      text += c;
      ++k;
    } else if (quoted && is_quote(c)) {
      quoted = false;
    } else if (quoted) {
      text += c;
    } else if (is_quote(c) && text.empty()) {
      quoted = any = true;
    } else if (c == source.delimiter[0]) {
      row.push_back(text);
      text.clear();
      any = true;
    } else if (c == '\n') {
      finish(k + 1);
    } else if (c != '\r') {
      text += c;
      any = true;
    }
  }
  if (begin < file.size()) finish(file.size());

  std::vector<std::string> names;
  for (const SourceField& field : source.fields) names.push_back(field.name);
  if (source.header && !rows.empty()) names = rows[0].second;
  std::vector<Found> out;
  for (size_t r = source.header ? 1 : 0; r < rows.size(); ++r) {
    Element element;
    for (const SourceField& field : source.fields) {
      const auto column = static_cast<size_t>(
          std::find(names.begin(), names.end(), field.name) - names.begin());
      std::string value = rows[r].second.at(column);
      const bool missing =
          std::count(source.missing.begin(), source.missing.end(), value) > 0;
      if (field.dtype != DType::kBytes)
        value = missing ? "" : PlainNumber(source, value);
      element.push_back({field.name, Scalar(value, field.dtype)});
    }
    out.push_back({rows[r].first, element});
  }
  return out;
}

// Parses ustar archives without long names.
std::vector<Found> Tar(const WebDatasetSource& source,
                       const std::string& file) {
  std::vector<Found> out;
  std::vector<std::pair<std::string, std::map<std::string, std::string>>>
      groups;
  for (size_t at = 0; at + 512 <= file.size();) {
    const std::string name = file.c_str() + at;
    if (name.empty()) break;
    const size_t size = std::stoul(file.substr(at + 124, 11), nullptr, 8);
    const size_t base = name.find('.', name.rfind('/') + 1);
    if (file[at + 156] == '0' && base != std::string::npos) {
      const std::string key = name.substr(0, base);
      if (groups.empty() || groups.back().first != key)
        groups.push_back({key, {{"__key__", key}}});
      groups.back().second[name.substr(base + 1)] = file.substr(at + 512, size);
    }
    at += 512 + (size + 511) / 512 * 512;
  }
  for (const auto& [key, members] : groups) {
    Element element;
    for (const SourceField& field : source.fields)
      element.push_back(
          {field.name, Scalar(members.at(field.name), field.dtype)});
    out.push_back({0, element});
  }
  return out;
}

// Parses a .npy file of int32, which the tests write.
std::vector<Found> Npy(const NpySource& source, const std::string& file) {
  size_t items = 1;
  for (const int64_t dim : source.fields[0].shape)
    items *= static_cast<size_t>(dim);
  std::vector<Found> out;
  for (size_t at = file.find('\n') + 1; at + items * 4 <= file.size();) {
    Tensor row{DType::kInt32, source.fields[0].shape, {}, {}};
    for (size_t k = 0; k < items; ++k, at += 4) {
      int32_t value;
      std::memcpy(&value, file.data() + at, 4);
      row.numbers.push_back(value);
    }
    out.push_back({at, {{"", row}}});
  }
  return out;
}

// Records of a format whose files are one block.
std::vector<Found> Whole(std::vector<Element> elements) {
  std::vector<Found> out;
  for (Element& element : elements) out.push_back({0, std::move(element)});
  return out;
}

// Calls f with the options of a file source.
template <class F>
auto WithOptions(const Source& source, F f) {
  if (auto* s = source.As<NpySource>()) return f(*s);
  if (auto* s = source.As<MdsSource>()) return f(*s);
  if (auto* s = source.As<LmdbSource>()) return f(*s);
  if (auto* s = source.As<ArrayRecordSource>()) return f(*s);
  if (auto* s = source.As<TfRecordSource>()) return f(*s);
  if (auto* s = source.As<FixedLengthSource>()) return f(*s);
  if (auto* s = source.As<JsonlSource>()) return f(*s);
  if (auto* s = source.As<CsvSource>()) return f(*s);
  if (auto* s = source.As<WebDatasetSource>()) return f(*s);
  if (auto* s = source.As<TextSource>()) return f(*s);
  if (auto* s = source.As<ImagesSource>()) return f(*s);
  throw std::logic_error("no source of files");
}

struct Records {
  const std::string& path;

  template <class S>
  std::vector<Found> operator()(const S& source) const {
    if constexpr (std::is_same_v<S, NpySource>) {
      return Npy(source, ReadFile(path));
    } else if constexpr (std::is_same_v<S, MdsSource>) {
      return Whole(MdsSamples(source.fields, ReadFile(path)));
    } else if constexpr (std::is_same_v<S, LmdbSource>) {
      return Whole(LmdbEntries(ReadFile(path)));
    } else if constexpr (std::is_same_v<S, ArrayRecordSource>) {
      return Whole(ArrayRecords(ReadFile(path)));
    } else if constexpr (!requires { source.compression; }) {
      throw std::logic_error("no source of these formats");
    } else {
      const std::string file =
          Uncompressed(path, CompressionOf(source.compression, path));
      if constexpr (std::is_same_v<S, FixedLengthSource>)
        return Fixed(source, file);
      if constexpr (std::is_same_v<S, JsonlSource>) return Jsonl(source, file);
      if constexpr (std::is_same_v<S, CsvSource>) return Csv(source, file);
      if constexpr (std::is_same_v<S, WebDatasetSource>)
        return Tar(source, file);
      return Lines(file);
    }
  }
};

struct Layout {
  bool compressed = false;
  bool blocks = false;
  bool counted = true;
};

Layout LayoutOf(const Source& source) {
  Layout shape;
  if (SourceFiles(source) == nullptr) return shape;
  WithOptions(source, [&](const auto& s) {
    if constexpr (requires { s.compression; }) {
      shape.compressed =
          CompressionOf(s.compression, s.files[0]) != Compression::kNone;
    }
  });
  shape.blocks = source.Is<TextSource>() || source.Is<JsonlSource>();
  if (auto* csv = source.As<CsvSource>()) shape.blocks = !csv->multiline;
  shape.counted = !shape.compressed && !shape.blocks &&
                  !source.Is<CsvSource>() && !source.Is<WebDatasetSource>();
  shape.blocks = shape.blocks && !shape.compressed;
  return shape;
}

}  // namespace

bool IsCounted(const Source& source) { return LayoutOf(source).counted; }

std::vector<std::vector<Element>> FormatRecords(const Source& source,
                                                bool counted) {
  const bool blocks = LayoutOf(source).blocks;
  const std::vector<std::string> files =
      WithOptions(source, [](const auto& s) { return Expand(s.files); });
  std::vector<std::vector<Element>> out;
  for (const std::string& path : files) {
    const size_t first = out.size();
    const size_t size = ReadFile(path).size();
    if (!counted)
      out.resize(first + (blocks ? (size + kBlock - 1) / kBlock : 1));
    for (Found& found : WithOptions(source, Records{path})) {
      if (counted) {
        out.push_back({std::move(found.element)});
      } else {
        out[first + (blocks ? found.begin / kBlock : 0)].push_back(
            std::move(found.element));
      }
    }
  }
  return out;
}

}  // namespace feedmill::reference
