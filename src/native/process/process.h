#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// Ends of the pipes to a child's standard streams.
struct Child {
  int pid, in, out, error;
};

struct Ending {
  int code, signal;
};

// What a child, and each process that it starts, may take. `unlimited` leaves a limit as it is for this process.
struct ChildLimits {
  static constexpr uint32_t unlimited = UINT32_MAX;

  // Memory that is not a mapped file.
  uint32_t dataMebibytes;
  uint32_t cpuSeconds;
  // Of each file that it writes.
  uint32_t fileMebibytes;
  uint32_t descriptorCount;
};

// Starts `file`, in a session of its own, with `arguments` and `environment`, each ended by a null pointer. Signals are
// as at the start of any program. The limits hold from its first instruction; when memory is short the kernel ends it
// before this process, and it does not outlive the thread that started it. Returns 0, or the number of the error for
// which nothing was started.
int startProcess(const char* file, const char* directory, char* const* arguments, char* const* environment,
                 const ChildLimits& limits, Child* child);

// Whether a child has ended; after the first yes its number may be that of another process.
bool hasEnded(int pid, Ending* ending);

}  // namespace trawl
