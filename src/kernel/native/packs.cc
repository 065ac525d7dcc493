#include "packs.h"

#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {
namespace {

// Bases of deltas that are kept: those of files that lie near each other in a pack, and the upper trees of a history.
constexpr size_t baseBytesMax = 32u << 20;

// A larger object is left to git.
constexpr uint64_t objectBytesMax = 1u << 30;

// git makes chains of up to 4,095 deltas.
constexpr size_t chainLengthMax = 4095;

constexpr size_t nestingMax = 2048;

constexpr size_t fanOutAt = 8;
constexpr size_t fanOutEnd = fanOutAt + 4 * 256;

uint32_t bigEndian32(const uint8_t* at) {
  return static_cast<uint32_t>(at[0]) << 24 | static_cast<uint32_t>(at[1]) << 16 | static_cast<uint32_t>(at[2]) << 8 | at[3];
}

// A number in groups of seven bits, the lowest first.
bool takeVarint(const uint8_t** at, const uint8_t* end, uint64_t* value) {
  *value = 0;
  for (unsigned shift = 0; *at < end && shift < 63; shift += 7) {
    uint8_t byte = *(*at)++;
    *value |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

// The text that a delta makes of its base. `out` has the length that the delta tells.
bool applyDelta(Text base, Text delta, uint8_t* out, size_t length) {
  const uint8_t* at = delta.data;
  const uint8_t* end = at + delta.length;
  uint64_t baseLength, resultLength;
  if (!takeVarint(&at, end, &baseLength) || !takeVarint(&at, end, &resultLength)) return false;
  if (baseLength != base.length || resultLength != length) return false;
  size_t done = 0;
  while (at < end) {
    uint8_t command = *at++;
    size_t from = 0, count = command;
    if (command & 128) {
      count = 0;
      for (unsigned i = 0; i < 7; i++) {
        if (!(command >> i & 1)) continue;
        if (at == end) return false;
        size_t byte = *at++;
        if (i < 4) from |= byte << 8 * i;
        else count |= byte << 8 * (i - 4);
      }
      if (count == 0) count = 0x10000;
      if (from > base.length || count > base.length - from || count > length - done) return false;
      memcpy(out + done, base.data + from, count);
    } else {
      if (count == 0 || count > static_cast<size_t>(end - at) || count > length - done) return false;
      memcpy(out + done, at, count);
      at += count;
    }
    done += count;
  }
  return done == length;
}

Text textOf(const SharedBytes& bytes) { return {bytes->data, bytes->length}; }

}  // namespace

OwnBytes::OwnBytes(size_t wanted) : data(static_cast<uint8_t*>(malloc(wanted + 1))), length(wanted) {}

OwnBytes::~OwnBytes() { free(data); }

Mapping::Mapping(const char* file) {
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
    size_t bytes = static_cast<size_t>(status.st_size);
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (mapped != MAP_FAILED) {
      data = static_cast<const uint8_t*>(mapped);
      length = bytes;
    }
  }
  close(descriptor);
}

Mapping::~Mapping() {
  if (data != nullptr) munmap(const_cast<uint8_t*>(data), length);
}

Pack::Pack(const char* indexFile, const char* packFile, size_t oidBytes) : index_(indexFile), pack_(packFile), oidBytes_(oidBytes) {
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

uint64_t Pack::find(const uint8_t* oid) const {
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

bool Pack::head(uint64_t offset, Head* out) const {
  if (offset < 12 || offset >= end_) return false;
  const uint8_t* at = pack_.data + offset;
  const uint8_t* end = pack_.data + end_;
  uint8_t first = *at++;
  uint64_t more = 0;
  if (first >= 128 && !takeVarint(&at, end, &more)) return false;
  if (more >= objectBytesMax) return false;
  *out = {ObjectKind::none, 0, more << 4 | (first & 15), 0};
  unsigned type = first >> 4 & 7;
  if (type >= 1 && type <= 4) {
    out->kind = static_cast<ObjectKind>(type);
  } else if (type == 6) {
    uint64_t back = 0;
    for (bool isFirst = true;; isFirst = false) {
      if (at == end || back > end_) return false;
      uint8_t byte = *at++;
      back = (isFirst ? 0 : (back + 1) << 7) | (byte & 127);
      if (byte < 128) break;
    }
    if (back == 0 || back >= offset) return false;
    out->base = offset - back;
  } else if (type == 7) {
    if (static_cast<size_t>(end - at) < oidBytes_) return false;
    out->base = find(at);
    at += oidBytes_;
  } else {
    return false;
  }
  out->dataAt = static_cast<uint64_t>(at - pack_.data);
  return out->size <= objectBytesMax && out->dataAt < end_;
}

Packs::Packs(char* const* files, size_t packCount, size_t oidBytes) : oidBytes_(oidBytes) {
  for (size_t i = 0; i < packCount; i++) {
    auto pack = std::make_unique<Pack>(files[2 * i], files[2 * i + 1], oidBytes);
    if (pack->sound()) packs_.push_back(std::move(pack));
  }
}

bool Packs::find(const uint8_t* oid, Place* place) {
  for (size_t i = 0; i < packs_.size(); i++) {
    size_t pack = (lastPack_ + i) % packs_.size();
    uint64_t offset = packs_[pack]->find(oid);
    if (offset == 0) continue;
    lastPack_ = pack;
    *place = {pack, offset};
    return true;
  }
  return false;
}

bool Packs::describe(const uint8_t* oid, ObjectKind* kind, uint64_t* size) {
  Place place;
  Pack::Head head;
  if (!find(oid, &place) || !packs_[place.pack]->head(place.offset, &head)) return false;
  *kind = head.kind;
  *size = head.size;
  if (head.kind != ObjectKind::none) return true;
  const Pack& pack = *packs_[place.pack];
  SharedBytes delta = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size));
  return delta != nullptr && sizeOfDelta(textOf(delta), size) && kindOf(place, kind);
}

// A delta begins with the sizes of its base and of what it makes.
bool Packs::sizeOfDelta(Text delta, uint64_t* size) {
  const uint8_t* at = delta.data;
  const uint8_t* end = delta.data + delta.length;
  uint64_t baseLength;
  return takeVarint(&at, end, &baseLength) && takeVarint(&at, end, size) && *size <= objectBytesMax;
}

bool Packs::kindOf(Place place, ObjectKind* kind) {
  const Pack& pack = *packs_[place.pack];
  for (size_t depth = 0; depth <= chainLengthMax; depth++) {
    Pack::Head head;
    if (!pack.head(place.offset, &head)) return false;
    *kind = head.kind;
    if (head.kind != ObjectKind::none) return true;
    if (head.base == 0) return false;
    place.offset = head.base;
  }
  return false;
}

bool Packs::read(const uint8_t* oid, uint8_t* out, size_t size) {
  Place place;
  Pack::Head head;
  if (!find(oid, &place) || !packs_[place.pack]->head(place.offset, &head)) return false;
  const Pack& pack = *packs_[place.pack];
  if (head.kind != ObjectKind::none) return head.size == size && inflater_.inflate(pack.dataFrom(head.dataAt), out, size);
  ObjectKind kind;
  SharedBytes base;
  if (head.base == 0 || !resolve({place.pack, head.base}, &kind, &base)) return false;
  SharedBytes delta = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size));
  return delta != nullptr && applyDelta(textOf(base), textOf(delta), out, size);
}

// Unpacks an object that a delta is based on, and keeps it and its bases.
bool Packs::resolve(Place place, ObjectKind* kind, SharedBytes* result) {
  const Pack& pack = *packs_[place.pack];
  struct Delta {
    uint64_t offset;
    Pack::Head head;
  };
  std::vector<Delta> chain;
  for (;;) {
    auto known = kept_.find(static_cast<uint64_t>(place.pack) << 48 | place.offset);
    if (known != kept_.end()) {
      uses_.splice(uses_.end(), uses_, known->second.use);
      *kind = known->second.kind;
      *result = known->second.bytes;
      break;
    }
    Pack::Head head;
    if (!pack.head(place.offset, &head)) return false;
    if (head.kind != ObjectKind::none) {
      *kind = head.kind;
      *result = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size));
      if (*result == nullptr) return false;
      keep(place, *kind, *result);
      break;
    }
    if (head.base == 0 || chain.size() == chainLengthMax) return false;
    chain.push_back({place.offset, head});
    place.offset = head.base;
  }
  for (size_t i = chain.size(); i-- > 0;) {
    const Pack::Head& head = chain[i].head;
    uint64_t size;
    SharedBytes delta = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size));
    if (delta == nullptr || !sizeOfDelta(textOf(delta), &size)) return false;
    auto made = std::make_shared<OwnBytes>(static_cast<size_t>(size));
    if (made->data == nullptr || !applyDelta(textOf(*result), textOf(delta), made->data, made->length)) return false;
    *result = made;
    keep({place.pack, chain[i].offset}, *kind, *result);
  }
  return true;
}

SharedBytes Packs::inflated(Text from, size_t size) {
  auto bytes = std::make_shared<OwnBytes>(size);
  if (bytes->data == nullptr || !inflater_.inflate(from, bytes->data, size)) return nullptr;
  return bytes;
}

void Packs::keep(Place place, ObjectKind kind, const SharedBytes& bytes) {
  if (bytes->length > baseBytesMax / 4) return;
  uint64_t key = static_cast<uint64_t>(place.pack) << 48 | place.offset;
  uses_.push_back(key);
  if (!kept_.insert({key, {kind, bytes, std::prev(uses_.end())}}).second) {
    uses_.pop_back();
    return;
  }
  keptBytes_ += bytes->length;
  while (keptBytes_ > baseBytesMax) {
    auto oldest = kept_.find(uses_.front());
    keptBytes_ -= oldest->second.bytes->length;
    kept_.erase(oldest);
    uses_.pop_front();
  }
}

SharedBytes Packs::readTree(const uint8_t* oid) {
  Place place;
  ObjectKind kind;
  uint64_t size;
  if (!describe(oid, &kind, &size) || kind != ObjectKind::tree || !find(oid, &place)) return nullptr;
  auto bytes = std::make_shared<OwnBytes>(static_cast<size_t>(size));
  if (bytes->data == nullptr || !read(oid, bytes->data, bytes->length)) return nullptr;
  return bytes;
}

namespace {

bool isZero(const uint8_t* oid, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (oid[i] != 0) return false;
  }
  return true;
}

// As git sees the mode of an entry: a file's permissions are those of its owner to execute it, and nothing else.
uint32_t canonicalMode(uint32_t mode) {
  switch (mode & 0170000) {
    case 0100000: return mode & 0100 ? 0100755 : 0100644;
    case 0120000: return 0120000;
    case 0040000: return 0040000;
    default: return 0160000;
  }
}

uint8_t* writeHex(uint8_t* to, const uint8_t* oid, size_t length) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < length; i++) {
    *to++ = static_cast<uint8_t>(digits[oid[i] >> 4]);
    *to++ = static_cast<uint8_t>(digits[oid[i] & 15]);
  }
  return to;
}

uint8_t* writeMode(uint8_t* to, uint32_t mode) {
  for (int shift = 15; shift >= 0; shift -= 3) *to++ = static_cast<uint8_t>('0' + (mode >> shift & 7));
  return to;
}

}  // namespace

bool Packs::parseEntry(const SharedBytes& tree, size_t at, Entry* entry) const {
  *entry = {nullptr, 0, nullptr, 0, at};
  if (tree == nullptr || at == tree->length) return true;
  const uint8_t* data = tree->data;
  uint32_t mode = 0;
  size_t modeAt = at;
  for (; at < tree->length && data[at] != ' '; at++) {
    if (data[at] < '0' || data[at] > '7' || at - modeAt > 6) return false;
    mode = mode << 3 | static_cast<uint32_t>(data[at] - '0');
  }
  if (at >= tree->length) return false;
  size_t nameAt = ++at;
  const void* end = memchr(data + at, 0, tree->length - at);
  if (end == nullptr) return false;
  size_t nameEnd = static_cast<size_t>(static_cast<const uint8_t*>(end) - data);
  if (nameEnd == nameAt || tree->length - nameEnd - 1 < oidBytes_) return false;
  *entry = {data + nameAt, nameEnd - nameAt, data + nameEnd + 1, canonicalMode(mode), nameEnd + 1 + oidBytes_};
  return true;
}

bool Packs::beginDiff(const uint8_t* before, const uint8_t* after) {
  frames_.clear();
  path_.clear();
  Frame frame = {nullptr, nullptr, 0, 0, 0};
  if (!isZero(before, oidBytes_)) frame.before = readTree(before);
  if (!isZero(after, oidBytes_)) frame.after = readTree(after);
  if (frame.before == nullptr && !isZero(before, oidBytes_)) return false;
  if (frame.after == nullptr && !isZero(after, oidBytes_)) return false;
  frames_.push_back(frame);
  return true;
}

// Goes down into the directories; null where there is none.
bool Packs::enter(const Entry* before, const Entry* after) {
  if (frames_.size() == nestingMax) return false;
  Frame frame = {nullptr, nullptr, 0, 0, path_.size()};
  if (before != nullptr) frame.before = readTree(before->oid);
  if (after != nullptr) frame.after = readTree(after->oid);
  if ((before != nullptr && frame.before == nullptr) || (after != nullptr && frame.after == nullptr)) return false;
  const Entry* named = before != nullptr ? before : after;
  path_.append(reinterpret_cast<const char*>(named->name), named->nameLength);
  path_.push_back('/');
  frames_.push_back(frame);
  return true;
}

bool Packs::writeRecord(const Entry* before, const Entry* after, uint8_t* out, size_t outBytes, size_t* written) {
  static const uint8_t nothing[32] = {};
  const Entry* named = before != nullptr ? before : after;
  size_t size = 1 + 6 + 1 + 6 + 1 + 2 * (2 * oidBytes_ + 1) + 2 + path_.size() + named->nameLength + 1;
  if (size > outBytes - *written) return false;
  uint8_t* to = out + *written;
  *to++ = ':';
  to = writeMode(to, before == nullptr ? 0 : before->mode);
  *to++ = ' ';
  to = writeMode(to, after == nullptr ? 0 : after->mode);
  *to++ = ' ';
  to = writeHex(to, before == nullptr ? nothing : before->oid, oidBytes_);
  *to++ = ' ';
  to = writeHex(to, after == nullptr ? nothing : after->oid, oidBytes_);
  *to++ = ' ';
  *to++ = before == nullptr ? 'A' : after == nullptr ? 'D' : (before->mode ^ after->mode) & 0170000 ? 'T' : 'M';
  *to++ = 0;
  memcpy(to, path_.data(), path_.size());
  to += path_.size();
  memcpy(to, named->name, named->nameLength);
  to += named->nameLength;
  *to++ = 0;
  *written += size;
  return true;
}

Packs::Progress Packs::nextDiff(uint8_t* out, size_t outBytes, size_t* written) {
  *written = 0;
  while (!frames_.empty()) {
    size_t level = frames_.size() - 1;
    Frame& frame = frames_[level];
    Entry before, after;
    if (!parseEntry(frame.before, frame.beforeAt, &before) || !parseEntry(frame.after, frame.afterAt, &after)) return Progress::failed;
    if (before.isEnd() && after.isEnd()) {
      path_.resize(frame.pathLength);
      frames_.pop_back();
      continue;
    }
    int order = before.isEnd() ? 1 : after.isEnd() ? -1 : 0;
    if (order == 0) {
      // In the order of git, in which a directory's name ends with a slash.
      size_t shorter = before.nameLength < after.nameLength ? before.nameLength : after.nameLength;
      order = memcmp(before.name, after.name, shorter);
      if (order == 0) {
        uint8_t one = before.nameLength > shorter ? before.name[shorter] : before.isDirectory() ? '/' : 0;
        uint8_t other = after.nameLength > shorter ? after.name[shorter] : after.isDirectory() ? '/' : 0;
        order = one - other;
      }
    }
    const Entry* old = order <= 0 ? &before : nullptr;
    const Entry* young = order >= 0 ? &after : nullptr;
    bool isDirectory = (old != nullptr ? old : young)->isDirectory();
    bool isEqual = order == 0 && before.mode == after.mode && memcmp(before.oid, after.oid, oidBytes_) == 0;
    if (!isEqual && !isDirectory && !writeRecord(old, young, out, outBytes, written)) return *written == 0 ? Progress::failed : Progress::more;
    if (old != nullptr) frame.beforeAt = before.next;
    if (young != nullptr) frame.afterAt = after.next;
    // `frame` is not to be used after this.
    if (!isEqual && isDirectory && !enter(old, young)) return Progress::failed;
  }
  return Progress::done;
}

}  // namespace trawl
