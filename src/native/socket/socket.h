#pragma once

namespace trawl {

// Sets TCP_NOTSENT_LOWAT on the sockets of this process that listen on `port`; sockets they accept inherit it. Returns
// whether there was one and all took it.
bool limitUnsentBytes(int port, int bytes);

// Lets the kernel take at least `bytes` more of each connection at that port, as far as net.core.wmem_max allows, whether they can be
// sent soon or not. Returns the number of connections.
int widenSendBuffers(int port, int bytes);

// The descriptor of this process's socket that listens on `port`, 0 without one.
int listenerOf(int port);

// Puts the listening socket `given` behind the descriptor of the one that listens on `port`, which is closed, and closes `given`.
// Whoever accepts from that descriptor gets the connections of `given` from there on. Returns the port of `given`; 0 when one of them
// does not listen, and then nothing has changed.
//
// Caller guarantees: the event loop has not looked at the descriptor yet, since it asks the kernel for the socket that is behind it then.
int replaceListener(int port, int given);

}  // namespace trawl
