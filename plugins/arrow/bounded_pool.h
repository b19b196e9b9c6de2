#ifndef FEEDMILL_PLUGINS_ARROW_BOUNDED_POOL_H_
#define FEEDMILL_PLUGINS_ARROW_BOUNDED_POOL_H_

#include <arrow/memory_pool.h>

namespace feedmill {

// Arrow's default memory pool, except that it refuses blocks of more than 64
// GiB as damaged data: only damaged files ask for that much. Thread-safety: any
// thread.
arrow::MemoryPool* BoundedPool();

}  // namespace feedmill

#endif  // FEEDMILL_PLUGINS_ARROW_BOUNDED_POOL_H_
