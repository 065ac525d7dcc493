#pragma once

#include <cstddef>
#include <cstdint>

namespace trawl {

// Sets TCP_NOTSENT_LOWAT on the sockets of this process that listen on `port`; sockets they accept inherit it. Returns
// whether there was one and all accepted it.
bool limitUnsentBytes(int port, int bytes);

// Allows the kernel to accept at least `bytes` more for each connection at that port, as far as net.core.wmem_max
// permits, whether they can be sent soon or not. Returns the number of connections.
int widenSendBuffers(int port, int bytes);

// The descriptor of this process's socket that listens on `port`; 0 if there is none.
int listenerOf(int port);

// Replaces the socket behind the descriptor that listens on `port` by the listening socket `given`; the old socket and
// `given` are closed. From then on, accepting from that descriptor returns connections of `given`. Returns the port of
// `given`; 0 if one of them is not listening, in which case nothing has changed.
//
// Caller guarantees: the event loop has not polled the descriptor yet, because the kernel then registers the socket
// that is behind it at that time.
int replaceListener(int port, int given);

// Sends one datagram to a Unix socket: the path of a file or, after an `@`, an abstract name. Never waits. A
// `descriptor` other than 0 is sent with it: the receiver gets its own descriptor for the same file. Returns 0, or the
// system's error number.
int sendDatagram(const uint8_t* address, size_t addressLength, const uint8_t* message, size_t messageLength, int descriptor);

}  // namespace trawl
