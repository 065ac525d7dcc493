// Objects of a git repository, read from its pack files, which are mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytes.h"
#include "inflate.h"

namespace trawl {

enum class ObjectKind : uint8_t { none = 0, commit = 1, tree = 2, blob = 3, tag = 4 };

// Bytes of our own; `data` is null when there was no memory.
struct OwnBytes {
  uint8_t* data;
  size_t length;

  explicit OwnBytes(size_t wanted);
  ~OwnBytes();
  OwnBytes(const OwnBytes&) = delete;
  OwnBytes& operator=(const OwnBytes&) = delete;
};

using SharedBytes = std::shared_ptr<const OwnBytes>;

// A file in memory, read only; empty when it could not be mapped.
class Mapping {
 public:
  explicit Mapping(const char* file);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const uint8_t* data = nullptr;
  size_t length = 0;
};

// One pack with its index, of version 2.
class Pack {
 public:
  Pack(const char* indexFile, const char* packFile, size_t oidBytes);

  bool sound() const { return count_ > 0; }

  // The offset of the object in the pack; 0 when it is not there.
  uint64_t find(const uint8_t* oid) const;

  // What lies before the data of an object. For a delta, `kind` is none and `base` its base's offset, 0 when that is nowhere.
  struct Head {
    ObjectKind kind;
    uint64_t base;
    uint64_t size;
    uint64_t dataAt;
  };
  bool head(uint64_t offset, Head* out) const;

  Text dataFrom(uint64_t at) const { return {pack_.data + at, end_ - at}; }

 private:
  Mapping index_;
  Mapping pack_;
  size_t oidBytes_;
  uint32_t count_ = 0;
  // Where objects end and the pack's checksum begins.
  size_t end_ = 0;
};

/**
 * Objects by oid, and differences of trees.
 *
 * Whatever is not in a pack, or not as it should be there, is "not found": the caller asks git about it, which knows
 * loose objects and names what is damaged. Checksums are not looked at: git has when it received the pack.
 * Texts that are bases of deltas are kept, `baseBytesMax` of them. One thread at a time.
 */
class Packs {
 public:
  // `files`: index and pack, in turn.
  Packs(char* const* files, size_t packCount, size_t oidBytes);

  size_t oidBytes() const { return oidBytes_; }

  bool describe(const uint8_t* oid, ObjectKind* kind, uint64_t* size);

  // `size` is the one that `describe` has told.
  bool read(const uint8_t* oid, uint8_t* out, size_t size);

  // Begins to compare two trees; an oid of zeros stands for an empty one.
  bool beginDiff(const uint8_t* before, const uint8_t* after);

  enum class Progress { more, done, failed };

  // Writes what `git diff-tree -r -z --raw --no-renames --no-abbrev` does, as much as fits, and goes on there when called again.
  Progress nextDiff(uint8_t* out, size_t outBytes, size_t* written);

 private:
  struct Place {
    size_t pack;
    uint64_t offset;
  };

  struct Kept {
    ObjectKind kind;
    SharedBytes bytes;
    std::list<uint64_t>::iterator use;
  };

  // An entry of a tree, or its end.
  struct Entry {
    const uint8_t* name;
    size_t nameLength;
    const uint8_t* oid;
    uint32_t mode;
    size_t next;

    bool isEnd() const { return name == nullptr; }
    bool isDirectory() const { return mode == 040000; }
  };

  // Two trees that are compared, at the same path.
  struct Frame {
    SharedBytes before, after;
    size_t beforeAt, afterAt;
    size_t pathLength;
  };

  bool find(const uint8_t* oid, Place* place);
  bool resolve(Place place, ObjectKind* kind, SharedBytes* result);
  static bool sizeOfDelta(Text delta, uint64_t* size);
  bool kindOf(Place place, ObjectKind* kind);
  SharedBytes readTree(const uint8_t* oid);
  SharedBytes inflated(Text from, size_t size);
  void keep(Place place, ObjectKind kind, const SharedBytes& bytes);
  bool parseEntry(const SharedBytes& tree, size_t at, Entry* entry) const;
  bool enter(const Entry* before, const Entry* after);
  bool writeRecord(const Entry* before, const Entry* after, uint8_t* out, size_t outBytes, size_t* written);

  size_t oidBytes_;
  std::vector<std::unique_ptr<Pack>> packs_;
  size_t lastPack_ = 0;
  Inflater inflater_;
  std::unordered_map<uint64_t, Kept> kept_;
  // Keys of `kept_`, the least recently used first.
  std::list<uint64_t> uses_;
  size_t keptBytes_ = 0;
  std::vector<Frame> frames_;
  // Of the frame on top, with a slash at its end.
  std::string path_;
};

}  // namespace trawl
