#include "tests/reference/sequence_steps.h"

#include <algorithm>

#include "tests/reference/expression.h"
#include "tests/reference/float_functions.h"

namespace feedmill::reference {
namespace {

size_t Product(const Shape& shape) {
  size_t product = 1;
  for (int64_t d : shape) product *= Size(d);
  return product;
}

void Append(const Tensor& from, Tensor& to) {
  to.numbers.insert(to.numbers.end(), from.numbers.begin(), from.numbers.end());
  to.strings.insert(to.strings.end(), from.strings.begin(), from.strings.end());
}

// Stacks tensors of equal shape along a new first axis.
Tensor Stack(const std::vector<Tensor>& rows) {
  Tensor out{rows[0].dtype, rows[0].shape, {}, {}};
  out.shape.insert(out.shape.begin(), static_cast<int64_t>(rows.size()));
  for (const Tensor& row : rows) {
    if (row.shape != rows[0].shape) throw DataError("rows differ in shape");
    Append(row, out);
  }
  return out;
}

// Concatenates tensors along their first axis.
Tensor Join(const std::vector<Tensor>& rows) {
  Tensor out{rows[0].dtype, rows[0].shape, {}, {}};
  out.shape[0] = 0;
  for (const Tensor& row : rows) {
    for (size_t d = 1; d < row.shape.size(); ++d)
      if (row.shape[d] != out.shape[d])
        throw DataError("rows cannot be joined");
    out.shape[0] += row.shape[0];
    Append(row, out);
  }
  return out;
}

// Items [begin, end) of the first axis.
Tensor SliceFirst(const Tensor& row, uint64_t begin, uint64_t end) {
  Tensor out{row.dtype, row.shape, {}, {}};
  out.shape[0] = 1;
  const auto each = static_cast<ptrdiff_t>(Product(out.shape));
  out.shape[0] = static_cast<int64_t>(end - begin);
  const auto cut = [&](const auto& from, auto& to) {
    if (from.empty()) return;
    to.assign(from.begin() + static_cast<ptrdiff_t>(begin) * each,
              from.begin() + static_cast<ptrdiff_t>(end) * each);
  };
  cut(row.numbers, out.numbers);
  cut(row.strings, out.strings);
  return out;
}

long double FillOf(DType dtype, double value) {
  return IsFloat(dtype) ? Rounded(dtype, value) : value;
}

Tensor Pad(const Tensor& row, const Shape& shape, double value) {
  Tensor out{row.dtype, shape, {}, {}};
  for (size_t k = 0; k < Product(shape); ++k) {
    // Position of the item in the row, if the row has it.
    size_t rest = k, from = 0, scale = 1;
    bool inside = true;
    for (size_t d = shape.size(); d-- > 0;) {
      const size_t at = rest % Size(shape[d]);
      rest /= Size(shape[d]);
      inside = inside && at < Size(row.shape[d]);
      from += at * scale;
      scale *= Size(row.shape[d]);
    }
    if (row.dtype == DType::kBytes)
      out.strings.push_back(inside ? row.strings[from] : "");
    else
      out.numbers.push_back(inside ? row.numbers[from]
                                   : FillOf(row.dtype, value));
  }
  return out;
}

Tensor StackPadded(std::vector<Tensor> rows, const Padding& padding) {
  Shape shape = rows[0].shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (const Tensor& row : rows) shape[d] = std::max(shape[d], row.shape[d]);
    if (!padding.shape || (*padding.shape)[d] == kUnknownDim) continue;
    if (shape[d] > (*padding.shape)[d]) throw DataError("a row is too long");
    shape[d] = (*padding.shape)[d];
  }
  for (Tensor& row : rows) row = Pad(row, shape, padding.value);
  return Stack(rows);
}

Padding PaddingOf(const std::string& name, const std::vector<Padding>& all) {
  for (const Padding& p : all)
    if (p.component == name || name.empty()) return p;
  return {};
}

std::vector<Tensor> ComponentOf(const std::vector<Item>& rows, size_t c) {
  std::vector<Tensor> out;
  for (const Item& row : rows) out.push_back(row.element[c].value);
  return out;
}

Tensor Integers(DType dtype, const std::vector<long double>& numbers) {
  return {dtype, {static_cast<int64_t>(numbers.size())}, numbers, {}};
}

std::string Named(const std::string& name) { return name.empty() ? "x" : name; }

uint64_t LengthOf(const Item& item, const std::string& component) {
  for (const Component& c : item.element) {
    if (c.name != component && !c.name.empty()) continue;
    const Tensor& value = c.value;
    if (!value.shape.empty()) return static_cast<uint64_t>(value.shape[0]);
    if (value.dtype == DType::kBytes) return value.strings[0].size();
    if (value.numbers[0] < 0) throw DataError("a negative length");
    return static_cast<uint64_t>(value.numbers[0]);
  }
  throw std::logic_error("no component " + component);
}

std::vector<Item> Part(const std::vector<Item>& items, size_t begin,
                       size_t end) {
  return {items.begin() + static_cast<ptrdiff_t>(begin),
          items.begin() + static_cast<ptrdiff_t>(end)};
}

// Runs a step over a sequence. Outputs made before an error are kept.
class Runner {
 public:
  Runner(Items in, bool ended, uint64_t& made, Key key)
      : in_(std::move(in.items)), ended_(ended), made_(made), key_(key) {
    out_.failed = in.failed;
    out_.failure = in.failure;
  }

  Items Run(const Step& step) {
    try {
      const bool done =
          DoOneOf<ShardStep, SubsetStep, EnumerateStep, ShuffleStep, BatchStep,
                  UnbatchStep, RebatchStep, WindowStep,
                  BucketBySequenceLengthStep, TokenBatchStep, PackStep>(step);
      if (!done) throw std::logic_error("not a step of sequences");
    } catch (const DataError& error) {
      out_.failed = true;
      out_.failure = error.what();
    }
    return std::move(out_);
  }

 private:
  template <class... Steps>
  bool DoOneOf(const Step& step) {
    return ((step.Is<Steps>() && (Do(step.Get<Steps>()), true)) || ...);
  }

  void Do(const ShardStep& step) {
    for (size_t k = Size(step.index); k < in_.size(); k += Size(step.count))
      out_.items.push_back(in_[k]);
  }

  void Do(const SubsetStep& step) {
    for (const int64_t index : step.indices)
      out_.items.push_back(in_.at(Size(index)));
  }

  void Do(const EnumerateStep& step) {
    for (size_t k = 0; k < in_.size(); ++k) {
      AddNumber(step, k, in_[k].element);
      out_.items.push_back(in_[k]);
    }
  }

  void Do(const ShuffleStep& step) {
    std::vector<Item> held;
    uint64_t draws = 0;
    const auto draw = [&] {
      return static_cast<size_t>(
          uint64_t{FirstWord(key_, draws++, 0)} * held.size() >> 32);
    };
    for (const Item& item : in_) {
      if (held.size() == Size(*step.window)) {
        const size_t entry = draw();
        out_.items.push_back(held[entry]);
        held[entry] = item;
      } else {
        held.push_back(item);
      }
    }
    while (ended_ && !held.empty()) {
      const size_t entry = draw();
      out_.items.push_back(held[entry]);
      held[entry] = held.back();
      held.pop_back();
    }
  }

  void Do(const BatchStep& step) {
    BatchesOf(in_, step.size, step.drop_remainder, step.layout, step.padding);
  }

  void BatchesOf(const std::vector<Item>& rows, int64_t size, bool drop,
                 BatchLayout layout, const std::vector<Padding>& padding) {
    for (size_t at = 0; at < rows.size(); at += Size(size)) {
      const size_t end = std::min(at + Size(size), rows.size());
      if (end - at < Size(size) && (drop || !ended_)) break;
      // A short batch counts as a full one.
      out_.items.push_back(MakeBatch(Part(rows, at, end),
                                     made_++ * static_cast<uint64_t>(size),
                                     layout, padding));
    }
  }

  std::vector<Item> Records(const Item& item) {
    std::vector<Item> out;
    const int64_t count = item.element[0].value.shape[0];
    for (const Component& c : item.element)
      if (c.value.shape[0] != count)
        throw DataError("records differ in number");
    for (int64_t k = 0; k < count; ++k) {
      Item record;
      for (const Component& c : item.element) {
        const Tensor& t = c.value;
        Tensor one{t.dtype, Shape(t.shape.begin() + 1, t.shape.end()), {}, {}};
        const size_t each = Product(one.shape);
        for (size_t j = Size(k) * each; j < (Size(k) + 1) * each; ++j) {
          if (t.dtype == DType::kBytes)
            one.strings.push_back(t.strings[j]);
          else
            one.numbers.push_back(t.numbers[j]);
        }
        record.element.push_back({c.name, one});
      }
      out.push_back(record);
    }
    return out;
  }

  void Do(const UnbatchStep&) {
    for (const Item& item : in_) {
      for (Item& record : Records(item)) {
        record.counters = {{made_++, 0}};
        out_.items.push_back(std::move(record));
      }
    }
  }

  void Do(const RebatchStep& step) {
    std::vector<Item> records;
    try {
      for (const Item& item : in_)
        for (Item& record : Records(item)) records.push_back(std::move(record));
    } catch (const DataError&) {
      ended_ = false;
      BatchesOf(records, step.size, step.drop_remainder, BatchLayout::kEqual,
                {});
      throw;
    }
    BatchesOf(records, step.size, step.drop_remainder, BatchLayout::kEqual, {});
  }

  void Do(const WindowStep& step) {
    const size_t shift = Size(step.shift == 0 ? step.size : step.shift);
    const size_t span = (Size(step.size) - 1) * Size(step.stride) + 1;
    for (size_t begin = 0; begin < in_.size(); begin += shift) {
      if (begin + span > in_.size() && (step.drop_remainder || !ended_)) break;
      std::vector<Item> rows;
      for (size_t k = 0; k < Size(step.size); ++k) {
        const size_t at = begin + k * Size(step.stride);
        if (at < in_.size()) rows.push_back(in_[at]);
      }
      out_.items.push_back(
          MakeBatch(rows, made_++ * static_cast<uint64_t>(step.size)));
    }
  }

  void Do(const BucketBySequenceLengthStep& step) {
    std::vector<std::vector<Item>> buckets(step.batch_sizes.size());
    const size_t ranks = step.ranks == 0 ? 1 : Size(step.ranks);
    const auto emit = [&](const std::vector<Item>& batch) {
      out_.items.push_back(
          MakeBatch(batch, made_, BatchLayout::kPadded, step.padding));
      made_ += batch.size();
    };
    // The batches of a bucket, in order.
    const auto batches = [&](size_t k) {
      std::vector<std::vector<Item>> out;
      for (const Item& item : buckets[k]) {
        if (out.empty() || out.back().size() == Size(step.batch_sizes[k]))
          out.emplace_back();
        out.back().push_back(item);
      }
      return out;
    };
    for (const Item& item : in_) {
      const uint64_t length = LengthOf(item, step.component);
      size_t k = 0;
      while (k < step.boundaries.size() &&
             length >= static_cast<uint64_t>(step.boundaries[k]))
        ++k;
      buckets[k].push_back(item);
      if (buckets[k].size() < Size(step.batch_sizes[k]) * ranks) continue;
      for (const auto& batch : batches(k)) emit(batch);
      buckets[k].clear();
    }
    for (size_t k = 0; ended_ && k < buckets.size(); ++k) {
      auto last = batches(k);
      if (step.drop_remainder && !last.empty() &&
          last.back().size() < Size(step.batch_sizes[k]))
        last.pop_back();
      const bool repeats =
          step.last_round == BucketBySequenceLengthStep::LastRound::kRepeat;
      if (last.size() < ranks && !repeats) continue;
      while (!last.empty() && last.size() < ranks) last.push_back(last.back());
      for (const auto& batch : last) emit(batch);
    }
  }

  void Do(const TokenBatchStep& step) {
    std::vector<Item> held;
    uint64_t longest = 0, sum = 0;
    const auto emit = [&] {
      out_.items.push_back(MakeBatch(held, made_, step.layout, step.padding));
      made_ += held.size();
      held.clear();
      longest = sum = 0;
    };
    for (const Item& item : in_) {
      const uint64_t length =
          std::max<uint64_t>(LengthOf(item, step.component), 1);
      const auto tokens = static_cast<uint64_t>(step.tokens);
      if (length > tokens) throw DataError("an element does not fit");
      const uint64_t would = step.layout == BatchLayout::kPadded
                                 ? std::max(longest, length) * (held.size() + 1)
                                 : sum + length;
      if (would > tokens) emit();
      held.push_back(item);
      longest = std::max(longest, length);
      sum += length;
    }
    if (ended_ && !step.drop_remainder && !held.empty()) emit();
  }

  static uint64_t SequenceLength(const Item& item) {
    const int64_t length = item.element[0].value.shape[0];
    for (const Component& c : item.element)
      if (c.value.shape[0] != length) throw DataError("lengths differ");
    return static_cast<uint64_t>(length);
  }

  static Item Packed(const std::vector<Item>& rows, const PackStep& step) {
    Item out;
    for (size_t c = 0; c < rows[0].element.size(); ++c) {
      const std::string& name = rows[0].element[c].name;
      const double fill = PaddingOf(name, step.padding).value;
      std::vector<Tensor> sequences = ComponentOf(rows, c);
      for (size_t k = 0; k + 1 < sequences.size(); ++k) {
        Shape shape = sequences[k].shape;
        while (shape[0] % step.align != 0) ++shape[0];
        sequences[k] = Pad(sequences[k], shape, fill);
      }
      Tensor joined = Join(sequences);
      Shape shape = joined.shape;
      shape[0] = step.length;
      out.element.push_back({Named(name), Pad(joined, shape, fill)});
    }
    std::vector<long double> segments, positions;
    for (size_t k = 0; k < rows.size(); ++k) {
      while (segments.size() % Size(step.align) != 0) {
        segments.push_back(0);
        positions.push_back(0);
      }
      for (uint64_t at = 0; at < SequenceLength(rows[k]); ++at) {
        segments.push_back(static_cast<long double>(k + 1));
        positions.push_back(static_cast<long double>(at));
      }
    }
    segments.resize(Size(step.length), 0);
    positions.resize(Size(step.length), 0);
    out.element.push_back({"segment_ids", Integers(DType::kInt32, segments)});
    out.element.push_back({"positions", Integers(DType::kInt32, positions)});
    return out;
  }

  // Items [begin, end) of all components.
  static Item Cut(const Item& item, uint64_t begin, uint64_t end) {
    Item part = item;
    for (Component& c : part.element) {
      c.value = SliceFirst(c.value, begin, end);
    }
    return part;
  }

  // The sequences that a row may hold, of an item. `room`: items left in the
  // row that concatenate fills.
  static std::vector<Item> SequencesOf(const Item& item, const PackStep& step,
                                       uint64_t& room) {
    const auto length = Size(step.length);
    const uint64_t own = SequenceLength(item);
    const bool joins = step.method == PackStep::Method::kConcatenate;
    if (joins && own == 0) return {};
    if (!joins && own <= length) return {item};
    if (!joins && step.longer == PackStep::Longer::kError) {
      throw DataError("a sequence does not fit");
    }
    if (!joins && step.longer == PackStep::Longer::kTruncate) {
      return {Cut(item, 0, length)};
    }
    std::vector<Item> parts;
    for (uint64_t at = 0; at < own;) {
      if (room == 0) room = length;
      const uint64_t size = std::min(own - at, joins ? room : length);
      parts.push_back(Cut(item, at, at + size));
      if (joins) room -= size;
      at += size;
    }
    return parts;
  }

  static uint64_t UsedBy(const std::vector<Item>& row, const PackStep& step) {
    uint64_t used = 0;
    for (const Item& item : row) {
      while (used % Size(step.align) != 0) ++used;
      used += SequenceLength(item);
    }
    return used;
  }
  static bool HasRoom(std::vector<Item> row, const Item& item,
                      const PackStep& step) {
    if (row.size() >= Size(step.sequences.value_or(step.length)) ||
        row.size() >= Size(step.length)) {
      return false;
    }
    row.push_back(item);
    return UsedBy(row, step) <= Size(step.length);
  }

  void EmitRow(const std::vector<Item>& row, const PackStep& step) {
    out_.items.push_back(Packed(row, step));
    out_.items.back().counters = {{made_++, 0}};
  }

  // The oldest sequence, then again and again the longest that fits.
  void EmitBestFit(std::vector<Item>& window, const PackStep& step) {
    std::vector<Item> row{window.front()};
    window.erase(window.begin());
    for (;;) {
      auto best = window.end();
      if (UsedBy(row, step) < Size(step.length)) {
        for (auto at = window.begin(); at != window.end(); ++at) {
          if (HasRoom(row, *at, step) &&
              (best == window.end() ||
               SequenceLength(*at) > SequenceLength(*best))) {
            best = at;
          }
        }
      }
      if (best == window.end()) return EmitRow(row, step);
      row.push_back(*best);
      window.erase(best);
    }
  }

  void Do(const PackStep& step) {
    std::vector<Item> window;
    std::vector<std::vector<Item>> bins;  // oldest first
    const auto emit_bin = [&] {
      EmitRow(bins[0], step);
      bins.erase(bins.begin());
    };
    const bool best_fit = step.method == PackStep::Method::kBestFit;
    uint64_t room = 0;
    for (const Item& item : in_) {
      for (const Item& sequence : SequencesOf(item, step, room)) {
        if (best_fit) {
          window.push_back(sequence);
          if (window.size() > Size(step.window)) EmitBestFit(window, step);
          continue;
        }
        const auto found = std::find_if(
            bins.begin(), bins.end(),
            [&](const auto& bin) { return HasRoom(bin, sequence, step); });
        if (found != bins.end()) {
          found->push_back(sequence);
          continue;
        }
        bins.push_back({sequence});
        if (bins.size() > Size(step.bins)) emit_bin();
      }
    }
    while (ended_ && !window.empty()) EmitBestFit(window, step);
    while (ended_ && !bins.empty()) emit_bin();
  }

  std::vector<Item> in_;
  bool ended_;
  uint64_t& made_;
  const Key key_;
  Items out_;
};

}  // namespace

Items AroundLeftOut(Items in,
                    const std::function<Items(Items in, bool whole)>& run) {
  Items real{{}, in.failed, in.failure};
  std::vector<std::pair<size_t, Item>> left_out;
  for (Item& item : in.items) {
    if (item.left_out)
      left_out.push_back({real.items.size(), std::move(item)});
    else
      real.items.push_back(std::move(item));
  }
  if (left_out.empty()) return run(std::move(real), true);
  std::vector<std::pair<size_t, Item>> placed;
  for (auto& [before, item] : left_out) {
    const auto end = real.items.begin() + static_cast<ptrdiff_t>(before);
    const Items made = run({{real.items.begin(), end}, false, {}}, false);
    if (!made.failed) placed.push_back({made.items.size(), std::move(item)});
  }
  Items out = run(std::move(real), true);
  for (size_t k = 0; k < placed.size(); ++k)
    out.items.insert(
        out.items.begin() + static_cast<ptrdiff_t>(placed[k].first + k),
        std::move(placed[k].second));
  return out;
}

Item MakeBatch(const std::vector<Item>& rows, uint64_t first,
               BatchLayout layout, const std::vector<Padding>& padding) {
  Item out;
  for (size_t c = 0; c < rows[0].element.size(); ++c) {
    const std::string& name = rows[0].element[c].name;
    const std::vector<Tensor> values = ComponentOf(rows, c);
    if (layout == BatchLayout::kEqual) {
      out.element.push_back({name, Stack(values)});
    } else if (layout == BatchLayout::kPadded) {
      out.element.push_back(
          {name, StackPadded(values, PaddingOf(name, padding))});
    } else if (values[0].shape.empty()) {
      out.element.push_back({Named(name), Stack(values)});
    } else {
      std::vector<long double> offsets = {0};
      for (const Tensor& value : values)
        offsets.push_back(offsets.back() + value.shape[0]);
      out.element.push_back({Named(name), Join(values)});
      out.element.push_back(
          {Named(name) + "_offsets", Integers(DType::kInt64, offsets)});
    }
  }
  for (uint64_t k = 0; k < rows.size(); ++k)
    out.counters.push_back({first + k, 0});
  return out;
}

void AddNumber(const EnumerateStep& step, uint64_t number, Element& element) {
  for (Component& c : element) c.name = Named(c.name);
  const auto value =
      static_cast<int64_t>(static_cast<uint64_t>(step.start) + number);
  element.insert(element.begin(),
                 {step.component,
                  {DType::kInt64, {}, {static_cast<long double>(value)}, {}}});
}

size_t BatchesBefore(const Graph& graph, size_t s) {
  size_t batches = 0;
  for (size_t r = 0; r < s; ++r) {
    const Step& step = graph.steps[r];
    if (step.Is<BatchStep>() || step.Is<WindowStep>() ||
        step.Is<BucketBySequenceLengthStep>() || step.Is<TokenBatchStep>())
      ++batches;
    const bool unpacks = step.Is<UnbatchStep>() || step.Is<FlatMapStep>();
    if (unpacks && batches > 0) --batches;
    if (step.Is<RebatchStep>() && batches == 0) ++batches;
  }
  return batches;
}

Items RunSequenceStep(const Step& step, Items in, bool ended, uint64_t& made,
                      Key key) {
  return Runner(std::move(in), ended, made, key).Run(step);
}

}  // namespace feedmill::reference
