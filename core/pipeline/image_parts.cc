#include "core/pipeline/image_parts.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/ops/elementwise.h"
#include "core/pipeline/instructions.h"

namespace feedmill {
namespace {

bool Reads(const Instruction& instruction, ValueId value) {
  const auto& inputs = instruction.inputs;
  return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
}

// The operand of a call whose pixels it moves or reads.
const Operand& ImageOf(const CallParts& call) {
  return call.operands[call.function->random ? 1 : 0];
}

bool IsPerChannel(const Operand& operand, size_t image_rank) {
  const size_t rank = operand.type.shape.size();
  return operand.constant && (rank == 0 || (rank == 1 && image_rank >= 3));
}

// Returns the operand that is an image of the call's shape. Null, unless the
// call works pixel by pixel, with other operands that are the same everywhere.
const Operand* ImageByPixel(const CallParts& call) {
  if (call.function == nullptr ||
      (!call.function->by_pixel &&
       call.function->compute.target<ElementwiseCompute>() == nullptr)) {
    return nullptr;
  }
  const Operand* image = nullptr;
  for (const Operand& operand : call.operands) {
    if (IsPerChannel(operand, call.type->shape.size())) continue;
    if (image != nullptr || operand.constant ||
        operand.type.shape != call.type->shape) {
      return nullptr;
    }
    image = &operand;
  }
  return image;
}

std::vector<ValueType> TypesOf(const std::vector<Operand>& operands) {
  std::vector<ValueType> types;
  for (const Operand& operand : operands) types.push_back(operand.type);
  return types;
}

class Rearrangement {
 public:
  explicit Rearrangement(ProgramCode& code)
      : code_(code), list_(code.instructions) {}

  void Run() {
    for (size_t at = 0; at < list_.size(); ++at) {
      while (MoveBeforePixels(at)) {
      }
    }
    for (size_t at = 0; at < list_.size(); ++at) {
      DecodeLater(at);
      at = JoinToChw(at);
    }
  }

 private:
  // Returns the index of the instruction that makes `value`, if only the
  // instruction `at` reads it; else `at`.
  size_t MakerFor(size_t at, ValueId value) const {
    size_t maker = at;
    for (size_t k = 0; k < list_.size(); ++k) {
      const std::vector<ValueId>& made = list_[k]->outputs;
      if (made.size() == 1 && made[0] == value) maker = k;
      if (k != at && Reads(*list_[k], value)) return at;
    }
    const std::vector<ValueId>& outputs = code_.outputs;
    const bool leaves =
        std::find(outputs.begin(), outputs.end(), value) != outputs.end();
    return leaves ? at : maker;
  }

  // True if no instruction between them writes over what `maker` reads.
  bool MayWait(size_t maker, size_t until) const {
    for (size_t k = maker + 1; k < until; ++k) {
      if (list_[k]->in_place && Reads(*list_[maker], list_[k]->inputs[0])) {
        return false;
      }
    }
    return true;
  }

  // Exchanges the call `at` and the maker of its image, if the maker works
  // pixel by pixel.
  bool MoveBeforePixels(size_t& at) {
    const CallParts crop = list_[at]->call();
    if (crop.function == nullptr || !crop.function->moves_pixels ||
        ImageOf(crop).constant) {
      return false;
    }
    const ValueId between = ImageOf(crop).value;
    const size_t maker = MakerFor(at, between);
    const CallParts by_pixel = list_[maker]->call();
    const Operand* const image = ImageByPixel(by_pixel);
    if (maker >= at || image == nullptr || !MayWait(maker, at)) return false;

    std::vector<Operand> first(crop.operands.begin(), crop.operands.end());
    first[crop.function->random ? 1 : 0] = *image;
    absl::StatusOr<ValueType> type = crop.function->infer(TypesOf(first));
    if (!type.ok() || type->shape != crop.type->shape) return false;
    std::vector<Operand> second(by_pixel.operands.begin(),
                                by_pixel.operands.end());
    Operand& cropped =
        second[static_cast<size_t>(image - by_pixel.operands.data())];
    cropped = {*type, false, between, nullptr};
    const size_t steps[] = {list_[at]->step, list_[maker]->step};
    auto crops =
        MakeCall(crop.function, std::move(first), *std::move(type), between);
    auto then = MakeCall(by_pixel.function, std::move(second), *crop.type,
                         list_[at]->outputs[0]);
    crops->step = steps[0];
    then->step = steps[1];
    list_[at] = std::move(then);
    list_.insert(list_.begin() + static_cast<ptrdiff_t>(at), std::move(crops));
    list_.erase(list_.begin() + static_cast<ptrdiff_t>(maker));
    if (steps[0] != steps[1]) code_.moved.push_back({steps[0], {steps[1]}});
    --at;  // the call moved before `then`, and one before them went
    return true;
  }

  // Moves an instruction that can make parts of images to the call `at` that
  // reads one part.
  void DecodeLater(size_t at) {
    const CallParts crop = list_[at]->call();
    if (crop.function == nullptr || !crop.function->box ||
        ImageOf(crop).constant) {
      return;
    }
    const size_t maker = MakerFor(at, ImageOf(crop).value);
    if (maker >= at || !list_[maker]->makes_boxes || !MayWait(maker, at)) {
      return;
    }
    list_[maker]->reader = list_[at].get();
    const auto begin = list_.begin();
    std::rotate(begin + static_cast<ptrdiff_t>(maker),
                begin + static_cast<ptrdiff_t>(maker) + 1,
                begin + static_cast<ptrdiff_t>(at));
  }

  // Replaces image.to_chw, the call `at`, and the maker of its image by one
  // call, if there is a function for both. Returns the index of the call.
  size_t JoinToChw(size_t at) {
    const CallParts to_chw = list_[at]->call();
    if (to_chw.function == nullptr || !to_chw.function->to_chw ||
        ImageOf(to_chw).constant) {
      return at;
    }
    const size_t maker = MakerFor(at, ImageOf(to_chw).value);
    const CallParts made = list_[maker]->call();
    if (maker >= at || made.function == nullptr || !made.function->in_chw ||
        !MayWait(maker, at)) {
      return at;
    }
    const FunctionRegistry::Function* const both = made.function->in_chw.get();
    std::vector<Operand> operands(made.operands.begin(), made.operands.end());
    absl::StatusOr<ValueType> type = both->infer(TypesOf(operands));
    if (!type.ok() || type->shape != to_chw.type->shape) return at;
    auto call = MakeCall(both, std::move(operands), *std::move(type),
                         list_[at]->outputs[0]);
    call->step = list_[maker]->step;
    list_[at] = std::move(call);
    list_.erase(list_.begin() + static_cast<ptrdiff_t>(maker));
    return at - 1;
  }

  ProgramCode& code_;
  std::vector<std::unique_ptr<Instruction>>& list_;
};

}  // namespace

void NeedFewerPixels(ProgramCode& code) { Rearrangement(code).Run(); }

}  // namespace feedmill
