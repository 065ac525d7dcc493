#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// Sends one datagram to a Unix socket: the path of a file or, after an `@`, an abstract name. Never waits. A
// `descriptor` other than 0 is sent with it: the receiver gets its own descriptor for the same file. Returns 0, or the
// system's error number.
int sendDatagram(const uint8_t* address, size_t addressLength, const uint8_t* message, size_t messageLength, int descriptor);

}  // namespace trawl
