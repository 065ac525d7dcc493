#include "automaton.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace trawl {

namespace {

constexpr uint8_t newline = '\n';

// A step of one chain waits for a load that depends on the previous one. Eight chains over different pieces of the text wait at
// the same time, and are six times as fast together (measured: 0.33 GB/s, 1.2 with four, 2.2 with eight, 2.25 with twelve).
constexpr size_t chainCount = 8;

// A match state is never left, so it is enough to look for it after so many bytes.
constexpr size_t blockBytes = 16;

// Lines are divided into pieces of about this size, so that all chains end at about the same time.
constexpr size_t pieceBytes = 8 * 1024;

// Of one call: many ranges are short.
constexpr size_t piecesMax = 64 * 1024;

// A range that is not divided may leave one chain alone: 3 ms of it.
constexpr size_t wholeBytesMax = 1024 * 1024;

struct Piece {
  size_t from, to;
  // Index of its range.
  size_t range;
};

struct Chain {
  size_t at = 0, to = 0, range = 0;
  uint32_t state = 0;
  // Whether its piece is the last one.
  bool isLast = false;
};

class Run {
 public:
  explicit Run(const AutomatonJob& job)
      : job_(job), match_(static_cast<uint32_t>(job.stateCount - 1)), nextRange_(job.cursor[0]),
        nextPosition_(job.cursor[1]) {}

  Outcome run() {
    if (job_.cursor[2] >= job_.rowCapacity) return Outcome::full;
    if (job_.cursor[3] >= match_) return Outcome::misuse;
    if (!divide()) return Outcome::misuse;
    advance();
    return finish();
  }

 private:
  const uint32_t* rangeAt(size_t index) const { return job_.ranges + 4 * index; }

  // Chooses the pieces of this call; false if a range is not sound.
  bool divide() {
    size_t left = job_.byLine ? job_.workMax : std::min(job_.workMax, wholeBytesMax);
    size_t before = 0;
    for (; nextRange_ < job_.rangeCount; nextRange_++) {
      const uint32_t* range = rangeAt(nextRange_);
      if (range[3] > range[0] || range[0] > range[1] || range[1] > range[2] || range[2] > job_.text.length || range[0] < before)
        return false;
      before = range[1];
      size_t from = std::max<size_t>(range[0], nextPosition_);
      if (from >= range[1]) continue;
      if (left == 0 || pieces_.size() >= piecesMax) break;
      const size_t to = range[1] - from > left ? from + left : range[1];
      left -= to - from;
      nextPosition_ = to;
      while (job_.byLine && to - from > pieceBytes) {
        const uint8_t* start = job_.text.data + from + pieceBytes - 1;
        const void* end = memchr(start, newline, job_.text.data + to - start);
        if (end == nullptr) break;
        const size_t cut = static_cast<size_t>(static_cast<const uint8_t*>(end) - job_.text.data) + 1;
        pieces_.push_back({from, cut, nextRange_});
        from = cut;
      }
      if (from < to) pieces_.push_back({from, to, nextRange_});
      if (to < range[1]) break;
    }
    return true;
  }

  bool take(Chain& chain) {
    if (taken_ == pieces_.size()) return false;
    const Piece& piece = pieces_[taken_];
    // Only the first one begins where an earlier call ended.
    chain = {piece.from, piece.to, piece.range, taken_ == 0 ? job_.cursor[3] : 0, taken_ + 1 == pieces_.size()};
    taken_++;
    return true;
  }

  void advance() {
    Chain chains[chainCount];
    size_t active = 0;
    while (active < chainCount && take(chains[active])) active++;
    bool isAll = active == chainCount;
    while (isAll) {
      stepTogether(chains);
      for (Chain& chain : chains) {
        if (chain.to - chain.at >= blockBytes) continue;
        stepAlone(chain);
        if (!take(chain)) isAll = false;
      }
    }
    for (size_t k = 0; k < active; k++) stepAlone(chains[k]);
  }

  // Until some chain has less than a block left.
  void stepTogether(Chain* chains) {
    for (;;) {
      size_t blocks = SIZE_MAX;
      for (size_t k = 0; k < chainCount; k++) blocks = std::min(blocks, (chains[k].to - chains[k].at) / blockBytes);
      if (blocks == 0) return;
      const uint8_t* at[chainCount];
      uint32_t state[chainCount];
      for (size_t k = 0; k < chainCount; k++) {
        at[k] = job_.text.data + chains[k].at;
        state[k] = chains[k].state;
      }
      uint32_t before[chainCount];
      bool isHit = false;
      size_t done = 0;
      while (done < blocks && !isHit) {
        for (size_t k = 0; k < chainCount; k++) before[k] = state[k];
        for (size_t i = 0; i < blockBytes; i++)
          for (size_t k = 0; k < chainCount; k++) state[k] = job_.table[256 * state[k] + at[k][i]];
        for (size_t k = 0; k < chainCount; k++) {
          isHit |= state[k] == match_;
          at[k] += blockBytes;
        }
        done++;
      }
      for (size_t k = 0; k < chainCount; k++) {
        Chain& chain = chains[k];
        chain.at += done * blockBytes;
        chain.state = state[k];
        if (state[k] != match_) continue;
        chain.at -= blockBytes;
        chain.state = before[k];
        stepTo(chain, chain.at + blockBytes);
      }
    }
  }

  // To the end of its piece.
  void stepAlone(Chain& chain) {
    while (chain.at < chain.to) stepTo(chain, chain.to);
    if (chain.isLast && chain.range == nextRange_) endState_ = chain.state;
  }

  // To `limit`, or past the first row before it.
  void stepTo(Chain& chain, size_t limit) {
    uint32_t state = chain.state;
    size_t at = chain.at;
    while (at < limit && state != match_) state = job_.table[256 * state + job_.text.data[at++]];
    chain.at = at;
    chain.state = state;
    if (state == match_) addRow(chain);
  }

  // The last byte that the chain has read completes a match.
  void addRow(Chain& chain) {
    const uint32_t* range = rangeAt(chain.range);
    size_t from = range[3], to = range[2];
    if (job_.byLine) {
      const uint8_t* last = job_.text.data + chain.at - 1;
      const void* before = memrchr(job_.text.data + from, newline, static_cast<size_t>(last - job_.text.data) - from);
      if (before != nullptr) from = static_cast<size_t>(static_cast<const uint8_t*>(before) - job_.text.data) + 1;
      const void* after = memchr(last, newline, job_.text.data + to - last);
      if (after != nullptr) to = static_cast<size_t>(static_cast<const uint8_t*>(after) - job_.text.data);
    }
    rows_.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to)});
    const size_t next = job_.byLine && to < range[2] ? to + 1 : to;
    // The line may extend past where this call ends.
    if (chain.range == nextRange_) nextPosition_ = std::max(nextPosition_, next);
    chain.at = std::min(next, chain.to);
    chain.state = 0;
  }

  Outcome finish() {
    std::sort(rows_.begin(), rows_.end());
    size_t written = job_.cursor[2];
    const size_t room = job_.rowCapacity - written;
    const size_t count = std::min(room, rows_.size());
    for (size_t i = 0; i < count; i++, written++) {
      job_.rows[2 * written] = rows_[i].first;
      job_.rows[2 * written + 1] = rows_[i].second;
    }
    job_.cursor[2] = static_cast<uint32_t>(written);
    if (count == room) return goBack(rows_[count - 1]);
    const bool isDone = nextRange_ == job_.rangeCount;
    job_.cursor[0] = static_cast<uint32_t>(nextRange_);
    job_.cursor[1] = static_cast<uint32_t>(nextPosition_);
    job_.cursor[3] = isDone ? 0 : endState_;
    return isDone ? Outcome::done : Outcome::full;
  }

  // There is no room for what follows this row: the next call finds it again.
  Outcome goBack(std::pair<uint32_t, uint32_t> row) {
    size_t range = job_.cursor[0];
    while (rangeAt(range)[2] <= row.first) range++;
    job_.cursor[0] = static_cast<uint32_t>(range);
    job_.cursor[1] = job_.byLine && row.second < rangeAt(range)[2] ? row.second + 1 : row.second;
    job_.cursor[3] = 0;
    return Outcome::full;
  }

  const AutomatonJob& job_;
  const uint32_t match_;
  size_t nextRange_;
  size_t nextPosition_;
  // Of the automaton where this call ends in a range.
  uint32_t endState_ = 0;
  std::vector<Piece> pieces_;
  size_t taken_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> rows_;
};

}  // namespace

bool isAutomaton(const uint16_t* table, size_t stateCount) {
  uint16_t largest = 0;
  for (size_t i = 0; i < 256 * stateCount; i++) largest = std::max(largest, table[i]);
  if (largest >= stateCount) return false;
  const uint16_t* last = table + 256 * (stateCount - 1);
  return std::all_of(last, last + 256, [=](uint16_t state) { return state == stateCount - 1; });
}

Outcome scanAutomaton(const AutomatonJob& job) { return Run(job).run(); }

}  // namespace trawl
