#pragma once

#include <string>

namespace trawl {

// Puts a `RequestFilter` between the sockets that the loaded shared library `file` accepts and what it reads from them:
// from then on, its calls of recv, accept4 and close go through functions of ours, and nobody else's calls. Called again,
// it does nothing. Returns false, and filters nothing, if this is another system, or if the library does not call these
// three functions of libc through its global offset table.
//
// Caller guarantees: it has accepted no socket yet, and all of its sockets belong to the calling thread.
bool filterInput(const std::string& file, const std::string& secret);

}  // namespace trawl
