#include "tests/reference/interpreter.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "core/operators/registry.h"
#include "tests/reference/combination.h"
#include "tests/reference/expression.h"
#include "tests/reference/formats.h"
#include "tests/reference/items.h"
#include "tests/reference/lookups.h"
#include "tests/reference/needed_components.h"
#include "tests/reference/placements.h"
#include "tests/reference/places.h"
#include "tests/reference/random_functions.h"
#include "tests/reference/random_numbers.h"
#include "tests/reference/records.h"
#include "tests/reference/sequence_steps.h"
#include "tests/reference/shuffles.h"
#include "tests/reference/source_records.h"
#include "tests/reference/streams.h"

namespace feedmill::reference {
namespace {

// Passes of an infinite repeat, and elements of an infinite source. Enough for
// the positions that tests request of an input.
constexpr uint64_t kMany = 400;

class Interpreter {
 public:
  // `steps`: number of steps so far in written order, inputs included; the
  // graph's steps are added.
  Interpreter(const Graph& graph, uint64_t seed, uint64_t iteration,
              size_t limit, size_t& steps, bool is_input = false,
              const Needed& needed = std::nullopt, bool is_stream = false,
              bool covered = false)
      : graph_(graph),
        needed_(NeededComponents(graph, needed)),
        seed_(seed),
        iteration_(iteration),
        limit_(limit),
        is_stream_(is_stream),
        covered_(covered),
        batches_(graph.steps.size(), 0) {
    const Placements placements = PlacementsOf(graph, is_input);
    client_begin_ = placements.client_begin;
    skip_before_ = placements.skip_before;
    counted_ = placements.counted;
    infinite_ = placements.infinite;
    plan_ends_ = placements.plan_ends;
    streamed_ = HasStreams(graph.source);
    // The length of streams is unknown.
    in_vain_ = HasNoEnd(graph.source) && !streamed_ && !NumbersOn(graph) &&
               !plan_ends_;
    LoadSource(steps);
    first_step_ = steps;
    steps += graph.steps.size();
  }

  Sequence Run() {
    if (RepeatsNothing()) return {{}, true, "an infinite repeat of nothing"};
    // Adds passes of an infinite repeat until there are enough elements; at the
    // cut the last element may be short. Stops too when more passes add
    // nothing: a take is full, the data is bad, or no pass makes an element.
    Items items;
    size_t before = 0, skipped = 0;
    for (infinite_passes_ = 1;; infinite_passes_ *= 4) {
      std::fill(batches_.begin(), batches_.end(), 0);
      positions_ = Places(graph_.steps.size(), 0);
      items = After(graph_.steps.size(), 0);
      if (!is_stream_)
        skipped = std::erase_if(items.items,
                                [](const Item& i) { return i.left_out; });
      if (!infinite_ && items.items.empty() && in_vain_ && !take_full_)
        items.failed = true;  // not because a take was full
      if (!infinite_ || items.items.size() > limit_) break;
      // Steps that wait for many elements may output nothing for long.
      if (infinite_passes_ > (items.items.empty() ? 256 : 16) &&
          items.items.size() == before) {
        // No element will ever come, although no take is full: an error.
        if (before == 0 && !take_full_ && !plan_ends_) items.failed = true;
        break;
      }
      before = items.items.size();
    }
    Sequence out{{}, items.failed, items.failure, skipped};
    for (Item& item : items.items) {
      if (!item.left_out) Keep(needed_.back(), item.element);
      out.elements.push_back(std::move(item.element));
    }
    if (out.elements.size() > limit_) {
      out.elements.resize(limit_);
      out.failed = false;
    }
    return out;
  }

  // ---- used as an input of another source

  // Returns the number of elements in one pass.
  uint64_t Size() {
    Begin(kMany, kMany);
    const uint64_t size = Places(graph_.steps.size(), 0).size();
    if (HasNoEnd(graph_) && size > 0) return kNoEnd;
    Need(size);
    return size;
  }

  // Makes an infinite input just long enough for n elements in a pass.
  void Need(uint64_t n) {
    uint64_t passes = 1, elements = kMany;
    const auto enough = [&] {
      Begin(passes, elements);
      return Places(graph_.steps.size(), 0).size() >= n;
    };
    while (!enough()) ++passes;
    if (HasNoEnd(graph_.source))
      for (elements = 0; !enough();) ++elements;
  }

  // Returns the element at `position` of the pass-th reading.
  Element Make(uint64_t pass, uint64_t position) {
    if (made_places_.count(pass) == 0)
      made_places_[pass] = Places(graph_.steps.size(), pass);
    const Place place = made_places_[pass].at(position).at(0);
    Item item{Sound(RecordsAt(place).at(0)), {}, {}};
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      item.counters = {{PositionOf(graph_, s, place, position), 0}};
      if (!IsPlanStep(s)) Apply(s, EpochOf(s, PassOf(graph_, s, place)), item);
    }
    Keep(needed_.back(), item.element);
    return item.element;
  }

 private:
  // Starts again with finite bounds for infinite parts.
  void Begin(uint64_t passes, uint64_t elements) {
    infinite_passes_ = passes;
    made_places_.clear();
    PickInputs(HasNoEnd(graph_.source) ? elements : SIZE_MAX);
  }

  // Determines the input elements of each element of the source.
  void PickInputs(size_t bound) {
    if (inputs_.empty()) return;
    std::vector<uint64_t> sizes;
    for (auto& input : inputs_) sizes.push_back(input->Size());
    picks_ = Picks(graph_.source, sizes, bound);
    turns_.assign(inputs_.size(), 1);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      uint64_t used = 0;
      for (const auto& element : picks_)
        for (const Pick& pick : element) used += pick.input == i;
      if (sizes[i] == kNoEnd) {
        inputs_[i]->Need(used);
      } else if (sizes[i] > 0) {
        turns_[i] = std::max<uint64_t>(1, (used + sizes[i] - 1) / sizes[i]);
      }
    }
  }

  uint64_t SourceSize() const {
    if (streamed_) return 1;
    return inputs_.empty() ? records_.size() : picks_.size();
  }

  // Returns the elements of a position of the source.
  std::vector<Element> RecordsAt(const Place& place) const {
    if (streamed_) return StreamAt(PassOf(graph_, 0, place));
    if (inputs_.empty()) {
      std::vector<Element> read = records_.at(place.record);
      for (Element& element : read) Keep(needed_[0], element);
      return read;
    }
    Element out;
    for (const Pick& pick : picks_.at(place.record)) {
      const uint64_t pass =
          PassOf(graph_, 0, place) * turns_[pick.input] + pick.turn;
      for (Component& c : inputs_[pick.input]->Make(pass, pick.position))
        out.push_back(std::move(c));
    }
    return {out};
  }

  // Returns the elements of a source whose inputs run as pipelines of their
  // own. Each reading of an input is an iteration of it.
  const std::vector<Element>& StreamAt(uint64_t pass) const {
    if (auto made = streams_.find(pass); made != streams_.end())
      return made->second;
    const auto run = [&](size_t i, uint64_t turn) {
      const Graph& input = InputsOf(graph_.source)->at(i);
      size_t steps = input_steps_[i];
      return Interpreter(input, seed_,
                         KeyOf(seed_, IterationOf(0), pass, i, turn).low,
                         HasNoEnd(input) ? kMany : SIZE_MAX, steps, false,
                         NeededOfInput(needed_[0], NamesOf(input)), true,
                         covered_ || skip_before_)
          .Run();
    };
    const size_t bound = HasNoEnd(graph_.source) ? kMany : SIZE_MAX;
    return streams_[pass] = StreamElements(graph_.source, bound, run);
  }

  bool IsPlanStep(size_t s) const {
    const Step& step = graph_.steps[s];
    if (step.As<RepeatStep>() || ShufflesAll(step) || ShufflesFiles(step))
      return true;
    return s < client_begin_ && NeedsPlaces(step);
  }

  // True if a pass of an infinite repeat has no positions.
  bool RepeatsNothing() {
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      const auto* repeat = graph_.steps[s].As<RepeatStep>();
      if (repeat && !repeat->count) return Places(s, 0).empty();
    }
    return false;
  }

  void LoadSource(size_t& steps) {
    if (streamed_) {
      for (const Graph& input : *InputsOf(graph_.source)) {
        input_steps_.push_back(steps);
        Interpreter(input, seed_, iteration_, limit_, steps);
      }
    } else if (auto* inputs = InputsOf(graph_.source)) {
      for (const Graph& input : *inputs)
        inputs_.push_back(std::make_unique<Interpreter>(
            input, seed_, IterationOf(0), limit_, steps, true,
            NeededOfInput(needed_[0], NamesOf(input))));
      PickInputs(HasNoEnd(graph_.source) ? kMany : SIZE_MAX);
    } else {
      RecordsOf(graph_.source, counted_, records_, file_sizes_);
    }
  }

  uint64_t SeedOf(const Step& step) const {
    auto* sample = step.As<WeightedSampleStep>();
    if (sample) return sample->seed.value_or(seed_);
    auto* shuffle = step.As<ShuffleStep>();
    return shuffle && shuffle->seed ? *shuffle->seed : seed_;
  }

  // Returns the output of the plan steps among the first k steps. `pass` counts
  // the later repeats.
  std::vector<Position> Places(size_t k, uint64_t pass) {
    std::vector<Position> out;
    if (k == 0) {
      for (uint64_t r = 0; r < SourceSize(); ++r)
        out.push_back({{r, pass, {}, {}}});
      return out;
    }
    const Step& step = graph_.steps[k - 1];
    if (step.As<CacheStep>()) return PastCache(k - 1, Places(k - 1, 0), pass);
    if (!IsPlanStep(k - 1)) return Places(k - 1, pass);
    if (auto* repeat = step.As<RepeatStep>()) {
      const uint64_t count = repeat->count
                                 ? static_cast<uint64_t>(*repeat->count)
                                 : infinite_passes_;
      for (uint64_t j = 0; j < count; ++j)
        for (Position& p : Places(k - 1, pass * count + j))
          out.push_back(std::move(p));
      return out;
    }
    return PlacesAfter(
        step, k - 1, Places(k - 1, pass),
        {SeedOf(step), IterationOf(k - 1), pass, first_step_ + k - 1,
         !HasNoEnd(graph_, k - 1), file_sizes_});
  }

  uint64_t IterationOf(size_t s) const {
    return CacheAfter(graph_, s) ? 0 : iteration_;
  }

  uint64_t EpochOf(size_t s, uint64_t pass) const {
    return reference::EpochOf(graph_, s, pass, infinite_passes_);
  }

  static std::vector<std::string> NamesIn(const Element& element) {
    std::vector<std::string> names;
    for (const Component& c : element) names.push_back(c.name);
    return names;
  }

  // Applies a step that acts on each element alone. Returns false if the
  // element is filtered out.
  bool Apply(size_t s, uint64_t epoch, Item& item) const {
    const Step& step = graph_.steps[s];
    if (step.As<OnErrorStep>() || step.As<CacheStep>()) return true;
    auto* map = step.As<MapStep>();
    auto* flat_map = step.As<FlatMapStep>();
    if (map || flat_map) {
      item.element = Mapped(s, epoch, map ? map->outputs : flat_map->outputs,
                            map ? needed_[s + 1] : std::nullopt, item);
    } else if (const auto columns =
                   ChosenColumns(step, NamesBefore(graph_, s))) {
      item.element = WithChosen(s, epoch, *columns, item);
    } else if (const auto predicate =
                   PredicateOf(step, NamesIn(item.element))) {
      uint64_t draws = 0;
      const Expr drawn = WithStepDraws(s, epoch, *predicate, item, draws);
      if (Evaluate(drawn, item.element).numbers.at(0) == 0) return false;
      const auto valid = ValidityOf(drawn, item.element);
      if (valid && valid->numbers.at(0) == 0) return false;
      Keep(needed_[s + 1], item.element);
    } else if (auto* lookup = step.As<LookupStep>()) {
      return LookedUpOne(s, *lookup, item);
    } else if (auto* enumerate = step.As<EnumerateStep>()) {
      AddNumber(*enumerate, item.numbers.at(s), item.element);
    } else {
      ApplyToRecords(s, epoch, item);
    }
    return true;
  }

  // A lookup whose columns are not needed does not fail.
  bool LookedUpOne(size_t s, const LookupStep& lookup, Item& item) const {
    for (Component& c : item.element)
      if (c.name.empty()) c.name = "x";
    bool looks = lookup.unmatched == Unmatched::kDrop;
    for (const std::string& name : LookedUp(lookup))
      looks = looks || IsNeeded(needed_[s + 1], name);
    if (looks && !LookUp(lookup, item.element)) return false;
    Keep(needed_[s + 1], item.element);
    return true;
  }

  // Returns the needed ones of these columns.
  Element WithChosen(size_t s, uint64_t epoch,
                     const std::vector<ChosenColumn>& columns,
                     const Item& item) const {
    std::vector<std::string> names;
    for (const ChosenColumn& column : columns) names.push_back(column.name);
    const auto kept = Kept(needed_[s + 1], names);
    const bool makes = std::any_of(
        columns.begin(), columns.end(), [&](const ChosenColumn& column) {
          return column.expr != nullptr && kept.count(column.name) > 0;
        });
    Element made;
    if (makes)
      made = Mapped(s, epoch, graph_.steps[s].Get<WithColumnsStep>().outputs,
                    kept, item);
    Element out;
    for (const ChosenColumn& column : columns) {
      if (kept.count(column.name) == 0) continue;
      const Element& from = column.expr != nullptr ? made : item.element;
      const std::string& name =
          column.expr != nullptr ? column.name : column.input;
      for (const Component& c : from)
        if ((c.name.empty() ? "x" : c.name) == name) {
          out.push_back(c);
          out.back().name = column.name;
        } else if (c.name == "valid(" + name + ")") {
          out.push_back({"valid(" + column.name + ")", c.value});
        }
    }
    return out;
  }

  // Computes the needed outputs. The draws of other outputs are counted.
  Element Mapped(size_t s, uint64_t epoch,
                 const std::vector<std::pair<std::string, Expr>>& outputs,
                 const Needed& needed, const Item& item) const {
    std::vector<std::string> names;
    for (const auto& output : outputs) names.push_back(output.first);
    const auto kept = Kept(needed, names);
    Element out;
    uint64_t draws = 0;
    for (const auto& [name, expr] : outputs) {
      if (kept.count(name.empty() ? "x" : name) > 0)
        AddDrawn(s, epoch, {name, expr}, item, draws, out);
      else
        WithDraws(
            expr, [](uint64_t) { return std::array<uint32_t, 4>{}; }, draws);
    }
    return out;
  }

  // Adds an output, and its validity if it may be null.
  void AddDrawn(size_t s, uint64_t epoch,
                const std::pair<std::string, Expr>& output, const Item& item,
                uint64_t& draws, Element& out) const {
    const Expr drawn = WithStepDraws(s, epoch, output.second, item, draws);
    out.push_back({output.first, Evaluate(drawn, item.element)});
    const auto valid = ValidityOf(drawn, item.element);
    if (valid) out.push_back({"valid(" + output.first + ")", *valid});
  }

  // Replaces the draws of an expression of step s, which has made `draws` draws
  // so far.
  Expr WithStepDraws(size_t s, uint64_t epoch, const Expr& expr,
                     const Item& item, uint64_t& draws) const {
    const auto draw = [&](uint64_t ordinal) {
      const Counter counter = item.counters.at(0);
      return Words(
          KeyOf(seed_, IterationOf(s), epoch, first_step_ + s, ordinal),
          counter.p, counter.i);
    };
    return WithDraws(expr, draw, draws);
  }

  // Applies steps on records. In batched data each record has its own counter.
  void ApplyToRecords(size_t s, uint64_t epoch, Item& item) const {
    const Step step = NeededPart(graph_.steps[s], needed_[s + 1]);
    if (!step.As<ParseExampleStep>() && !step.As<ParseSequenceExampleStep>()) {
      Keep(needed_[s + 1], item.element);
      if (!Has(item.element, TouchedName(step))) return;
    }
    const size_t depth = BatchesBefore(graph_, s);
    Tensor& touched = Touched(step, item.element);
    const Shape batches(touched.shape.begin(),
                        touched.shape.begin() + static_cast<ptrdiff_t>(depth));
    size_t records = 1;
    for (int64_t d : batches) records *= static_cast<size_t>(d);
    std::vector<Item> done(records);
    for (size_t k = 0; k < records; ++k)
      done[k].element = OneRecord(s, step, epoch, RecordOf(touched, k, depth),
                                  item.counters, k);
    Element made = MakeBatch(done, 0).element;
    for (Component& c : made) {
      c.value.shape.erase(c.value.shape.begin());
      c.value.shape.insert(c.value.shape.begin(), batches.begin(),
                           batches.end());
    }
    if (step.As<ParseExampleStep>() || step.As<ParseSequenceExampleStep>())
      item.element = std::move(made);
    else
      touched = std::move(made[0].value);
  }

  Element OneRecord(size_t s, const Step& step, uint64_t epoch,
                    const Tensor& record, const std::vector<Counter>& counters,
                    size_t k) const {
    if (!step.As<RandomFlipStep>()) return MadeOf(record, step);
    const Counter counter = counters.at(k);
    return {{"", RandomFlip(record, step.Get<RandomFlipStep>(),
                            FirstWord(KeyOf(seed_, IterationOf(s), epoch,
                                            first_step_ + s),
                                      counter.p, counter.i))}};
  }

  // True if step s, before the cut, acts on each element.
  bool IsApplied(size_t s) const {
    return !IsPlanStep(s) || graph_.steps[s].As<EnumerateStep>();
  }

  // Runs make(begun), which counts the steps that have begun. Returns false if
  // it failed and an on_error skips its elements; `out` records that.
  template <class Make>
  bool Made(std::vector<Item>& out, Make make) const {
    size_t begun = 0;
    try {
      make(begun);
      return true;
    } catch (const DataError&) {
      const bool own = skip_before_ && begun <= *skip_before_;
      if (!own && !covered_) throw;
      const bool has_place = client_begin_ == graph_.steps.size();
      out.push_back({LeftOut(!own && has_place), {}, {}, true});
      return false;
    }
  }

  // Appends the elements of plan position p after the worker steps.
  void WorkerElements(uint64_t p, std::vector<Item>& out) const {
    if (BatchSize(graph_, client_begin_) > 0) {
      Made(out, [&](size_t& begun) { MakeBatched(p, begun, out); });
      return;
    }
    const Position& position = positions_[p];
    std::vector<Item> rows;
    std::vector<Element> read;
    Made(out, [&](size_t&) { read = RecordsAt(position[0]); });
    for (uint64_t i = 0; i < read.size(); ++i)
      rows.push_back(
          {read[i], {Counter{p, i}}, position[0].numbers, !TakesTurn(read[i])});
    // In order: each element passes all steps before the next one.
    for (Item& row : rows) {
      bool keep = true;
      const bool made = Made(out, [&](size_t& begun) {
        if (row.left_out) return;  // already skipped in an input
        if (IsLeftOut(row.element)) throw DataError("an input's element");
        row.element = Sound(row.element);
        while (keep && begun < client_begin_) {
          const size_t s = begun++;
          row.counters[0].p = PositionOf(graph_, s, position[0], p);
          if (IsApplied(s))
            keep = Apply(s, EpochOf(s, PassOf(graph_, s, position[0])), row);
        }
        row.counters[0].p = p;
      });
      if (made && keep) out.push_back(std::move(row));
    }
  }

  // `begun`: number of steps that have begun; 0 while the source is read.
  void MakeBatched(uint64_t p, size_t& begun, std::vector<Item>& out) const {
    const Position& position = positions_[p];
    const uint64_t size = BatchSize(graph_, client_begin_);
    size_t batch_step = 0;
    while (!graph_.steps[batch_step].As<BatchStep>()) ++batch_step;
    std::vector<Item> rows;
    for (uint64_t k = 0; k < position.size(); ++k) {
      begun = 0;
      Item row{Sound(RecordsAt(position[k]).at(0)), {{}}, position[k].numbers};
      while (begun < batch_step) {
        const size_t s = begun++;
        const auto cache = CacheAfter(graph_, s);
        const uint64_t at = PositionOf(graph_, s, position[k], p);
        const bool single = cache && *cache < batch_step;
        row.counters = {{single ? at : at * size + k, 0}};
        if (IsApplied(s))
          Apply(s, EpochOf(s, PassOf(graph_, s, position[k])), row);
      }
      rows.push_back(std::move(row));
    }
    begun = batch_step + 1;
    const auto& written = graph_.steps[batch_step].Get<BatchStep>();
    Item batch = MakeBatch(rows, p * size, written.layout, written.padding);
    batch.numbers = position[0].numbers;
    while (begun < client_begin_) {
      const size_t s = begun++;
      SetCounters(PositionOf(graph_, s, position[0], p) * size, batch);
      if (IsApplied(s) &&
          !Apply(s, EpochOf(s, PassOf(graph_, s, position[0])), batch))
        return;
    }
    SetCounters(p * size, batch);
    out.push_back(std::move(batch));
  }

  static void SetCounters(uint64_t first, Item& batch) {
    for (Counter& counter : batch.counters) counter = {first++, 0};
  }

  // Returns the output of the first k steps in `pass`, for k at or after the
  // cut.
  Items After(size_t k, uint64_t pass) {
    if (k <= client_begin_) return WorkerSequence(pass);
    const size_t s = k - 1;
    const Step& step = graph_.steps[s];
    if (auto* repeat = step.As<RepeatStep>()) {
      const uint64_t count = repeat->count
                                 ? static_cast<uint64_t>(*repeat->count)
                                 : infinite_passes_;
      Items out;
      for (uint64_t j = 0; j < count && !out.failed; ++j) {
        Items one = After(k - 1, repeat->count ? pass * count + j : j);
        std::move(one.items.begin(), one.items.end(),
                  std::back_inserter(out.items));
        out.failed = one.failed;
        out.failure = one.failure;
      }
      return out;
    }
    return AroundLeftOut(After(k - 1, pass), [&](Items in, bool whole) {
      return ClientStep(s, pass, std::move(in), whole);
    });
  }

  // `whole` false: `in` is only a prefix, to see how far its output comes.
  Items ClientStep(size_t s, uint64_t pass, Items in, bool whole) {
    const Step& step = graph_.steps[s];
    if (auto* take = step.As<TakeStep>()) {
      if (in.items.size() >= static_cast<size_t>(take->count)) {
        in.items.resize(static_cast<size_t>(take->count));
        in.failed = !whole;  // later elements are not looked at
        take_full_ = take_full_ || !InPass(graph_, s);
      }
      return in;
    }
    if (auto* skip = step.As<SkipStep>()) {
      const size_t n =
          std::min(in.items.size(), static_cast<size_t>(skip->count));
      in.items.erase(in.items.begin(),
                     in.items.begin() + static_cast<ptrdiff_t>(n));
      return in;
    }
    // A flat_map is a map followed by an unbatch.
    const bool flat = step.As<FlatMapStep>() != nullptr;
    if (flat) in = ClientEach(s, pass, std::move(in));
    if (NeedsPlaces(step) || SeesSequence(step)) {
      const bool ended = whole && !in.failed && !HasNoEnd(graph_, s);
      uint64_t made = batches_[s];
      Items out = RunSequenceStep(
          flat ? MakeStep(UnbatchStep{}) : step, std::move(in), ended, made,
          KeyOf(SeedOf(step), iteration_, pass, first_step_ + s));
      if (whole) batches_[s] = made;
      return out;
    }
    return ClientEach(s, pass, std::move(in));
  }

  Items WorkerSequence(uint64_t pass) {
    // The repeats at or after the cut divide the positions into equal passes.
    uint64_t passes = 1;
    for (size_t s = client_begin_; s < graph_.steps.size(); ++s)
      if (auto* repeat = graph_.steps[s].As<RepeatStep>())
        passes *= repeat->count ? static_cast<uint64_t>(*repeat->count)
                                : infinite_passes_;
    const uint64_t length = passes == 0 ? 0 : positions_.size() / passes;
    Items out;
    try {
      for (uint64_t p = pass * length; p < (pass + 1) * length; ++p)
        WorkerElements(p, out.items);
    } catch (const DataError& error) {
      out.failed = true;
      out.failure = error.what();
    }
    return out;
  }

  Items ClientEach(size_t s, uint64_t pass, Items in) {
    Items out{{}, in.failed, in.failure};
    try {
      for (Item& item : in.items)
        if (Apply(s, pass, item)) out.items.push_back(std::move(item));
    } catch (const DataError& error) {
      out.failed = true;
      out.failure = error.what();
    }
    return out;
  }

  const Graph& graph_;
  const std::vector<Needed> needed_;  // before each step, and at the end
  const uint64_t seed_, iteration_;
  const size_t limit_;
  const bool is_stream_;   // an input whose elements are not counted
  const bool covered_;     // an on_error of the whole pipeline skips errors
  size_t first_step_ = 0;  // index of steps[0] in written order
  bool counted_ = true, infinite_ = false, plan_ends_ = false;
  bool in_vain_ = false;    // an infinite source without elements: an error
  bool take_full_ = false;  // a take after an infinite repeat ended it
  size_t client_begin_ = 0;
  std::optional<size_t> skip_before_;  // the on_error step that skips
  std::vector<uint64_t> file_sizes_;   // in positions
  uint64_t infinite_passes_ = 1;
  std::vector<std::vector<Element>> records_;  // per source position
  // For combining sources: the inputs, the input elements of each element, and
  // the number of times that a pass begins each input.
  std::vector<std::unique_ptr<Interpreter>> inputs_;
  std::vector<std::vector<Pick>> picks_;
  std::vector<uint64_t> turns_;
  // For sources whose inputs are streams: the numbers of their first steps, and
  // the elements by pass.
  bool streamed_ = false;
  std::vector<size_t> input_steps_;
  mutable std::map<uint64_t, std::vector<Element>> streams_;
  std::map<uint64_t, std::vector<Position>> made_places_;  // by pass
  std::vector<Position> positions_;
  std::vector<uint64_t> batches_;  // made so far, per client step
};

}  // namespace

Sequence Interpret(const Graph& graph, uint64_t seed, uint64_t iteration,
                   size_t limit) {
  size_t steps = 0;
  return Interpreter(graph, graph.options.seed.value_or(seed), iteration, limit,
                     steps)
      .Run();
}

}  // namespace feedmill::reference
