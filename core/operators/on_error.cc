#include "core/base/status.h"
#include "core/base/url_secrets.h"
#include "core/operators/step_kind_of.h"
#include "core/operators/type_checks.h"

namespace feedmill {
namespace {

struct OnErrorOperator : PassesComponents {
  using Options = OnErrorStep;
  static constexpr std::string_view kName = "on_error";
  static constexpr Description kDescription = {
      .summary =
          "Ends the read at an element with bad data, or skips the element.",
      .yaml = R"(on_error: skip
on_error: {policy: skip, cap: 100, quarantine: bad.jsonl})",
      .element = "unchanged; elements that cannot be made are left out",
      .details =
          "Elements are skipped if the source or a step before this one "
          "failed.",
      .errors = "Reading raises ResourceExhaustedError for more than `cap`.",
      .example = R"-(
>>> ds = fm.Dataset.range(3).map("to_number(substr('0a2', x, 1), int64)")
>>> [int(x) for x in ds.on_error("skip").read()]
[0, 2]
)-"};

  static FieldList Fields(OnErrorStep& s) {
    return {{"policy", Word(s.policy, {"fail", "skip"}),
             Field::kRequired | Field::kShort,
             "fail: such an element ends the read; skip: it is skipped."},
            {"cap", &s.cap, Field::kOptional,
             "Most elements that are skipped; one more ends the read.",
             "any number"},
            {"quarantine", FilePath{&s.quarantine}, Field::kOptional,
             "A file with a line about each skipped element, or a folder of "
             "s3://, gs:// or az:// with an object for each."}};
  }
  static StepTraits Traits(const OnErrorStep&) {
    return {.needs = StepNeeds::kElement};
  }
  static std::string Describe(const OnErrorStep& s) {
    if (s.policy == OnErrorStep::Policy::kFail) return "fail";
    std::string out = "skip";
    if (s.cap) out += fmt::format(", at most {}", *s.cap);
    if (!s.quarantine.empty()) out += ", named in " + ShownName(s.quarantine);
    return out;
  }
  static absl::StatusOr<ElementSpec> Output(const OnErrorStep& s,
                                            const StepInput& in) {
    const bool skip = s.policy == OnErrorStep::Policy::kSkip;
    if (!skip && (s.cap || !s.quarantine.empty())) {
      return InvalidArgument("cap and quarantine need `policy: skip`");
    }
    FM_RETURN_IF_ERROR(CheckWritten(s.quarantine, "a quarantine"));
    if (s.cap) FM_RETURN_IF_ERROR(CheckCount(*s.cap));
    return in.spec;
  }
  // The step configures the steps before it, and does nothing itself.
  static absl::Status Compile(const OnErrorStep&, ProgramBuilder&) {
    return absl::OkStatus();
  }
};

}  // namespace

const StepKind& OnErrorKind() { return KindOf<OnErrorOperator>(); }

}  // namespace feedmill
