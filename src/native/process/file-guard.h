// Mapped files that lose bytes while they are read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

/**
 * Reading a page of a mapped file that the disk cannot give, as the file was cut or the disk fails, raises SIGBUS, whose default
 * ends the process. For the ranges that are noted here the handler counts the fault and puts zeros where the page would be, so that
 * the reader goes on; whoever compares the count before and after knows that what was read cannot be trusted. Any other SIGBUS goes
 * to the handler that was there before.
 *
 * Where the file has ended, all of the range from there on becomes zeros, so that a cut costs one fault and not one for each page.
 */
void installFileGuard();

// Notes all mappings of the file that this process has. Returns the file's number, which later calls with the same mapped file give
// again; negative when it is not mapped, or too many files are.
int guardFile(const char* path);

// What has become of a guarded file. It never shortens by itself: one that is shorter than it was, or that is not there under its
// name any more, has been damaged.
struct FileState {
  uint32_t faults;
  // Faults in its first two pages, where LMDB keeps what it needs to find all others.
  uint32_t headFaults;
  bool isShorter;
  bool isGone;
};
FileState stateOfFile(int file);

// The same without a look at the file.
uint32_t faultsOfFile(int file, bool inHead);

// The same for one mapping of a pack, until `forgetMapping`. False when too many are noted.
bool noteMapping(const void* data, size_t length, int* slot);
void forgetMapping(int slot);

// Faults in mappings of packs since the start.
uint32_t packFaults();

}  // namespace trawl
