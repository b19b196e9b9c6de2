// Expr::Parse: a recursive-descent parser of Python's expression grammar
// (The Python Language Reference, 6. Expressions), bounded in text, nesting,
// height and size.

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "core/base/status.h"
#include "core/dataset/expr_operators.h"
#include "core/dataset/string_escapes.h"
#include "feedmill/expr.h"

namespace feedmill {
namespace {

// Each level of a canonical text uses at most three counted functions: an
// operand in parentheses, its sign, and the operand of the sign.
constexpr size_t kNestingMax = 3 * Expr::kHeightMax + 20;
constexpr size_t kArgumentsMax = 1000;
constexpr size_t kIndexesMax = 32;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;  // UTF-8 letters
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<Expr> Run() {
    if (text_.size() > Expr::kTextMax) {
      return InvalidArgument(
          "an expression of {} bytes is too long (at most {}); split it over "
          "several map steps",
          text_.size(), Expr::kTextMax);
    }
    FM_ASSIGN_OR_RETURN(Expr expr, ParseBinary(kOrLevel));
    SkipSpace();
    if (at_ < text_.size()) return Unexpected();
    return Checked(0, std::move(expr));
  }

 private:
  using Result = absl::StatusOr<Expr>;

  // Counts nesting during its lifetime.
  struct Nested {
    explicit Nested(size_t& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    size_t& depth_;
  };

  absl::Status ErrorAt(size_t position, const std::string& what) const {
    constexpr size_t kShown = 120;
    std::string shown(text_.substr(0, kShown));
    if (text_.size() > kShown) shown += "…";
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    return InvalidArgument("cannot read the expression \"{}\", column {}: {}",
                           shown, position + 1, what);
  }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                                  text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool StartsWith(std::string_view token) const {
    return text_.substr(at_, token.size()) == token;
  }
  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view PeekName() {
    SkipSpace();
    if (at_ >= text_.size() || !IsNameStart(text_[at_])) return {};
    size_t end = at_ + 1;
    while (end < text_.size() && IsNamePart(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool TakeKeyword(std::string_view keyword) {
    if (PeekName() != keyword) return false;
    at_ += keyword.size();
    return true;
  }
  std::string Found() {
    SkipSpace();
    if (at_ >= text_.size()) return "the end";
    const std::string_view name = PeekName();
    if (!name.empty()) return fmt::format("\"{}\"", name.substr(0, 40));
    return fmt::format("\"{}\"", text_[at_]);
  }

  // Returns an error about the text where an operator or the end is expected.
  absl::Status Unexpected() {
    const std::string_view name = PeekName();
    if (name == "if" || name == "else") {
      return ErrorAt(at_,
                     "write where(condition, a, b) for a if condition "
                     "else b");
    }
    if (name == "in") {
      return ErrorAt(at_,
                     "write isin(a, [b, c]) for a in [b, c], and "
                     "contains(text, part) for part in text");
    }
    if (name == "is" || name == "not" || name == "for") {
      return ErrorAt(at_, fmt::format("\"{}\" is not available in "
                                      "expressions",
                                      name));
    }
    if (StartsWith("=")) {
      return ErrorAt(at_,
                     "expected an operator, found \"=\"; to compare, "
                     "write ==");
    }
    if (StartsWith("!")) return ErrorAt(at_, "write not, or != to compare");
    if (StartsWith(")") || StartsWith("]")) {
      return ErrorAt(at_, Found() + " closes nothing");
    }
    return ErrorAt(at_, "expected an operator or the end, found " + Found());
  }

  Result Make(size_t position, std::string function,
              std::vector<Expr> arguments) {
    return Checked(position,
                   Expr::Apply(std::move(function), std::move(arguments)));
  }

  Result Checked(size_t position, Expr expr) {
    if (expr.height() > Expr::kHeightMax) {
      return ErrorAt(position,
                     fmt::format("nested deeper than {}; split it over "
                                 "several map steps",
                                 Expr::kHeightMax));
    }
    if (expr.nodes() > Expr::kNodesMax) {
      return ErrorAt(position, fmt::format("more than {} terms; split it over "
                                           "several map steps",
                                           Expr::kNodesMax));
    }
    return expr;
  }

  // Returns the binary operator at the cursor, if its level is at least
  // `min_level`.
  const ExprOperator* PeekOperator(int min_level) {
    SkipSpace();
    for (const ExprOperator& op : kExprOperators) {
      if (!StartsWith(op.symbol)) continue;
      return op.level >= min_level ? &op : nullptr;
    }
    return nullptr;
  }

  Result ParseBinary(int min_level) {
    const Nested nested(nesting_);
    if (nesting_ > kNestingMax) return ErrorAt(at_, "nested too deeply");
    const size_t begin = at_;
    std::optional<Expr> left;
    if (min_level <= kNotLevel && TakeKeyword("not")) {
      FM_ASSIGN_OR_RETURN(Expr operand, ParseBinary(kNotLevel));
      FM_ASSIGN_OR_RETURN(left, Make(begin, "logical_not", {operand}));
      min_level = std::min(min_level, kAndLevel);
      return ParseLogical(min_level, *std::move(left));
    }
    FM_ASSIGN_OR_RETURN(left, ParseUnary());
    while (const ExprOperator* op =
               PeekOperator(std::max(min_level, kCompareLevel))) {
      if (op->level == kCompareLevel) {
        FM_ASSIGN_OR_RETURN(left, ParseComparison(*std::move(left)));
        continue;
      }
      const size_t position = at_;
      at_ += op->symbol.size();
      if (StartsWith(op->symbol) && (op->symbol == "&" || op->symbol == "|")) {
        return ErrorAt(position, op->symbol == "&" ? "write and for &&"
                                                   : "write or for ||");
      }
      FM_ASSIGN_OR_RETURN(Expr right, ParseBinary(op->level + 1));
      FM_ASSIGN_OR_RETURN(left, Make(position, std::string(op->function),
                                     {*std::move(left), std::move(right)}));
    }
    if (min_level > kAndLevel) return *std::move(left);
    return ParseLogical(min_level, *std::move(left));
  }

  // Parses `and` and `or` after `left`, at `min_level` and above.
  Result ParseLogical(int min_level, Expr left) {
    for (;;) {
      SkipSpace();
      const size_t position = at_;
      if (min_level <= kAndLevel && TakeKeyword("and")) {
        FM_ASSIGN_OR_RETURN(Expr right, ParseBinary(kNotLevel));
        FM_ASSIGN_OR_RETURN(left, Make(position, "logical_and",
                                       {std::move(left), std::move(right)}));
      } else if (min_level <= kOrLevel && TakeKeyword("or")) {
        FM_ASSIGN_OR_RETURN(Expr right, ParseBinary(kAndLevel));
        FM_ASSIGN_OR_RETURN(left, Make(position, "logical_or",
                                       {std::move(left), std::move(right)}));
      } else {
        return left;
      }
    }
  }

  // Parses left < b <= c …: the logical_and of the parts.
  Result ParseComparison(Expr left) {
    std::optional<Expr> all;
    while (const ExprOperator* op = PeekOperator(kCompareLevel)) {
      if (op->level != kCompareLevel) break;
      const size_t position = at_;
      at_ += op->symbol.size();
      if (op->symbol == "<" && StartsWith(">")) {
        return ErrorAt(position, "write != for <>");
      }
      FM_ASSIGN_OR_RETURN(Expr right, ParseBinary(kCompareLevel + 1));
      FM_ASSIGN_OR_RETURN(
          Expr part, Make(position, std::string(op->function), {left, right}));
      if (all) {
        FM_ASSIGN_OR_RETURN(
            all, Make(position, "logical_and", {*std::move(all), part}));
      } else {
        all = std::move(part);
      }
      left = std::move(right);
    }
    return *std::move(all);
  }

  Result ParseUnary() {
    const Nested nested(nesting_);
    if (nesting_ > kNestingMax) return ErrorAt(at_, "nested too deeply");
    SkipSpace();
    const size_t position = at_;
    const char sign = at_ < text_.size() ? text_[at_] : '\0';
    if (sign == '-' || sign == '+' || sign == '~') {
      ++at_;
      FM_ASSIGN_OR_RETURN(Expr operand, ParseUnary());
      if (sign == '~') return Make(position, "invert", {std::move(operand)});
      return Signed(position, sign == '-', std::move(operand));
    }
    FM_ASSIGN_OR_RETURN(Expr base, ParsePostfix());
    SkipSpace();
    const size_t power = at_;
    if (!StartsWith("**")) return base;
    at_ += 2;
    FM_ASSIGN_OR_RETURN(Expr exponent, ParseUnary());
    return Make(power, "power", {std::move(base), std::move(exponent)});
  }

  // A signed number is a literal: NumPy treats -1 as one.
  Result Signed(size_t position, bool minus, Expr operand) {
    if (const auto* literal = std::get_if<Expr::Literal>(&operand.node())) {
      constexpr uint64_t kMinMagnitude = uint64_t{1} << 63;
      constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
      if (const auto* real = std::get_if<double>(&literal->value)) {
        return Expr(minus ? -*real : *real);
      }
      if (const auto* integer = std::get_if<int64_t>(&literal->value)) {
        if (!minus) return operand;
        if (*integer != kMin) return Expr(-*integer);
        return Expr(Expr::Literal{kMinMagnitude});
      }
      if (const auto* large = std::get_if<uint64_t>(&literal->value)) {
        if (!minus) return operand;
        if (*large == kMinMagnitude) return Expr(kMin);
        return ErrorAt(position, fmt::format("-{} does not fit int64", *large));
      }
    }
    return Make(position, minus ? "negative" : "positive",
                {std::move(operand)});
  }

  Result ParsePostfix() {
    FM_ASSIGN_OR_RETURN(Expr value, ParsePrimary());
    for (;;) {
      SkipSpace();
      const size_t position = at_;
      if (StartsWith(".")) {
        return ErrorAt(position,
                       "attributes are not available here; write "
                       "function(value)");
      }
      if (StartsWith("(")) {
        return ErrorAt(position, "only a function's name can be called");
      }
      if (!Take('[')) return value;
      FM_ASSIGN_OR_RETURN(value, ParseIndex(position, std::move(value)));
    }
  }

  // One of the indexes in brackets: an integer, a slice or an ellipsis.
  struct Index {
    enum Kind { kItem, kSlice, kEllipsis } kind = kItem;
    Expr first = 0;  // of a slice: its start
    Expr stop = 0;
    Expr step = 1;

    bool KeepsAll() const { return kind == kSlice && IsWholeAxis(*this); }
  };
  static bool IsWholeAxis(const Index& slice) {
    return SliceBound(slice.first) == 0 && SliceBound(slice.step) == 1 &&
           SliceBound(slice.stop) == kSliceToEnd;
  }

  // Parses the indexes of `value`; the bracket is open at `open`. a[i, :, j:k]
  // is a chain of calls: an index takes an axis away, and a slice keeps it.
  Result ParseIndex(size_t open, Expr value) {
    std::vector<Index> indexes;
    size_t ellipsis = std::string_view::npos;
    do {
      if (indexes.size() >= kIndexesMax) {
        return ErrorAt(at_, fmt::format("more than {} indexes", kIndexesMax));
      }
      FM_ASSIGN_OR_RETURN(Index index, ParseOneIndex());
      if (index.kind == Index::kEllipsis) {
        if (ellipsis != std::string_view::npos) {
          return ErrorAt(at_ - 3, "a second \"...\"");
        }
        ellipsis = indexes.size();
      }
      indexes.push_back(std::move(index));
      SkipSpace();
    } while (Take(',') && !StartsWith("]"));
    if (!Take(']')) {
      return ErrorAt(at_, fmt::format("expected ] for the [ in column {}, "
                                      "found {}",
                                      open + 1, Found()));
    }
    const size_t front = std::min(ellipsis, indexes.size());
    bool copied = false;
    int64_t axis = 0;
    for (size_t k = 0; k < front; ++k) {
      FM_ASSIGN_OR_RETURN(value,
                          At(open, std::move(value), indexes[k], axis, copied));
      axis += indexes[k].kind == Index::kSlice ? 1 : 0;
    }
    axis = -1;
    for (size_t k = indexes.size(); k-- > front + 1;) {
      FM_ASSIGN_OR_RETURN(value,
                          At(open, std::move(value), indexes[k], axis, copied));
      axis -= indexes[k].kind == Index::kSlice ? 1 : 0;
    }
    if (copied) return value;
    return SliceOf(open, std::move(value), Index{.stop = kSliceToEnd}, 0);
  }

  // Applies an index to an axis; a slice of the whole axis changes nothing.
  Result At(size_t open, Expr value, const Index& index, int64_t axis,
            bool& changed) {
    if (index.KeepsAll()) return value;
    changed = true;
    if (index.kind == Index::kSlice) {
      return SliceOf(open, std::move(value), index, axis);
    }
    std::vector<Expr> arguments{std::move(value), index.first};
    if (axis != 0) arguments.emplace_back(axis);
    return Make(open, "getitem", std::move(arguments));
  }
  Result SliceOf(size_t open, Expr value, const Index& slice, int64_t axis) {
    return Make(open, "getslice",
                {std::move(value), slice.first, slice.stop, slice.step, axis});
  }

  absl::StatusOr<Index> ParseOneIndex() {
    Index index;
    SkipSpace();
    if (StartsWith("...")) {
      at_ += 3;
      index.kind = Index::kEllipsis;
      return index;
    }
    std::optional<Expr> start;
    std::optional<Expr> stop;
    if (!StartsWith(":")) {
      FM_ASSIGN_OR_RETURN(start, ParseBinary(kOrLevel));
    }
    if (!Take(':')) {
      index.first = *std::move(start);
      return index;
    }
    FM_ASSIGN_OR_RETURN(stop, ParseBound());
    const size_t position = at_;
    if (Take(':')) {
      FM_ASSIGN_OR_RETURN(const std::optional<Expr> step, ParseBound());
      if (step) index.step = *step;
    }
    const std::optional<int64_t> step = SliceBound(index.step);
    if (!step || *step == 0) {
      return ErrorAt(position,
                     "the step of a slice is an integer constant, "
                     "and not 0");
    }
    index.kind = Index::kSlice;
    index.first = start ? *start : Expr(SliceStart(*step));
    index.stop = stop ? *stop : Expr(SliceStop(*step));
    return index;
  }

  // Parses a bound of a slice; nullopt if it is left out.
  absl::StatusOr<std::optional<Expr>> ParseBound() {
    SkipSpace();
    if (StartsWith(":") || StartsWith("]") || StartsWith(",")) {
      return std::nullopt;
    }
    FM_ASSIGN_OR_RETURN(Expr bound, ParseBinary(kOrLevel));
    return bound;
  }

  // Parses items up to `close`; the opening bracket is at `open`.
  absl::StatusOr<std::vector<Expr>> ParseItems(size_t open, char close) {
    std::vector<Expr> items;
    while (!Take(close)) {
      if (items.size() >= kArgumentsMax) {
        return ErrorAt(at_, fmt::format("more than {} items", kArgumentsMax));
      }
      FM_ASSIGN_OR_RETURN(Expr item, ParseBinary(kOrLevel));
      items.push_back(std::move(item));
      if (Take(',')) continue;
      if (Take(close)) break;
      if (Take('=') && !StartsWith("=")) {
        return ErrorAt(at_ - 1,
                       "arguments have no names here; give them in "
                       "order");
      }
      return ErrorAt(at_, fmt::format("expected \",\" or \"{}\" for the "
                                      "bracket in column {}, found {}",
                                      close, open + 1, Found()));
    }
    return items;
  }

  Result ParsePrimary() {
    SkipSpace();
    const size_t position = at_;
    if (at_ >= text_.size()) {
      return ErrorAt(at_, "expected a value, found the end");
    }
    const char c = text_[at_];
    if (IsDigit(c) ||
        (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      return ParseNumber();
    }
    if (c == '\'' || c == '"') return ParseString(/*raw=*/false);
    if (Take('(')) {
      FM_ASSIGN_OR_RETURN(Expr inner, ParseBinary(kOrLevel));
      if (Take(')')) return inner;
      if (StartsWith(",")) return ErrorAt(at_, "tuples are not available");
      return ErrorAt(at_, fmt::format("expected \")\" for the ( in column {}, "
                                      "found {}",
                                      position + 1, Found()));
    }
    if (Take('[')) {
      FM_ASSIGN_OR_RETURN(std::vector<Expr> items, ParseItems(position, ']'));
      return Make(position, "list", std::move(items));
    }
    if (IsNameStart(c)) return ParseName();
    if (c == '!') return ErrorAt(at_, "write not for !");
    return ErrorAt(at_, "expected a value, found " + Found());
  }

  Result ParseName() {
    const size_t position = at_;
    std::string name(PeekName());
    at_ += name.size();
    if (name == "True") return Expr(true);
    if (name == "False") return Expr(false);
    const bool quote =
        at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    if (quote && (name == "b" || name == "B")) return ParseString(false);
    if (quote && (name == "r" || name == "R" || name == "br" || name == "rb")) {
      return ParseString(true);
    }
    if (quote) {
      return ErrorAt(position, fmt::format("there are no {}-strings", name));
    }
    for (std::string_view word : {"and", "or", "not", "if", "else", "in", "is",
                                  "for", "lambda", "await", "None"}) {
      if (name != word) continue;
      if (word == "not") {
        return ErrorAt(position, "put parentheses around not …");
      }
      return ErrorAt(position,
                     fmt::format("expected a value, found \"{}\"", word));
    }
    // A dotted name is a function of a family: image.resize(…).
    bool dotted = false;
    while (at_ + 1 < text_.size() && text_[at_] == '.' &&
           IsNameStart(text_[at_ + 1])) {
      ++at_;
      const std::string_view part = PeekName();
      name += fmt::format(".{}", part);
      at_ += part.size();
      dotted = true;
    }
    if (!Take('(')) {
      if (!dotted) return Expr::Named(std::move(name));
      return ErrorAt(position, fmt::format("\"{}\" is read as a function; "
                                           "expected \"(\" after it",
                                           name));
    }
    FM_ASSIGN_OR_RETURN(std::vector<Expr> arguments, ParseItems(at_ - 1, ')'));
    if (name == "component") return Quoted(position, arguments);
    return Make(position, std::move(name), std::move(arguments));
  }

  // Parses component('image/encoded').
  Result Quoted(size_t position, const std::vector<Expr>& arguments) {
    if (arguments.size() == 1) {
      const auto* name = std::get_if<Expr::Literal>(&arguments[0].node());
      if (name != nullptr && std::holds_alternative<std::string>(name->value)) {
        return Expr::Named(std::get<std::string>(name->value));
      }
    }
    return ErrorAt(position, "component takes a name in quotes");
  }

  // Takes digits with single underscores between them; false if there are none.
  bool TakeDigits(int base, std::string& digits) {
    const size_t before = digits.size();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const int value = HexDigit(c);
      if (c == '_' && at_ + 1 < text_.size() && HexDigit(text_[at_ + 1]) >= 0 &&
          HexDigit(text_[at_ + 1]) < base) {
        ++at_;
        continue;
      }
      if (value < 0 || value >= base) break;
      digits += c;
      ++at_;
    }
    return digits.size() > before;
  }

  Result ParseNumber() {
    const size_t position = at_;
    std::string digits;
    int base = 10;
    if (text_[at_] == '0' && at_ + 1 < text_.size()) {
      const char mark = static_cast<char>(text_[at_ + 1] | 0x20);
      base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    }
    bool real = false;
    if (base != 10) {
      at_ += 2;
      if (at_ < text_.size() && text_[at_] == '_') ++at_;
      if (!TakeDigits(base, digits)) {
        return ErrorAt(position, "a number without digits");
      }
    } else {
      TakeDigits(10, digits);
      if (StartsWith(".")) {
        real = true;
        digits += text_[at_++];
        TakeDigits(10, digits);
      }
      FM_RETURN_IF_ERROR(TakeExponent(digits, real));
    }
    if (at_ < text_.size() && IsNamePart(text_[at_])) {
      return ErrorAt(position,
                     fmt::format("\"{}\" is not a number", Word(position)));
    }
    if (real) {
      // Unlike strtod, it takes no decimal comma in any locale.
      double value = 0;
      FM_CHECK(absl::SimpleAtod(digits, &value));
      return Expr(value);
    }
    if (base == 10 && digits.size() > 1 && digits[0] == '0' &&
        digits.find_first_not_of('0') != std::string::npos) {
      return ErrorAt(position, "a number must not begin with 0");
    }
    return Integer(position, digits, base);
  }

  absl::Status TakeExponent(std::string& digits, bool& real) {
    if (at_ >= text_.size() || (text_[at_] | 0x20) != 'e') {
      return absl::OkStatus();
    }
    real = true;
    digits += 'e';
    ++at_;
    if (StartsWith("-") || StartsWith("+")) digits += text_[at_++];
    if (TakeDigits(10, digits)) return absl::OkStatus();
    return ErrorAt(at_, "an exponent without digits");
  }

  std::string Word(size_t position) const {
    size_t end = position;
    while (end < text_.size() && (IsNamePart(text_[end]) || text_[end] == '.'))
      ++end;
    return std::string(
        text_.substr(position, std::min<size_t>(end - position, 40)));
  }

  Result Integer(size_t position, const std::string& digits, int base) {
    uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc() || stop != end) {
      return ErrorAt(position,
                     fmt::format("{} does not fit 64 bits", Word(position)));
    }
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Expr(static_cast<int64_t>(value));
    }
    return Expr(Expr::Literal{value});
  }

  // Parses a bytes literal: UTF-8 as written, Python's escapes for single
  // bytes.
  Result ParseString(bool raw) {
    const size_t position = at_;
    const char quote = text_[at_++];
    std::string value;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        if (raw) {
          value += text_[at_++];
          value += text_[at_++];
          continue;
        }
        FM_RETURN_IF_ERROR(TakeEscape(value));
        continue;
      }
      value += text_[at_++];
    }
    if (at_ >= text_.size()) {
      return ErrorAt(position, "the string is not closed");
    }
    ++at_;
    return Expr(Expr::Literal{std::move(value)});
  }

  absl::Status TakeEscape(std::string& value) {
    const size_t position = at_++;
    const std::string problem = ReadEscape(text_, at_, value);
    return problem.empty() ? absl::OkStatus() : ErrorAt(position, problem);
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t nesting_ = 0;
};

}  // namespace

absl::StatusOr<Expr> Expr::Parse(std::string_view text) {
  return Parser(text).Run();
}

}  // namespace feedmill
