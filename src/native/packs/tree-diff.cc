#include "tree-diff.h"

#include <cstring>

namespace trawl {
namespace {

// As in git from 2.42 on, where the limit is called core.maxTreeDepth.
constexpr size_t depthMax = 2048;

constexpr size_t pathBytesMax = 64u << 10;

// Linux has 80,000 files. This limit is two seconds of work.
constexpr uint64_t entryCountMax = 16u << 20;

constexpr uint64_t entriesBetweenLooks = 1024;

bool isZero(const uint8_t* oid, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (oid[i] != 0) return false;
  }
  return true;
}

// The mode of an entry as git interprets it: of a file's permissions, only the owner's execute bit counts.
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

TreeDiff::Progress progressOf(Found failed) {
  return failed == Found::stopped ? TreeDiff::Progress::stopped : TreeDiff::Progress::failed;
}

}  // namespace

Found TreeDiff::begin(const uint8_t* before, const uint8_t* after, const StopFlags& stop) {
  frames_.clear();
  path_.clear();
  entryCount_ = 0;
  Frame frame = {nullptr, nullptr, 0, 0, 0};
  Found found = isZero(before, packs_.oidBytes()) ? Found::yes : packs_.readTree(before, &frame.before, stop);
  if (found == Found::yes && !isZero(after, packs_.oidBytes())) found = packs_.readTree(after, &frame.after, stop);
  if (found == Found::yes) frames_.push_back(frame);
  return found;
}

bool TreeDiff::parseEntry(const SharedBytes& tree, size_t at, Entry* entry) const {
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
  if (nameEnd == nameAt || tree->length - nameEnd - 1 < packs_.oidBytes()) return false;
  *entry = {data + nameAt, nameEnd - nameAt, data + nameEnd + 1, canonicalMode(mode), nameEnd + 1 + packs_.oidBytes()};
  return true;
}

// In git's order, in which a directory's name ends with a slash. An end comes after all entries.
int TreeDiff::compare(const Entry& before, const Entry& after) {
  if (before.isEnd() || after.isEnd()) return before.isEnd() ? 1 : -1;
  size_t shorter = before.nameLength < after.nameLength ? before.nameLength : after.nameLength;
  int order = memcmp(before.name, after.name, shorter);
  if (order != 0) return order;
  uint8_t one = before.nameLength > shorter ? before.name[shorter] : before.isDirectory() ? '/' : 0;
  uint8_t other = after.nameLength > shorter ? after.name[shorter] : after.isDirectory() ? '/' : 0;
  return one - other;
}

// For entries with the same name.
bool TreeDiff::areEqual(const Entry& before, const Entry& after) const {
  return before.mode == after.mode && memcmp(before.oid, after.oid, packs_.oidBytes()) == 0;
}

// Descends into the directories; null where there is none.
Found TreeDiff::enter(const Entry* before, const Entry* after, const StopFlags& stop) {
  const Entry* named = before != nullptr ? before : after;
  if (frames_.size() == depthMax || path_.size() + named->nameLength >= pathBytesMax) return Found::tooLarge;
  Frame frame = {nullptr, nullptr, 0, 0, path_.size()};
  Found found = before == nullptr ? Found::yes : packs_.readTree(before->oid, &frame.before, stop);
  if (found == Found::yes && after != nullptr) found = packs_.readTree(after->oid, &frame.after, stop);
  if (found != Found::yes) return found;
  path_.append(reinterpret_cast<const char*>(named->name), named->nameLength);
  path_.push_back('/');
  frames_.push_back(frame);
  return Found::yes;
}

bool TreeDiff::writeRecord(const Entry* before, const Entry* after, uint8_t* out, size_t outBytes, size_t* written) const {
  static const uint8_t nothing[32] = {};
  const size_t oidBytes = packs_.oidBytes();
  const Entry* named = before != nullptr ? before : after;
  size_t size = 1 + 6 + 1 + 6 + 1 + 2 * (2 * oidBytes + 1) + 2 + path_.size() + named->nameLength + 1;
  if (size > outBytes - *written) return false;
  uint8_t* to = out + *written;
  *to++ = ':';
  to = writeMode(to, before == nullptr ? 0 : before->mode);
  *to++ = ' ';
  to = writeMode(to, after == nullptr ? 0 : after->mode);
  *to++ = ' ';
  to = writeHex(to, before == nullptr ? nothing : before->oid, oidBytes);
  *to++ = ' ';
  to = writeHex(to, after == nullptr ? nothing : after->oid, oidBytes);
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

TreeDiff::Progress TreeDiff::next(uint8_t* out, size_t outBytes, size_t* written, const StopFlags& stop) {
  *written = 0;
  while (!frames_.empty()) {
    if (entryCount_++ % entriesBetweenLooks == 0 && stop.areSet()) return Progress::stopped;
    if (entryCount_ > entryCountMax) return Progress::tooMany;
    Frame& frame = frames_.back();
    Entry before, after;
    if (!parseEntry(frame.before, frame.beforeAt, &before) || !parseEntry(frame.after, frame.afterAt, &after)) return Progress::failed;
    if (before.isEnd() && after.isEnd()) {
      path_.resize(frame.pathLength);
      frames_.pop_back();
      continue;
    }
    int order = compare(before, after);
    const Entry* old = order <= 0 ? &before : nullptr;
    const Entry* young = order >= 0 ? &after : nullptr;
    bool isDirectory = (old != nullptr ? old : young)->isDirectory();
    bool isSame = order == 0 && areEqual(before, after);
    if (!isSame && !isDirectory && !writeRecord(old, young, out, outBytes, written)) return *written == 0 ? Progress::failed : Progress::more;
    if (old != nullptr) frame.beforeAt = before.next;
    if (young != nullptr) frame.afterAt = after.next;
    if (isSame || !isDirectory) continue;
    // `frame` must not be used after this.
    Found found = enter(old, young, stop);
    if (found != Found::yes) return progressOf(found);
  }
  return Progress::done;
}

}  // namespace trawl
