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

// Resource limits of a child and each process that it starts. `unlimited` leaves a limit as it is for this process.
struct ChildLimits {
  static constexpr uint32_t unlimited = UINT32_MAX;

  // Memory other than mapped files.
  uint32_t dataMebibytes;
  uint32_t cpuSeconds;
  // Limit for each file that it writes.
  uint32_t fileMebibytes;
  uint32_t descriptorCount;
};

// Starts `file`, in its own session, with `arguments` and `environment`, each terminated by a null pointer. Signals
// have their default state. The limits apply from its first instruction; if memory is short, the kernel kills it before
// this process, and it does not outlive the thread that started it. Returns 0, or the error number if nothing was
// started.
int startProcess(const char* file, const char* directory, char* const* arguments, char* const* environment,
                 const ChildLimits& limits, Child* child);

// Whether a child has exited; after this has returned true, its process id may be reused.
bool hasEnded(int pid, Ending* ending);

}  // namespace trawl
