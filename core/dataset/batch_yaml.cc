// The steps that make batches, in the YAML of a pipeline.

#include <yaml-cpp/yaml.h>

#include "core/base/status.h"
#include "core/dataset/shape_text.h"
#include "core/dataset/step_text.h"

namespace feedmill {
namespace {

constexpr size_t kListMax = 1000;

class BatchReader {
 public:
  BatchReader(YamlValues& values, const std::string& where,
              const YAML::Node& at, const YAML::Node& value)
      : values_(values), where_(where), at_(at), value_(value) {}

  absl::Status Read(BatchStep& step) {
    if (!value_.IsMap()) return values_.ReadInteger(value_, where_, step.size);
    YamlValues::Names keys = {"size", "drop_remainder"};
    if (step.layout == BatchLayout::kPadded) {
      keys.insert(keys.end(), {"shapes", "values"});
    }
    return ReadKeys(keys, "size", [&](const std::string& key, const auto& v) {
      if (key == "size") return Integer(v, key, step.size);
      return Shared(key, v, step.drop_remainder, &step.padding);
    });
  }

  absl::Status Read(RebatchStep& step) {
    if (!value_.IsMap()) return values_.ReadInteger(value_, where_, step.size);
    return ReadKeys({"size", "drop_remainder"}, "size",
                    [&](const std::string& key, const auto& v) {
                      if (key == "size") return Integer(v, key, step.size);
                      return Shared(key, v, step.drop_remainder, nullptr);
                    });
  }

  absl::Status Read(WindowStep& step) {
    if (!value_.IsMap()) return values_.ReadInteger(value_, where_, step.size);
    return ReadKeys({"size", "shift", "stride", "drop_remainder"}, "size",
                    [&](const std::string& key, const auto& v) {
                      if (key == "size") return Integer(v, key, step.size);
                      if (key == "shift") return Positive(v, key, step.shift);
                      if (key == "stride") return Integer(v, key, step.stride);
                      return Shared(key, v, step.drop_remainder, nullptr);
                    });
  }

  absl::Status Read(BucketBySequenceLengthStep& step) {
    return ReadKeys({"component", "boundaries", "batch_sizes", "drop_remainder",
                     "shapes", "values"},
                    "batch_sizes", [&](const std::string& key, const auto& v) {
                      if (key == "component")
                        return Component(v, step.component);
                      if (key == "boundaries")
                        return Integers(v, key, step.boundaries);
                      if (key == "batch_sizes")
                        return Integers(v, key, step.batch_sizes);
                      return Shared(key, v, step.drop_remainder, &step.padding);
                    });
  }

  absl::Status Read(TokenBatchStep& step) {
    return ReadKeys(
        {"component", "tokens", "layout", "drop_remainder", "shapes", "values"},
        "tokens", [&](const std::string& key, const auto& v) {
          if (key == "component") {
            return Component(v, step.component);
          }
          if (key == "tokens") return Integer(v, key, step.tokens);
          if (key == "layout") return Layout(v, step.layout);
          return Shared(key, v, step.drop_remainder, &step.padding);
        });
  }

  absl::Status Read(PackStep& step) {
    if (!value_.IsMap()) {
      return values_.ReadInteger(value_, where_, step.length);
    }
    bool unused = false;
    return ReadKeys({"length", "bins", "values"}, "length",
                    [&](const std::string& key, const auto& v) {
                      if (key == "length") return Integer(v, key, step.length);
                      if (key == "bins") return Integer(v, key, step.bins);
                      return Shared(key, v, unused, &step.padding);
                    });
  }

 private:
  // All keys of the map; `needed` must be there.
  template <class F>
  absl::Status ReadKeys(const YamlValues::Names& keys, const char* needed,
                        F&& on_key) {
    bool found = false;
    FM_RETURN_IF_ERROR(values_.ForEachKey(
        value_, where_, keys,
        [&](const std::string& key, const YAML::Node& v) -> absl::Status {
          found = found || key == needed;
          return on_key(key, v);
        }));
    if (found) return absl::OkStatus();
    return values_.Error(at_, where_, fmt::format("there is no {}", needed));
  }

  absl::Status Shared(const std::string& key, const YAML::Node& v,
                      bool& drop_remainder, std::vector<Padding>* padding) {
    if (key == "drop_remainder") {
      return values_.ReadBool(v, where_ + " drop_remainder", drop_remainder);
    }
    FM_RETURN_IF_ERROR(values_.Count(v));
    if (!v.IsMap()) {
      return values_.Error(
          v, where_ + " " + key,
          "expected a map from components, found " + values_.Kind(v));
    }
    for (const auto& entry : v) {
      std::string name;
      FM_RETURN_IF_ERROR(values_.ReadKey(entry.first, where_, name));
      if (padding->size() >= kListMax) {
        return values_.Error(entry.first, where_ + " " + key,
                             fmt::format("more than {} components", kListMax));
      }
      const std::string where = fmt::format("{} {} {}", where_, key, name);
      Padding& p = PaddingOf(name, *padding);
      FM_RETURN_IF_ERROR(key == "shapes"
                             ? ReadShape(entry.second, where, p.shape)
                             : values_.ReadReal(entry.second, where, p.value));
    }
    return absl::OkStatus();
  }

  static Padding& PaddingOf(const std::string& name,
                            std::vector<Padding>& padding) {
    for (Padding& p : padding) {
      if (p.component == name) return p;
    }
    padding.push_back({name, std::nullopt, 0});
    return padding.back();
  }

  // 128, [128, 3] or ["?", 3].
  absl::Status ReadShape(const YAML::Node& node, const std::string& where,
                         std::optional<Shape>& shape) {
    if (shape) return values_.Error(node, where, "it is there twice");
    FM_RETURN_IF_ERROR(values_.Count(node));
    std::string dims;
    const auto add = [&](const YAML::Node& dim) -> absl::Status {
      std::string text;
      FM_RETURN_IF_ERROR(values_.ReadString(dim, where, "a dimension", text));
      dims += (dims.empty() ? "" : ",") + text;
      return absl::OkStatus();
    };
    if (node.IsSequence()) {
      for (const YAML::Node& dim : node) FM_RETURN_IF_ERROR(add(dim));
    } else {
      FM_RETURN_IF_ERROR(add(node));
    }
    DType dtype = DType::kBytes;
    const absl::Status parsed = ParseTypeText(
        "bytes[" + dims + "]", dtype, shape.emplace(), Dims::kMayBeUnknown);
    if (parsed.ok()) return parsed;
    return values_.Error(node, where,
                         "expected dimensions like [128, 3], or \"?\" for the "
                         "longest, found " +
                             values_.Kind(node));
  }

  absl::Status Integer(const YAML::Node& v, const std::string& key,
                       int64_t& out) {
    return values_.ReadInteger(v, where_ + " " + key, out);
  }

  // Written, it is no default.
  absl::Status Positive(const YAML::Node& v, const std::string& key,
                        int64_t& out) {
    FM_RETURN_IF_ERROR(Integer(v, key, out));
    if (out != 0) return absl::OkStatus();
    return values_.Error(v, where_ + " " + key, "expected 1 or more, found 0");
  }

  absl::Status Component(const YAML::Node& v, std::string& out) {
    return values_.ReadString(v, where_, "a component", out);
  }

  absl::Status Integers(const YAML::Node& v, const std::string& key,
                        std::vector<int64_t>& out) {
    FM_RETURN_IF_ERROR(values_.Count(v));
    if (!v.IsSequence() || v.size() > kListMax) {
      return values_.Error(v, where_ + " " + key,
                           fmt::format("expected a list of at most {} integers,"
                                       " found {}",
                                       kListMax, values_.Kind(v)));
    }
    for (const YAML::Node& item : v) {
      FM_RETURN_IF_ERROR(Integer(item, key, out.emplace_back()));
    }
    return absl::OkStatus();
  }

  absl::Status Layout(const YAML::Node& v, BatchLayout& out) {
    size_t word = 0;
    FM_RETURN_IF_ERROR(
        values_.ReadWord(v, where_ + " layout", {"padded", "ragged"}, word));
    out = word == 0 ? BatchLayout::kPadded : BatchLayout::kRagged;
    return absl::OkStatus();
  }

  YamlValues& values_;
  const std::string& where_;
  const YAML::Node& at_;
  const YAML::Node& value_;
};

}  // namespace

absl::Status ReadBatchYaml(YamlValues& values, const std::string& where,
                           const std::string& name, const YAML::Node& at,
                           const YAML::Node& value, Step& step, bool& known) {
  BatchReader reader(values, where, at, value);
  known = true;
  if (name == "batch" || name == "padded_batch" || name == "ragged_batch") {
    auto& batch = step.emplace<BatchStep>();
    batch.layout = name == "batch"          ? BatchLayout::kEqual
                   : name == "padded_batch" ? BatchLayout::kPadded
                                            : BatchLayout::kRagged;
    return reader.Read(batch);
  }
  if (name == "rebatch") return reader.Read(step.emplace<RebatchStep>());
  if (name == "window") return reader.Read(step.emplace<WindowStep>());
  if (name == "bucket_by_sequence_length") {
    return reader.Read(step.emplace<BucketBySequenceLengthStep>());
  }
  if (name == "token_batch") return reader.Read(step.emplace<TokenBatchStep>());
  if (name == "pack") return reader.Read(step.emplace<PackStep>());
  known = false;
  return absl::OkStatus();
}

}  // namespace feedmill
