// Which commits can have changed a line that contains one of several literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loops.h"
#include "packs.h"
#include "tree-diff.h"

namespace trawl {

/**
 * Excludes commits whose changed lines contain none of the literals, without computing a diff.
 *
 * For each changed file, the lines that both versions have at their beginning are left out, and those that both have at
 * their end. Sound because git leaves out the same lines before it compares files, and afterwards moves changed lines
 * only among lines that are equal: so a line that it shows as changed is equal to one of the others.
 *
 * A commit is not excluded if anything about it is unusual: an object that cannot be read here, a submodule, a file that
 * is so large that git may report it as too large, or, if case is ignored, a character that folds into ASCII.
 */
class ChangeFilter {
 public:
  // `loops` outlives the filter, as do the bytes of the literals. With `fold`, letters of the literals are in lower case.
  ChangeFilter(Packs& packs, const Loops& loops, const std::vector<Text>& literals, bool fold);

  enum class Verdict : uint8_t { excluded = 0, candidate = 1 };

  // False if stopped.
  bool judge(const uint8_t* commit, Verdict* verdict, const StopFlags& stop);

 private:
  // Any of them other than `no` ends the examination of a commit.
  enum class Answer { no, yes, stopped };

  struct Change {
    uint32_t modeBefore, modeAfter;
    const uint8_t* before;
    const uint8_t* after;
    size_t pathLength;
  };

  bool findTrees(const uint8_t* commit, uint8_t* trees, bool* isMerge, const StopFlags& stop, Answer* failed);
  Answer findTree(const uint8_t* commit, uint8_t* tree, uint8_t* parent, size_t* parentCount, const StopFlags& stop);
  Answer examineRecords(const uint8_t* records, size_t length, const StopFlags& stop);
  Answer examine(const Change& change, const StopFlags& stop);
  Answer readFile(const uint8_t* oid, SharedBytes* bytes, const StopFlags& stop);
  bool contains(Text text) const;

  Packs& packs_;
  const Loops& loops_;
  std::vector<Needle> needles_;
  bool fold_;
  TreeDiff diff_;
  std::vector<uint8_t> records_;
  // An upper bound for the patch of the commit, in bytes.
  uint64_t patchBytes_ = 0;
};

}  // namespace trawl
