#ifndef FEEDMILL_PLUGINS_ARROW_ARROW_STATUS_H_
#define FEEDMILL_PLUGINS_ARROW_ARROW_STATUS_H_

#include <arrow/result.h>
#include <arrow/status.h>

#include <exception>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/status.h"

namespace feedmill {

// Returns DataLoss with Arrow's message on one line; ResourceExhausted if Arrow
// was refused memory.
absl::Status StatusOfArrow(const arrow::Status& status);

// Calls `f`, which returns a Status or StatusOr, and converts exceptions:
// bad_alloc to ResourceExhausted, all others to DataLoss. (Parquet throws for
// damaged bytes.)
absl::Status StatusOfException(const std::exception& error);
template <class F>
auto WithoutExceptions(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::exception& error) {
    return StatusOfException(error);
  }
}

}  // namespace feedmill

#define FM_RETURN_IF_ARROW(expression)                  \
  do {                                                  \
    const arrow::Status fm_arrow = (expression);        \
    if (!fm_arrow.ok()) return StatusOfArrow(fm_arrow); \
  } while (false)

#define FM_ASSIGN_OR_RETURN_ARROW(declaration, expression)            \
  FM_ASSIGN_ARROW_INNER(FM_CONCAT(fm_result_, __LINE__), declaration, \
                        expression)
#define FM_ASSIGN_ARROW_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                  \
  if (!temporary.ok()) return StatusOfArrow(temporary.status());  \
  declaration = *std::move(temporary)

#endif  // FEEDMILL_PLUGINS_ARROW_ARROW_STATUS_H_
