#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/pipeline/instructions.h"
#include "core/pipeline/stacking.h"

// The instructions of steps that know records: each image or example alone,
// however many batches hold it.

namespace feedmill {
namespace {

// The records of a column whose rows are batches of batches … of records.
class Records {
 public:
  Records(const Column& rows, size_t row_count, size_t batches)
      : column_(&rows), count_(row_count), groups_(batches) {
    for (std::vector<size_t>& groups : groups_) {
      Column below;
      UnstackRows(*column_, count_, below, groups);
      unstacked_ = std::move(below);
      column_ = &unstacked_;
      count_ = 0;
      for (const size_t group : groups) count_ += group;
    }
  }
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;

  size_t count() const { return count_; }
  const Column& column() const { return *column_; }

  // The row that holds `record`, and which of the row's first axis it is in.
  std::pair<size_t, size_t> RowOf(size_t record) const {
    size_t within = 0;
    for (size_t level = groups_.size(); level-- > 0;) {
      size_t row = 0;
      while (record >= groups_[level][row]) record -= groups_[level][row++];
      within = record;
      record = row;
    }
    return {record, within};
  }

  // Puts `made`, a row a record, back into their batches.
  absl::Status Restack(const Column& made, Column& out,
                       size_t& failed_row) const {
    Column rows = made;
    for (size_t level = groups_.size(); level-- > 0;) {
      Column above;
      size_t failed = 0;
      const absl::Status status =
          StackRows(rows, groups_[level], above, failed);
      if (!status.ok()) {
        failed_row = RowOfGroup(level, failed);
        return status;
      }
      rows = std::move(above);
    }
    out = std::move(rows);
    return absl::OkStatus();
  }

 private:
  size_t RowOfGroup(size_t level, size_t group) const {
    while (level-- > 0) {
      size_t row = 0;
      while (group >= groups_[level][row]) group -= groups_[level][row++];
      group = row;
    }
    return group;
  }

  const Column* column_;
  Column unstacked_;
  size_t count_;
  std::vector<std::vector<size_t>> groups_;  // outermost batch first
};

// What record steps share: from the rows of input 0 to records and back.
class RecordInstruction : public Instruction {
 public:
  RecordInstruction(size_t batches, ValueId in, std::vector<ValueId> out)
      : batches_(batches) {
    inputs = {in};
    outputs = std::move(out);
  }

  absl::Status Run(BlockState& state) const override {
    const Records records(*state.values[inputs[0]], state.rows, batches_);
    size_t failed = 0;
    const absl::Status status = Compute(records, state, failed);
    if (!status.ok()) state.failed_row = records.RowOf(failed).first;
    return status;
  }

 protected:
  // Sets outputs, or says which record failed.
  virtual absl::Status Compute(const Records& records, BlockState& state,
                               size_t& failed) const = 0;

  // Makes the records in `made` the rows of output k.
  absl::Status SetOutput(size_t k, const Records& records, const Column& made,
                         BlockState& state, size_t& failed) const {
    Column& column = state.registers[registers[k]].column;
    size_t failed_row = 0;
    const absl::Status status = records.Restack(made, column, failed_row);
    if (!status.ok()) {
      failed = 0;  // any record of the row
      while (records.RowOf(failed).first != failed_row) ++failed;
      return status;
    }
    state.values[outputs[k]] = &column;
    return absl::OkStatus();
  }

  size_t batches() const { return batches_; }

 private:
  const size_t batches_;
};

// Of parse_example or parse_sequence_example.
template <class Written>
class ParseExample final : public RecordInstruction {
 public:
  ParseExample(Written written, size_t batches, ValueId in,
               std::vector<ValueId> out)
      : RecordInstruction(batches, in, std::move(out)),
        step_(std::move(written)) {
    appends = batches == 0;
    auto spec = std::make_shared<ElementSpec>();
    if constexpr (std::is_same_v<Written, ParseExampleStep>) {
      for (const auto& f : step_.features) {
        spec->components.push_back({f.name, f.dtype, f.shape});
      }
    } else {
      for (const auto& f : step_.context) {
        spec->components.push_back({f.name, f.dtype, f.shape});
      }
      for (const auto& f : step_.sequence) {
        Shape shape = f.shape;
        shape.insert(shape.begin(), kUnknownDim);
        spec->components.push_back({f.name, f.dtype, std::move(shape)});
      }
    }
    spec_ = std::move(spec);
  }

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    auto found = state.parsers.find(this);
    if (found == state.parsers.end()) {
      found =
          state.parsers.emplace(this, Parsing(Parser(step_), outputs.size()))
              .first;
    }
    Parsing& parsing = found->second;
    if (ChunkBuilder* const to = state.input->appended; to != nullptr) {
      const size_t before = to->bytes();
      const absl::Status status = Append(records, state, parsing, *to, failed);
      if (!status.ok()) to->DropUnfinished();
      state.appended_bytes = to->bytes() - before;
      return status;
    }
    ChunkBuilder builder(spec_);
    for (size_t c = 0; c < parsing.bytes.size(); ++c) {
      builder.ReserveValues(c, parsing.bytes[c] + parsing.bytes[c] / 16);
    }
    FM_RETURN_IF_ERROR(Append(records, state, parsing, builder, failed));
    builder.FinishRows(records.count());
    const Chunk chunk = std::move(builder).Finish();
    for (size_t c = 0; c < chunk.columns.size(); ++c) {
      parsing.bytes[c] = chunk.columns[c].values.size();
      FM_RETURN_IF_ERROR(
          SetOutput(c, records, chunk.columns[c], state, failed));
    }
    return absl::OkStatus();
  }

 private:
  // Appends a row a record, or says which one is bad.
  absl::Status Append(const Records& records, const BlockState& state,
                      Parsing& parsing, ChunkBuilder& to,
                      size_t& failed) const {
    const size_t trailing = inputs[0] == 0 ? state.input->trailing : 0;
    parsing.records.resize(records.count());
    for (size_t k = 0; k < records.count(); ++k) {
      parsing.records[k] = records.column().BytesAt(static_cast<int64_t>(k));
      parsing.records[k].remove_suffix(trailing);
    }
    return parsing.parser.Parse(parsing.records, to, failed);
  }

  static ExampleParser Parser(const ParseExampleStep& step) {
    return ExampleParser(step.features);
  }
  static ExampleParser Parser(const ParseSequenceExampleStep& step) {
    return ExampleParser(step);
  }

  const Written step_;
  std::shared_ptr<const ElementSpec> spec_;
};

// Describes images of those sizes that stand one after another in `out`.
void SetImageShapes(std::span<const ImageSize> sizes, int64_t channels,
                    OutputColumn& out) {
  const bool same =
      std::all_of(sizes.begin(), sizes.end(),
                  [&](const ImageSize& size) { return size == sizes.front(); });
  if (sizes.empty()) return;
  out.shape = {sizes[0].height, sizes[0].width, channels};
  if (same) return;
  int64_t start = 0;
  out.row_starts.Push(start);
  for (const ImageSize& size : sizes) {
    for (const int64_t dim : {size.height, size.width, channels}) {
      out.row_shapes.Push(dim);
    }
    start += size.height * size.width * channels;
    out.row_starts.Push(start);
    if (size.height != sizes[0].height) out.shape[0] = kUnknownDim;
    if (size.width != sizes[0].width) out.shape[1] = kUnknownDim;
  }
}

class DecodeImage final : public RecordInstruction {
 public:
  DecodeImage(const DecodeImageStep& written, size_t batches, ValueId in,
              ValueId out)
      : RecordInstruction(batches, in, {out}),
        options_{written.channels, written.dct == DecodeImageStep::Dct::kFast} {
  }

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    if (!state.decoder) state.decoder.emplace();
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(DType::kUInt8, {kUnknownDim, kUnknownDim, options_.channels});
    std::vector<ImageSize> sizes;
    sizes.reserve(records.count());
    for (size_t k = 0; k < records.count(); ++k) {
      failed = k;
      const std::string_view file =
          records.column().BytesAt(static_cast<int64_t>(k));
      FM_ASSIGN_OR_RETURN(const ImageSize size, state.decoder->ReadSize(file));
      const auto bytes =
          static_cast<size_t>(size.height * size.width * options_.channels);
      auto* const pixels = reinterpret_cast<uint8_t*>(out.values.Extend(bytes));
      FM_RETURN_IF_ERROR(
          state.decoder->Decode(file, options_, size, {pixels, bytes}));
      sizes.push_back(size);
    }
    SetImageShapes(sizes, options_.channels, out);
    return SetOutput(0, records, out.View(), state, failed);
  }

 private:
  const DecodeOptions options_;
};

class Resize final : public RecordInstruction {
 public:
  Resize(const ResizeStep& written, size_t batches, ValueId in, ValueId out)
      : RecordInstruction(batches, in, {out}),
        to_{written.height, written.width},
        method_(written.method == ResizeStep::Method::kBilinear
                    ? ResizeMethod::kBilinear
                    : ResizeMethod::kNearest) {}

 protected:
  absl::Status Compute(const Records& records, BlockState& state,
                       size_t& failed) const override {
    const Column& in = records.column();
    OutputColumn& out = state.registers[registers[0]].storage;
    out.Reset(DType::kUInt8, {to_.height, to_.width, 0});
    std::byte* target = state.direct[outputs[0]];
    const std::byte* const begin = target;
    size_t made = 0;
    std::vector<int64_t> channels;
    for (size_t k = 0; k < records.count(); ++k) {
      failed = k;
      const auto dims = in.RowDims(k);
      const ImageSize from{dims[0], dims[1]};
      channels.push_back(dims[2]);
      const auto bytes = static_cast<size_t>(to_.height * to_.width * dims[2]);
      std::byte* const to =
          begin != nullptr ? target + made : out.values.Extend(bytes);
      made += bytes;
      const absl::Status status = ResizeImage(
          in.Items<uint8_t>(k), from, {reinterpret_cast<uint8_t*>(to), bytes},
          to_, dims[2], method_);
      if (!status.ok()) return DataLoss("{}", ErrorText(status));
    }
    out.shape[2] = channels.empty() ? 0 : channels.front();
    const bool same =
        std::all_of(channels.begin(), channels.end(),
                    [&](int64_t c) { return c == channels.front(); });
    if (!same) SetChannels(channels, out);
    if (begin == nullptr) {
      return SetOutput(0, records, out.View(), state, failed);
    }
    Column& column = state.registers[registers[0]].column;
    column = Column{
        DType::kUInt8, out.shape, Buffer(nullptr, begin, made), {}, {}, {}};
    state.values[outputs[0]] = &column;
    return absl::OkStatus();
  }

 private:
  void SetChannels(std::span<const int64_t> channels, OutputColumn& out) const {
    int64_t start = 0;
    out.row_starts.Push(start);
    for (const int64_t c : channels) {
      for (const int64_t dim : {to_.height, to_.width, c}) {
        out.row_shapes.Push(dim);
      }
      start += to_.height * to_.width * c;
      out.row_starts.Push(start);
    }
    out.shape[2] = kUnknownDim;
  }

  const ImageSize to_;
  const ResizeMethod method_;
};

// Copies rows into memory of its own.
void CopyRows(const Column& in, size_t rows, OutputColumn& out) {
  out.Reset(in.dtype, in.shape);
  const auto first = static_cast<size_t>(in.RowStart(0));
  const auto items = static_cast<size_t>(in.RowStart(rows)) - first;
  const size_t size = ItemSize(in.dtype);
  out.values.Append(in.values.data() + first * size, items * size);
  if (!in.ragged()) return;
  out.row_shapes.Append(in.row_shapes.data(),
                        rows * in.shape.size() * sizeof(int64_t));
  for (size_t row = 0; row <= rows; ++row) {
    out.row_starts.Push(in.RowStart(row) - in.RowStart(0));
  }
}

// The Philox blocks of a random call, row by row.
class Draws {
 public:
  Draws(const Plan& plan, size_t step, uint64_t ordinal)
      : plan_(plan), step_(step), ordinal_(ordinal) {}

  // Of a record within the row, which may be a batch.
  std::array<uint32_t, 4> Of(BlockState& state, size_t row, size_t within) {
    const size_t origin = state.OriginOf(row);
    const uint64_t pass = state.input->passes[origin];
    if (!have_key_ || pass != pass_) {
      pass_ = pass;
      key_ = plan_.KeyOf(step_, plan_.EpochOf(step_, pass), ordinal_);
      have_key_ = true;
    }
    const Cursor counter = state.input->counters[origin];
    return Philox(key_, counter.p + within, counter.i);
  }

 private:
  const Plan& plan_;
  const size_t step_;
  const uint64_t ordinal_;
  bool have_key_ = false;
  uint64_t pass_ = 0;
  RandomKey key_;
};

class RandomBits final : public Instruction {
 public:
  RandomBits(size_t step_index, uint64_t ordinal,
             std::shared_ptr<const Plan> plan, ValueId out)
      : ordinal_(ordinal), plan_(std::move(plan)) {
    step = step_index;
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    OutputColumn& own = state.registers[registers[0]].storage;
    const ValueType type = RandomBitsType();
    own.Reset(type.dtype, type.shape);
    Draws draws(*plan_, step, ordinal_);
    for (size_t row = 0; row < state.rows; ++row) {
      own.values.Push(draws.Of(state, row, 0));
    }
    state.values[outputs[0]] = &own.View();
    return absl::OkStatus();
  }

 private:
  const uint64_t ordinal_;
  const std::shared_ptr<const Plan> plan_;
};

class RandomFlip final : public Instruction {
 public:
  RandomFlip(const RandomFlipStep& written, size_t step_index, size_t batches,
             std::shared_ptr<const Plan> plan, ValueId in, ValueId out)
      : batches_(batches),
        direction_(written.direction == RandomFlipStep::Direction::kHorizontal
                       ? FlipDirection::kHorizontal
                       : FlipDirection::kVertical),
        below_(static_cast<uint64_t>(
            std::floor(written.probability * 4294967296.0))),
        plan_(std::move(plan)) {
    step = step_index;
    inputs = {in};
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    if (!in_place) {
      OutputColumn& own = state.registers[registers[0]].storage;
      CopyRows(*state.values[inputs[0]], state.rows, own);
      state.values[outputs[0]] = &own.View();
    } else {
      state.values[outputs[0]] = state.values[inputs[0]];
    }
    const Records records(*state.values[outputs[0]], state.rows, batches_);
    Draws draws(*plan_, step, /*ordinal=*/0);
    for (size_t k = 0; k < records.count(); ++k) {
      const auto [row, within] =
          batches_ == 0 ? std::pair(k, size_t{0}) : records.RowOf(k);
      if (draws.Of(state, row, within)[0] < below_) {
        FlipRecord(records.column(), k);
      }
    }
    return absl::OkStatus();
  }

 private:
  // The memory is a register's of this thread, or the chunk's that is made.
  void FlipRecord(const Column& column, size_t record) const {
    const auto dims = column.RowDims(record);
    const size_t rank = dims.size();
    const ImageSize size{dims[rank - 3], dims[rank - 2]};
    const size_t pixel =
        static_cast<size_t>(dims[rank - 1]) * ItemSize(column.dtype);
    const size_t bytes = static_cast<size_t>(size.height * size.width) * pixel;
    if (bytes == 0) return;
    const size_t begin =
        static_cast<size_t>(column.RowStart(record)) * ItemSize(column.dtype);
    const size_t end = begin + static_cast<size_t>(column.RowItems(record)) *
                                   ItemSize(column.dtype);
    auto* const data = const_cast<std::byte*>(column.values.data());
    for (size_t at = begin; at < end; at += bytes) {
      FlipImage({data + at, bytes}, {data + at, bytes}, size, pixel,
                direction_);
    }
  }

  const size_t batches_;
  const FlipDirection direction_;
  const uint64_t below_;
  const std::shared_ptr<const Plan> plan_;
};

class Enumerate final : public Instruction {
 public:
  Enumerate(const EnumerateStep& written, size_t step_index,
            std::shared_ptr<const Plan> plan, ValueId out)
      : start_(static_cast<uint64_t>(written.start)), plan_(std::move(plan)) {
    step = step_index;
    outputs = {out};
  }

  absl::Status Run(BlockState& state) const override {
    OutputColumn& own = state.registers[registers[0]].storage;
    own.Reset(DType::kInt64, {});
    for (size_t row = 0; row < state.rows; ++row) {
      const size_t origin = state.OriginOf(row);
      const uint64_t counter = state.input->counters[origin].p;
      own.values.Push(
          static_cast<int64_t>(start_ + plan_->PlaceAt(step, counter)));
    }
    state.values[outputs[0]] = &own.View();
    return absl::OkStatus();
  }

 private:
  const uint64_t start_;
  const std::shared_ptr<const Plan> plan_;
};

}  // namespace

std::unique_ptr<Instruction> MakeRandomBits(size_t step_index, uint64_t ordinal,
                                            std::shared_ptr<const Plan> plan,
                                            ValueId out) {
  return std::make_unique<RandomBits>(step_index, ordinal, std::move(plan),
                                      out);
}

std::unique_ptr<Instruction> MakeEnumerate(const EnumerateStep& step,
                                           size_t step_index,
                                           std::shared_ptr<const Plan> plan,
                                           ValueId out) {
  return std::make_unique<Enumerate>(step, step_index, std::move(plan), out);
}

std::unique_ptr<Instruction> MakeParseExample(const ParseExampleStep& step,
                                              size_t batches, ValueId in,
                                              std::vector<ValueId> outputs) {
  return std::make_unique<ParseExample<ParseExampleStep>>(step, batches, in,
                                                          std::move(outputs));
}

std::unique_ptr<Instruction> MakeParseSequenceExample(
    const ParseSequenceExampleStep& step, size_t batches, ValueId in,
    std::vector<ValueId> outputs) {
  return std::make_unique<ParseExample<ParseSequenceExampleStep>>(
      step, batches, in, std::move(outputs));
}

std::unique_ptr<Instruction> MakeDecodeImage(const DecodeImageStep& step,
                                             size_t batches, ValueId in,
                                             ValueId out) {
  return std::make_unique<DecodeImage>(step, batches, in, out);
}

std::unique_ptr<Instruction> MakeResize(const ResizeStep& step, size_t batches,
                                        ValueId in, ValueId out) {
  return std::make_unique<Resize>(step, batches, in, out);
}

std::unique_ptr<Instruction> MakeRandomFlip(const RandomFlipStep& step,
                                            size_t step_index, size_t batches,
                                            std::shared_ptr<const Plan> plan,
                                            ValueId in, ValueId out) {
  return std::make_unique<RandomFlip>(step, step_index, batches,
                                      std::move(plan), in, out);
}

}  // namespace feedmill
