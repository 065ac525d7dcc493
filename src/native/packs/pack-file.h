// One pack of a git repository and its index, both memory-mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace trawl {

enum class ObjectKind : uint8_t { none = 0, commit = 1, tree = 2, blob = 3, tag = 4 };

// A file in memory, read-only; empty if it could not be mapped. git never writes to a pack under its final name, but
// deletes it, which leaves the mapping intact. Parts that are truncated by others, or that the disk cannot read, are
// zeros, and `packFaults` counts them.
class Mapping {
 public:
  explicit Mapping(const char* file);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const uint8_t* data = nullptr;
  size_t length = 0;

 private:
  int guard_ = -1;
};

// A number in groups of seven bits, the lowest first. False if it does not end before `end`.
bool takeVarint(const uint8_t** at, const uint8_t* end, uint64_t* value);

// Requires an index of version 2.
class PackFile {
 public:
  PackFile(const char* indexFile, const char* packFile, size_t oidBytes);

  bool isValid() const { return count_ > 0; }

  // The offset of the object in the pack; 0 if it is not there.
  uint64_t find(const uint8_t* oid) const;

  // What precedes the data of an object. For a delta, `kind` is none and `base` is the offset of its base, 0 if that is
  // invalid, as is any other kind.
  struct Head {
    ObjectKind kind;
    uint64_t base;
    uint64_t size;
    uint64_t dataAt;
  };

  // Also false if the size is more than the rest of the pack can decompress to.
  bool head(uint64_t offset, Head* out) const;

  Text dataFrom(uint64_t at) const { return {pack_.data + at, end_ - at}; }

 private:
  uint64_t base(const uint8_t** at, uint64_t offset, unsigned type) const;

  Mapping index_;
  Mapping pack_;
  size_t oidBytes_;
  uint32_t count_ = 0;
  // Where the objects end and the pack's checksum begins.
  size_t end_ = 0;
};

}  // namespace trawl
