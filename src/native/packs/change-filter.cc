#include "change-filter.h"

#include <cstring>

namespace trawl {
namespace {

// A larger commit is a candidate: its message may be longer than what is searched of it.
constexpr size_t commitBytesMax = 256u << 10;

// A larger file is a candidate: it may be one that git does not compare.
constexpr size_t fileBytesMax = 4u << 20;

// Files and commits whose patch may be larger are candidates: their changes may be left out because of their size. The
// limits of what is searched are twice as high.
constexpr uint64_t filePatchBytesMax = 1u << 20;
constexpr uint64_t commitPatchBytesMax = 64u << 20;

// What git writes for a file besides lines of its versions and its path.
constexpr uint64_t fileHeaderBytes = 1024;

// Upper bounds: how often a path is in the header of a file, and the bytes of a hunk's header for each line, changed or not, of
// both versions. Two hunks are at least three lines apart, which both versions have.
constexpr uint64_t pathsPerHeader = 6;
constexpr uint64_t headerBytesPerLine = 24;

constexpr size_t recordBytes = 64u << 10;

constexpr uint32_t submoduleMode = 0160000;
constexpr uint32_t typeMask = 0170000;

int hexDigit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  return -1;
}

bool readHex(const uint8_t* from, uint8_t* to, size_t length) {
  for (size_t i = 0; i < length; i++) {
    int high = hexDigit(from[2 * i]), low = hexDigit(from[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    to[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

uint32_t readMode(const uint8_t* at) {
  uint32_t mode = 0;
  for (size_t i = 0; i < 6; i++) mode = mode << 3 | static_cast<uint32_t>(at[i] - '0');
  return mode;
}

bool isZero(const uint8_t* oid, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (oid[i] != 0) return false;
  }
  return true;
}

bool skipText(const uint8_t** at, const uint8_t* end, const char* text) {
  size_t length = strlen(text);
  if (static_cast<size_t>(end - *at) < length || memcmp(*at, text, length) != 0) return false;
  *at += length;
  return true;
}

size_t commonStart(Text one, Text other) {
  size_t length = one.length < other.length ? one.length : other.length, at = 0;
  for (; at + 64 <= length && memcmp(one.data + at, other.data + at, 64) == 0; at += 64) {}
  while (at < length && one.data[at] == other.data[at]) at++;
  return at;
}

size_t commonEnd(Text one, Text other, size_t length) {
  const uint8_t* oneEnd = one.data + one.length;
  const uint8_t* otherEnd = other.data + other.length;
  size_t count = 0;
  for (; count + 64 <= length && memcmp(oneEnd - count - 64, otherEnd - count - 64, 64) == 0; count += 64) {}
  while (count < length && oneEnd[-1 - static_cast<ptrdiff_t>(count)] == otherEnd[-1 - static_cast<ptrdiff_t>(count)]) count++;
  return count;
}

// Leaves out the whole lines that both have at their beginning, and those that both have at their end.
void leaveOutCommon(Text* one, Text* other) {
  size_t start = commonStart(*one, *other);
  while (start > 0 && one->data[start - 1] != '\n') start--;
  *one = {one->data + start, one->length - start};
  *other = {other->data + start, other->length - start};
  size_t end = commonEnd(*one, *other, one->length < other->length ? one->length : other->length);
  // The common end begins in the middle of a line, unless a newline precedes it in both; that line is kept.
  const uint8_t* tail = one->data + one->length - end;
  const void* newline = end == 0 ? nullptr : memchr(tail, '\n', end);
  size_t left = newline == nullptr ? 0 : end - static_cast<size_t>(static_cast<const uint8_t*>(newline) - tail) - 1;
  one->length -= left;
  other->length -= left;
}

// U+017F folds to s, U+212A to k.
bool hasFoldException(Text text) {
  return memmem(text.data, text.length, "\xc5\xbf", 2) != nullptr || memmem(text.data, text.length, "\xe2\x84\xaa", 3) != nullptr;
}

uint64_t countLines(Text text) {
  uint64_t count = 1;
  for (size_t i = 0; i < text.length; i++) count += text.data[i] == '\n';
  return count;
}

}  // namespace

ChangeFilter::ChangeFilter(Packs& packs, const Loops& loops, const std::vector<Text>& literals, bool fold)
    : packs_(packs), loops_(loops), fold_(fold), diff_(packs), records_(recordBytes) {
  for (const Text& literal : literals) needles_.push_back(makeNeedle(literal.data, literal.length, fold));
}

bool ChangeFilter::judge(const uint8_t* commit, Verdict* verdict, const StopFlags& stop) {
  uint8_t trees[64];
  bool isMerge = false;
  Answer answer = Answer::no;
  patchBytes_ = 0;
  if (findTrees(commit, trees, &isMerge, stop, &answer) && !isMerge) {
    Found begun = diff_.begin(trees, trees + packs_.oidBytes(), stop);
    if (begun != Found::yes) answer = begun == Found::stopped ? Answer::stopped : Answer::yes;
    for (bool goesOn = answer == Answer::no; goesOn;) {
      size_t written;
      TreeDiff::Progress progress = diff_.next(records_.data(), records_.size(), &written, stop);
      if (progress == TreeDiff::Progress::stopped) answer = Answer::stopped;
      else if (progress != TreeDiff::Progress::more && progress != TreeDiff::Progress::done) answer = Answer::yes;
      else answer = examineRecords(records_.data(), written, stop);
      goesOn = answer == Answer::no && progress == TreeDiff::Progress::more;
    }
  }
  *verdict = answer == Answer::no ? Verdict::excluded : Verdict::candidate;
  return answer != Answer::stopped;
}

// Writes the tree of the parent, zeros if there is none, and that of the commit.
bool ChangeFilter::findTrees(const uint8_t* commit, uint8_t* trees, bool* isMerge, const StopFlags& stop, Answer* failed) {
  const size_t oidBytes = packs_.oidBytes();
  uint8_t parent[32], grandparent[32];
  size_t parentCount, otherCount;
  *failed = findTree(commit, trees + oidBytes, parent, &parentCount, stop);
  if (*failed != Answer::no) return false;
  *isMerge = parentCount > 1;
  memset(trees, 0, oidBytes);
  if (parentCount == 1) *failed = findTree(parent, trees, grandparent, &otherCount, stop);
  return *failed == Answer::no;
}

// Writes the tree and the first parent. `yes` if the commit cannot be read here.
ChangeFilter::Answer ChangeFilter::findTree(const uint8_t* commit, uint8_t* tree, uint8_t* parent, size_t* parentCount,
                                            const StopFlags& stop) {
  SharedBytes bytes;
  Found found = packs_.readCached(commit, ObjectKind::commit, commitBytesMax, &bytes, stop);
  if (found != Found::yes) return found == Found::stopped ? Answer::stopped : Answer::yes;
  const size_t oidBytes = packs_.oidBytes();
  const uint8_t* at = bytes->data;
  const uint8_t* end = at + bytes->length;
  *parentCount = 0;
  if (!skipText(&at, end, "tree ") || static_cast<size_t>(end - at) <= 2 * oidBytes || !readHex(at, tree, oidBytes)) return Answer::yes;
  at += 2 * oidBytes;
  if (*at++ != '\n') return Answer::yes;
  while (skipText(&at, end, "parent ")) {
    uint8_t other[32];
    if (static_cast<size_t>(end - at) <= 2 * oidBytes || !readHex(at, *parentCount == 0 ? parent : other, oidBytes)) return Answer::yes;
    at += 2 * oidBytes;
    if (*at++ != '\n') return Answer::yes;
    ++*parentCount;
  }
  return Answer::no;
}

// The records are whole ones, as `TreeDiff` writes them.
ChangeFilter::Answer ChangeFilter::examineRecords(const uint8_t* at, size_t length, const StopFlags& stop) {
  const size_t oidBytes = packs_.oidBytes();
  const uint8_t* end = at + length;
  uint8_t before[32], after[32];
  while (at < end) {
    Change change = {readMode(at + 1), readMode(at + 8), before, after, 0};
    const uint8_t* oids = at + 15;
    readHex(oids, before, oidBytes);
    readHex(oids + 2 * oidBytes + 1, after, oidBytes);
    const uint8_t* path = oids + 2 * (2 * oidBytes + 1) + 2;
    change.pathLength = strlen(reinterpret_cast<const char*>(path));
    at = path + change.pathLength + 1;
    Answer answer = examine(change, stop);
    if (answer != Answer::no) return answer;
  }
  return Answer::no;
}

ChangeFilter::Answer ChangeFilter::examine(const Change& change, const StopFlags& stop) {
  patchBytes_ += fileHeaderBytes + pathsPerHeader * change.pathLength;
  if (patchBytes_ > commitPatchBytesMax) return Answer::yes;
  if (change.modeBefore == submoduleMode || change.modeAfter == submoduleMode) return Answer::yes;
  // Of a file that becomes a symbolic link, git shows all lines, even if they are the same.
  const bool sameType = (change.modeBefore & typeMask) == (change.modeAfter & typeMask);
  if (sameType && memcmp(change.before, change.after, packs_.oidBytes()) == 0) return Answer::no;
  SharedBytes before, after;
  Answer failed = readFile(change.after, &after, stop);
  if (failed == Answer::no) failed = readFile(change.before, &before, stop);
  if (failed != Answer::no) return failed;
  Text one = before == nullptr ? Text{nullptr, 0} : Text{before->data, before->length};
  Text other = after == nullptr ? Text{nullptr, 0} : Text{after->data, after->length};
  if (one.length > 0 && other.length > 0 && sameType) leaveOutCommon(&one, &other);
  uint64_t patchBytes = fileHeaderBytes + pathsPerHeader * change.pathLength + one.length + other.length;
  if (patchBytes > filePatchBytesMax / (headerBytesPerLine + 1)) patchBytes += headerBytesPerLine * (countLines(one) + countLines(other));
  patchBytes_ += patchBytes;
  if (patchBytes > filePatchBytesMax || patchBytes_ > commitPatchBytesMax) return Answer::yes;
  return contains(other) || contains(one) ? Answer::yes : Answer::no;
}

// Leaves `bytes` null for an oid of zeros.
ChangeFilter::Answer ChangeFilter::readFile(const uint8_t* oid, SharedBytes* bytes, const StopFlags& stop) {
  if (isZero(oid, packs_.oidBytes())) return Answer::no;
  Found found = packs_.readCached(oid, ObjectKind::blob, fileBytesMax, bytes, stop);
  if (found == Found::stopped) return Answer::stopped;
  return found == Found::yes ? Answer::no : Answer::yes;
}

bool ChangeFilter::contains(Text text) const {
  if (text.length == 0) return false;
  for (const Needle& needle : needles_) {
    const uint32_t range[3] = {0, static_cast<uint32_t>(text.length), static_cast<uint32_t>(text.length)};
    uint32_t row[2], cursor[4] = {0, 0, 0, 0};
    // It is not done if it found one, or if the text is such that comparing takes long.
    if (loops_.scan({text, range, 1, needle, '\n', row, 1, text.length * 2, cursor}) != Outcome::done) return true;
  }
  return fold_ && hasFoldException(text);
}

}  // namespace trawl
