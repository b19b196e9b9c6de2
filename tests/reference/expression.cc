#include "tests/reference/expression.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>

#include "tests/reference/box_functions.h"
#include "tests/reference/float_functions.h"
#include "tests/reference/image_functions.h"
#include "tests/reference/random_functions.h"
#include "tests/reference/tensor_functions.h"
#include "tests/reference/text_functions.h"

namespace feedmill::reference {
namespace {

using Wide = __int128;
enum class Weak { kNo, kBool, kInt, kFloat };

struct Value {
  Tensor tensor;
  Weak weak = Weak::kNo;
};

int Bits(DType t) { return t == DType::kBool ? 8 : int(ItemSize(t)) * 8; }
bool Unsigned(DType t) { return IsInteger(t) && !IsSigned(t); }

DType IntOf(bool is_signed, int bits) {
  if (is_signed) {
    return bits == 8    ? DType::kInt8
           : bits == 16 ? DType::kInt16
           : bits == 32 ? DType::kInt32
                        : DType::kInt64;
  }
  return bits == 8    ? DType::kUInt8
         : bits == 16 ? DType::kUInt16
         : bits == 32 ? DType::kUInt32
                      : DType::kUInt64;
}

DType Promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (IsFloat(a) && IsFloat(b))
    return IsSmallFloat(a) && IsSmallFloat(b) ? DType::kFloat32
                                              : DType::kFloat64;
  if (IsFloat(a) || IsFloat(b)) {
    const DType f = IsFloat(a) ? a : b, i = IsFloat(a) ? b : a;
    if (f == DType::kFloat64 || Bits(i) > 16) return DType::kFloat64;
    return Bits(i) == 8 ? f : DType::kFloat32;
  }
  if (IsSigned(a) == IsSigned(b)) return Bits(a) > Bits(b) ? a : b;
  const DType s = IsSigned(a) ? a : b, u = IsSigned(a) ? b : a;
  if (Bits(s) > Bits(u)) return s;
  if (Bits(u) == 64) return DType::kFloat64;
  return IntOf(true, Bits(u) * 2);
}

// Wraps or rounds an exact integer to a value of the dtype.
long double Store(DType t, Wide v) {
  if (t == DType::kBool) return v != 0;
  const Wide modulus = Wide{1} << Bits(t);
  v &= modulus - 1;
  if (IsSigned(t) && v >= modulus / 2) v -= modulus;
  return static_cast<long double>(v);
}
long double Convert(DType from, DType to, long double v) {
  if (to == DType::kBool) return v != 0 || std::isnan(v);
  if (IsFloat(to)) {
    return Rounded(to,
                   IsFloat(from) || !IsFloat16(to) ? v : static_cast<float>(v));
  }
  if (!IsFloat(from)) return Store(to, static_cast<Wide>(v));
  const double d = static_cast<double>(v);
  // Values out of range convert as on x86-64.
  if (to == DType::kUInt64) return static_cast<long double>(uint64_t(d));
  const int64_t wide = d >= -9.2233720368547758e18 && d < 9.2233720368547758e18
                           ? static_cast<int64_t>(d)
                           : std::numeric_limits<int64_t>::min();
  return Store(to, wide);
}

Tensor Cast(const Tensor& a, DType to) {
  Tensor out{to, a.shape, {}, {}};
  for (long double v : a.numbers)
    out.numbers.push_back(Convert(a.dtype, to, v));
  return out;
}

// Returns the dtype of an operation on both values, and converts both to it.
DType CommonType(const Value& a, const Value& b) {
  const DType ta = a.tensor.dtype, tb = b.tensor.dtype;
  auto weak_with = [](Weak weak, DType strong) {
    if (weak == Weak::kBool) return strong;
    if (weak == Weak::kInt)
      return strong == DType::kBool ? DType::kInt64 : strong;
    return IsFloat(strong) ? strong : DType::kFloat64;
  };
  if (a.weak != Weak::kNo && b.weak == Weak::kNo) return weak_with(a.weak, tb);
  if (b.weak != Weak::kNo && a.weak == Weak::kNo) return weak_with(b.weak, ta);
  return Promote(ta, tb);
}

Shape BroadcastShape(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t k = 0; k < out.size(); ++k) {
    const size_t from_end = out.size() - k;
    const int64_t da = from_end > a.size() ? 1 : a[a.size() - from_end];
    const int64_t db = from_end > b.size() ? 1 : b[b.size() - from_end];
    if (da != db && da != 1 && db != 1)
      throw DataError("shapes do not broadcast");
    out[k] = da == 1 ? db : da;
  }
  return out;
}

size_t Count(const Shape& shape) {
  size_t n = 1;
  for (int64_t d : shape) n *= static_cast<size_t>(d);
  return n;
}

// Returns the index of the item of `t` that item `index` of the broadcast shape
// refers to.
size_t BroadcastIndex(const Tensor& t, const Shape& shape, size_t index) {
  size_t at = 0, stride = 1;
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t axis = shape.size() - 1 - k;
    const size_t dim = static_cast<size_t>(shape[axis]);
    const size_t coordinate = index % dim;
    index /= dim;
    if (k < t.shape.size()) {
      const size_t own = static_cast<size_t>(t.shape[t.shape.size() - 1 - k]);
      if (own != 1) at += coordinate * stride;
      stride *= own;
    }
  }
  return at;
}

using Op = std::function<long double(long double, long double)>;

Tensor Zip(const Tensor& a, const Tensor& b, DType out_type, const Op& op) {
  Tensor out{out_type, BroadcastShape(a.shape, b.shape), {}, {}};
  for (size_t k = 0; k < Count(out.shape); ++k)
    out.numbers.push_back(op(a.numbers[BroadcastIndex(a, out.shape, k)],
                             b.numbers[BroadcastIndex(b, out.shape, k)]));
  return out;
}

Tensor Each(const Tensor& a, DType type,
            const std::function<long double(long double)>& op) {
  Tensor out{type, a.shape, {}, {}};
  for (long double v : a.numbers) out.numbers.push_back(op(v));
  return out;
}

Wide FloorDiv(Wide a, Wide b) {
  Wide q = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --q;
  return q;
}

Wide Power(Wide base, Wide exponent, DType type) {
  Wide result = 1;
  Wide square = base;
  while (exponent > 0) {
    if (exponent & 1)
      result = static_cast<Wide>(Store(
          type, static_cast<Wide>(static_cast<unsigned __int128>(result) *
                                  static_cast<unsigned __int128>(square))));
    square = static_cast<Wide>(
        Store(type, static_cast<Wide>(static_cast<unsigned __int128>(square) *
                                      static_cast<unsigned __int128>(square))));
    exponent >>= 1;
  }
  return result;
}

long double Integers(const std::string& f, DType t, Wide a, Wide b) {
  if (t == DType::kBool) {
    if (f == "add") return a || b;
    if (f == "multiply") return a && b;
    throw std::logic_error(f + " of bools");
  }
  if (f == "add") return Store(t, a + b);
  if (f == "subtract") return Store(t, a - b);
  if (f == "multiply")
    return Store(t, static_cast<Wide>(static_cast<unsigned __int128>(a) *
                                      static_cast<unsigned __int128>(b)));
  if (f == "floor_divide" || f == "remainder") {
    if (b == 0) throw DataError("division by zero");
    const Wide q = FloorDiv(a, b);
    return Store(t, f == "floor_divide" ? q : a - q * b);
  }
  if (f == "power") {
    if (b < 0) throw DataError("integers to negative powers");
    return Store(t, Power(a, b, t));
  }
  throw std::logic_error("unknown integer operation " + f);
}

Tensor Arithmetic(const std::string& f, const Value& a, const Value& b) {
  DType t = CommonType(a, b);
  if (f == "divide" && !IsFloat(t)) t = DType::kFloat64;
  if (t == DType::kBool && f != "add" && f != "multiply") {
    if (f == "subtract") throw std::logic_error("subtract of bools");
    t = DType::kInt8;  // NumPy has no bool loops for these
  }
  const Tensor x = Cast(a.tensor, t), y = Cast(b.tensor, t);
  if (t == DType::kFloat64)
    return Zip(x, y, t, [&](long double p, long double q) -> long double {
      return Floats(f, static_cast<double>(p), static_cast<double>(q));
    });
  if (IsSmallFloat(t))
    return Zip(x, y, t, [&](long double p, long double q) -> long double {
      return Rounded(t,
                     Floats(f, static_cast<float>(p), static_cast<float>(q)));
    });
  return Zip(x, y, t, [&](long double p, long double q) {
    return Integers(f, t, static_cast<Wide>(p), static_cast<Wide>(q));
  });
}

bool Compare(const std::string& f, int order, bool unordered) {
  if (unordered) return f == "not_equal";
  if (f == "less") return order < 0;
  if (f == "less_equal") return order <= 0;
  if (f == "greater") return order > 0;
  if (f == "greater_equal") return order >= 0;
  return f == "equal" ? order == 0 : order != 0;
}

Tensor Comparison(const std::string& f, const Value& a, const Value& b) {
  if (a.tensor.dtype == DType::kBytes) {
    Tensor out{
        DType::kBool, BroadcastShape(a.tensor.shape, b.tensor.shape), {}, {}};
    for (size_t k = 0; k < Count(out.shape); ++k) {
      const std::string& x =
          a.tensor.strings[BroadcastIndex(a.tensor, out.shape, k)];
      const std::string& y =
          b.tensor.strings[BroadcastIndex(b.tensor, out.shape, k)];
      out.numbers.push_back(Compare(f, x.compare(y), false));
    }
    return out;
  }
  Tensor x = a.tensor, y = b.tensor;
  if (IsFloat(x.dtype) || IsFloat(y.dtype)) {  // integers are compared exactly
    const DType t = CommonType(a, b);
    x = Cast(x, t);
    y = Cast(y, t);
  }
  return Zip(x, y, DType::kBool,
             [&](long double p, long double q) -> long double {
               const bool unordered = std::isnan(p) || std::isnan(q);
               return Compare(f, p < q ? -1 : p > q ? 1 : 0, unordered);
             });
}

Tensor Bitwise(const std::string& f, const Value& a, const Value& b) {
  const bool shift = f == "left_shift" || f == "right_shift";
  DType t = CommonType(a, b);
  if (shift && t == DType::kBool) t = DType::kInt8;
  return Zip(Cast(a.tensor, t), Cast(b.tensor, t), t,
             [&](long double p, long double q) -> long double {
               const Wide x = static_cast<Wide>(p), y = static_cast<Wide>(q);
               if (f == "bitwise_and") return Store(t, x & y);
               if (f == "bitwise_or") return Store(t, x | y);
               if (f == "bitwise_xor") return Store(t, x ^ y);
               if (y < 0) throw DataError("shift by a negative amount");
               if (y >= Bits(t)) return f == "right_shift" && x < 0 ? -1 : 0;
               if (f == "left_shift")
                 return Store(
                     t, static_cast<Wide>(static_cast<unsigned __int128>(x)
                                          << int(y)));
               return Store(t, x >> int(y));
             });
}

Tensor MinMax(bool minimum, const Value& a, const Value& b) {
  const DType t = CommonType(a, b);
  return Zip(Cast(a.tensor, t), Cast(b.tensor, t), t,
             [&](long double p, long double q) {
               if (std::isnan(p)) return p;
               if (std::isnan(q)) return q;
               return minimum ? (q < p ? q : p) : (q > p ? q : p);
             });
}

bool Truth(long double v) { return v != 0 || std::isnan(v); }

DType FloatFor(DType t) { return IsFloat(t) ? t : DType::kFloat64; }

Tensor UnaryFloat(const std::string& f, const Tensor& a) {
  const DType t = FloatFor(a.dtype);
  return Each(Cast(a, t), t, [&](long double v) -> long double {
    if (IsSmallFloat(t))
      return Rounded(t, FloatFunction(f, static_cast<float>(v)));
    return FloatFunction(f, static_cast<double>(v));
  });
}

Tensor Unary(const std::string& f, const Tensor& a) {
  const DType t = a.dtype;
  static const char* const kFloatFunctions[] = {
      "sqrt", "exp", "log", "sin", "cos", "tanh", "log1p", "expm1"};
  for (const char* name : kFloatFunctions)
    if (f == name) return UnaryFloat(f, a);
  if (f == "isnan" || f == "isfinite")
    return Each(a, DType::kBool, [&](long double v) {
      return f == "isnan" ? std::isnan(v) : std::isfinite(v);
    });
  if (f == "logical_not")
    return Each(a, DType::kBool, [](long double v) { return !Truth(v); });
  return Each(a, t, [&](long double v) -> long double {
    if (f == "negative")
      return IsFloat(t) ? -v : Store(t, -static_cast<Wide>(v));
    if (f == "positive") return v;
    if (f == "abs")
      return IsFloat(t) ? std::fabs(v)
                        : Store(t, v < 0 ? -static_cast<Wide>(v)
                                         : static_cast<Wide>(v));
    if (f == "invert")
      return t == DType::kBool ? !Truth(v) : Store(t, ~static_cast<Wide>(v));
    if (f == "square") {
      if (IsSmallFloat(t))
        return Rounded(t, static_cast<float>(v) * static_cast<float>(v));
      if (t == DType::kFloat64)
        return static_cast<double>(v) * static_cast<double>(v);
      return Integers("multiply", t, static_cast<Wide>(v),
                      static_cast<Wide>(v));
    }
    if (f == "sign") return std::isnan(v) ? v : v > 0 ? 1 : v < 0 ? -1 : 0;
    if (!IsFloat(t)) return v;  // floor, ceil, round of integers
    const double d = static_cast<double>(v);
    return f == "floor"  ? std::floor(d)
           : f == "ceil" ? std::ceil(d)
                         : std::nearbyint(d);
  });
}

Tensor Scalar(DType t, long double v) { return Tensor{t, {}, {v}, {}}; }

Tensor Reduce(const std::string& f, const Tensor& a) {
  const DType t = a.dtype;
  if (f == "any" || f == "all") {
    bool all = true, any = false;
    for (long double v : a.numbers) (Truth(v) ? any : all) = Truth(v);
    return Scalar(DType::kBool, f == "any" ? any : all);
  }
  if (a.numbers.empty() && (f == "min" || f == "max" || f == "mean"))
    throw DataError(f + " of no items");
  if (f == "min" || f == "max") {
    long double best = a.numbers[0];
    for (long double v : a.numbers) {
      if (std::isnan(best)) break;
      if (std::isnan(v) || (f == "min" ? v < best : v > best)) best = v;
    }
    return Scalar(t, best);
  }
  const DType acc = IsFloat(t)    ? t
                    : Unsigned(t) ? DType::kUInt64
                                  : DType::kInt64;
  if (f == "mean") {
    const DType m = FloatFor(t);
    long double sum = 0;
    for (long double v : a.numbers)
      sum = IsSmallFloat(m)
                ? static_cast<long double>(static_cast<float>(sum) +
                                           static_cast<float>(v))
                : static_cast<long double>(static_cast<double>(sum) +
                                           static_cast<double>(v));
    const size_t n = a.numbers.size();
    if (IsSmallFloat(m))
      return Scalar(
          m, Rounded(m, static_cast<float>(sum) / static_cast<float>(n)));
    return Scalar(m, static_cast<double>(sum) / static_cast<double>(n));
  }
  long double total = f == "sum" ? 0 : 1;
  const std::string op = f == "sum" ? "add" : "multiply";
  for (long double v : a.numbers) {
    if (IsSmallFloat(acc))
      total = Floats(op, static_cast<float>(total), static_cast<float>(v));
    else if (acc == DType::kFloat64)
      total = Floats(op, static_cast<double>(total), static_cast<double>(v));
    else
      total = Integers(op, acc, static_cast<Wide>(total), static_cast<Wide>(v));
  }
  return Scalar(acc, IsFloat(acc) ? Rounded(acc, total) : total);
}

Tensor ReduceAxis(const std::string& f, const Tensor& a, int64_t axis) {
  const Tensor none{a.dtype, {}, {1}, {}};
  Tensor out{Reduce(f, none).dtype, WithoutAxis(a.shape, axis), {}, {}};
  for (const Tensor& line : LinesAlong(a, axis))
    out.numbers.push_back(Reduce(f, line).numbers[0]);
  return out;
}

Value EvaluateValue(const Expr& expr, const Element& element);

// Returns argument k; if the function joins its parts, in the parts' common
// dtype.
Tensor PartOf(const Expr::Call& call, size_t k, const Element& element) {
  const Value own = EvaluateValue(call.arguments.at(k), element);
  const std::string& f = call.function;
  const bool joins = f == "concat" || f == "stack" || f == "list";
  if (!joins || own.tensor.dtype == DType::kBytes) return own.tensor;
  const size_t parts = call.arguments.size() - (f == "list" ? 0 : 1);
  Value all;
  bool any = false;
  for (const Weak weak : {Weak::kNo, Weak::kFloat, Weak::kInt, Weak::kBool})
    // literals take the dtype of the other parts
    for (size_t p = 0; p < parts; ++p) {
      const Value part = EvaluateValue(call.arguments[p], element);
      if (part.weak != weak) continue;
      if (any) all.tensor.dtype = CommonType(all, part);
      if (!any) all = part;
      any = true;
    }
  return Cast(own.tensor, all.tensor.dtype);
}

Value OfLiteral(const Expr::Literal& literal) {
  Value out;
  if (auto* s = std::get_if<std::string>(&literal.value)) {
    out.tensor = Tensor{DType::kBytes, {}, {}, {*s}};
  } else if (auto* b = std::get_if<bool>(&literal.value)) {
    out = {Scalar(DType::kBool, *b), Weak::kBool};
  } else if (auto* i = std::get_if<int64_t>(&literal.value)) {
    out = {Scalar(DType::kInt64, static_cast<long double>(*i)), Weak::kInt};
  } else if (auto* u = std::get_if<uint64_t>(&literal.value)) {
    out = {Scalar(DType::kUInt64, static_cast<long double>(*u)), Weak::kInt};
  } else {
    out = {Scalar(DType::kFloat64, std::get<double>(literal.value)),
           Weak::kFloat};
  }
  return out;
}

std::string DTypeArgument(const Expr& e) {
  if (auto* c = std::get_if<Expr::Component>(&e.node())) return c->name;
  return std::get<std::string>(std::get<Expr::Literal>(e.node()).value);
}

Tensor Where(const Value& c, const Value& a, const Value& b) {
  Tensor condition = Each(c.tensor, DType::kBool, Truth);
  if (a.tensor.dtype == DType::kBytes) {
    Tensor out{DType::kBytes,
               BroadcastShape(condition.shape,
                              BroadcastShape(a.tensor.shape, b.tensor.shape)),
               {},
               {}};
    for (size_t k = 0; k < Count(out.shape); ++k) {
      const Tensor& from =
          condition.numbers[BroadcastIndex(condition, out.shape, k)] != 0
              ? a.tensor
              : b.tensor;
      out.strings.push_back(from.strings[BroadcastIndex(from, out.shape, k)]);
    }
    return out;
  }
  const DType t = CommonType(a, b);
  const Tensor x = Cast(a.tensor, t), y = Cast(b.tensor, t);
  Tensor out{t,
             BroadcastShape(condition.shape, BroadcastShape(x.shape, y.shape)),
             {},
             {}};
  for (size_t k = 0; k < Count(out.shape); ++k) {
    const Tensor& from =
        condition.numbers[BroadcastIndex(condition, out.shape, k)] != 0 ? x : y;
    out.numbers.push_back(from.numbers[BroadcastIndex(from, out.shape, k)]);
  }
  return out;
}

Tensor OfBytes(const std::string& f, const Tensor& a) {
  Tensor out{DType::kBytes, a.shape, {}, {}};
  for (std::string s : a.strings) {
    for (char& ch : s) {
      if (f == "lower" && ch >= 'A' && ch <= 'Z')
        ch = static_cast<char>(ch + 32);
      if (f == "upper" && ch >= 'a' && ch <= 'z')
        ch = static_cast<char>(ch - 32);
    }
    out.strings.push_back(s);
  }
  return out;
}

// True if the call's argument is a list of numbers, which adapt to a float.
bool IsListOfLiterals(const Expr& expr) {
  const auto* list = std::get_if<Expr::Call>(&expr.node());
  if (list == nullptr || list->function != "list") return false;
  for (const Expr& item : list->arguments)
    if (!std::holds_alternative<Expr::Literal>(item.node())) return false;
  return true;
}

// isin and bucketize: each item beside all items of the list.
Tensor BesideList(const Expr::Call& call, const Value& x, const Value& list) {
  const bool isin = call.function == "isin";
  Tensor out{isin ? DType::kBool : DType::kInt64, x.tensor.shape, {}, {}};
  for (const std::string& s : x.tensor.strings)
    out.numbers.push_back(std::count(list.tensor.strings.begin(),
                                     list.tensor.strings.end(), s) > 0);
  if (x.tensor.dtype == DType::kBytes) return out;
  const DType tx = x.tensor.dtype, tl = list.tensor.dtype;
  DType t = CommonType(x, list);
  if (IsFloat(tx) && IsListOfLiterals(call.arguments[1])) t = tx;
  const bool exact = isin && !IsFloat(tx) && !IsFloat(tl);
  const Tensor a = exact ? x.tensor : Cast(x.tensor, t);
  const Tensor b = exact ? list.tensor : Cast(list.tensor, t);
  for (size_t k = 1; k < b.numbers.size() && !isin; ++k)
    if (!(b.numbers[k - 1] <= b.numbers[k])) throw DataError("bucketize");
  for (const long double v : a.numbers)
    out.numbers.push_back(static_cast<long double>(std::count_if(
        b.numbers.begin(), b.numbers.end(),
        [&](long double w) { return isin ? v == w : !(v < w); })));
  for (long double& v : out.numbers)
    if (isin) v = v != 0;
  return out;
}

Tensor Matmul(const Value& a, const Value& b) {
  const DType t = CommonType(a, b);
  const Tensor x = Cast(a.tensor, t), y = Cast(b.tensor, t);
  const int64_t depth = y.shape.at(0);
  if (x.shape.back() != depth) throw DataError("matmul");
  const size_t columns = Count(y.shape) / std::max<size_t>(Size(depth), 1);
  Tensor out{t, x.shape, {}, {}};
  out.shape.pop_back();
  const size_t lines = Count(out.shape);
  if (y.shape.size() == 2) out.shape.push_back(y.shape[1]);
  const size_t width = y.shape.size() == 2 ? Size(y.shape[1]) : 1;
  for (size_t line = 0; line < lines; ++line)
    for (size_t j = 0; j < width; ++j) {
      long double sum = 0;
      for (size_t k = 0; k < Size(depth); ++k) {
        const long double p = x.numbers[line * Size(depth) + k],
                          q = y.numbers[k * columns + j];
        if (IsSmallFloat(t))
          sum = Floats(
              "add", static_cast<float>(sum),
              Floats("multiply", static_cast<float>(p), static_cast<float>(q)));
        else if (t == DType::kFloat64)
          sum = Floats("add", static_cast<double>(sum),
                       Floats("multiply", static_cast<double>(p),
                              static_cast<double>(q)));
        else
          sum = Integers(
              "add", t, static_cast<Wide>(sum),
              static_cast<Wide>(Integers("multiply", t, static_cast<Wide>(p),
                                         static_cast<Wide>(q))));
      }
      out.numbers.push_back(IsFloat(t) ? Rounded(t, sum) : sum);
    }
  return out;
}

Tensor Full(const Expr& shape, const Value& v) {
  Tensor out{v.tensor.dtype, {}, {}, {}};
  for (const Expr& d : std::get<Expr::Call>(shape.node()).arguments)
    out.shape.push_back(
        std::get<int64_t>(std::get<Expr::Literal>(d.node()).value));
  out.numbers.assign(Count(out.shape), v.tensor.numbers.at(0));
  return out;
}

// ---- nulls

Value Bool(Tensor tensor) { return {std::move(tensor), Weak::kNo}; }

Tensor Both(const Tensor& a, const Tensor& b) {
  return Zip(a, b, DType::kBool, [](long double p, long double q) {
    return static_cast<long double>(Truth(p) && Truth(q));
  });
}
Tensor Either(const Tensor& a, const Tensor& b) {
  return Zip(a, b, DType::kBool, [](long double p, long double q) {
    return static_cast<long double>(Truth(p) || Truth(q));
  });
}
Tensor Not(const Tensor& a) {
  return Each(a, DType::kBool,
              [](long double v) -> long double { return !Truth(v); });
}
const Tensor& True() {
  static const auto& value = *new Tensor{DType::kBool, {}, {1}, {}};
  return value;
}

// The items of a bool that are true, or false, and not null.
Tensor Is(bool truth, const Expr& expr, const Element& element) {
  Tensor value = EvaluateValue(expr, element).tensor;
  if (!truth) value = Not(value);
  const auto valid = ValidityOf(expr, element);
  return valid ? Both(*valid, value) : value;
}

bool Coalesces(const std::string& f) {
  return f == "coalesce" || f == "fill_null";
}

// True for and, or and not of values that may be null: false where it is null.
bool IsKleene(const Expr& expr, const Element& element) {
  const auto* call = std::get_if<Expr::Call>(&expr.node());
  if (call == nullptr || !ValidityOf(expr, element)) return false;
  return call->function == "logical_and" || call->function == "logical_or" ||
         (call->function == "logical_not" &&
          IsKleene(call->arguments[0], element));
}

std::optional<Tensor> ValidityOfCall(const Expr::Call& call,
                                     const Element& element) {
  const std::string& f = call.function;
  std::vector<std::optional<Tensor>> valid;
  std::optional<Tensor> all;
  bool always = false;
  for (const Expr& argument : call.arguments) {
    valid.push_back(ValidityOf(argument, element));
    always = always || !valid.back();
    if (valid.back()) all = all ? Both(*all, *valid.back()) : *valid.back();
  }
  if (!all || f == "is_null" || f == "hash_uniform") return std::nullopt;
  if (Coalesces(f)) {
    if (always) return std::nullopt;
    Tensor any = *valid[0];
    for (const auto& one : valid) any = Either(any, *one);
    return any;
  }
  if (f == "logical_and" || f == "logical_or") {
    // False decides an `and`, true an `or`.
    const bool decides = f == "logical_or";
    return Either(Both(valid[0].value_or(True()), valid[1].value_or(True())),
                  Either(Is(decides, call.arguments[0], element),
                         Is(decides, call.arguments[1], element)));
  }
  if (f == "where") {
    const Tensor chosen =
        Where(EvaluateValue(call.arguments[0], element),
              Bool(valid[1].value_or(True())), Bool(valid[2].value_or(True())));
    return valid[0] ? Both(*valid[0], chosen) : chosen;
  }
  return all;
}

// Returns the value of a call of arguments that may be null, where it is not
// the value of the same call without nulls.
std::optional<Tensor> OfNulls(const Expr::Call& call, const Element& element) {
  const std::string& f = call.function;
  const auto& args = call.arguments;
  const auto valid = [&](size_t k) { return ValidityOf(args[k], element); };
  if (f == "is_null")
    return valid(0) ? Not(*valid(0)) : Tensor{DType::kBool, {}, {0}, {}};
  if (Coalesces(f)) {
    Value out = EvaluateValue(args.back(), element);
    for (size_t k = args.size() - 1; k-- > 0;)
      out = {Where(Bool(valid(k).value_or(True())),
                   EvaluateValue(args[k], element), out),
             Weak::kNo};
    return out.tensor;
  }
  if (f == "hash_uniform") {
    std::vector<Expr> hashed;
    bool nulls = false;
    for (const Expr& one : args) {
      hashed.push_back(one);
      if (!ValidityOf(one, element)) continue;
      const DType dtype = EvaluateValue(one, element).tensor.dtype;
      const Expr zero = dtype == DType::kBytes  ? Expr("")
                        : dtype == DType::kBool ? Expr(false)
                                                : Expr(0);
      hashed.back() = Expr::Apply("fill_null", {one, zero});
      hashed.push_back(!Expr::Apply("is_null", {one}));
      nulls = true;
    }
    if (nulls) return Evaluate(Expr::Apply(f, hashed), element);
  }
  const bool both = f == "logical_and" || f == "logical_or";
  if (both && (valid(0) || valid(1))) {
    const Tensor a = Is(true, args[0], element);
    const Tensor b = Is(true, args[1], element);
    return f == "logical_and" ? Both(a, b) : Either(a, b);
  }
  if (f == "logical_not" && IsKleene(args[0], element))
    return Is(false, args[0], element);
  return std::nullopt;
}

// The divisor of a null is 1.
Value Divisor(const Expr::Call& call, const Element& element) {
  const Value divisor = EvaluateValue(call.arguments[1], element);
  const auto valid = ValidityOfCall(call, element);
  if (!valid || std::holds_alternative<Expr::Literal>(call.arguments[1].node()))
    return divisor;
  const Value one{Tensor{DType::kInt64, {}, {1}, {}}, Weak::kInt};
  return {Where(Bool(*valid), divisor, one), divisor.weak};
}

Value Call(const Expr::Call& call, const Element& element) {
  const std::string& f = call.function;
  const auto& args = call.arguments;
  auto arg = [&](size_t k) { return EvaluateValue(args.at(k), element); };
  if (auto made = OfNulls(call, element)) return {*made, Weak::kNo};
  if (f == "cast")
    return {Cast(arg(0).tensor, *DTypeFromName(DTypeArgument(args[1]))),
            Weak::kNo};
  if (f == "full") return {Full(args[0], arg(1)), Weak::kNo};
  if (f == "isin" || f == "bucketize")
    return {BesideList(call, arg(0), arg(1)), Weak::kNo};
  if (f == "matmul") return {Matmul(arg(0), arg(1)), Weak::kNo};
  if (f == "where") return {Where(arg(0), arg(1), arg(2)), Weak::kNo};
  if (f == "clip") {
    const Value low{MinMax(false, arg(0), arg(1)), Weak::kNo};
    return {MinMax(true, low, arg(2)), Weak::kNo};
  }
  static const char* const kReductions[] = {"sum",  "prod", "min", "max",
                                            "mean", "any",  "all"};
  for (const char* name : kReductions) {
    if (f != name) continue;
    const Tensor a = arg(0).tensor;
    if (args.size() == 1) return {Reduce(f, a), Weak::kNo};
    return {ReduceAxis(f, a, IntegersOf(args[1]).at(0)), Weak::kNo};
  }
  if (auto made = TensorFunction(
          call, [&](size_t k) { return PartOf(call, k, element); }))
    return {*made, Weak::kNo};
  if (f == "lower" || f == "upper")
    return {OfBytes(f, arg(0).tensor), Weak::kNo};
  if (auto made = RandomFunction(
          call, [&](size_t k) { return arg(k).tensor; },
          [&](const Expr& e) { return EvaluateValue(e, element).tensor; }))
    return {*made, Weak::kNo};
  if (auto made = BoxFunction(call, [&](size_t k) { return arg(k).tensor; }))
    return {*made, Weak::kNo};
  if (auto made = ImageFunction(call, [&](size_t k) { return arg(k).tensor; }))
    return {*made, Weak::kNo};
  if (auto made = TextFunction(call, [&](size_t k) { return arg(k).tensor; }))
    return {*made, Weak::kNo};
  if (args.size() == 1) {
    const Value a = arg(0);
    const bool keeps =
        (f == "negative" || f == "positive") && a.weak != Weak::kNo;
    return {Unary(f, a.tensor), keeps ? a.weak : Weak::kNo};
  }
  const Value a = arg(0);
  const bool divides = f == "divide" || f == "floor_divide" || f == "remainder";
  const Value b = divides ? Divisor(call, element) : arg(1);
  if (f == "minimum" || f == "maximum")
    return {MinMax(f == "minimum", a, b), Weak::kNo};
  if (f == "logical_and" || f == "logical_or")
    return {Zip(a.tensor, b.tensor, DType::kBool,
                [&](long double p, long double q) -> long double {
                  return f == "logical_and" ? Truth(p) && Truth(q)
                                            : Truth(p) || Truth(q);
                }),
            Weak::kNo};
  if (f.starts_with("bitwise_") || f.ends_with("_shift"))
    return {Bitwise(f, a, b), Weak::kNo};
  if (f == "less" || f == "less_equal" || f == "greater" ||
      f == "greater_equal" || f == "equal" || f == "not_equal")
    return {Comparison(f, a, b), Weak::kNo};
  return {Arithmetic(f, a, b), Weak::kNo};
}

Value EvaluateValue(const Expr& expr, const Element& element) {
  if (auto* literal = std::get_if<Expr::Literal>(&expr.node()))
    return OfLiteral(*literal);
  if (auto* call = std::get_if<Expr::Call>(&expr.node()))
    return Call(*call, element);
  const std::string& name = std::get<Expr::Component>(expr.node()).name;
  for (const Component& c : element)
    if (c.name == name || (c.name.empty() && name == "x"))
      return {c.value, Weak::kNo};
  throw std::logic_error("no component " + name);
}

}  // namespace

std::optional<Tensor> ValidityOf(const Expr& expr, const Element& element) {
  if (auto* call = std::get_if<Expr::Call>(&expr.node()))
    return ValidityOfCall(*call, element);
  auto* component = std::get_if<Expr::Component>(&expr.node());
  if (component == nullptr) return std::nullopt;
  for (const Component& c : element)
    if (c.name == "valid(" + component->name + ")") return c.value;
  return std::nullopt;
}

Tensor Evaluate(const Expr& expr, const Element& element) {
  return EvaluateValue(expr, element).tensor;
}

}  // namespace feedmill::reference
