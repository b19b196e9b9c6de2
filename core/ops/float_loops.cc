#include <cmath>

#include "core/ops/loops.h"

namespace feedmill {
namespace {

struct Sin {
  template <class T>
  static T Apply(T a) {
    return std::sin(a);
  }
};
struct Cos {
  template <class T>
  static T Apply(T a) {
    return std::cos(a);
  }
};
struct Tanh {
  template <class T>
  static T Apply(T a) {
    return std::tanh(a);
  }
};
struct Log1p {
  template <class T>
  static T Apply(T a) {
    return std::log1p(a);
  }
};
struct Expm1 {
  template <class T>
  static T Apply(T a) {
    return std::expm1(a);
  }
};
struct IsNan {
  template <class T>
  static uint8_t Apply(T a) {
    return a != a ? 1 : 0;
  }
};
struct IsFinite {
  template <class T>
  static uint8_t Apply(T a) {
    return a - a == T{0} ? 1 : 0;
  }
};

}  // namespace

Loop SinLoop(DType calc) { return FloatUnary<Sin>(calc); }
Loop CosLoop(DType calc) { return FloatUnary<Cos>(calc); }
Loop TanhLoop(DType calc) { return FloatUnary<Tanh>(calc); }
Loop Log1pLoop(DType calc) { return FloatUnary<Log1p>(calc); }
Loop Expm1Loop(DType calc) { return FloatUnary<Expm1>(calc); }
Loop IsNanLoop(DType calc) { return FloatUnary<IsNan>(calc); }
Loop IsFiniteLoop(DType calc) { return FloatUnary<IsFinite>(calc); }

}  // namespace feedmill
