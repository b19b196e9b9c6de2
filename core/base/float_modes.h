#ifndef FEEDMILL_CORE_BASE_FLOAT_MODES_H_
#define FEEDMILL_CORE_BASE_FLOAT_MODES_H_

#include <cfenv>

namespace feedmill {

// Sets this thread's modes of floating-point numbers to the default for the
// lifetime of the object: rounding to nearest, and no flushing of subnormal
// numbers to zero. A trainer may have set others, such as by
// torch.set_flush_denormal, and new threads inherit them. Takes about 0.1 us.
class DefaultFloatModes {
 public:
  DefaultFloatModes() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatModes() { std::fesetenv(&before_); }
  DefaultFloatModes(const DefaultFloatModes&) = delete;
  DefaultFloatModes& operator=(const DefaultFloatModes&) = delete;

 private:
  std::fenv_t before_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_BASE_FLOAT_MODES_H_
