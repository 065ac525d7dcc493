// Decompression of the zlib format (RFC 1950), as used in git packs.
#pragma once

#include <libdeflate.h>
// Node exports zlib to addons, and its headers include this one.
#include <zlib.h>

#include "bytes.h"
#include "stop-flags.h"

namespace trawl {

// The maximum compression ratio of deflate: 258 bytes take at least two bits.
constexpr uint64_t deflateRatioMax = 1032;

/**
 * Decompresses objects from memory to memory. libdeflate takes half of zlib's time for objects of some kilobytes, but
 * can neither be interrupted nor return only the beginning: zlib decompresses large objects, and the first bytes of
 * one.
 */
class Inflater {
 public:
  Inflater() : decompressor_(libdeflate_alloc_decompressor()) {}
  ~Inflater() {
    if (decompressor_ != nullptr) libdeflate_free_decompressor(decompressor_);
    if (hasStream_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `out` with the stream at the beginning of `from`; false unless it is a valid one of `length` bytes, or if
  // stopped.
  bool inflate(Text from, uint8_t* out, size_t length, const StopFlags& stop) {
    if (length > wholeBytesMax) return inflateInSteps(from, out, length, stop);
    size_t taken;
    return decompressor_ != nullptr
        && libdeflate_zlib_decompress_ex(decompressor_, from.data, from.length, out, length, &taken, nullptr) == LIBDEFLATE_SUCCESS;
  }

  // Decompresses up to `length` of the first bytes of the stream; returns how many there are.
  size_t inflateStart(Text from, uint8_t* out, size_t length) {
    if (!begin(from)) return 0;
    stream_.next_out = out;
    stream_.avail_out = static_cast<uInt>(length);
    ::inflate(&stream_, Z_NO_FLUSH);
    return length - stream_.avail_out;
  }

 private:
  // libdeflate takes 2 to 4 ms for this much.
  static constexpr size_t wholeBytesMax = 2u << 20;
  static constexpr size_t stepBytes = 1u << 20;
  static constexpr size_t inputBytesMax = 1u << 30;

  bool begin(Text from) {
    if (!hasStream_) {
      stream_ = {};
      hasStream_ = inflateInit(&stream_) == Z_OK;
    } else if (inflateReset(&stream_) != Z_OK) {
      return false;
    }
    input_ = from;
    stream_.avail_in = 0;
    refill();
    return hasStream_;
  }

  void refill() {
    if (stream_.avail_in > 0) return;
    size_t bytes = input_.length < inputBytesMax ? input_.length : inputBytesMax;
    stream_.next_in = const_cast<Bytef*>(input_.data);
    stream_.avail_in = static_cast<uInt>(bytes);
    input_ = {input_.data + bytes, input_.length - bytes};
  }

  bool inflateInSteps(Text from, uint8_t* out, size_t length, const StopFlags& stop) {
    if (!begin(from)) return false;
    uint8_t tooMuch;
    for (size_t done = 0;;) {
      if (stop.areSet()) return false;
      // When `out` is full, the end of the stream and its checksum must still be read.
      size_t step = length - done < stepBytes ? length - done : stepBytes;
      stream_.next_out = step > 0 ? out + done : &tooMuch;
      stream_.avail_out = static_cast<uInt>(step > 0 ? step : 1);
      refill();
      uInt given = stream_.avail_in;
      int outcome = ::inflate(&stream_, Z_NO_FLUSH);
      size_t made = (step > 0 ? step : 1) - stream_.avail_out;
      if (step == 0 && made > 0) return false;
      done += made;
      if (outcome == Z_STREAM_END) return done == length;
      if (outcome != Z_OK && outcome != Z_BUF_ERROR) return false;
      if (made == 0 && given == stream_.avail_in && input_.length == 0) return false;
    }
  }

  libdeflate_decompressor* decompressor_;
  z_stream stream_;
  bool hasStream_ = false;
  // Input that has not been passed to zlib yet.
  Text input_ = {nullptr, 0};
};

}  // namespace trawl
