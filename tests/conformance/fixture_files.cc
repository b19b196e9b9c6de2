#include "tests/conformance/fixture_files.h"

#include <turbojpeg.h>
#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "tests/reference/riegeli_writer.h"

namespace feedmill::testing {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Jpeg(int width, int height, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<unsigned char> pixels(static_cast<size_t>(width * height * 3));
  for (size_t k = 0; k < pixels.size(); ++k) {
    pixels[k] = static_cast<unsigned char>(k * 7 + random() % 60);
  }
  tjhandle handle = tjInitCompress();
  unsigned char* jpeg = nullptr;
  unsigned long size = 0;
  FM_CHECK(tjCompress2(handle, pixels.data(), width, 0, height, TJPF_RGB, &jpeg,
                       &size, TJSAMP_420, 90, 0) == 0);
  std::string out(reinterpret_cast<char*>(jpeg), size);
  tjFree(jpeg);
  tjDestroy(handle);
  return out;
}

std::string Field(char tag, const std::string& bytes) {  // length < 16384
  std::string out(1, tag);
  if (bytes.size() > 127) out += static_cast<char>(bytes.size() % 128 + 128);
  out +=
      static_cast<char>(bytes.size() > 127 ? bytes.size() / 128 : bytes.size());
  return out + bytes;
}

std::string Example(const std::string& image, char label) {
  auto entry = [](const std::string& name, const std::string& feature) {
    return Field(10, Field(10, name) + Field(18, feature));
  };
  const float box[2] = {0.25f, static_cast<float>(label)};
  const std::string floats(reinterpret_cast<const char*>(box), sizeof box);
  return Field(10,
               entry("image", Field(10, Field(10, image))) +
                   entry("label", Field(26, Field(10, std::string(1, label)))) +
                   entry("box", Field(18, Field(10, floats))));
}

// Returns a SequenceExample of `steps` numbers and words.
std::string SequenceExample(int steps) {
  auto entry = [](const std::string& name, const std::string& feature) {
    return Field(10, Field(10, name) + Field(18, feature));
  };
  std::string numbers, words;
  for (int k = 0; k < steps; ++k) {
    const auto step = static_cast<char>(k * 3 % 11);
    numbers += Field(10, Field(26, Field(10, std::string(1, step))));
    words += Field(10, Field(10, Field(10, "w" + std::to_string(k))));
  }
  const std::string label(1, static_cast<char>(steps));
  return Field(10, entry("label", Field(26, Field(10, label)))) +
         Field(18, entry("x", numbers) + entry("words", words));
}

uint32_t MaskedCrc(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

std::string Framed(const std::string& record) {
  auto word = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::string length = word(uint64_t{record.size()});
  return length + word(MaskedCrc(length)) + record + word(MaskedCrc(record));
}

std::string Gzip(const std::string& bytes) {
  z_stream state{};
  FM_CHECK(deflateInit2(&state, 6, Z_DEFLATED, MAX_WBITS + 16, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  state.next_in =
      reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // NOLINT
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  FM_CHECK(deflate(&state, Z_FINISH) == Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

std::string Zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(
      ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string TarMember(const std::string& name, const std::string& data) {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name);
  char size[16];
  std::snprintf(size, sizeof size, "%011zo", data.size());
  put(124, size);
  put(148, "        ");
  put(156, "0");
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(size, sizeof size, "%06o", sum);
  put(148, std::string(size) + std::string("\0 ", 2));
  return header + data + std::string((512 - data.size() % 512) % 512, '\0');
}

template <class T>
void Append(T value, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An MDS shard of `samples` samples; the numbers begin at `first`.
std::string MdsShard(uint32_t samples, int first) {
  std::string head =
      R"({"column_encodings": ["uint8", "jpeg", "int32", "str", "str_int"], )"
      R"("column_names": ["u", "image", "label", "path", "x"], )"
      R"("column_sizes": [1, null, 4, null, null], "format": "mds"})";
  std::string data;
  std::vector<uint32_t> ends;
  for (int k = first; k < first + static_cast<int>(samples); ++k) {
    const std::string image = Jpeg(7 + k % 4, 8, static_cast<uint64_t>(k));
    const std::string path(static_cast<size_t>(k % 5), 'p');
    const std::string x = std::to_string(k * 7 % 13 - 4);
    for (const std::string* const text : {&image, &path, &x}) {
      Append(static_cast<uint32_t>(text->size()), data);
    }
    Append(static_cast<uint8_t>(k), data);
    data += image;
    Append(int32_t{k * 5 % 11}, data);
    data += path + x;
    ends.push_back(static_cast<uint32_t>(data.size()));
  }
  std::string out;
  Append(samples, out);
  const auto begin = static_cast<uint32_t>(8 + 4 * samples + head.size());
  Append(begin, out);
  for (const uint32_t end : ends) Append(begin + end, out);
  return out + head + data;
}

// A page of an LMDB tree: its nodes stand in order from the end on.
std::string LmdbPage(uint64_t number, uint16_t flags,
                     const std::vector<std::string>& nodes) {
  std::string page(4096, '\0');
  const auto put = [&page](size_t at, auto value) {
    std::memcpy(page.data() + at, &value, sizeof value);
  };
  size_t upper = page.size();
  put(0, number);
  put(10, flags);
  put(12, static_cast<uint16_t>(16 + 2 * nodes.size()));
  for (size_t k = 0; k < nodes.size(); ++k) {
    upper -= (nodes[k].size() + 1) / 2 * 2;
    nodes[k].copy(page.data() + upper, nodes[k].size());
    put(16 + 2 * k, static_cast<uint16_t>(upper));
  }
  put(14, static_cast<uint16_t>(upper));
  return page;
}

// A node: `low` is the size of the value, or the page of a branch.
std::string LmdbNode(uint32_t low, uint16_t flags, const std::string& key,
                     const std::string& value) {
  std::string node;
  Append(low, node);
  Append(flags, node);
  Append(static_cast<uint16_t>(key.size()), node);
  return node + key + value;
}

// One of the first two pages, which describe the tree.
std::string LmdbMeta(uint64_t number, uint64_t transaction, uint64_t entries,
                     uint64_t root, uint64_t last_page) {
  std::string page = LmdbPage(number, 8, {});
  const auto put = [&page](size_t at, auto value) {
    std::memcpy(page.data() + 16 + at, &value, sizeof value);
  };
  put(0, uint32_t{0xBEEFC0DE});
  put(4, uint32_t{1});
  put(24, uint32_t{4096});  // bytes of a page
  put(64, ~uint64_t{0});    // no free pages
  put(72 + 32, entries);
  put(72 + 40, root);
  put(120, last_page);
  put(128, transaction);
  return page;
}

// An LMDB file: two leaves below a branch, and a value in pages of its own. The
// first meta page belongs to an earlier transaction.
std::string LmdbPairs() {
  const std::string large(5000, 'L');
  std::vector<std::string> leaves[2];
  for (int k = 0; k < 17; ++k) {
    const std::string key = std::string("k") + static_cast<char>('a' + k);
    const std::string value(static_cast<size_t>(k * 11 % 23), 'v');
    leaves[k / 9].push_back(
        LmdbNode(static_cast<uint32_t>(value.size()), 0, key, value));
  }
  std::string place;
  Append(uint64_t{5}, place);
  leaves[1].push_back(
      LmdbNode(static_cast<uint32_t>(large.size()), 1, "large", place));
  std::string overflow;
  Append(uint64_t{5}, overflow);
  Append(uint16_t{0}, overflow);
  Append(uint16_t{4}, overflow);
  Append(uint32_t{2}, overflow);  // pages
  overflow += large;
  overflow.resize(2 * 4096, '\0');
  return LmdbMeta(0, 6, 0, ~uint64_t{0}, 1) + LmdbMeta(1, 7, 18, 4, 6) +
         LmdbPage(2, 2, leaves[0]) + LmdbPage(3, 2, leaves[1]) +
         LmdbPage(4, 1, {LmdbNode(2, 0, "", ""), LmdbNode(3, 0, "kj", "")}) +
         overflow;
}

// Chunks of one record, of several, none, and some that blocks interrupt.
void MakeArrayRecordFiles(const std::string& directory) {
  std::vector<std::string> records;
  for (size_t k = 0; k < 23; ++k) {
    records.push_back(std::string(k * 17 % 29, static_cast<char>('a' + k)));
  }
  const auto write = [&](const std::string& name, size_t group) {
    Write(directory + "/" + name + ".array_record",
          reference::ArrayRecordFile(records, group));
  };
  write("1", 1);
  write("2", 5);
  for (std::string& record : records) record.resize(6000, 'r');
  write("3", 7);
  records.clear();
  write("4", 1);
}

// Shards, LMDB files and ArrayRecord files, of which some are empty.
void MakeDatabaseFiles(const std::string& directory) {
  fs::create_directories(directory + "/shards");
  Write(directory + "/shards/0.mds", MdsShard(9, 0));
  Write(directory + "/shards/1.mds", MdsShard(0, 0));
  Write(directory + "/shards/2.mds", MdsShard(13, 9));
  Write(directory + "/pairs.mdb", LmdbPairs());
  Write(directory + "/none.mdb", LmdbMeta(0, 0, 0, ~uint64_t{0}, 1) +
                                     LmdbMeta(1, 0, 0, ~uint64_t{0}, 1));
  MakeArrayRecordFiles(directory);
}

// Text of row k: up to five letters.
std::string RowText(int k) {
  return std::string(static_cast<size_t>(k % 6),
                     static_cast<char>('a' + k % 5));
}

// CSV with quoted fields, missing values, empty lines and both line ends.
void MakeCsvFiles(const std::string& directory) {
  std::string csv = "a,x,label,b\r\n";
  for (int k = 0; k < 33; ++k) {
    const std::string number = std::to_string(k * 5 % 17);
    const std::string text = RowText(k);
    csv += number + (k % 4 == 0 ? ",\"" + text + ",\"\"\"," : "," + text + ",");
    csv += (k % 7 == 0 ? "NA" : number + ".5") +
           (k % 3 == 0 ? ",true" : ",false") + (k % 2 == 0 ? "\r\n" : "\n");
    if (k % 10 == 0) csv += "\n";
  }
  std::string odd = "x,label,a\n";
  for (int k = 0; k < 30; ++k) {
    odd += std::to_string(k * 7 % 13) + (k % 9 == 8 ? ",," : ",3,") +
           (k % 5 == 4 ? "many\n" : std::to_string(k) + "\n");
  }
  fs::create_directories(directory + "/csv");
  // Other quotes, and numbers as 12.005 and 3,5.
  std::string marks = "label;a;x\n";
  for (int k = 1; k < 30; ++k) {
    marks += std::to_string(k) + (k % 3 == 0 ? ",5;" : ";") +
             std::to_string(k) + (k % 2 == 0 ? ".005;" : ";") +
             (k % 4 == 0 ? "'it''s; " : "it\\'s\\; ") + RowText(k) +
             (k % 4 == 0 ? "'\n" : "\n");
  }
  Write(directory + "/marks.csv", marks);
  Write(directory + "/odd.csv", odd);
  Write(directory + "/csv/a.csv", csv);
  Write(directory + "/csv/b.csv", "b,x,a\ntrue,\"last\",-3");
  Write(directory + "/csv/c.csv", "");
  Write(directory + "/csv/a.csv.gz", Gzip(csv));
  Write(directory + "/csv/a.csv.zst", Zstd(csv));
}

void MakeNullsFile(const std::string& directory) {
  std::string jsonl;
  for (int k = 0; k < 40; ++k) {
    const std::string number = std::to_string(k * 7 % 23 - 5);
    jsonl += R"({"label": )" + std::to_string(k);
    if (k % 3 != 1) jsonl += R"(, "x": )" + number;
    jsonl += k % 4 == 2 ? R"(, "a": null)" : R"(, "a": )" + number;
    if (k % 5 != 3)
      jsonl += R"(, "b": )" + std::string(k % 2 ? "true" : "false");
    if (k % 7 != 4) jsonl += R"(, "path": ")" + RowText(k) + '"';
    jsonl += "}\n";
  }
  Write(directory + "/nulls.jsonl", jsonl);
}

void MakeJsonlFile(const std::string& directory) {
  std::string jsonl;
  for (int k = 0; k < 33; ++k) {
    const std::string number = std::to_string(k * 5 % 17);
    jsonl += R"({"path": ")" + RowText(k) + R"(\u00e9", "more": {"x": [)" +
             number + R"(]}, "label": )" + number + R"(, "x": [)";
    for (int j = 0; j < k % 4; ++j) jsonl += (j > 0 ? "," : "") + number;
    jsonl += "]}\n";
  }
  Write(directory + "/lines.jsonl", jsonl);
}

void MakeWebDatasetFile(const std::string& directory) {
  std::string tar;
  for (int k = 0; k < 33; ++k) {
    const std::string key = "d/" + std::to_string(k);
    tar += TarMember(key + ".label", std::to_string(k * 5 % 17) + "\n");
    tar +=
        TarMember(key + ".image", Jpeg(8 + k % 3, 9, static_cast<uint64_t>(k)));
  }
  Write(directory + "/images.tar", tar + std::string(1024, '\0'));
}

void MakeNpyFile(const std::string& directory) {
  std::string npy(
      "\x93NUMPY\x01\x00\x46\x00{'descr': '<i4', 'fortran_order': False, "
      "'shape': (40, 2, 3), }",
      10 + 63);
  npy += "      \n";
  for (int32_t k = 0; k < 40 * 6; ++k) Append(k, npy);
  Write(directory + "/rows.npy", npy);
}

void MakeTextFiles(const std::string& directory) {
  std::string text;
  for (int k = 0; k < 40; ++k) {
    text += std::string(static_cast<size_t>(k * 7 % 11),
                        static_cast<char>('a' + k % 26));
    text += k % 5 == 0 ? " Word\r\n" : "\n";
  }
  std::string compressed;
  for (int k = 0; k < 50; ++k) compressed += std::to_string(k) + " words\n";
  fs::create_directories(directory + "/text");
  Write(directory + "/text/a.txt", text);
  Write(directory + "/text/b.txt", "last line without its end");
  Write(directory + "/text/c.txt", "");
  Write(directory + "/text/d.gz", Gzip(compressed));
}

// Examples, and SequenceExamples whose fourth record does not match its
// checksum.
void MakeTfRecordFiles(const std::string& directory) {
  fs::create_directories(directory + "/records");
  fs::create_directories(directory + "/sequences");
  for (int file = 0; file < 2; ++file) {
    std::string records;
    for (int k = 0; k < 7; ++k) {
      records += Framed(
          Example(Jpeg(9 + k, 12 - k, static_cast<uint64_t>(file * 7 + k)),
                  static_cast<char>(k)));
    }
    Write(directory + "/records/" + std::to_string(file) + ".tfrecord",
          records);
  }
  std::string sequences;
  for (int k = 0; k < 12; ++k) {
    sequences += Framed(SequenceExample(k % 5));
    if (k == 3) sequences[sequences.size() - 5] ^= 1;
  }
  Write(directory + "/sequences/a.tfrecord", sequences);
  Write(directory + "/sequences/b.tfrecord", Framed(SequenceExample(2)));
}

// Adds an EXIF segment that has an orientation, also ones that do not exist.
std::string Turned(std::string jpeg, int orientation) {
  std::string exif(
      "\xff\xe1\0\x22"
      "Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1"
      "\0?\0\0\0\0\0\0",
      36);
  exif[exif.find('?')] = static_cast<char>(orientation);
  return jpeg.insert(2, exif);
}

void MakePhotos(const std::string& directory) {
  fs::create_directories(directory + "/photos/cat");
  fs::create_directories(directory + "/photos/dog");
  for (int k = 0; k < 9; ++k) {
    Write(directory + "/photos/" + (k % 3 == 0 ? "cat" : "dog") + "/" +
              std::to_string(k) + "_" + std::to_string(k % 4) + ".jpg",
          Turned(Jpeg(16, 12 + k % 2, static_cast<uint64_t>(k)), k + 1));
  }
  // One photograph twice, and not in the order of the names.
  Write(directory + "/photos/list.jsonl",
        "{\"photo\": \"dog/7_3.jpg\", \"label\": 7, \"a\": [1, 2]}\n"
        "{\"photo\": \"cat/0_0.jpg\", \"label\": null, \"a\": []}\n"
        "{\"photo\": \"" +
            directory + "/photos/dog/7_3.jpg\", \"label\": -1, \"a\": [3]}\n");
}

// A table without the keys 4, 8 and those above 30. Some columns are null.
void MakeKeysFile(const std::string& directory) {
  std::string lines = "{\"k\": null, \"b\": true}\n";
  for (int k = 30; k >= -3; --k) {
    if (k == 4 || k == 8) continue;
    lines += "{\"k\": " + std::to_string(k) +
             ", \"b\": " + (k % 2 == 0 ? "true" : "false");
    if (k % 3 != 0) lines += ", \"path\": \"p" + std::to_string(k) + "\"";
    lines += "}\n";
  }
  Write(directory + "/keys.jsonl", lines);
}

// Files that expressions name: a vocabulary and a model of SentencePiece.
void MakeNamedFiles(const std::string& directory) {
  Write(directory + "/words.txt", "\xef\xbb\xbf\x61\nword\r\n3\n\n7\n" +
                                      directory + "/photos/cat/0_0.jpg\n");
  fs::copy_file(PIECES_MODEL, directory + "/pieces.model",
                fs::copy_options::overwrite_existing);
}

}  // namespace

void MakeFixtureFiles(const std::string& directory) {
  MakeTextFiles(directory);
  MakeTfRecordFiles(directory);
  MakePhotos(directory);
  MakeDatabaseFiles(directory);
  MakeCsvFiles(directory);
  MakeJsonlFile(directory);
  MakeNullsFile(directory);
  MakeKeysFile(directory);
  MakeWebDatasetFile(directory);
  MakeNpyFile(directory);
  MakeNamedFiles(directory);
}

}  // namespace feedmill::testing
