#pragma once

#include <cstddef>

namespace trawl {

// Ends of the pipes to a child's standard streams.
struct Child {
  int pid, in, out, error;
};

struct Ending {
  int code, signal;
};

// Starts `file`, in a session of its own, with `arguments` and `environment`, each ended by a null pointer. Signals are
// as at the start of any program. Returns 0, or the number of the error for which nothing was started.
int startProcess(const char* file, const char* directory, char* const* arguments, char* const* environment, Child* child);

// Whether a child has ended; after the first yes its number may be that of another process.
bool hasEnded(int pid, Ending* ending);

}  // namespace trawl
