#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// Words in memory that threads share. A word that is not zero requests the end of the work. A loop checks them at least
// every 5 ms: at each object, and at each MiB of a large one. Valid during the call to which they were passed.
class StopFlags {
 public:
  static constexpr size_t countMax = 4;

  bool add(const int32_t* word) {
    if (count_ == countMax) return false;
    words_[count_++] = word;
    return true;
  }

  bool areSet() const {
    for (size_t i = 0; i < count_; i++) {
      if (__atomic_load_n(words_[i], __ATOMIC_RELAXED) != 0) return true;
    }
    return false;
  }

 private:
  const int32_t* words_[countMax] = {};
  size_t count_ = 0;
};

}  // namespace trawl
