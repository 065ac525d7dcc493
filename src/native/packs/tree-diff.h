// The differences between two trees of a git repository.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "packs.h"

namespace trawl {

/**
 * Compares two trees, and the directories that differ, as far as `out` has room, and continues there when called again.
 *
 * Trees are untrusted: one may contain another many times, so that a few objects expand to any number of paths and, in
 * a damaged pack, even itself. The directories on the current path are on a stack of limited depth, whose trees are
 * charged to the budget of the packs, and all entries examined are counted.
 */
class TreeDiff {
 public:
  explicit TreeDiff(Packs& packs) : packs_(packs) {}

  // An oid of zeros stands for an empty tree.
  Found begin(const uint8_t* before, const uint8_t* after, const StopFlags& stop);

  enum class Progress : uint32_t {
    more = 0,
    done = 1,
    // A tree is not found, is damaged, or is too large or too deep.
    failed = 2,
    stopped = 3,
    // More entries than `entryCountMax`.
    tooMany = 4,
  };

  // Writes the same as `git diff-tree -r -z --raw --no-renames --no-abbrev`.
  Progress next(uint8_t* out, size_t outBytes, size_t* written, const StopFlags& stop);

 private:
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

  // Two trees to compare, at the same path.
  struct Frame {
    SharedBytes before, after;
    size_t beforeAt, afterAt;
    size_t pathLength;
  };

  bool parseEntry(const SharedBytes& tree, size_t at, Entry* entry) const;
  static int compare(const Entry& before, const Entry& after);
  bool areEqual(const Entry& before, const Entry& after) const;
  Found enter(const Entry* before, const Entry* after, const StopFlags& stop);
  bool writeRecord(const Entry* before, const Entry* after, uint8_t* out, size_t outBytes, size_t* written) const;

  Packs& packs_;
  std::vector<Frame> frames_;
  // Path of the top frame, with a trailing slash.
  std::string path_;
  uint64_t entryCount_ = 0;
};

}  // namespace trawl
