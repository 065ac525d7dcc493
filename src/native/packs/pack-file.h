// One pack of a git repository and its index, both mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace trawl {

enum class ObjectKind : uint8_t { none = 0, commit = 1, tree = 2, blob = 3, tag = 4 };

// A file in memory, read only; empty when it could not be mapped. git never writes to a pack that has its name, but deletes
// it, which leaves the mapping whole. What somebody else cuts off, or the disk cannot read, is zeros, and `packFaults` counts.
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

// A number in groups of seven bits, the lowest first. False when it does not end before `end`.
bool takeVarint(const uint8_t** at, const uint8_t* end, uint64_t* value);

// With an index of version 2.
class PackFile {
 public:
  PackFile(const char* indexFile, const char* packFile, size_t oidBytes);

  bool isValid() const { return count_ > 0; }

  // The offset of the object in the pack; 0 when it is not there.
  uint64_t find(const uint8_t* oid) const;

  // What precedes the data of an object. For a delta, `kind` is none and `base` its base's offset, 0 when that is nowhere.
  struct Head {
    ObjectKind kind;
    uint64_t base;
    uint64_t size;
    uint64_t dataAt;
  };

  // False also when the size is more than the rest of the pack can unpack to.
  bool head(uint64_t offset, Head* out) const;

  Text dataFrom(uint64_t at) const { return {pack_.data + at, end_ - at}; }

 private:
  bool base(const uint8_t** at, uint64_t offset, unsigned type, uint64_t* out) const;

  Mapping index_;
  Mapping pack_;
  size_t oidBytes_;
  uint32_t count_ = 0;
  // Where objects end and the pack's checksum begins.
  size_t end_ = 0;
};

}  // namespace trawl
