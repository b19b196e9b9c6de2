#include "core/base/status.h"
#include "core/operators/kinds.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct OnErrorOperator : PassesComponents {
  using Options = OnErrorStep;
  static constexpr std::string_view kName = "on_error";
  static constexpr std::string_view kSummary =
      "Says what becomes of elements that cannot be made because of their "
      "data.";

  static FieldList Fields(OnErrorStep& s) {
    return {{"policy", Word(s.policy, {"fail", "skip"}),
             Field::kRequired | Field::kShort,
             "Whether such an element ends the read or is left out."},
            {"cap", &s.cap, Field::kOptional,
             "More elements left out than this end the read."},
            {"quarantine", FilePath{&s.quarantine}, Field::kOptional,
             "A file with a line about each element that was left out."}};
  }
  static StepTraits Traits(const OnErrorStep&) {
    return {.needs = StepNeeds::kElement};
  }
  static std::string Describe(const OnErrorStep& s) {
    if (s.policy == OnErrorStep::Policy::kFail) return "fail";
    std::string out = "skip";
    if (s.cap) out += fmt::format(", at most {}", *s.cap);
    if (!s.quarantine.empty()) out += ", named in " + s.quarantine;
    return out;
  }
  static absl::StatusOr<ElementSpec> Output(const OnErrorStep& s,
                                            const StepInput& in) {
    const bool skip = s.policy == OnErrorStep::Policy::kSkip;
    if (!skip && (s.cap || !s.quarantine.empty())) {
      return InvalidArgument("cap and quarantine need `policy: skip`");
    }
    if (s.cap) FM_RETURN_IF_ERROR(CheckCount(*s.cap));
    return in.spec;
  }
  // The step configures the steps before it, and does nothing itself.
  static absl::Status Compile(const OnErrorStep&, ProgramBuilder&) {
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& OnErrorKind() {
  static const StepKindOf<OnErrorOperator> kind;
  return kind;
}

}  // namespace feedmill
