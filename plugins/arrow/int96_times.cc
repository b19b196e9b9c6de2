#include "plugins/arrow/int96_times.h"

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "plugins/arrow/bounded_pool.h"

namespace feedmill {
namespace {

using arrow::ArrayData;
using arrow::Type;

// Returns the exact time. `nanos` is the same modulo 2^64.
absl::int128 Exact(int64_t nanos, int64_t seconds) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  const uint64_t below = static_cast<uint64_t>(nanos) -
                         static_cast<uint64_t>(seconds) * kNanosPerSecond;
  return absl::int128(seconds) * kNanosPerSecond + below;
}

// Returns a nested type with other children.
arrow::Result<std::shared_ptr<arrow::DataType>> TypeWith(
    const arrow::DataType& type,
    const std::vector<std::shared_ptr<ArrayData>>& children) {
  arrow::FieldVector fields;
  for (size_t k = 0; k < children.size(); ++k) {
    fields.push_back(
        type.field(static_cast<int>(k))->WithType(children[k]->type));
  }
  switch (type.id()) {
    case Type::STRUCT:
      return arrow::struct_(fields);
    case Type::LIST:
      return arrow::list(fields[0]);
    case Type::LARGE_LIST:
      return arrow::large_list(fields[0]);
    case Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(
          fields[0],
          static_cast<const arrow::FixedSizeListType&>(type).list_size());
    case Type::MAP:
      return std::make_shared<arrow::MapType>(fields[0]);
    default:
      return arrow::Status::NotImplemented("times of INT96 in ",
                                           type.ToString());
  }
}

// Returns the times as decimals; null if none has wrapped.
arrow::Result<std::shared_ptr<ArrayData>> ExactTimes(const ArrayData& nanos,
                                                     const ArrayData& seconds) {
  const auto* const low = nanos.GetValues<int64_t>(1);
  const auto* const high = seconds.GetValues<int64_t>(1);
  const auto exact = [&](int64_t k) {
    return nanos.IsValid(k) ? Exact(low[k], high[k]) : absl::int128(low[k]);
  };
  bool wrapped = false;
  for (int64_t k = 0; k < nanos.length; ++k) {
    wrapped = wrapped || exact(k) != low[k];
  }
  if (!wrapped) return nullptr;
  constexpr int64_t kBytes = 16;
  ARROW_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> values,
      arrow::AllocateBuffer((nanos.offset + nanos.length) * kBytes,
                            BoundedPool()));
  uint8_t* to = values->mutable_data() + nanos.offset * kBytes;
  for (int64_t k = 0; k < nanos.length; ++k, to += kBytes) {
    const absl::int128 time = exact(k);
    arrow::Decimal128(absl::Int128High64(time), absl::Int128Low64(time))
        .ToBytes(to);
  }
  return ArrayData::Make(arrow::decimal128(38, 0), nanos.length,
                         {nanos.buffers[0], std::move(values)},
                         nanos.null_count.load(), nanos.offset);
}

// Returns `nanos` with exact times; null if none in it has wrapped.
arrow::Result<std::shared_ptr<ArrayData>> Join(const ArrayData& nanos,
                                               const ArrayData& seconds) {
  // Only times of INT96 have the unit in which they are read.
  if (nanos.type->Equals(*seconds.type)) return nullptr;
  if (nanos.length != seconds.length ||
      nanos.child_data.size() != seconds.child_data.size()) {
    return arrow::Status::Invalid("its times of INT96 changed");
  }
  if (nanos.type->id() == Type::TIMESTAMP) return ExactTimes(nanos, seconds);
  std::shared_ptr<ArrayData> out;
  for (size_t k = 0; k < nanos.child_data.size(); ++k) {
    ARROW_ASSIGN_OR_RAISE(auto child,
                          Join(*nanos.child_data[k], *seconds.child_data[k]));
    if (child == nullptr) continue;
    if (out == nullptr) out = nanos.Copy();
    out->child_data[k] = std::move(child);
  }
  if (out == nullptr) return nullptr;
  ARROW_ASSIGN_OR_RAISE(out->type, TypeWith(*nanos.type, out->child_data));
  return out;
}

}  // namespace

arrow::Result<std::shared_ptr<arrow::Array>> ExactInt96(
    const std::shared_ptr<arrow::Array>& nanos,
    const std::shared_ptr<arrow::Array>& seconds) {
  ARROW_ASSIGN_OR_RAISE(auto joined, Join(*nanos->data(), *seconds->data()));
  return joined == nullptr ? nanos : arrow::MakeArray(std::move(joined));
}

}  // namespace feedmill
