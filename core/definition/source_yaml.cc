// Sources in the YAML of a pipeline.

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "core/base/status.h"
#include "core/dataset/shape_text.h"
#include "core/definition/source_text.h"

namespace feedmill {
namespace {

using Names = YamlValues::Names;

class SourceReader {
 public:
  SourceReader(YamlValues& values, const ReadInputYaml& read_input)
      : values_(values), read_input_(read_input) {}

  absl::Status Read(const YAML::Node& node, Source& source) {
    static const Names kSources = {
        "range", "tfrecord",     "text",   "images",     "csv",
        "jsonl", "fixed_length", "npy",    "webdataset", "concatenate",
        "zip",   "interleave",   "mixture"};
    FM_RETURN_IF_ERROR(values_.Count(node));
    if (!node.IsMap() || node.size() != 1) {
      return values_.Error(node, "source",
                           "expected one of " + values_.Joined(kSources) +
                               " with what it reads, found " +
                               values_.Kind(node));
    }
    const auto entry = *node.begin();
    std::string name;
    FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, "source", name));
    if (std::find(kSources.begin(), kSources.end(), name) == kSources.end()) {
      return values_.Error(entry.first, "source",
                           "there is no source " + values_.Quoted(name) +
                               values_.HintFor(name, "source", kSources));
    }
    at_.reset(entry.first);
    node_.reset(entry.second);
    name_ = name;
    return ReadNamed(source);
  }

 private:
  using OnKey = YamlValues::OnKey;

  absl::Status ReadNamed(Source& source) {
    if (name_ == "range") return ReadRange(source.emplace<RangeSource>());
    if (name_ == "tfrecord") {
      return ReadFiles(source.emplace<TfRecordSource>(), {}, nullptr);
    }
    if (name_ == "text") {
      return ReadFiles(source.emplace<TextSource>(), {}, nullptr);
    }
    if (name_ == "images") return ReadImages(source.emplace<ImagesSource>());
    if (name_ == "csv") return ReadCsv(source.emplace<CsvSource>());
    if (name_ == "jsonl") {
      return ReadFiles(source.emplace<JsonlSource>(), {}, nullptr);
    }
    if (name_ == "npy") {
      return ReadFiles(source.emplace<NpySource>(), {}, nullptr);
    }
    if (name_ == "webdataset") {
      return ReadFiles(source.emplace<WebDatasetSource>(), {}, nullptr);
    }
    if (name_ == "fixed_length") {
      return ReadFixed(source.emplace<FixedLengthSource>());
    }
    if (name_ == "concatenate") {
      return ReadInputs(source.emplace<ConcatenateSource>(), {}, nullptr);
    }
    if (name_ == "zip") {
      return ReadInputs(source.emplace<ZipSource>(), {}, nullptr);
    }
    if (name_ == "interleave") {
      return ReadInterleave(source.emplace<InterleaveSource>());
    }
    return ReadMixture(source.emplace<MixtureSource>());
  }

  // ---- sources made of inputs

  // zip: [{source: …, steps: …}, …], or zip: {inputs: […]}
  template <class S>
  absl::Status ReadInputs(S& source, const Names& others,
                          const OnKey& on_other) {
    if (node_.IsSequence()) return ReadInputList(node_, source.inputs);
    Names known = {"inputs"};
    known.insert(known.end(), others.begin(), others.end());
    bool has_inputs = false;
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        node_, name_, known,
        [&](const std::string& key, const YAML::Node& value) {
          if (key != "inputs") return on_other(key, value);
          has_inputs = true;
          return ReadInputList(value, source.inputs);
        }));
    if (has_inputs) return absl::OkStatus();
    return values_.Error(at_, name_, "there is no inputs");
  }

  absl::Status ReadInputList(const YAML::Node& node,
                             std::vector<Graph>& inputs) {
    FM_RETURN_IF_ERROR(values_.Count(node));
    if (!node.IsSequence() || node.size() == 0) {
      return values_.Error(node, name_ + " inputs",
                           "expected a list of inputs, each with its source "
                           "and steps, found " +
                               values_.Kind(node));
    }
    for (const YAML::Node& item : node) {
      FM_RETURN_IF_ERROR(read_input_(item, inputs.emplace_back()));
    }
    return absl::OkStatus();
  }

  absl::Status ReadInterleave(InterleaveSource& source) {
    bool has_cycle = false;
    FM_RETURN_IF_ERROR(
        ReadInputs(source, {"cycle_length", "block_length"},
                   [&](const std::string& key, const YAML::Node& value) {
                     has_cycle = has_cycle || key == "cycle_length";
                     return values_.ReadInteger(value, name_ + " " + key,
                                                key == "cycle_length"
                                                    ? source.cycle_length
                                                    : source.block_length);
                   }));
    if (!has_cycle || source.cycle_length > 0) return absl::OkStatus();
    return values_.Error(at_, name_, "cycle_length must be at least 1");
  }

  absl::Status ReadMixture(MixtureSource& source) {
    return ReadInputs(
        source, {"weights", "stop"},
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "weights") return ReadWeights(value, source.weights);
          size_t stop = 0;
          FM_RETURN_IF_ERROR(values_.ReadWord(
              value, "mixture stop",
              {"first_exhausted", "all_exhausted", "repeat"}, stop));
          source.stop = static_cast<MixtureSource::Stop>(stop);
          return absl::OkStatus();
        });
  }

  absl::Status ReadWeights(const YAML::Node& node,
                           std::vector<double>& weights) {
    FM_RETURN_IF_ERROR(values_.Count(node));
    if (!node.IsSequence()) {
      return values_.Error(
          node, "mixture weights",
          "expected a list like [0.7, 0.3], found " + values_.Kind(node));
    }
    for (const YAML::Node& item : node) {
      FM_RETURN_IF_ERROR(
          values_.ReadReal(item, "mixture weights", weights.emplace_back()));
    }
    return absl::OkStatus();
  }

  // ---- sources of records

  absl::Status ReadRange(RangeSource& range) {
    if (node_.IsScalar()) {  // range: 10
      return values_.ReadInteger(node_, name_, range.stop);
    }
    bool has_stop = false;
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        node_, name_, {"start", "stop", "step"},
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "start")
            return values_.ReadInteger(value, "start", range.start);
          if (key == "step")
            return values_.ReadInteger(value, "step", range.step);
          has_stop = true;
          return values_.ReadInteger(value, "stop", range.stop);
        }));
    if (has_stop) return absl::OkStatus();
    return values_.Error(node_, name_, "there is no stop");
  }

  absl::Status ReadImages(ImagesSource& images) {
    return ReadFiles(
        images, {"label"}, [&](const std::string&, const YAML::Node& value) {
          size_t label = 0;
          FM_RETURN_IF_ERROR(
              values_.ReadWord(value, "label", {"folder", "filename"}, label));
          images.label = label == 0 ? ImagesSource::Label::kFolder
                                    : ImagesSource::Label::kFilename;
          return absl::OkStatus();
        });
  }

  absl::Status ReadFixed(FixedLengthSource& fixed) {
    bool has_record = false;
    FM_RETURN_IF_ERROR(ReadFiles(
        fixed, {"record_bytes", "header_bytes", "footer_bytes"},
        [&](const std::string& key, const YAML::Node& value) {
          has_record = has_record || key == "record_bytes";
          return values_.ReadInteger(value, key,
                                     key == "record_bytes" ? fixed.record_bytes
                                     : key == "header_bytes"
                                         ? fixed.header_bytes
                                         : fixed.footer_bytes);
        }));
    if (has_record) return absl::OkStatus();
    return values_.Error(at_, name_, "there is no record_bytes");
  }

  absl::Status ReadCsv(CsvSource& csv) {
    return ReadFiles(
        csv, {"header", "delimiter", "missing", "multiline"},
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "header") {
            return values_.ReadBool(value, "header", csv.header);
          }
          if (key == "multiline") {
            return values_.ReadBool(value, "multiline", csv.multiline);
          }
          if (key == "missing") {
            return ReadStrings(value, "missing", "a text", csv.missing);
          }
          return values_.ReadString(value, "delimiter",
                                    "a character like \",\"", csv.delimiter);
        });
  }

  // The keys that kinds of sources share, and `others` by on_other.
  template <class S>
  absl::Status ReadFiles(S& source, const Names& others,
                         const OnKey& on_other) {
    if (node_.IsScalar() || node_.IsSequence()) {  // text: "*.txt"
      return ReadNames(node_, name_, source.files);
    }
    Names known = {"files"};
    if constexpr (requires { source.compression; }) {
      known.push_back("compression");
    }
    if constexpr (requires { source.fields; }) known.push_back("fields");
    known.insert(known.end(), others.begin(), others.end());
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        node_, name_, known,
        [&](const std::string& key, const YAML::Node& value) {
          if (key == "files") return ReadNames(value, "files", source.files);
          if constexpr (requires { source.compression; }) {
            if (key == "compression") {
              return ReadCompression(value, source.compression);
            }
          }
          if constexpr (requires { source.fields; }) {
            if (key == "fields") return ReadFields(value, source.fields);
          }
          return on_other(key, value);
        }));
    if (!source.files.empty()) return absl::OkStatus();
    return values_.Error(at_, name_, "there is no files");
  }

  absl::Status ReadCompression(const YAML::Node& node, Compression& out) {
    size_t word = 0;
    FM_RETURN_IF_ERROR(
        values_.ReadWord(node, "compression", {"none", "gzip", "zstd"}, word));
    out = word == 0   ? Compression::kNone
          : word == 1 ? Compression::kGzip
                      : Compression::kZstd;
    return absl::OkStatus();
  }

  absl::Status ReadFields(const YAML::Node& node,
                          std::vector<SourceField>& fields) {
    FM_RETURN_IF_ERROR(values_.Count(node));
    if (!node.IsMap() || node.size() == 0) {
      return values_.Error(node, "fields",
                           "expected a map like {name: bytes, age: int64}, "
                           "found " +
                               values_.Kind(node));
    }
    for (const auto& entry : node) {
      SourceField field;
      FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, "fields", field.name));
      const std::string where = "fields " + field.name;
      for (const SourceField& other : fields) {
        if (other.name == field.name) {
          return values_.Error(entry.first, "fields",
                               values_.Quoted(field.name) + " is there twice");
        }
      }
      std::string type;
      FM_RETURN_IF_ERROR(values_.ReadString(
          entry.second, where, "a type like int64 or \"float32[3]\"", type));
      const absl::Status parsed =
          ParseTypeText(type, field.dtype, field.shape, Dims::kMayBeUnknown);
      if (!parsed.ok()) {
        return values_.Error(entry.second, where, ErrorText(parsed));
      }
      fields.push_back(std::move(field));
    }
    return absl::OkStatus();
  }

  absl::Status ReadStrings(const YAML::Node& node, const std::string& where,
                           const char* what, std::vector<std::string>& out) {
    FM_RETURN_IF_ERROR(values_.Count(node));
    out.clear();
    if (node.IsScalar()) {
      out = {node.Scalar()};
      return absl::OkStatus();
    }
    if (!node.IsSequence()) {
      return values_.Error(
          node, where,
          fmt::format("expected {} or a list of them, found ", what) +
              values_.Kind(node));
    }
    for (const YAML::Node& item : node) {
      std::string one;
      FM_RETURN_IF_ERROR(values_.ReadString(item, where, what, one));
      out.push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNames(const YAML::Node& node, const std::string& where,
                         std::vector<std::string>& out) {
    FM_RETURN_IF_ERROR(ReadStrings(node, where, "a file, a glob", out));
    if (out.empty()) {
      return values_.Error(node, where, "the list of files is empty");
    }
    for (const std::string& file : out) {
      if (file.empty()) {
        return values_.Error(node, where, "a file name is empty");
      }
    }
    return absl::OkStatus();
  }

  YamlValues& values_;
  const ReadInputYaml& read_input_;
  YAML::Node at_;    // the source's name
  YAML::Node node_;  // its value
  std::string name_;
};

}  // namespace

absl::Status ReadSourceYaml(YamlValues& values, const YAML::Node& node,
                            const ReadInputYaml& read_input, Source& source) {
  return SourceReader(values, read_input).Read(node, source);
}

}  // namespace feedmill
