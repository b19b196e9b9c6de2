#ifndef FEEDMILL_CORE_PIPELINE_LOOKUP_TABLE_H_
#define FEEDMILL_CORE_PIPELINE_LOOKUP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "core/dataset/analysis.h"
#include "core/dataset/function_registry.h"
#include "core/dataset/lookup_step.h"
#include "core/io/manifest.h"
#include "feedmill/element.h"

namespace feedmill {

// The columns that a lookup reads, in memory, with an index of their keys.
// Immutable; any thread.
class LookupTable {
 public:
  // Most bytes of the values.
  static constexpr size_t kBytesMax = size_t{1} << 30;

  // Reads the table. InvalidArgument above kBytesMax, and if a key occurs
  // twice; DataLoss for a record that cannot be read. FailedPrecondition if a
  // file has changed since `manifest` was made.
  static absl::StatusOr<std::shared_ptr<const LookupTable>> Read(
      const LookupStep& step, std::shared_ptr<const Manifest> manifest);

  const ElementSpec& spec() const { return *rows_.spec; }
  // Returns a column's item, as `spec` says, of each row that `rows` lists; 0
  // or empty for -1.
  void Gather(size_t column, const Argument& rows, size_t count,
              const ValueType& type, OutputColumn& out) const;
  // Sets `out` to the row of each key, an int64; -1 for a null and for a key
  // that no row has. `arguments`: keys, and their validity if they may be null.
  // `required`: these are DataLoss.
  absl::Status FindRows(std::span<const Argument> arguments, size_t count,
                        bool required, OutputColumn& out) const;

 private:
  LookupTable() = default;

  // Indexes the keys. Returns the first row whose key an earlier row has, and
  // sets `earlier` to that one; -1 if there is none.
  int64_t Index(int64_t& earlier);
  const Column& keys() const { return rows_.columns[key_]; }
  template <class Same>
  size_t BucketOf(uint64_t hash, const Same& same) const;
  size_t Bucket(std::string_view key) const;
  size_t Bucket(uint64_t key) const;
  size_t Bucket(const Column& column, size_t row) const;
  // Returns the row with the key `column` has in `row`; -1 if there is none.
  int64_t Find(const Column& column, size_t row) const;

  std::string name_;  // in messages
  Chunk rows_;
  size_t key_ = 0;
  std::vector<uint32_t> buckets_;  // row + 1; 0: free. A power of two
};

// Adds the functions that the lookup steps of `graph`, and of its inputs, call
// (LookupFunctions). A process keeps one copy of a table for all users.
// Errors: see LookupTable::Read.
absl::Status AddLookups(const AnalyzedGraph& graph, const Manifest* manifest,
                        FunctionRegistry& registry);

// The functions of a lookup; a function of a graph whose tables are not read
// fails.
class LookupFunctions {
 public:
  LookupFunctions(const LookupStep& step, const FunctionRegistry& registry);

  // (key, validity) → row. `required`: of a key that has one.
  const FunctionRegistry::Function& rows(bool required) const;
  // (row) → bool: there is one.
  const FunctionRegistry::Function& found() const;
  // (row) → the item of a column that is read.
  const FunctionRegistry::Function& column(std::string_view name) const;

 private:
  const FunctionRegistry::Function& Function(std::string_view what) const;

  const std::string name_;
  const FunctionRegistry& registry_;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_PIPELINE_LOOKUP_TABLE_H_
