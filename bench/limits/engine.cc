// Limits for bench/run engine: hand-written loops for the same work, with two
// threads and without feedmill. Also makes the files that both read.
//
//   limit_engine arithmetic N             range → x * x + 1 → if not x % 5 == 0
//                                         → sum
//   limit_engine lines FILE…              memchr for each line's end; sums the
//                                         lengths
//   limit_engine records FILE…            TFRecords: both CRCs by the SSE4.2
//                                         instruction
//   limit_engine random-records FILE…     the same in random order, one read
//                                         per record; offsets are known
//   limit_engine make-records FOLDER FILES RECORDS  tf.train.Examples of 1 KB
//   limit_engine make-lines FOLDER FILES LINES      words, ten a line
//   limit_engine make-csv FILE ROWS                 int, float, text, int

#include <fcntl.h>
#include <nmmintrin.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/process_usage.h"

namespace {

struct Answer {
  uint64_t elements = 0, check = 0;
};

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "limit_engine: %s\n", what.c_str());
  std::exit(1);
}

Answer Arithmetic(int64_t n) {
  uint64_t sum = 0, elements = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, elements)
  for (int64_t k = 0; k < n; ++k) {
    const int64_t x = k * k + 1;
    if (x % 5 != 0) {
      sum += static_cast<uint64_t>(x);
      ++elements;
    }
  }
  return {elements, sum};
}

// Calls use(bytes, last) with buffers of 1 MiB, preceded by the bytes that the
// last call did not use.
template <class Use>
void ReadThrough(const char* path, std::vector<char>& buffer, Use use) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) Fail(std::string("cannot open ") + path);
  buffer.resize(size_t{1} << 20);
  size_t have = 0;
  while (true) {
    const ssize_t got = read(file, buffer.data() + have, buffer.size() - have);
    if (got < 0) Fail(std::string("cannot read ") + path);
    have += static_cast<size_t>(got);
    const size_t used = use(std::string_view(buffer.data(), have), got == 0);
    if (got == 0) break;
    std::memmove(buffer.data(), buffer.data() + used, have - used);
    have -= used;
    if (have == buffer.size()) buffer.resize(buffer.size() * 2);
  }
  close(file);
}

size_t LinesOf(std::string_view bytes, bool last, Answer& answer) {
  size_t at = 0;
  while (at < bytes.size()) {
    const void* end = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
    if (end == nullptr && !last) break;
    const size_t stop =
        end == nullptr
            ? bytes.size()
            : static_cast<size_t>(static_cast<const char*>(end) - bytes.data());
    answer.elements += 1;
    answer.check += stop - at;
    at = stop + 1;
  }
  return at < bytes.size() ? at : bytes.size();
}

__attribute__((target("sse4.2"))) uint32_t MaskedCrc(const char* bytes,
                                                     size_t size) {
  uint64_t crc = 0xffffffffu;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (; at < size; ++at)
    rest = _mm_crc32_u8(rest, static_cast<unsigned char>(bytes[at]));
  rest = ~rest;
  return ((rest >> 15) | (rest << 17)) + 0xa282ead8u;
}

size_t RecordsOf(std::string_view bytes, Answer& answer) {
  size_t at = 0;
  while (at + 12 <= bytes.size()) {
    uint64_t size;
    uint32_t crc;
    std::memcpy(&size, bytes.data() + at, 8);
    std::memcpy(&crc, bytes.data() + at + 8, 4);
    if (MaskedCrc(bytes.data() + at, 8) != crc) Fail("a length's CRC is wrong");
    if (at + 16 + size > bytes.size()) break;
    std::memcpy(&crc, bytes.data() + at + 12 + size, 4);
    if (MaskedCrc(bytes.data() + at + 12, size) != crc)
      Fail("a record's CRC is wrong");
    answer.elements += 1;
    answer.check += size;
    at += 16 + size;
  }
  return at;
}

// A fixed generator, so that the files are the same on every machine.
struct Random {
  uint64_t state;
  uint64_t Next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
};

struct Place {
  int file = 0;
  off_t offset = 0;
  size_t size = 0;  // of the data
};

std::vector<Place> PlacesIn(int file, const char* path) {
  std::vector<Place> places;
  std::vector<char> buffer;
  off_t offset = 0;
  ReadThrough(path, buffer, [&](std::string_view bytes, bool) {
    size_t at = 0;
    while (at + 12 <= bytes.size()) {
      uint64_t size;
      std::memcpy(&size, bytes.data() + at, 8);
      if (at + 16 + size > bytes.size()) break;
      places.push_back({file, offset, size});
      at += 16 + size;
      offset += static_cast<off_t>(16 + size);
    }
    return at;
  });
  return places;
}

// Returns all records of the files in random order, each with its file's
// descriptor.
std::vector<Place> ShuffledPlaces(int count, char** paths) {
  std::vector<Place> places;
  for (int k = 0; k < count; ++k) {
    const int file = open(paths[k], O_RDONLY | O_CLOEXEC);
    if (file < 0) Fail(std::string("cannot open ") + paths[k]);
    const std::vector<Place> some = PlacesIn(file, paths[k]);
    places.insert(places.end(), some.begin(), some.end());
  }
  Random random{4};
  for (size_t k = places.size(); k > 1; --k)
    std::swap(places[k - 1], places[random.Next() % k]);
  return places;
}

Answer RandomRecords(const std::vector<Place>& places) {
  uint64_t elements = 0, check = 0;
#pragma omp parallel reduction(+ : elements, check)
  {
    std::vector<char> buffer;
#pragma omp for schedule(static)
    for (size_t k = 0; k < places.size(); ++k) {
      const Place& place = places[k];
      buffer.resize(place.size + 16);
      if (pread(place.file, buffer.data(), buffer.size(), place.offset) !=
          static_cast<ssize_t>(buffer.size()))
        Fail("cannot read a record");
      Answer one;
      RecordsOf({buffer.data(), buffer.size()}, one);
      elements += one.elements;
      check += one.check;
    }
  }
  return {elements, check};
}

template <class Of>
Answer OverFiles(int count, char** paths, Of of) {
  uint64_t elements = 0, check = 0;
#pragma omp parallel reduction(+ : elements, check)
  {
    std::vector<char> buffer;
    Answer mine;
#pragma omp for schedule(dynamic, 1)
    for (int k = 0; k < count; ++k)
      ReadThrough(paths[k], buffer, [&](std::string_view bytes, bool last) {
        return of(bytes, last, mine);
      });
    elements += mine.elements;
    check += mine.check;
  }
  return {elements, check};
}

void Varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void Field(std::string& out, uint32_t number, std::string_view bytes) {
  Varint(out, number << 3 | 2);
  Varint(out, bytes.size());
  out += bytes;
}

// Returns a map entry of a tf.train.Example: one feature.
std::string Feature(std::string_view name, uint32_t kind,
                    std::string_view list) {
  std::string feature, entry, map;
  Field(feature, kind, list);
  Field(entry, 1, name);
  Field(entry, 2, feature);
  Field(map, 1, entry);
  return map;
}

std::string Example(uint64_t label, std::string_view payload) {
  std::string bytes_list, packed, int_list, example;
  Field(bytes_list, 1, payload);
  Varint(packed, label);
  Field(int_list, 1, packed);
  Field(example, 1,
        Feature("label", 3, int_list) + Feature("payload", 1, bytes_list));
  return example;
}

std::ofstream Create(const std::filesystem::path& path) {
  std::ofstream out(path, std::ios::binary);
  if (!out) Fail("cannot write " + path.string());
  return out;
}

std::filesystem::path Numbered(const char* folder, int k,
                               const char* extension) {
  char name[64];
  std::snprintf(name, sizeof name, "part-%05d.%s", k, extension);
  std::filesystem::create_directories(folder);
  return std::filesystem::path(folder) / name;
}

void MakeRecords(const char* folder, int files, int64_t records) {
  Random random{1};
  std::string payload(980, '\0');
  for (int k = 0; k < files; ++k) {
    std::ofstream out = Create(Numbered(folder, k, "tfrecord"));
    const int64_t end = records * (k + 1) / files;
    for (int64_t r = records * k / files; r < end; ++r) {
      for (size_t at = 0; at + 8 <= payload.size(); at += 8) {
        const uint64_t word = random.Next();
        std::memcpy(payload.data() + at, &word, 8);
      }
      const std::string record = Example(static_cast<uint64_t>(r), payload);
      const uint64_t size = record.size();
      char head[8];
      std::memcpy(head, &size, 8);
      const uint32_t length_crc = MaskedCrc(head, 8);
      const uint32_t crc = MaskedCrc(record.data(), size);
      out.write(head, 8);
      out.write(reinterpret_cast<const char*>(&length_crc), 4);
      out << record;
      out.write(reinterpret_cast<const char*>(&crc), 4);
    }
  }
}

void MakeLines(const char* folder, int files, int64_t lines) {
  Random random{2};
  for (int k = 0; k < files; ++k) {
    std::ofstream out = Create(Numbered(folder, k, "txt"));
    std::string line;
    for (int64_t n = lines * k / files; n < lines * (k + 1) / files; ++n) {
      line.clear();
      for (uint64_t words = 5 + random.Next() % 11; words > 0; --words) {
        for (uint64_t letters = 2 + random.Next() % 8; letters > 0; --letters)
          line.push_back(static_cast<char>('a' + random.Next() % 26));
        line.push_back(words > 1 ? ' ' : '\n');
      }
      out << line;
    }
  }
}

void MakeCsv(const char* path, int64_t rows) {
  Random random{3};
  std::ofstream out = Create(path);
  out << "id,score,name,count\n";
  char line[128];
  for (int64_t k = 0; k < rows; ++k) {
    const uint64_t word = random.Next();
    std::snprintf(line, sizeof line, "%lld,%.6f,name-%llx,%u\n",
                  static_cast<long long>(k),
                  static_cast<double>(word % 1000000007) / 1e4,
                  static_cast<unsigned long long>(word >> 20),
                  static_cast<unsigned>(word % 1000));
    out << line;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  auto start = std::chrono::steady_clock::now();
  double cpu = 0;  // CPU time before the measured part
  Answer answer;
  if (mode == "arithmetic" && argc == 3) {
    answer = Arithmetic(std::atoll(argv[2]));
  } else if (mode == "lines" && argc > 2) {
    answer = OverFiles(argc - 2, argv + 2, LinesOf);
  } else if (mode == "records" && argc > 2) {
    answer = OverFiles(argc - 2, argv + 2,
                       [](std::string_view bytes, bool, Answer& mine) {
                         return RecordsOf(bytes, mine);
                       });
  } else if (mode == "random-records" && argc > 2) {
    const std::vector<Place> places = ShuffledPlaces(argc - 2, argv + 2);
    start = std::chrono::steady_clock::now();
    cpu = feedmill::bench::CpuSeconds();
    answer = RandomRecords(places);
  } else if (mode == "make-records" && argc == 5) {
    MakeRecords(argv[2], std::atoi(argv[3]), std::atoll(argv[4]));
  } else if (mode == "make-lines" && argc == 5) {
    MakeLines(argv[2], std::atoi(argv[3]), std::atoll(argv[4]));
  } else if (mode == "make-csv" && argc == 4) {
    MakeCsv(argv[2], std::atoll(argv[3]));
  } else {
    std::fprintf(stderr, "usage: see the head of bench/limits/engine.cc\n");
    return 2;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::printf(
      "{\"elements\": %llu, \"seconds\": %.4f, \"cpu_s\": %.3f, \"check\": "
      "%llu}\n",
      static_cast<unsigned long long>(answer.elements), seconds,
      feedmill::bench::CpuSeconds() - cpu,
      static_cast<unsigned long long>(answer.check));
  return 0;
}
