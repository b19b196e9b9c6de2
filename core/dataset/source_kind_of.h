#ifndef FEEDMILL_CORE_DATASET_SOURCE_KIND_OF_H_
#define FEEDMILL_CORE_DATASET_SOURCE_KIND_OF_H_

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/source_kind.h"

namespace feedmill {

// The required members of every kind of source. `S` is a struct of static
// members around a plain struct of options. Optional members: kEndings (an
// array of SourceKind::endings), Begins, Describe and DescribeInput.
template <class S>
concept DescribesSource =
    requires(const typename S::Options& options, typename S::Options& writable,
             std::span<const ElementSpec> inputs) {
      { S::kName } -> std::convertible_to<std::string_view>;
      { S::kDescription } -> std::convertible_to<Description>;
      { S::Fields(writable) } -> std::same_as<FieldList>;
      { S::Properties(options) } -> std::same_as<SourceProperties>;
      {
        S::Output(options, inputs)
      } -> std::same_as<absl::StatusOr<ElementSpec>>;
    };

// Implements the parts of SourceKind that all sources have.
template <class S>
  requires DescribesSource<S>
class SourceKindOf : public SourceKind {
 public:
  using Options = typename S::Options;

  std::string_view name() const override { return S::kName; }
  const std::type_info& options_type() const override {
    return typeid(Options);
  }
  const Description& description() const override { return S::kDescription; }
  std::vector<std::string_view> endings() const override {
    if constexpr (requires { S::kEndings; }) {
      return {S::kEndings.begin(), S::kEndings.end()};
    } else {
      return {};
    }
  }
  bool Begins(std::string_view head) const override {
    if constexpr (requires { S::Begins(head); }) {
      return S::Begins(head);
    } else {
      return false;
    }
  }
  Source New() const override { return Source(*this, Options{}); }
  FieldList Fields(void* options) const override {
    return S::Fields(*static_cast<Options*>(options));
  }
  std::shared_ptr<void> Copy(const void* options) const override {
    return std::make_shared<Options>(Cast(options));
  }
  std::string Describe(const void* options) const override {
    if constexpr (requires { S::Describe(Cast(options)); }) {
      return S::Describe(Cast(options));
    } else {
      return "";
    }
  }
  SourceProperties Properties(const void* options) const override {
    return S::Properties(Cast(options));
  }
  absl::StatusOr<ElementSpec> Output(
      const void* options, std::span<const ElementSpec> inputs) const override {
    return S::Output(Cast(options), inputs);
  }
  std::string DescribeInput(const void* options, size_t input) const override {
    if constexpr (requires { S::DescribeInput(Cast(options), input); }) {
      return S::DescribeInput(Cast(options), input);
    } else {
      return "";
    }
  }

 protected:
  static const Options& Cast(const void* options) {
    return *static_cast<const Options*>(options);
  }
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_DATASET_SOURCE_KIND_OF_H_
