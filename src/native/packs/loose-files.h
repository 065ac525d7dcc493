// Objects of a git repository that are not in a pack, each in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "inflate.h"
#include "pack-file.h"

namespace trawl {

// What precedes the bytes of an object: its kind, its size and a zero byte, of this length together.
struct LooseHead {
  ObjectKind kind;
  uint64_t size;
  size_t length;
};

// `packed` is the beginning of a file of `fileBytes`. False if it is not that of an object, or if the size is more than the
// file can decompress to.
bool parseLooseHead(Text packed, size_t fileBytes, Inflater& inflater, LooseHead* head);

// The folder `objects` of a repository.
class LooseFiles {
 public:
  LooseFiles(const char* folder, size_t oidBytes) : folder_(folder), oidBytes_(oidBytes) {}

  std::string path(const uint8_t* oid) const;

  // Reads only the beginning of the file. False if there is none, or if the object has 4 GiB or more.
  bool describe(const uint8_t* oid, Inflater& inflater, LooseHead* head) const;

 private:
  std::string folder_;
  size_t oidBytes_;
};

// The file of one object. It is read and not mapped, so a file that is truncated meanwhile is only too short.
class LooseFile {
 public:
  LooseFile(const LooseFiles& files, const uint8_t* oid);
  ~LooseFile();
  LooseFile(const LooseFile&) = delete;
  LooseFile& operator=(const LooseFile&) = delete;

  bool isOpen() const { return descriptor_ >= 0; }
  size_t length() const { return length_; }

  // Reads the first `count` bytes; false if they cannot be read.
  bool read(uint8_t* out, size_t count) const;

 private:
  int descriptor_;
  size_t length_ = 0;
};

}  // namespace trawl
