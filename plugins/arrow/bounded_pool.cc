#include "plugins/arrow/bounded_pool.h"

#include <arrow/status.h>

#include <string>

namespace feedmill {
namespace {

constexpr int64_t kBlockBytesMax = int64_t{64} << 30;

class Bounded final : public arrow::MemoryPool {
 public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment,
                         uint8_t** out) override {
    ARROW_RETURN_NOT_OK(Check(size));
    return pool_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size,
                           int64_t alignment, uint8_t** at) override {
    ARROW_RETURN_NOT_OK(Check(new_size));
    return pool_->Reallocate(old_size, new_size, alignment, at);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    pool_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return pool_->bytes_allocated(); }
  int64_t max_memory() const override { return pool_->max_memory(); }
  int64_t total_bytes_allocated() const override {
    return pool_->total_bytes_allocated();
  }
  int64_t num_allocations() const override { return pool_->num_allocations(); }
  std::string backend_name() const override { return pool_->backend_name(); }

 private:
  static arrow::Status Check(int64_t size) {
    if (size >= 0 && size <= kBlockBytesMax) return arrow::Status::OK();
    return arrow::Status::Invalid("damaged: it asks for ", size,
                                  " bytes of memory at once");
  }

  arrow::MemoryPool* const pool_ = arrow::default_memory_pool();
};

}  // namespace

arrow::MemoryPool* BoundedPool() {
  static Bounded pool;
  return &pool;
}

}  // namespace feedmill
