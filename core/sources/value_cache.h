#ifndef FEEDMILL_CORE_SOURCES_VALUE_CACHE_H_
#define FEEDMILL_CORE_SOURCES_VALUE_CACHE_H_

#include <atomic>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedmill {

// Bytes of the values in all ValueCaches of the process. Thread-safety: any
// thread.
class KeptValueBytes {
 public:
  static void Add(size_t bytes) { bytes_ += bytes; }
  static void Remove(size_t bytes) { bytes_ -= bytes; }
  static bool TooMany() { return bytes_ > most_; }
  // Default: 1 GiB.
  static void SetMost(size_t bytes) { most_ = bytes; }

 private:
  static constinit inline std::atomic<size_t> bytes_ = 0;
  static constinit inline std::atomic<size_t> most_ = size_t{1} << 30;
};

// A cache of values that are costly to make, by key. It keeps the values used
// last, up to a number of bytes (Value::bytes()); a larger value is kept alone.
// If all caches of the process have too many bytes, it keeps one value. Threads
// that need the same value wait for the thread that makes it. DataLoss is kept,
// too: the same bytes give the same error. Other errors are not kept.
//
// Thread-safety: any thread.
template <class Key, class Value>
class ValueCache {
 public:
  explicit ValueCache(size_t bytes_max) : bytes_max_(bytes_max) {}
  ~ValueCache() { KeptValueBytes::Remove(bytes_); }
  ValueCache(const ValueCache&) = delete;
  ValueCache& operator=(const ValueCache&) = delete;

  // Returns the value of `key`: the kept one, or else the result of make(),
  // which returns an absl::StatusOr of a shared pointer.
  template <class Make>
  absl::StatusOr<std::shared_ptr<const Value>> Get(const Key& key,
                                                   const Make& make) const {
    const std::shared_ptr<Entry> entry = EntryOf(key);
    const std::lock_guard lock(entry->making);
    if (entry->value != nullptr) return entry->value;
    if (!entry->damage.ok()) return entry->damage;
    absl::StatusOr<std::shared_ptr<const Value>> made = make();
    if (made.ok()) {
      entry->value = *made;
      Keep(key, entry.get(), *made);
    } else if (absl::IsDataLoss(made.status())) {
      entry->damage = made.status();
    } else {
      DropIf(key, [&](const Entry& kept) { return &kept == entry.get(); });
    }
    return made;
  }

  // Returns the value of `key` if it is kept, without using it; else null.
  std::shared_ptr<const Value> Find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second->kept;
  }
  // Drops the value of `key` if it is still `value`.
  void Drop(const Key& key, const Value* value) const {
    DropIf(key, [&](const Entry& kept) { return kept.kept.get() == value; });
  }
  // Bytes of all kept values.
  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::mutex making;
    // Guarded by making.
    std::shared_ptr<const Value> value;
    absl::Status damage;
    // Guarded by mutex_. Null until the value is made.
    std::shared_ptr<const Value> kept;
    size_t bytes = 0;
    typename std::list<Key>::iterator place;
  };

  std::shared_ptr<Entry> EntryOf(const Key& key) const {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[key];
    if (entry != nullptr) {
      by_use_.splice(by_use_.begin(), by_use_, entry->place);
      return entry;
    }
    entry = std::make_shared<Entry>();
    by_use_.push_front(key);
    entry->place = by_use_.begin();
    return entry;
  }

  void Keep(const Key& key, const Entry* entry,
            std::shared_ptr<const Value> value) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.get() != entry) return;
    found->second->bytes = value->bytes();
    bytes_ += found->second->bytes;
    KeptValueBytes::Add(found->second->bytes);
    found->second->kept = std::move(value);
    while ((bytes_ > bytes_max_ || KeptValueBytes::TooMany()) &&
           by_use_.back() != key) {
      const auto oldest = entries_.find(by_use_.back());
      Forget(*oldest->second);
      entries_.erase(oldest);
      by_use_.pop_back();
    }
  }

  template <class Matches>
  void DropIf(const Key& key, const Matches& matches) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || !matches(*found->second)) return;
    Forget(*found->second);
    by_use_.erase(found->second->place);
    entries_.erase(found);
  }

  void Forget(const Entry& entry) const {
    bytes_ -= entry.bytes;
    KeptValueBytes::Remove(entry.bytes);
  }

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::shared_ptr<Entry>> entries_;
  mutable std::list<Key> by_use_;  // most recently used first
  mutable size_t bytes_ = 0;
};

}  // namespace feedmill

#endif  // FEEDMILL_CORE_SOURCES_VALUE_CACHE_H_
