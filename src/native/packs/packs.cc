#include "packs.h"

#include <algorithm>
#include <cstring>

#include "file-guard.h"

namespace trawl {
namespace {

// git creates chains of up to 4,095 deltas.
constexpr size_t chainLengthMax = 4095;

// A delta begins with two numbers of up to nine bytes each.
constexpr size_t deltaHeadBytesMax = 18;

// Between two checks of the stop flags a delta copies at most this much plus its largest copy, which is 16 MiB.
constexpr size_t copiedBytesMax = 1u << 20;

Text textOf(const SharedBytes& bytes) { return {bytes->data, bytes->length}; }

// Applies a delta to its base. `out` has the length stated in the delta.
bool applyDelta(Text base, Text delta, uint8_t* out, size_t length, const StopFlags& stop) {
  const uint8_t* at = delta.data;
  const uint8_t* end = at + delta.length;
  uint64_t baseLength, resultLength;
  if (!takeVarint(&at, end, &baseLength) || !takeVarint(&at, end, &resultLength)) return false;
  if (baseLength != base.length || resultLength != length) return false;
  size_t done = 0, lookAt = copiedBytesMax;
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
    if (done < lookAt) continue;
    if (stop.areSet()) return false;
    lookAt = done + copiedBytesMax;
  }
  return done == length;
}

// A NUL among this many bytes makes a file binary, as in `isBinary` (src/base/text.ts).
constexpr size_t binaryHeadBytes = 8000;

// Whether the bytes are well-formed UTF-8.
bool isUtf8(const uint8_t* bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    const uint8_t lead = bytes[i];
    if (lead < 0x80) {
      uint64_t eight;
      while (i + 8 <= length && (memcpy(&eight, bytes + i, 8), (eight & 0x8080808080808080) == 0)) i += 8;
      while (i < length && bytes[i] < 0x80) i++;
      continue;
    }
    const size_t following = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || following >= length - i) return false;
    const uint8_t second = bytes[i + 1];
    const uint8_t from = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t to = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (second < from || second > to) return false;
    for (size_t k = 2; k <= following; k++)
      if ((bytes[i + k] & 0xc0) != 0x80) return false;
    i += following + 1;
  }
  return true;
}

// Texts that `textOfBlob` (src/indexer/encoding/blob-text.ts) may change are left to it.
TextKind kindOfText(const uint8_t* bytes, size_t length) {
  const bool isMarked = length >= 3 && ((bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf) || bytes[0] >= 0xfe);
  if (memchr(bytes, 0, std::min(length, binaryHeadBytes)) != nullptr) {
    const bool canBeWide = isMarked || (length >= 2 && (bytes[0] == 0 || bytes[1] == 0));
    return canBeWide ? TextKind::notFound : TextKind::binary;
  }
  uint8_t all = 0;
  for (size_t i = 0; i < length; i++) all |= bytes[i];
  if (all < 128) return memchr(bytes, 0x1b, length) == nullptr ? TextKind::ascii : TextKind::notFound;
  return !isMarked && isUtf8(bytes, length) ? TextKind::other : TextKind::notFound;
}

}  // namespace

Packs::Packs(const char* objectFolder, char* const* files, size_t packCount, size_t oidBytes, size_t memoryBytesMax)
    : budget_(memoryBytesMax), cachedBytesMax_(memoryBytesMax / 2), oidBytes_(oidBytes), loose_(objectFolder, oidBytes) {
  for (size_t i = 0; i < packCount; i++) {
    auto pack = std::make_unique<PackFile>(files[2 * i], files[2 * i + 1], oidBytes);
    if (pack->isValid()) packs_.push_back(std::move(pack));
  }
}

bool Packs::find(const uint8_t* oid, Position* position, PackFile::Head* head) {
  for (size_t i = 0; i < packs_.size(); i++) {
    size_t pack = (lastPack_ + i) % packs_.size();
    uint64_t offset = packs_[pack]->find(oid);
    if (offset == 0) continue;
    lastPack_ = pack;
    *position = {pack, offset};
    return packs_[pack]->head(offset, head);
  }
  return false;
}

bool Packs::describe(const uint8_t* oid, ObjectKind* kind, uint64_t* size) {
  Position position;
  PackFile::Head head;
  if (find(oid, &position, &head)) return sizeOf(*packs_[position.pack], head, size) && kindOf(position, kind);
  LooseHead loose;
  if (!loose_.describe(oid, inflater_, &loose)) return false;
  *kind = loose.kind;
  *size = loose.size;
  return true;
}

// Unpacks a loose object of at most `bytesMax` bytes.
Found Packs::readLoose(const uint8_t* oid, LooseObject* object, size_t bytesMax, const StopFlags& stop) {
  LooseFile file(loose_, oid);
  if (!file.isOpen()) return Found::no;
  std::shared_ptr<OwnBytes> packed = allocate(file.length());
  if (packed == nullptr) return Found::tooLarge;
  Text text = {packed->data, packed->length};
  if (!file.read(packed->data, text.length) || !parseLooseHead(text, text.length, inflater_, &object->head)) return Found::no;
  if (object->head.size <= bytesMax) object->whole = allocate(object->head.length + static_cast<size_t>(object->head.size));
  if (object->whole == nullptr) return Found::tooLarge;
  if (inflater_.inflate(text, object->whole->data, object->whole->length, stop)) return Found::yes;
  return stop.areSet() ? Found::stopped : Found::no;
}

bool Packs::sizeOf(const PackFile& pack, const PackFile::Head& head, uint64_t* size) {
  *size = head.size;
  if (head.kind != ObjectKind::none) return true;
  uint8_t start[deltaHeadBytesMax];
  const uint8_t* at = start;
  const uint8_t* end = start + inflater_.inflateStart(pack.dataFrom(head.dataAt), start, sizeof start);
  uint64_t baseLength;
  return takeVarint(&at, end, &baseLength) && takeVarint(&at, end, size) && *size <= UINT32_MAX;
}

bool Packs::kindOf(Position position, ObjectKind* kind) const {
  const PackFile& pack = *packs_[position.pack];
  for (size_t depth = 0; depth <= chainLengthMax; depth++) {
    PackFile::Head head;
    if (!pack.head(position.offset, &head)) return false;
    *kind = head.kind;
    if (head.kind != ObjectKind::none) return true;
    if (head.base == 0) return false;
    position.offset = head.base;
  }
  return false;
}

Found Packs::read(const uint8_t* oid, uint8_t* out, size_t size, const StopFlags& stop) {
  Position position;
  PackFile::Head head;
  if (stop.areSet()) return Found::stopped;
  if (!find(oid, &position, &head)) {
    LooseObject loose;
    Found found = readLoose(oid, &loose, size, stop);
    if (found == Found::yes && loose.head.size != size) return Found::no;
    if (found == Found::yes) memcpy(out, loose.whole->data + loose.head.length, size);
    return found;
  }
  const PackFile& pack = *packs_[position.pack];
  if (head.kind != ObjectKind::none) {
    if (head.size != size) return Found::no;
    if (inflater_.inflate(pack.dataFrom(head.dataAt), out, size, stop)) return Found::yes;
    return stop.areSet() ? Found::stopped : Found::no;
  }
  if (head.base == 0) return Found::no;
  SharedBytes base;
  Found found = resolve({position.pack, head.base}, &base, stop);
  return found == Found::yes ? apply(pack, head, base, out, size, stop) : found;
}

Packs::Texts Packs::readTexts(const uint8_t* oids, const uint32_t* sizes, size_t count, uint8_t* out, size_t outBytes, size_t pauseBytes,
                              uint32_t* kinds, const StopFlags& stop) {
  Texts done = {0, 0, false};
  size_t unpacked = 0;
  while (done.count < count && unpacked < textBytesMax) {
    const size_t i = done.count, size = sizes[i];
    const uint32_t faults = packFaults();
    uint8_t* text = out + done.bytes;
    if (size > outBytes - done.bytes) break;
    Found found = read(oids + i * oidBytes_, text, size, stop);
    unpacked += size;
    if (found == Found::stopped) {
      done.isStopped = true;
      break;
    }
    TextKind kind = found == Found::yes && packFaults() == faults ? kindOfText(text, size) : TextKind::notFound;
    kinds[i] = static_cast<uint32_t>(kind);
    done.count++;
    if (kind != TextKind::ascii && kind != TextKind::other) continue;
    done.bytes += size;
    if (size > pauseBytes) break;
  }
  return done;
}

Found Packs::readTree(const uint8_t* oid, SharedBytes* tree, const StopFlags& stop) {
  return readCached(oid, ObjectKind::tree, SIZE_MAX, tree, stop);
}

Found Packs::readCached(const uint8_t* oid, ObjectKind kind, size_t bytesMax, SharedBytes* bytes, const StopFlags& stop) {
  Position position;
  PackFile::Head head;
  ObjectKind found;
  if (stop.areSet()) return Found::stopped;
  if (!find(oid, &position, &head)) return readLooseOf(oid, kind, bytesMax, bytes, stop);
  if (!kindOf(position, &found) || found != kind) return Found::no;
  return resolve(position, bytes, stop, bytesMax);
}

Found Packs::readLooseOf(const uint8_t* oid, ObjectKind kind, size_t bytesMax, SharedBytes* bytes, const StopFlags& stop) {
  LooseObject loose;
  Found found = readLoose(oid, &loose, bytesMax, stop);
  if (found != Found::yes || loose.head.kind != kind) return found == Found::yes ? Found::no : found;
  std::shared_ptr<OwnBytes> content = allocate(static_cast<size_t>(loose.head.size));
  if (content == nullptr) return Found::tooLarge;
  memcpy(content->data, loose.whole->data + loose.head.length, content->length);
  *bytes = content;
  return Found::yes;
}

// Unpacks an object that a delta is based on, and caches it and its bases. The chain is followed down to a cached
// object or one that is not a delta, then up again, so that its length uses no stack, and only two of its texts are in
// memory at a time.
Found Packs::resolve(Position position, SharedBytes* result, const StopFlags& stop, size_t bytesMax) {
  const PackFile& pack = *packs_[position.pack];
  std::vector<Delta> chain;
  Found found = findBase(&position, &chain, result, stop, bytesMax);
  if (found != Found::yes) return found;
  for (size_t i = chain.size(); i-- > 0;) {
    const PackFile::Head& head = chain[i].head;
    uint64_t size;
    if (!sizeOf(pack, head, &size)) return Found::no;
    if (size > bytesMax) return Found::tooLarge;
    std::shared_ptr<OwnBytes> made = allocate(static_cast<size_t>(size));
    if (made == nullptr) return Found::tooLarge;
    found = apply(pack, head, *result, made->data, made->length, stop);
    if (found != Found::yes) return found;
    *result = made;
    cache({position.pack, chain[i].offset}, *result);
  }
  return Found::yes;
}

// Follows the chain from `position` to an object that is cached or not a delta, and unpacks it; `chain` receives the
// deltas on the way.
Found Packs::findBase(Position* position, std::vector<Delta>* chain, SharedBytes* result, const StopFlags& stop, size_t bytesMax) {
  const PackFile& pack = *packs_[position->pack];
  for (;;) {
    auto known = cached_.find(position->key());
    if (known != cached_.end()) {
      uses_.splice(uses_.end(), uses_, known->second.use);
      *result = known->second.bytes;
      return Found::yes;
    }
    PackFile::Head head;
    if (!pack.head(position->offset, &head)) return Found::no;
    if (head.kind != ObjectKind::none) {
      if (head.size > bytesMax) return Found::tooLarge;
      Found found = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size), result, stop);
      if (found == Found::yes) cache(*position, *result);
      return found;
    }
    if (head.base == 0 || chain->size() == chainLengthMax) return Found::no;
    chain->push_back({position->offset, head});
    position->offset = head.base;
  }
}

Found Packs::apply(const PackFile& pack, const PackFile::Head& head, const SharedBytes& base, uint8_t* out, size_t size, const StopFlags& stop) {
  SharedBytes delta;
  Found found = inflated(pack.dataFrom(head.dataAt), static_cast<size_t>(head.size), &delta, stop);
  if (found != Found::yes) return found;
  if (applyDelta(textOf(base), textOf(delta), out, size, stop)) return stop.areSet() ? Found::stopped : Found::yes;
  return stop.areSet() ? Found::stopped : Found::no;
}

Found Packs::inflated(Text from, size_t size, SharedBytes* result, const StopFlags& stop) {
  if (stop.areSet()) return Found::stopped;
  std::shared_ptr<OwnBytes> bytes = allocate(size);
  if (bytes == nullptr) return Found::tooLarge;
  *result = bytes;
  if (inflater_.inflate(from, bytes->data, size, stop)) return Found::yes;
  return stop.areSet() ? Found::stopped : Found::no;
}

// Null if it does not fit into the budget, even without the cache.
std::shared_ptr<OwnBytes> Packs::allocate(size_t size) {
  while (budget_.left() < size + OwnBytes::overhead) {
    if (cached_.empty()) return nullptr;
    dropOldest();
  }
  return std::make_shared<OwnBytes>(budget_, size);
}

void Packs::cache(Position position, const SharedBytes& bytes) {
  size_t cost = bytes->length + OwnBytes::overhead;
  if (cost > cachedBytesMax_ / 4) return;
  uses_.push_back(position.key());
  if (!cached_.insert({position.key(), {bytes, std::prev(uses_.end())}}).second) {
    uses_.pop_back();
    return;
  }
  cachedBytes_ += cost;
  while (cachedBytes_ > cachedBytesMax_) dropOldest();
}

void Packs::dropOldest() {
  auto oldest = cached_.find(uses_.front());
  cachedBytes_ -= oldest->second.bytes->length + OwnBytes::overhead;
  cached_.erase(oldest);
  uses_.pop_front();
}

}  // namespace trawl
