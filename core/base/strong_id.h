#ifndef FEEDMILL_CORE_BASE_STRONG_ID_H_
#define FEEDMILL_CORE_BASE_STRONG_ID_H_

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

namespace feedmill {

// A value that is only an identity: ordered and printable. It does not convert
// to another kind of id and has no arithmetic.
//
//   using WorkerId = StrongId<struct WorkerIdTag, std::string>;
template <class Tag, class T = uint64_t>
class StrongId {
 public:
  using Value = T;

  StrongId() = default;
  explicit StrongId(T value) : value_(std::move(value)) {}

  const T& value() const { return value_; }

  friend bool operator==(const StrongId&, const StrongId&) = default;
  friend auto operator<=>(const StrongId&, const StrongId&) = default;

 private:
  T value_{};
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_STRONG_ID_H_
