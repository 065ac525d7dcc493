// Memory whose size untrusted data decides: it is counted before it is allocated.
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

  // Not more than is left.
  void take(size_t bytes) { left_ -= bytes; }

  void release(size_t bytes) { left_ += bytes; }

 private:
  size_t left_;
};

// Bytes of a budget, released at the end of life.
class OwnBytes {
 public:
  // What an allocation costs beside its bytes, the nodes of the cache included: objects of one byte are many.
  static constexpr size_t overhead = 256;

  // The budget has `wanted` bytes and the overhead left. Throws std::bad_alloc when the system has no memory.
  OwnBytes(Budget& budget, size_t wanted) : data(static_cast<uint8_t*>(malloc(wanted + 1))), length(wanted), budget_(budget) {
    if (data == nullptr) throw std::bad_alloc();
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
