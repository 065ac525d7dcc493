#include "loose-files.h"

#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {
namespace {

// Of a file, enough to decompress the head of its object.
constexpr size_t startBytes = 4096;

// The longest kind, a space, twenty digits and a zero byte are shorter.
constexpr size_t headBytesMax = 32;

struct KindName {
  const char* name;
  ObjectKind kind;
};

constexpr KindName kindNames[] = {
    {"commit ", ObjectKind::commit}, {"tree ", ObjectKind::tree}, {"blob ", ObjectKind::blob}, {"tag ", ObjectKind::tag}};

}  // namespace

std::string LooseFiles::path(const uint8_t* oid) const {
  static const char digits[] = "0123456789abcdef";
  std::string path = folder_ + '/';
  for (size_t i = 0; i < oidBytes_; i++) {
    path += digits[oid[i] >> 4];
    path += digits[oid[i] & 15];
    if (i == 0) path += '/';
  }
  return path;
}

bool LooseFiles::describe(const uint8_t* oid, Inflater& inflater, LooseHead* head) const {
  LooseFile file(*this, oid);
  uint8_t start[startBytes];
  size_t length = file.length() < startBytes ? file.length() : startBytes;
  if (!file.isOpen() || !file.read(start, length)) return false;
  return parseLooseHead({start, length}, file.length(), inflater, head) && head->size <= UINT32_MAX;
}

// Anything but a regular file, such as a pipe, which would block, is no object.
LooseFile::LooseFile(const LooseFiles& files, const uint8_t* oid)
    : descriptor_(open(files.path(oid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  struct stat status;
  if (descriptor_ < 0) return;
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    length_ = static_cast<size_t>(status.st_size);
    return;
  }
  close(descriptor_);
  descriptor_ = -1;
}

LooseFile::~LooseFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool LooseFile::read(uint8_t* out, size_t count) const {
  for (size_t done = 0; done < count;) {
    ssize_t got = pread(descriptor_, out + done, count - done, static_cast<off_t>(done));
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool parseLooseHead(Text packed, size_t fileBytes, Inflater& inflater, LooseHead* head) {
  uint8_t start[headBytesMax];
  size_t length = inflater.inflateStart(packed, start, sizeof start);
  const void* end = memchr(start, 0, length);
  if (end == nullptr) return false;
  size_t headLength = static_cast<size_t>(static_cast<const uint8_t*>(end) - start);
  for (const KindName& row : kindNames) {
    size_t at = strlen(row.name);
    if (headLength <= at || headLength > at + 18 || memcmp(start, row.name, at) != 0) continue;
    uint64_t size = 0;
    for (; at < headLength; at++) {
      if (start[at] < '0' || start[at] > '9') return false;
      size = size * 10 + (start[at] - '0');
    }
    *head = {row.kind, size, headLength + 1};
    return size <= fileBytes * deflateRatioMax;
  }
  return false;
}

}  // namespace trawl
