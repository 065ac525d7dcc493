// Objects of a git repository, read from its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "budget.h"
#include "inflate.h"
#include "loose-files.h"
#include "pack-file.h"
#include "stop-flags.h"

namespace trawl {

// The outcome of a request for an object.
enum class Found : uint32_t {
  yes = 0,
  // In no file, or damaged there.
  no = 1,
  // It, or its base, does not fit into the budget.
  tooLarge = 2,
  stopped = 3,
};

// What `readTexts` did with one object.
enum class TextKind : uint32_t {
  // Unpacked; all of its bytes are below 128, and none is zero.
  ascii = 0,
  // Unpacked; it is UTF-8.
  other = 1,
  // Binary, and certainly not UTF-16 or UTF-32: its bytes were not kept.
  binary = 2,
  // In no file, damaged there, or too large for the budget; or it may have to be decoded, and its bytes were not kept.
  notFound = 3,
};

/**
 * Objects by oid.
 *
 * An object is in a pack, or loose: in a file of its own, as git leaves the few objects of a small fetch. One that is in
 * neither, or is damaged there, is "not found": the caller requests it from git, which reports what is damaged. Checksums
 * are not verified: git did that when it received the object.
 *
 * All memory other than the caller's is charged to one budget: at most a base, a delta, its result and the trees in use
 * at a time, and a cache of bases in the rest. Throws std::bad_alloc if the system is out of memory. One thread at a
 * time.
 */
class Packs {
 public:
  // `objectFolder` has the folders of loose objects; `files` are index and pack, alternating.
  Packs(const char* objectFolder, char* const* files, size_t packCount, size_t oidBytes, size_t memoryBytesMax);

  size_t oidBytes() const { return oidBytes_; }

  // Of a delta, only the first bytes are unpacked.
  bool describe(const uint8_t* oid, ObjectKind* kind, uint64_t* size);

  // `size` is the one reported by `describe`.
  Found read(const uint8_t* oid, uint8_t* out, size_t size, const StopFlags& stop);

  struct Texts {
    // How many objects were dealt with, and how many bytes written.
    size_t count;
    size_t bytes;
    bool isStopped;
  };

  // Unpacks objects one after another into `out`, without gaps, and writes the kind of each. `sizes` are those reported
  // by `describe`. Returns after a text of more than `pauseBytes`, before
  // one for which `out` has no room, and after `textBytesMax` bytes, so that its caller can do something else.
  Texts readTexts(const uint8_t* oids, const uint32_t* sizes, size_t count, uint8_t* out, size_t outBytes, size_t pauseBytes,
                  uint32_t* kinds, const StopFlags& stop);

  static constexpr size_t textBytesMax = 4u << 20;

  // The bytes stay charged to the budget until they are no longer referenced. They are cached: the next commit usually
  // has most objects of this one.
  Found readTree(const uint8_t* oid, SharedBytes* tree, const StopFlags& stop);

  // The same for an object of this kind. One of more bytes, or with a larger base, is too large.
  Found readCached(const uint8_t* oid, ObjectKind kind, size_t bytesMax, SharedBytes* bytes, const StopFlags& stop);

 private:
  struct Position {
    size_t pack;
    uint64_t offset;

    uint64_t key() const { return static_cast<uint64_t>(pack) << 48 | offset; }
  };

  struct Delta {
    uint64_t offset;
    PackFile::Head head;
  };

  // `whole` is the head and the bytes of the object.
  struct LooseObject {
    LooseHead head;
    std::shared_ptr<OwnBytes> whole;
  };

  struct Cached {
    SharedBytes bytes;
    std::list<uint64_t>::iterator use;
  };

  bool find(const uint8_t* oid, Position* position, PackFile::Head* head);
  Found readLoose(const uint8_t* oid, LooseObject* object, size_t bytesMax, const StopFlags& stop);
  Found readLooseOf(const uint8_t* oid, ObjectKind kind, size_t bytesMax, SharedBytes* bytes, const StopFlags& stop);
  bool kindOf(Position position, ObjectKind* kind) const;
  bool sizeOf(const PackFile& pack, const PackFile::Head& head, uint64_t* size);
  Found resolve(Position position, SharedBytes* result, const StopFlags& stop, size_t bytesMax = SIZE_MAX);
  Found findBase(Position* position, std::vector<Delta>* chain, SharedBytes* result, const StopFlags& stop, size_t bytesMax);
  Found apply(const PackFile& pack, const PackFile::Head& head, const SharedBytes& base, uint8_t* out, size_t size, const StopFlags& stop);
  Found inflated(Text from, size_t size, SharedBytes* result, const StopFlags& stop);
  std::shared_ptr<OwnBytes> allocate(size_t size);
  void cache(Position position, const SharedBytes& bytes);
  void dropOldest();

  // Outlives everything that is charged to it.
  Budget budget_;
  const size_t cachedBytesMax_;
  size_t oidBytes_;
  LooseFiles loose_;
  std::vector<std::unique_ptr<PackFile>> packs_;
  size_t lastPack_ = 0;
  Inflater inflater_;
  std::unordered_map<uint64_t, Cached> cached_;
  // Keys of `cached_`, least recently used first.
  std::list<uint64_t> uses_;
  size_t cachedBytes_ = 0;
};

}  // namespace trawl
