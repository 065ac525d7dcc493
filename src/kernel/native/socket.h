#pragma once

namespace trawl {

// Sets TCP_NOTSENT_LOWAT on the sockets of this process that listen on `port`; sockets they accept inherit it. Returns
// whether there was one and all took it.
bool limitUnsentBytes(int port, int bytes);

}  // namespace trawl
