#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// Sends one datagram to a Unix socket: the path of a file, or after an `@` a name without one. Never waits. A
// `descriptor` but 0 goes with it: the receiver gets one of its own for the same file. Returns 0, or the system's number of the error.
int sendDatagram(const uint8_t* address, size_t addressLength, const uint8_t* message, size_t messageLength, int descriptor);

}  // namespace trawl
