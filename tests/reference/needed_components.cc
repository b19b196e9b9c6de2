#include "tests/reference/needed_components.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/dataset/image_table_source.h"
#include "core/dataset/source_types.h"
#include "core/operators/registry.h"
#include "tests/reference/combination.h"
#include "tests/reference/lookups.h"

namespace feedmill::reference {
namespace {

using Names = std::vector<std::string>;

// The name of a validity stands for its component.
std::string Name(const std::string& name) {
  if (name.starts_with("valid(")) return name.substr(6, name.size() - 7);
  return name.empty() ? "x" : name;
}

void AddNames(const Expr& expr, std::set<std::string>& names) {
  if (auto* component = std::get_if<Expr::Component>(&expr.node()))
    names.insert(component->name);
  if (auto* call = std::get_if<Expr::Call>(&expr.node()))
    for (const Expr& argument : call->arguments) AddNames(argument, names);
}

bool IsRagged(const Step& step) {
  auto* batch = step.As<BatchStep>();
  auto* tokens = step.As<TokenBatchStep>();
  return (batch && batch->layout == BatchLayout::kRagged) ||
         (tokens && tokens->layout == BatchLayout::kRagged);
}

Names FeatureNames(const Step& step) {
  Names names;
  const auto add = [&](const Features& features) {
    for (const auto& feature : features) names.push_back(feature.name);
  };
  if (auto* parse = step.As<ParseExampleStep>()) add(parse->features);
  if (auto* parse = step.As<ParseSequenceExampleStep>()) {
    add(parse->context);
    add(parse->sequence);
  }
  return names;
}

Names OutputNames(const std::vector<std::pair<std::string, Expr>>& outputs) {
  Names names;
  for (const auto& [name, expr] : outputs) names.push_back(Name(name));
  return names;
}

Names NamesAfter(const Step& step, Names in) {
  if (const auto columns = ChosenColumns(step, in)) {
    Names names;
    for (const ChosenColumn& column : *columns) names.push_back(column.name);
    return names;
  }
  if (auto* map = step.As<MapStep>()) return OutputNames(map->outputs);
  if (auto* flat_map = step.As<FlatMapStep>())
    return OutputNames(flat_map->outputs);
  if (const Names features = FeatureNames(step); !features.empty())
    return features;
  if (auto* enumerate = step.As<EnumerateStep>())
    in.insert(in.begin(), enumerate->component);
  if (auto* lookup = step.As<LookupStep>())
    for (std::string& name : LookedUp(*lookup)) in.push_back(std::move(name));
  if (step.As<PackStep>()) in.insert(in.end(), {"segment_ids", "positions"});
  if (!IsRagged(step)) return in;
  Names out;
  for (const std::string& name : in) {
    out.push_back(name);
    out.push_back(name + "_offsets");
  }
  return out;
}

Names SourceNames(const Source& source) {
  if (auto* inputs = InputsOf(source)) {
    if (!source.Is<ZipSource>()) return NamesOf((*inputs)[0]);
    Names all;
    for (const Graph& input : *inputs)
      for (std::string& name : NamesOf(input)) all.push_back(std::move(name));
    return all;
  }
  if (source.Is<ImagesSource>()) return {"image", "label", "path"};
  if (source.Is<LmdbSource>()) return {"key", "value"};
  Names names;
  if (auto* images = source.As<ImageTableSource>()) {
    names = SourceNames(images->table.at(0).source);
    names.insert(names.begin(), "image");
    return names;
  }
  if (auto* fields = SourceFields(source))
    for (const SourceField& field : *fields)
      if (names.empty() || names.back() != Name(field.name))
        names.push_back(Name(field.name));
  return names.empty() ? Names{"x"} : names;
}

// Returns the input components that a step needs for the `needed` outputs.
Needed NeededBefore(const Step& step, Needed needed, const Names& in) {
  if (const auto columns = ChosenColumns(step, in)) {
    std::set<std::string> names;
    const auto kept = Kept(needed, NamesAfter(step, in));
    for (const ChosenColumn& column : *columns) {
      if (kept.count(column.name) == 0) continue;
      if (column.expr != nullptr)
        AddNames(*column.expr, names);
      else
        names.insert(column.input);
    }
    return names;
  }
  if (step.As<CacheStep>() || step.As<UnbatchStep>() ||
      step.As<RebatchStep>() || step.As<PackStep>())
    return std::nullopt;
  if (auto* map = step.As<MapStep>()) {
    std::set<std::string> names;
    const auto kept = Kept(needed, OutputNames(map->outputs));
    for (const auto& [name, expr] : map->outputs)
      if (kept.count(Name(name))) AddNames(expr, names);
    return names;
  }
  if (auto* flat_map = step.As<FlatMapStep>()) {
    std::set<std::string> names;
    for (const auto& [name, expr] : flat_map->outputs) AddNames(expr, names);
    return names;
  }
  if (!FeatureNames(step).empty()) return std::nullopt;
  if (!needed) return needed;
  if (auto* lookup = step.As<LookupStep>()) {
    bool looks = lookup->unmatched == Unmatched::kDrop;
    for (const std::string& name : LookedUp(*lookup))
      looks = needed->erase(name) > 0 || looks;
    if (looks) needed->insert(lookup->key);
  }
  if (auto* enumerate = step.As<EnumerateStep>())
    needed->erase(enumerate->component);
  if (IsRagged(step)) {
    const std::set<std::string> made = *needed;
    for (const std::string& name : made)
      if (name.ends_with("_offsets"))
        needed->insert(name.substr(0, name.size() - 8));
  }
  const auto* sample = step.As<SampleStep>();
  const auto* split = step.As<SplitStep>();
  if ((sample && sample->by.empty()) || (split && split->by.empty()))
    return std::nullopt;
  if (const auto predicate = PredicateOf(step, in))
    AddNames(*predicate, *needed);
  if (auto* bucket = step.As<BucketBySequenceLengthStep>())
    needed->insert(bucket->component);
  if (auto* tokens = step.As<TokenBatchStep>())
    needed->insert(tokens->component);
  return needed;
}

}  // namespace

std::vector<Needed> NeededComponents(const Graph& graph, Needed at_end) {
  std::vector<Needed> out(graph.steps.size() + 1);
  out.back() = std::move(at_end);
  for (size_t s = graph.steps.size(); s-- > 0;)
    out[s] = NeededBefore(graph.steps[s], out[s + 1], NamesBefore(graph, s));
  const auto* mixture = graph.source.As<MixtureSource>();
  if (mixture && !mixture->measure.component.empty() && out[0])
    out[0]->insert(mixture->measure.component);
  return out;
}

std::vector<std::string> NamesOf(const Graph& graph) {
  return NamesBefore(graph, graph.steps.size());
}

std::vector<std::string> NamesBefore(const Graph& graph, size_t s) {
  Names names = SourceNames(graph.source);
  for (size_t k = 0; k < s; ++k)
    names = NamesAfter(graph.steps[k], std::move(names));
  return names;
}

std::optional<std::vector<ChosenColumn>> ChosenColumns(
    const Step& step, const std::vector<std::string>& in) {
  std::vector<ChosenColumn> out;
  if (auto* select = step.As<SelectStep>()) {
    for (const std::string& name : select->components)
      out.push_back({name, nullptr, name});
    return out;
  }
  for (const std::string& name : in) out.push_back({name, nullptr, name});
  if (auto* columns = step.As<WithColumnsStep>()) {
    for (const auto& [name, expr] : columns->outputs) {
      const auto there = std::find(in.begin(), in.end(), name);
      if (there == in.end())
        out.push_back({name, &expr, ""});
      else
        out[static_cast<size_t>(there - in.begin())].expr = &expr;
    }
    return out;
  }
  if (auto* drop = step.As<DropStep>()) {
    std::erase_if(out, [&](const ChosenColumn& column) {
      return std::count(drop->components.begin(), drop->components.end(),
                        column.name) > 0;
    });
    return out;
  }
  if (auto* rename = step.As<RenameStep>()) {
    for (const auto& [old, renamed] : rename->names)
      for (ChosenColumn& column : out)
        if (column.input == old)
          column.name = std::get<Expr::Component>(renamed.node()).name;
    return out;
  }
  return std::nullopt;
}

std::optional<Expr> PredicateOf(const Step& step,
                                const std::vector<std::string>& in) {
  const auto hash = [&](const char* name, int64_t seed, const Outputs& by) {
    std::vector<Expr> hashed = {name, seed};
    for (const auto& key : by) hashed.push_back(key.second);
    if (by.empty())
      for (const std::string& component : in)
        if (!component.starts_with("valid("))
          hashed.push_back(Expr::Named(Name(component)));
    return Expr::Apply("hash_uniform", hashed);
  };
  if (auto* filter = step.As<FilterStep>()) return filter->predicate;
  if (auto* sample = step.As<SampleStep>())
    return hash("sample", sample->seed, sample->by) < sample->fraction;
  if (auto* split = step.As<SplitStep>()) {
    const Expr h = hash("split", split->seed, split->by);
    double low = 0;
    size_t k = 0;
    for (; k < static_cast<size_t>(split->part); ++k) low += split->parts[k];
    if (k + 1 == split->parts.size()) return h >= low;
    return h >= low && h < low + split->parts[k];
  }
  return std::nullopt;
}

bool Drops(const Step& step) {
  const auto* lookup = step.As<LookupStep>();
  return (lookup && lookup->unmatched == Unmatched::kDrop) ||
         step.Is<FilterStep>() || step.Is<SampleStep>() || step.Is<SplitStep>();
}

bool IsNeeded(const Needed& needed, const std::string& name) {
  return !needed || needed->count(Name(name)) > 0;
}

std::set<std::string> Kept(const Needed& needed,
                           const std::vector<std::string>& names) {
  std::set<std::string> kept;
  for (const std::string& name : names)
    if (IsNeeded(needed, name)) kept.insert(Name(name));
  if (kept.empty()) kept.insert(Name(names.at(0)));
  return kept;
}

void Keep(const Needed& needed, Element& element) {
  if (element.empty()) return;  // a failed element
  Names names;
  for (const Component& c : element) names.push_back(c.name);
  const auto kept = Kept(needed, names);
  std::erase_if(element, [&](const Component& c) {
    return kept.count(Name(c.name)) == 0;
  });
}

Step NeededPart(const Step& step, const Needed& needed) {
  const Names names = FeatureNames(step);
  if (names.empty()) return step;
  const auto kept = Kept(needed, names);
  const auto drop = [&](Features& features) {
    std::erase_if(features,
                  [&](const auto& f) { return kept.count(f.name) == 0; });
  };
  if (const auto* parse = step.As<ParseExampleStep>()) {
    ParseExampleStep part = *parse;
    drop(part.features);
    return MakeStep(part);
  }
  ParseSequenceExampleStep part = step.Get<ParseSequenceExampleStep>();
  drop(part.context);
  drop(part.sequence);
  return MakeStep(part);
}

Needed NeededOfInput(const Needed& needed,
                     const std::vector<std::string>& names) {
  if (!needed) return needed;
  return Kept(needed, names);
}

}  // namespace feedmill::reference
