#include "core/dataset/fields.h"

namespace feedmill {

std::vector<std::string_view> YamlKeysOf(const Field& field) {
  const auto* const padding = std::get_if<PaddingList>(&field.value);
  if (padding == nullptr) return {field.name};
  if (padding->shapes) return {"shapes", "values"};
  return {"values"};
}

bool IsUnset(const FieldValue& value) {
  struct Visitor {
    bool operator()(const bool* v) const { return !*v; }
    bool operator()(const int64_t* v) const { return *v == 0; }
    bool operator()(const double* v) const { return *v == 0; }
    bool operator()(const std::string* v) const { return v->empty(); }
    bool operator()(const std::optional<int64_t>* v) const { return !*v; }
    bool operator()(const std::optional<uint64_t>* v) const { return !*v; }
    bool operator()(const std::vector<int64_t>* v) const { return v->empty(); }
    bool operator()(const ComponentName& v) const { return v.name->empty(); }
    bool operator()(const FilePath& v) const { return v.path->empty(); }
    bool operator()(const Word& v) const { return v.is_first(); }
    bool operator()(const Expr*) const { return false; }
    bool operator()(const Outputs* v) const { return v->empty(); }
    bool operator()(const Features* v) const { return v->empty(); }
    bool operator()(const PaddingList& v) const { return v.padding->empty(); }
    bool operator()(const std::vector<double>* v) const { return v->empty(); }
    bool operator()(const std::vector<std::string>* v) const {
      return v->empty();
    }
    bool operator()(const FileNames& v) const { return v.files->empty(); }
    bool operator()(const FileCompression& v) const {
      return *v.compression == Compression::kByName;
    }
    bool operator()(const DeclaredFields& v) const { return v.fields->empty(); }
    bool operator()(const InputPipelines& v) const { return v.inputs->empty(); }
  };
  return std::visit(Visitor{}, value);
}

void ForEachExpr(const FieldList& fields, const std::function<void(Expr&)>& f) {
  for (const Field& field : fields) {
    if (Expr* const* expr = std::get_if<Expr*>(&field.value)) {
      f(**expr);
    } else if (Outputs* const* outputs = std::get_if<Outputs*>(&field.value)) {
      for (auto& output : **outputs) f(output.second);
    }
  }
}

}  // namespace feedmill
