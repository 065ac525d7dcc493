#include "file-guard.h"

#if defined(__linux__)
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace trawl {
namespace {

constexpr int fileCountMax = 64;
constexpr int rangeCountMax = 4096;
constexpr size_t headPages = 2;

struct File {
  char path[PATH_MAX];
  std::atomic<uint64_t> sizeMax{0};
  std::atomic<uint32_t> faults{0};
  std::atomic<uint32_t> headFaults{0};
  bool isUsed = false;
  ino_t inode = 0;
  // How many files had this entry before.
  std::atomic<int> round{0};
};

// Numbers of files are those of their entries plus a multiple of `fileCountMax`, so that the number of a file that was closed long
// ago is not that of another.
constexpr int roundMax = INT_MAX / fileCountMax - 1;

constexpr int packRange = -1;

// `begin` is written last and read first: 0 means that the entry is unused, 1 that it is being written.
struct Range {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<int> file{0};
};

File files[fileCountMax];
Range ranges[rangeCountMax];
std::atomic<uint32_t> packFaultCount{0};
std::mutex filesMutex;
struct sigaction former;
size_t pageSize = 4096;

void passOn(int signal, siginfo_t* info, void* context) {
  if ((former.sa_flags & SA_SIGINFO) != 0 && former.sa_sigaction != nullptr) return former.sa_sigaction(signal, info, context);
  if ((former.sa_flags & SA_SIGINFO) == 0 && former.sa_handler != SIG_DFL && former.sa_handler != SIG_IGN) return former.sa_handler(signal);
  // The instruction is executed again, and ends the process as without a handler; a signal from another process is sent
  // again.
  struct sigaction byDefault = {};
  byDefault.sa_handler = SIG_DFL;
  sigaction(signal, &byDefault, nullptr);
  if (info->si_code <= 0) raise(signal);
}

// Uses only system calls that a signal handler may make: no locks, no allocation.
bool replacePage(const Range& range, uintptr_t begin, uintptr_t address) {
  const uintptr_t page = address & ~(pageSize - 1);
  const int number = range.file.load();
  uintptr_t end = page + pageSize;
  if (number == packRange) {
    packFaultCount.fetch_add(1);
  } else {
    File& file = files[number];
    file.faults.fetch_add(1);
    if (page - begin < headPages * pageSize) file.headFaults.fetch_add(1);
    struct stat status;
    if (stat(file.path, &status) != 0 || static_cast<uint64_t>(status.st_size) <= page - begin) end = range.end.load();
  }
  return mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

void onBusError(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code > 0) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
    for (const Range& range : ranges) {
      const uintptr_t begin = range.begin.load();
      if (begin <= 1 || address < begin || address >= range.end.load()) continue;
      if (!replacePage(range, begin, address)) break;
      errno = error;
      return;
    }
  }
  passOn(signal, info, context);
  errno = error;
}

int noteRange(uintptr_t begin, uintptr_t end, int file) {
  for (int slot = 0; slot < rangeCountMax; slot++) {
    uintptr_t free = 0;
    if (!ranges[slot].begin.compare_exchange_strong(free, 1)) continue;
    ranges[slot].end.store(end);
    ranges[slot].file.store(file);
    ranges[slot].begin.store(begin);
    return slot;
  }
  return -1;
}

struct Mapped {
  uintptr_t begin, end;
};

// Pages that faults have replaced no longer belong to the mapping, which then ends earlier.
bool isNoted(const Mapped& mapped, int file) {
  const bool hasFaults = files[file].faults.load() > 0;
  for (const Range& range : ranges) {
    if (range.begin.load() != mapped.begin || range.file.load() != file) continue;
    const uintptr_t end = range.end.load();
    if (end == mapped.end || (hasFaults && end > mapped.end)) return true;
  }
  return false;
}

// The mappings of these files have ended, because another one is at these addresses now. Ranges of packs are forgotten
// before their mappings end.
void forgetFilesWithin(const Mapped& mapped) {
  for (Range& range : ranges) {
    const uintptr_t begin = range.begin.load();
    if (begin > 1 && begin < mapped.end && range.end.load() > mapped.begin && range.file.load() != packRange) range.begin.store(0);
  }
}

void forgetRangesOf(int file) {
  for (Range& range : ranges) {
    if (range.begin.load() > 1 && range.file.load() == file) range.begin.store(0);
  }
}

// The path at the end of a line of /proc/self/maps, without its newline; null for memory without a file.
const char* pathOf(char* line) {
  line[strcspn(line, "\n")] = 0;
  int at = 0;
  sscanf(line, "%*s %*s %*s %*s %*s %n", &at);
  return at > 0 && line[at] == '/' ? line + at : nullptr;
}

// Whether the mapped path is this one, also of a file that was deleted since.
bool isPath(const char* mapped, const char* path) {
  const size_t length = strlen(path);
  return strncmp(mapped, path, length) == 0 && (mapped[length] == 0 || strcmp(mapped + length, " (deleted)") == 0);
}

// The entry of a file that this process no longer maps; negative if there is none. Of a file with faults, all pages may have
// been replaced, so its mapping shows no path.
int abandonedFile() {
  bool isMapped[fileCountMax] = {};
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return -1;
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, maps) > 0) {
    const char* path = pathOf(line);
    if (path == nullptr) continue;
    for (int i = 0; i < fileCountMax; i++) isMapped[i] = isMapped[i] || isPath(path, files[i].path);
  }
  free(line);
  fclose(maps);
  for (const bool withFaults : {false, true}) {
    for (int i = 0; i < fileCountMax; i++) {
      struct stat status;
      const bool isOpen = isMapped[i] || (files[i].faults.load() > 0 && (!withFaults || stat(files[i].path, &status) == 0));
      if (!isOpen && files[i].round.load() < roundMax) return i;
    }
  }
  return -1;
}

bool isFile(const File& file, const char* path, ino_t inode) {
  return file.isUsed && file.inode == inode && strcmp(file.path, path) == 0;
}

int fileOf(const char* path, ino_t inode) {
  int unused = -1;
  for (int i = 0; i < fileCountMax; i++) {
    if (isFile(files[i], path, inode)) return i;
    if (!files[i].isUsed && unused < 0) unused = i;
  }
  return unused < 0 ? abandonedFile() : unused;
}

// Whether the entry with this number is that of another file now.
bool isOutdated(int number) { return files[number % fileCountMax].round.load() > number / fileCountMax; }

// Null if the number is outdated, or was never given.
File* fileWith(int number) {
  File& file = files[number % fileCountMax];
  return file.round.load() == number / fileCountMax ? &file : nullptr;
}

void begin(File* file, const char* path, const struct stat& status) {
  if (file->isUsed && !isFile(*file, path, status.st_ino)) file->round.fetch_add(1);
  strcpy(file->path, path);
  file->inode = status.st_ino;
  file->sizeMax.store(static_cast<uint64_t>(status.st_size));
  file->faults.store(0);
  file->headFaults.store(0);
  file->isUsed = true;
}

// For the mappings with this path, where the start of each file is or would be mapped; returns how many there are.
int mappingsOf(const char* path, Mapped* found, int countMax) {
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  int count = 0;
  char* line = nullptr;
  size_t capacity = 0;
  while (count < countMax && getline(&line, &capacity, maps) > 0) {
    unsigned long from, to, offset;
    if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &offset) < 3) continue;
    const char* mapped = pathOf(line);
    if (mapped == nullptr || strcmp(mapped, path) != 0) continue;
    // Replaced pages have split the mapping into pieces.
    const bool isMore = count > 0 && found[count - 1].begin == from - offset;
    if (isMore) found[count - 1].end = to;
    else found[count++] = {from - offset, to};
  }
  free(line);
  fclose(maps);
  return count;
}

}  // namespace

void installFileGuard() {
  static std::once_flag once;
  std::call_once(once, [] {
    pageSize = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &former);
  });
}

int guardFile(const char* path) {
  char real[PATH_MAX];
  struct stat status;
  if (realpath(path, real) == nullptr || stat(real, &status) != 0) return -1;
  std::lock_guard<std::mutex> lock(filesMutex);
  Mapped mapped[8];
  const int count = mappingsOf(real, mapped, 8);
  const int slot = fileOf(real, status.st_ino);
  if (slot < 0) return -1;
  bool isKnown = isFile(files[slot], real, status.st_ino) && (count > 0 || files[slot].faults.load() > 0);
  for (int i = 0; i < count && isKnown; i++) isKnown = isNoted(mapped[i], slot);
  if (!isKnown) {
    if (count == 0) return -1;
    // The file was closed and mapped again, its inode number was reused, or the entry was another's: earlier ranges are obsolete.
    forgetRangesOf(slot);
    begin(&files[slot], real, status);
    for (int i = 0; i < count; i++) {
      forgetFilesWithin(mapped[i]);
      noteRange(mapped[i].begin, mapped[i].end, slot);
    }
  }
  return slot + fileCountMax * files[slot].round.load();
}

FileState stateOfFile(int number) {
  File* file = fileWith(number);
  if (file == nullptr) return {0, 0, false, isOutdated(number)};
  FileState state = {file->faults.load(), file->headFaults.load(), false, false};
  struct stat status;
  if (stat(file->path, &status) != 0 || status.st_ino != file->inode) {
    state.isGone = true;
    return state;
  }
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  uint64_t largest = file->sizeMax.load();
  while (size > largest && !file->sizeMax.compare_exchange_weak(largest, size)) continue;
  state.isShorter = size < largest;
  return state;
}

uint32_t faultsOfFile(int number, bool inHead) {
  const File* file = fileWith(number);
  if (file == nullptr) return 0;
  return (inHead ? file->headFaults : file->faults).load();
}

bool noteMapping(const void* data, size_t length, int* slot) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(data);
  const Mapped mapped = {start, (start + length + pageSize - 1) & ~(pageSize - 1)};
  std::lock_guard<std::mutex> lock(filesMutex);
  forgetFilesWithin(mapped);
  *slot = noteRange(mapped.begin, mapped.end, packRange);
  return *slot >= 0;
}

void forgetMapping(int slot) {
  if (slot >= 0) ranges[slot].begin.store(0);
}

uint32_t packFaults() { return packFaultCount.load(); }

}  // namespace trawl
#else
namespace trawl {

void installFileGuard() {}
int guardFile(const char*) { return -1; }
FileState stateOfFile(int) { return {}; }
uint32_t faultsOfFile(int, bool) { return 0; }
bool noteMapping(const void*, size_t, int*) { return true; }
void forgetMapping(int) {}
uint32_t packFaults() { return 0; }

}  // namespace trawl
#endif
