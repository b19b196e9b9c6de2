#include "tests/reference/tensor_functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/reference/expression.h"
#include "tests/reference/float_functions.h"

namespace feedmill::reference {
namespace {

int64_t CountOf(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Convert between the coordinates of an item and its index `k`.
std::vector<int64_t> CoordinatesOf(const Shape& shape, int64_t k) {
  std::vector<int64_t> at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    at[axis] = k % shape[axis];
    k /= shape[axis];
  }
  return at;
}
int64_t PlaceOf(const Shape& shape, const std::vector<int64_t>& at) {
  int64_t k = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    k = k * shape[axis] + at[axis];
  return k;
}

void Copy(const Tensor& from, int64_t k, Tensor& to) {
  if (from.dtype == DType::kBytes)
    to.strings.push_back(from.strings.at(Size(k)));
  else
    to.numbers.push_back(from.numbers.at(Size(k)));
}

// Makes a tensor of that shape; `source` gives the source coordinates of each
// item.
using SourceOf =
    std::function<std::vector<int64_t>(const std::vector<int64_t>& at)>;
Tensor Rearranged(const Tensor& a, const Shape& shape, const SourceOf& source) {
  Tensor out{a.dtype, shape, {}, {}};
  for (int64_t k = 0; k < CountOf(shape); ++k)
    Copy(a, PlaceOf(a.shape, source(CoordinatesOf(shape, k))), out);
  return out;
}

Tensor Reshape(Tensor a, Shape shape) {
  int64_t known = 1;
  for (int64_t d : shape) known *= d == -1 ? 1 : d;
  for (int64_t& d : shape)
    if (d == -1) d = CountOf(a.shape) / known;
  if (CountOf(shape) != CountOf(a.shape)) throw DataError("reshape");
  a.shape = shape;
  return a;
}

Tensor SliceOf(const Tensor& a, std::vector<int64_t> starts,
               const std::vector<int64_t>& sizes) {
  Shape shape = a.shape;
  for (size_t axis = 0; axis < starts.size(); ++axis) {
    const int64_t dim = a.shape[axis];
    if (starts[axis] < 0) starts[axis] += dim;
    shape[axis] = sizes[axis] == -1 ? dim - starts[axis] : sizes[axis];
    if (starts[axis] < 0 || shape[axis] < 0 || starts[axis] + shape[axis] > dim)
      throw DataError("slice");
  }
  return Rearranged(a, shape, [&](std::vector<int64_t> at) {
    for (size_t axis = 0; axis < starts.size(); ++axis)
      at[axis] += starts[axis];
    return at;
  });
}

int64_t IntegerOf(const Tensor& a) {
  return static_cast<int64_t>(std::clamp(
      a.numbers.at(0),
      static_cast<long double>(std::numeric_limits<int64_t>::min()),
      static_cast<long double>(std::numeric_limits<int64_t>::max())));
}

// Returns the axis that the last argument names; 0 if it is left out.
size_t AxisOf(const Expr::Call& call, size_t place, const Tensor& a) {
  if (call.arguments.size() <= place) return 0;
  const int64_t axis = IntegersOf(call.arguments[place]).at(0);
  return Size(axis < 0 ? axis + static_cast<int64_t>(a.shape.size()) : axis);
}

Tensor GetItemOf(const Tensor& a, int64_t index, size_t axis) {
  const int64_t n = a.shape.at(axis);
  if (index < 0) index += n;
  if (index < 0 || index >= n) throw DataError("index out of range");
  Shape shape = a.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return Rearranged(a, shape, [&](std::vector<int64_t> at) {
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), index);
    return at;
  });
}

// Returns the places that range(n)[start:stop:step] has in Python.
std::vector<int64_t> PlacesOfSlice(int64_t n, int64_t start, int64_t stop,
                                   int64_t step) {
  const __int128 from_end = n;
  const __int128 begin = start < 0 ? start + from_end : start;
  const __int128 end = stop < 0 ? stop + from_end : stop;
  std::vector<int64_t> places;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t place = step > 0 ? k : n - 1 - k;
    const __int128 first =
        step > 0 ? std::max<__int128>(begin, 0) : std::min(begin, from_end - 1);
    const bool within = step > 0 ? place >= first && place < end
                                 : place <= first && place > end;
    if (within && (place - first) % step == 0) places.push_back(place);
  }
  return places;
}

Tensor GetSliceOf(const Tensor& a, int64_t start, int64_t stop, int64_t step,
                  size_t axis) {
  if (a.shape.empty()) {  // a text
    Tensor out{a.dtype, {}, {}, {""}};
    const auto size = static_cast<int64_t>(a.strings.at(0).size());
    for (int64_t place : PlacesOfSlice(size, start, stop, step))
      out.strings[0] += a.strings[0][Size(place)];
    return out;
  }
  const auto places = PlacesOfSlice(a.shape[axis], start, stop, step);
  Shape shape = a.shape;
  shape[axis] = static_cast<int64_t>(places.size());
  return Rearranged(a, shape, [&](std::vector<int64_t> at) {
    at[axis] = places[Size(at[axis])];
    return at;
  });
}

Tensor PadToOf(const Tensor& a, int64_t length, const Tensor& value,
               size_t axis) {
  if (a.shape.at(axis) > length) throw DataError("pad_to");
  Tensor out{a.dtype, a.shape, {}, {}};
  out.shape[axis] = length;
  for (int64_t k = 0; k < CountOf(out.shape); ++k) {
    const auto at = CoordinatesOf(out.shape, k);
    if (at[axis] < a.shape[axis])
      Copy(a, PlaceOf(a.shape, at), out);
    else
      Copy(value, 0, out);
  }
  return out;
}

Tensor LengthOf(const std::string& f, const Tensor& a) {
  Tensor out{DType::kInt64, {}, {}, {}};
  if (f == "shape") {
    out.shape = {static_cast<int64_t>(a.shape.size())};
    out.numbers.assign(a.shape.begin(), a.shape.end());
    return out;
  }
  if (f == "length" && a.dtype == DType::kBytes) {
    out.shape = a.shape;
    for (const std::string& s : a.strings)
      out.numbers.push_back(static_cast<long double>(s.size()));
    return out;
  }
  out.numbers = {a.shape.empty()
                     ? static_cast<long double>(a.strings.at(0).size())
                     : static_cast<long double>(a.shape[0])};
  return out;
}

// Compares items a and b of one tensor; a NaN is the greatest.
bool IsLess(const Tensor& t, size_t a, size_t b) {
  if (t.dtype == DType::kBytes) return t.strings[a] < t.strings[b];
  return std::isnan(t.numbers[b]) ? !std::isnan(t.numbers[a])
                                  : t.numbers[a] < t.numbers[b];
}
bool IsNegativeZero(const Tensor& t, size_t k) {
  return t.dtype != DType::kBytes && t.numbers[k] == 0 &&
         std::signbit(t.numbers[k]);
}

// Returns the places of a line's items in increasing order: insertion sort.
std::vector<size_t> PlacesInOrder(const Tensor& line, bool zeros) {
  const size_t count = Size(CountOf(line.shape));
  std::vector<size_t> places;
  for (size_t k = 0; k < count; ++k) {
    size_t at = places.size();
    while (at > 0 && (IsLess(line, k, places[at - 1]) ||
                      (zeros && IsNegativeZero(line, k) &&
                       !IsNegativeZero(line, places[at - 1]) &&
                       !IsLess(line, places[at - 1], k))))
      --at;
    places.insert(places.begin() + static_cast<std::ptrdiff_t>(at), k);
  }
  return places;
}

Tensor SortOf(const std::string& f, const Tensor& a) {
  Tensor out{f == "argsort" ? DType::kInt64 : a.dtype, a.shape, {}, {}};
  for (const Tensor& line : LinesAlong(a, -1))
    for (size_t place : PlacesInOrder(line, f == "sort"))
      if (f == "argsort")
        out.numbers.push_back(static_cast<long double>(place));
      else
        Copy(line, static_cast<int64_t>(place), out);
  return out;
}

Tensor UniqueOf(Tensor a) {
  a.shape = {CountOf(a.shape)};
  Tensor out{a.dtype, {0}, {}, {}};
  size_t last = 0;
  for (size_t place : PlacesInOrder(a, true)) {
    if (out.shape[0] > 0 && !IsLess(a, last, place)) continue;
    last = place;
    Copy(a, static_cast<int64_t>(place), out);
    ++out.shape[0];
  }
  return out;
}

Tensor TransposeOf(const Tensor& a, std::vector<int64_t> axes) {
  const auto rank = static_cast<int64_t>(a.shape.size());
  if (axes.empty())
    for (int64_t axis = rank - 1; axis >= 0; --axis) axes.push_back(axis);
  Shape shape;
  for (int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    shape.push_back(a.shape.at(Size(axis)));
  }
  return Rearranged(a, shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from(at.size());
    for (size_t k = 0; k < axes.size(); ++k) from[Size(axes[k])] = at[k];
    return from;
  });
}

Tensor CompressOf(const Tensor& mask, const Tensor& a) {
  if (mask.shape.at(0) != a.shape.at(0)) throw DataError("compress");
  Tensor out{a.dtype, a.shape, {}, {}};
  out.shape[0] = 0;
  const int64_t each = CountOf(Shape(a.shape.begin() + 1, a.shape.end()));
  for (size_t i = 0; i < mask.numbers.size(); ++i) {
    if (mask.numbers[i] == 0) continue;
    ++out.shape[0];
    for (int64_t k = 0; k < each; ++k)
      Copy(a, static_cast<int64_t>(i) * each + k, out);
  }
  return out;
}

Tensor GatherOf(const Tensor& a, const Tensor& indices) {
  Tensor out{a.dtype, indices.shape, {}, {}};
  out.shape.insert(out.shape.end(), a.shape.begin() + 1, a.shape.end());
  const int64_t each = CountOf(Shape(a.shape.begin() + 1, a.shape.end()));
  for (long double index : indices.numbers) {
    if (index < 0) index += static_cast<long double>(a.shape[0]);
    if (index < 0 || index >= static_cast<long double>(a.shape[0]))
      throw DataError("gather");
    for (int64_t k = 0; k < each; ++k)
      Copy(a, static_cast<int64_t>(index) * each + k, out);
  }
  return out;
}

// Moves items along the first axis by a number of places.
Tensor RollOf(const Tensor& a, int64_t by) {
  Tensor out{a.dtype, a.shape, {}, {}};
  const int64_t n = a.shape.at(0);
  const int64_t each = CountOf(Shape(a.shape.begin() + 1, a.shape.end()));
  for (int64_t k = 0; k < n; ++k) {
    int64_t from = (k - by % n) % n;
    if (from < 0) from += n;
    for (int64_t i = 0; i < each; ++i) Copy(a, from * each + i, out);
  }
  return out;
}

Tensor OneHotOf(const Tensor& places, int64_t depth, DType dtype) {
  Tensor out{dtype, places.shape, {}, {}};
  out.shape.push_back(depth);
  for (long double place : places.numbers)
    for (int64_t k = 0; k < depth; ++k)
      out.numbers.push_back(place == static_cast<long double>(k) ? 1 : 0);
  return out;
}

Tensor StackOf(const std::vector<Tensor>& parts, int64_t axis) {
  const Tensor& first = parts.at(0);
  for (const Tensor& part : parts)
    if (part.shape != first.shape) throw DataError("stack");
  if (axis < 0) axis += static_cast<int64_t>(first.shape.size()) + 1;
  Tensor out{first.dtype, first.shape, {}, {}};
  out.shape.insert(out.shape.begin() + axis,
                   static_cast<int64_t>(parts.size()));
  for (int64_t k = 0; k < CountOf(out.shape); ++k) {
    std::vector<int64_t> at = CoordinatesOf(out.shape, k);
    const Tensor& part = parts[Size(at[Size(axis)])];
    at.erase(at.begin() + axis);
    Copy(part, PlaceOf(part.shape, at), out);
  }
  return out;
}

Tensor ConcatOf(const std::vector<Tensor>& parts, int64_t axis) {
  const Tensor& first = parts.at(0);
  if (axis < 0) axis += static_cast<int64_t>(first.shape.size());
  Tensor out{first.dtype, first.shape, {}, {}};
  out.shape[Size(axis)] = 0;
  for (const Tensor& part : parts) {
    Shape same = part.shape;
    same[Size(axis)] = first.shape[Size(axis)];
    if (same != first.shape) throw DataError("concat");
    out.shape[Size(axis)] += part.shape[Size(axis)];
  }
  for (int64_t k = 0; k < CountOf(out.shape); ++k) {
    std::vector<int64_t> at = CoordinatesOf(out.shape, k);
    size_t part = 0;
    while (at[Size(axis)] >= parts[part].shape[Size(axis)])
      at[Size(axis)] -= parts[part++].shape[Size(axis)];
    Copy(parts[part], PlaceOf(parts[part].shape, at), out);
  }
  return out;
}

std::vector<Tensor> ItemsOfFirstAxis(const Tensor& a) {
  std::vector<Tensor> items;
  for (int64_t k = 0; k < a.shape.at(0); ++k)
    items.push_back(Rearranged(a, Shape(a.shape.begin() + 1, a.shape.end()),
                               [&](std::vector<int64_t> at) {
                                 at.insert(at.begin(), k);
                                 return at;
                               }));
  return items;
}

Tensor Joined(const Expr::Call& call,
              const std::function<Tensor(size_t)>& argument) {
  std::vector<Tensor> parts;
  const size_t count =
      call.arguments.size() - (call.function == "list" ? 0 : 1);
  for (size_t k = 0; k < count; ++k) parts.push_back(argument(k));
  if (call.function == "list") return StackOf(parts, 0);
  if (count == 1) parts = ItemsOfFirstAxis(parts[0]);
  const int64_t axis = IntegersOf(call.arguments.back()).at(0);
  return call.function == "concat" ? ConcatOf(parts, axis)
                                   : StackOf(parts, axis);
}

long double PlaceOfBest(const Tensor& line, bool greatest) {
  if (line.numbers.empty()) throw DataError("no items");
  size_t best = 0;
  for (size_t k = 0; k < line.numbers.size(); ++k) {
    const long double v = line.numbers[k], b = line.numbers[best];
    if (std::isnan(b)) break;
    if (std::isnan(v) || (greatest ? v > b : v < b)) best = k;
  }
  return static_cast<long double>(best);
}

Tensor Places(const Tensor& a, bool greatest, const int64_t* axis) {
  Tensor out{DType::kInt64, {}, {}, {}};
  if (axis == nullptr) {
    out.numbers.push_back(PlaceOfBest(a, greatest));
    return out;
  }
  out.shape = WithoutAxis(a.shape, *axis);
  for (const Tensor& line : LinesAlong(a, *axis))
    out.numbers.push_back(PlaceOfBest(line, greatest));
  return out;
}

Tensor CumSumOf(const Tensor& a) {
  Tensor out{a.dtype, {CountOf(a.shape)}, {}, {}};
  if (!IsFloat(a.dtype))
    out.dtype = IsInteger(a.dtype) && !IsSigned(a.dtype) ? DType::kUInt64
                                                         : DType::kInt64;
  uint64_t integer = 0;
  float single = 0;
  double real = 0;
  for (long double v : a.numbers) {
    if (IsFloat16(out.dtype)) {
      single = static_cast<float>(
          Rounded(out.dtype, single + static_cast<float>(v)));
      out.numbers.push_back(single);
    } else if (out.dtype == DType::kFloat32)
      out.numbers.push_back(single += static_cast<float>(v));
    else if (out.dtype == DType::kFloat64)
      out.numbers.push_back(real += static_cast<double>(v));
    else if (out.dtype == DType::kUInt64)
      out.numbers.push_back(
          static_cast<long double>(integer += static_cast<uint64_t>(v)));
    else
      out.numbers.push_back(static_cast<long double>(static_cast<int64_t>(
          integer += static_cast<uint64_t>(static_cast<int64_t>(v)))));
  }
  return out;
}

DType DTypeNamed(const Expr& expr) {
  if (auto* c = std::get_if<Expr::Component>(&expr.node()))
    return *DTypeFromName(c->name);
  return *DTypeFromName(
      std::get<std::string>(std::get<Expr::Literal>(expr.node()).value));
}

}  // namespace

std::vector<int64_t> IntegersOf(const Expr& expr) {
  if (auto* literal = std::get_if<Expr::Literal>(&expr.node()))
    return {std::get<int64_t>(literal->value)};
  std::vector<int64_t> integers;
  for (const Expr& item : std::get<Expr::Call>(expr.node()).arguments)
    integers.push_back(IntegersOf(item).at(0));
  return integers;
}

Shape WithoutAxis(Shape shape, int64_t axis) {
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  shape.erase(shape.begin() + axis);
  return shape;
}

std::vector<Tensor> LinesAlong(const Tensor& a, int64_t axis) {
  if (axis < 0) axis += static_cast<int64_t>(a.shape.size());
  const Shape shape = WithoutAxis(a.shape, axis);
  const int64_t length = a.shape.at(Size(axis));
  std::vector<Tensor> lines;
  for (int64_t k = 0; k < CountOf(shape); ++k) {
    Tensor line{a.dtype, {length}, {}, {}};
    std::vector<int64_t> at = CoordinatesOf(shape, k);
    at.insert(at.begin() + axis, 0);
    for (; at[Size(axis)] < length; ++at[Size(axis)])
      Copy(a, PlaceOf(a.shape, at), line);
    lines.push_back(line);
  }
  return lines;
}

std::optional<Tensor> TensorFunction(
    const Expr::Call& call, const std::function<Tensor(size_t)>& argument) {
  const std::string& f = call.function;
  const auto integers = [&](size_t k) {
    return IntegersOf(call.arguments.at(k));
  };
  if (f == "list" || f == "concat" || f == "stack")
    return Joined(call, argument);
  if (f == "reshape") return Reshape(argument(0), integers(1));
  if (f == "slice") return SliceOf(argument(0), integers(1), integers(2));
  if (f == "sort" || f == "argsort") return SortOf(f, argument(0));
  if (f == "unique") return UniqueOf(argument(0));
  if (f == "getitem")
    return GetItemOf(argument(0), IntegerOf(argument(1)),
                     AxisOf(call, 2, argument(0)));
  if (f == "getslice")
    return GetSliceOf(argument(0), IntegerOf(argument(1)),
                      IntegerOf(argument(2)), integers(3).at(0),
                      AxisOf(call, 4, argument(0)));
  if (f == "pad_to")
    return PadToOf(argument(0), IntegerOf(argument(1)), argument(2),
                   AxisOf(call, 3, argument(0)));
  if (f == "len" || f == "length" || f == "shape")
    return LengthOf(f, argument(0));
  if (f == "transpose")
    return TransposeOf(argument(0), call.arguments.size() > 1
                                        ? integers(1)
                                        : std::vector<int64_t>());
  if (f == "roll") return RollOf(argument(0), IntegerOf(argument(1)));
  if (f == "compress") return CompressOf(argument(0), argument(1));
  if (f == "gather") return GatherOf(argument(0), argument(1));
  if (f == "one_hot")
    return OneHotOf(argument(0), integers(1).at(0),
                    call.arguments.size() > 2 ? DTypeNamed(call.arguments[2])
                                              : DType::kFloat32);
  if (f == "cumsum") return CumSumOf(argument(0));
  if (f == "argmin" || f == "argmax") {
    if (call.arguments.size() == 1)
      return Places(argument(0), f == "argmax", nullptr);
    const int64_t axis = integers(1).at(0);
    return Places(argument(0), f == "argmax", &axis);
  }
  return std::nullopt;
}

}  // namespace feedmill::reference
