// Mapped files that are truncated while they are read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

/**
 * Reading a page of a mapped file that the disk cannot provide, because the file was truncated or the disk fails,
 * raises SIGBUS, which ends the process by default. For the ranges registered here, the handler counts the fault and
 * maps a page of zeros instead, so that the reader continues; a caller that compares the count before and after
 * knows that the data read is not trustworthy. Any other SIGBUS is passed to the previous handler.
 *
 * If the file has been truncated, the whole range from its end on becomes zeros, so that a truncation causes one fault
 * and not one per page.
 */
void installFileGuard();

// Registers all mappings of the file in this process. Returns the file's number, which later calls with the same mapped
// file return again; negative if it is not mapped, or too many files are mapped. The number of a file that is closed is valid
// until its entry is needed for another one, and that of a file that is gone from then on.
int guardFile(const char* path);

// The state of a guarded file. A store's file never becomes shorter in normal operation: a file that is shorter than it
// was, or no longer exists under its name, has been damaged.
struct FileState {
  uint32_t faults;
  // Faults in its first two pages, from which LMDB finds all others.
  uint32_t headFaults;
  bool isShorter;
  bool isGone;
};
// Caller guarantees: the number is not negative.
FileState stateOfFile(int file);

// Like `stateOfFile`, without checking the file.
uint32_t faultsOfFile(int file, bool inHead);

// Like `guardFile`, for one mapping of a pack, until `forgetMapping`. False if too many are registered.
bool noteMapping(const void* data, size_t length, int* slot);
void forgetMapping(int slot);

// Number of faults in mappings of packs since startup.
uint32_t packFaults();

}  // namespace trawl
