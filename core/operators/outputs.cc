#include "core/operators/outputs.h"

#include "core/operators/type_checks.h"

namespace feedmill {

std::string DescribeOutputs(const Outputs& outputs) {
  std::string out;
  for (const auto& [name, expr] : outputs) {
    if (!out.empty()) out += ", ";
    if (!name.empty()) out += name + " = ";
    out += expr.ToString();
  }
  return Shortened(out);
}

std::string DescribeFeatures(const Features& features) {
  std::string out;
  for (const Feature& feature : features) {
    if (!out.empty()) out += ", ";
    out += feature.name;
  }
  return Shortened(out);
}

}  // namespace feedmill
