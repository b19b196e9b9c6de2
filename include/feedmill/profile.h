#ifndef FEEDMILL_PROFILE_H_
#define FEEDMILL_PROFILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

// Private to the library.
namespace feedmill {
class MeasuredRead;
}  // namespace feedmill

// Exported from libfeedmill.so.
#pragma GCC visibility push(default)
namespace feedmill {

// Measures where the time of a reading goes: in the source, in each step, on
// the workers of a service, in waiting, and in the application.
//
//   auto profile = std::make_shared<feedmill::Profile>();
//   {
//     feedmill::Loader loader(photos, {.hooks = {.profile = profile}});
//     for (const feedmill::Element& batch : loader) Train(batch);
//   }
//   std::fputs(profile->ToText().value_or("").c_str(), stderr);
//
// Time counts from the construction of this object until ToText or ToJson.
// Several readers of the same dataset may share it, one after the other, as the
// epochs of a Loader do.
// Measuring costs about a microsecond for each step and block of rows.
//
// Thread-safety: one thread at a time.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // A line that says what bounds the read and the most to be gained, then a
  // table: wall seconds, CPU seconds, share, rows and bytes of each place.
  // `feedmill read --profile` prints it. FailedPrecondition before a reader has
  // used this object, and until that reader is destroyed.
  absl::StatusOr<std::string> ToText() const;

  // The same numbers as JSON:
  //
  //   {"elapsed_s": 2.1, "cpu_s": 3.9, "ready_s": 0, "verdict": "bound by …",
  //    "places": [{"where": "worker", "name": "steps[0] map", "wall_s": 1.2,
  //                "cpu_s": 1.1, "rows_in": 9, "rows_out": 9, "bytes_out":
  //                72}]}
  absl::StatusOr<std::string> ToJson() const;

  // Private to the library.
  MeasuredRead& measured() const { return *measured_; }

 private:
  const std::unique_ptr<MeasuredRead> measured_;
};

}  // namespace feedmill
#pragma GCC visibility pop

#endif  // FEEDMILL_PROFILE_H_
