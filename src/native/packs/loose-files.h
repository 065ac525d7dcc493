// Objects of a git repository that are not in a pack, each in a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "inflate.h"
#include "pack-file.h"

namespace trawl {

// The folder `objects` of a repository.
class LooseFiles {
 public:
  LooseFiles(const char* folder, size_t oidBytes) : folder_(folder), oidBytes_(oidBytes) {}

  // Of a file, enough to decompress the head of its object.
  static constexpr size_t startBytes = 4096;

  // Reads the first bytes of the object's file; returns how many there are, 0 if there is no such file.
  size_t readStart(const uint8_t* oid, uint8_t* out) const;

 private:
  friend class LooseFile;

  std::string path(const uint8_t* oid) const;

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

// What precedes the bytes of an object: its kind, its size and a zero byte, of this length together.
struct LooseHead {
  ObjectKind kind;
  uint64_t size;
  size_t length;
};

// `packed` is the beginning of the file. False if it is not that of an object.
bool parseLooseHead(Text packed, Inflater& inflater, LooseHead* head);

}  // namespace trawl
