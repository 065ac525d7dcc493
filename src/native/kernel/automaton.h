// Finds the lines of a text in which an automaton reaches its last state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.h"
#include "loops.h"

namespace trawl {

struct AutomatonJob {
  Text text;
  // Quadruples (from, to, end, floor), as for `scanLines`; each begins where the automaton does.
  const uint32_t* ranges;
  size_t rangeCount;
  // For each state, the state after each of the 256 bytes.
  const uint16_t* table;
  size_t stateCount;
  // Rows are lines; otherwise whole ranges.
  bool byLine;
  uint32_t* rows;
  size_t rowCapacity;
  size_t workMax;
  // (range, position, rows, state at the position).
  uint32_t* cursor;
};

// Whether each entry is a state, and no byte leads out of the last one.
bool isAutomaton(const uint16_t* table, size_t stateCount);

// Caller guarantees: `isAutomaton`.
Outcome scanAutomaton(const AutomatonJob& job);

}  // namespace trawl
