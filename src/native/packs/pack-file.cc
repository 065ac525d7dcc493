#include "pack-file.h"

#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-guard.h"
#include "inflate.h"

namespace trawl {
namespace {

// Sizes are reported in 32 bits; a larger object is left to git.
constexpr uint64_t objectBytesMax = 1u << 30;

constexpr size_t fanOutAt = 8;
constexpr size_t fanOutEnd = fanOutAt + 4 * 256;

enum PackedType : unsigned { offsetDelta = 6, oidDelta = 7 };

uint32_t bigEndian32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 | static_cast<uint32_t>(at[2]) << 8 | at[3];
}

}  // namespace

bool takeVarint(const uint8_t** at, const uint8_t* end, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
    uint8_t byte = *(*at)++;
    *value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

Mapping::Mapping(const char* file) {
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_t bytes = static_cast<size_t>(status.st_size);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED && !noteMapping(mapped, bytes, &guard_)) {
      munmap(mapped, bytes);
    } else if (mapped != MAP_FAILED) {
      data = static_cast<const uint8_t*>(mapped);
      length = bytes;
    }
  }
  close(descriptor);
}

Mapping::~Mapping() {
  if (data == nullptr) return;
  forgetMapping(guard_);
  munmap(const_cast<uint8_t*>(data), length);
}

PackFile::PackFile(const char* indexFile, const char* packFile, size_t oidBytes)
    : index_(indexFile), pack_(packFile), oidBytes_(oidBytes) {
  static const uint8_t magic[] = {0xff, 't', 'O', 'c', 0, 0, 0, 2};
  if (index_.length < fanOutEnd || memcmp(index_.data, magic, sizeof magic) != 0) return;
  if (pack_.length < 12 + oidBytes || memcmp(pack_.data, "PACK", 4) != 0) return;
  uint32_t count = bigEndian32(index_.data + fanOutEnd - 4);
  if (index_.length < fanOutEnd + static_cast<size_t>(count) * (oidBytes + 8) + 2 * oidBytes) return;
  for (size_t i = 1; i < 256; i++) {
    if (bigEndian32(index_.data + fanOutAt + 4 * i) < bigEndian32(index_.data + fanOutAt + 4 * (i - 1))) return;
  }
  end_ = pack_.length - oidBytes;
  count_ = count;
}

uint64_t PackFile::find(const uint8_t* oid) const {
  const uint8_t* fanOut = index_.data + fanOutAt;
  uint32_t low = oid[0] == 0 ? 0 : bigEndian32(fanOut + 4 * (oid[0] - 1));
  uint32_t high = bigEndian32(fanOut + 4 * oid[0]);
  const uint8_t* oids = index_.data + fanOutEnd;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = memcmp(oid, oids + oidBytes_ * middle, oidBytes_);
    if (order == 0) {
      const uint8_t* offsets = oids + static_cast<size_t>(count_) * (oidBytes_ + 4);
      uint32_t offset = bigEndian32(offsets + 4 * static_cast<size_t>(middle));
      if (offset < 0x80000000u) return offset;
      size_t largeAt = static_cast<size_t>(offsets - index_.data) + 4 * static_cast<size_t>(count_) + 8 * static_cast<size_t>(offset & 0x7fffffffu);
      if (largeAt + 8 > index_.length) return 0;
      return static_cast<uint64_t>(bigEndian32(index_.data + largeAt)) << 32 | bigEndian32(index_.data + largeAt + 4);
    }
    if (order < 0) high = middle;
    else low = middle + 1;
  }
  return 0;
}

bool PackFile::head(uint64_t offset, Head* out) const {
  *out = {ObjectKind::none, 0, 0, 0};
  if (offset < 12 || offset >= end_) return false;
  const uint8_t* at = pack_.data + offset;
  const uint8_t* end = pack_.data + end_;
  uint8_t first = *at++;
  uint64_t more = 0;
  if (first >= 128 && !takeVarint(&at, end, &more)) return false;
  if (more >= objectBytesMax) return false;
  *out = {ObjectKind::none, 0, more << 4 | (first & 15), 0};
  unsigned type = first >> 4 & 7;
  if (type >= 1 && type <= 4) out->kind = static_cast<ObjectKind>(type);
  else out->base = base(&at, offset, type);
  out->dataAt = static_cast<uint64_t>(at - pack_.data);
  return out->size <= objectBytesMax && out->dataAt < end_ && out->size <= (end_ - out->dataAt) * deflateRatioMax;
}

// Parses the reference of a delta to its base, and returns the offset of the base.
uint64_t PackFile::base(const uint8_t** at, uint64_t offset, unsigned type) const {
  const uint8_t* end = pack_.data + end_;
  if (type == oidDelta) {
    if (static_cast<size_t>(end - *at) < oidBytes_) return 0;
    const uint8_t* oid = *at;
    *at += oidBytes_;
    return find(oid);
  }
  if (type != offsetDelta) return 0;
  uint64_t back = 0;
  for (bool isFirst = true;; isFirst = false) {
    if (*at == end || back > end_) return 0;
    uint8_t byte = *(*at)++;
    back = (isFirst ? 0 : (back + 1) << 7) | (byte & 127);
    if (byte < 128) break;
  }
  return back > 0 && back < offset ? offset - back : 0;
}

}  // namespace trawl
