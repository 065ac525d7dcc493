// Unpacking of zlib's format (RFC 1950), as git's packs hold it.
#pragma once

#include <libdeflate.h>

#include "bytes.h"

namespace trawl {

/**
 * Unpacks whole objects from memory to memory by libdeflate, which is made for that: zlib is made for streams that come in
 * pieces, and takes twice as long for objects of some kilobytes.
 */
class Inflater {
 public:
  Inflater() : decompressor_(libdeflate_alloc_decompressor()) {}
  ~Inflater() { libdeflate_free_decompressor(decompressor_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` with the stream that `from` begins with; false unless it is a sound one of `length` bytes.
  bool inflate(Text from, uint8_t* out, size_t length) {
    size_t taken;
    return decompressor_ != nullptr
        && libdeflate_zlib_decompress_ex(decompressor_, from.data, from.length, out, length, &taken, nullptr) == LIBDEFLATE_SUCCESS;
  }

 private:
  libdeflate_decompressor* decompressor_;
};

}  // namespace trawl
