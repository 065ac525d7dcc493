// Memory whose size depends on untrusted data: it is charged to a budget before it is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace trawl {

// How many bytes may be allocated at a time.
class Budget {
 public:
  explicit Budget(size_t bytesMax) : left_(bytesMax) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  size_t left() const { return left_; }

  // Must not exceed what is left.
  void take(size_t bytes) { left_ -= bytes; }

  void release(size_t bytes) { left_ += bytes; }

 private:
  size_t left_;
};

// Bytes charged to a budget, released by the destructor.
class OwnBytes {
 public:
  // The overhead of an allocation, including nodes of the cache, because there may be many objects of one byte.
  static constexpr size_t overhead = 256;

  // The budget has `wanted` bytes and the overhead left. Throws std::bad_alloc if the system is out of memory.
  OwnBytes(Budget& budget, size_t wanted) : data(static_cast<uint8_t*>(malloc(wanted + 1))), length(wanted), budget_(budget) {
    if (data == nullptr) throw std::bad_alloc();
    // So that what is read up to a byte of some kind ends here.
    data[length] = 0;
    budget_.take(length + overhead);
  }

  ~OwnBytes() {
    free(data);
    budget_.release(length + overhead);
  }

  OwnBytes(const OwnBytes&) = delete;
  OwnBytes& operator=(const OwnBytes&) = delete;

  uint8_t* const data;
  const size_t length;

 private:
  Budget& budget_;
};

using SharedBytes = std::shared_ptr<const OwnBytes>;

}  // namespace trawl
