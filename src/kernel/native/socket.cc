#include "socket.h"

#if defined(__linux__)
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

namespace trawl {
namespace {

bool listensOn(int fd, int port) {
  int listening = 0;
  socklen_t length = sizeof listening;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0 || listening == 0) return false;
  sockaddr_storage address = {};
  length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return false;
  switch (address.ss_family) {
    case AF_INET: return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port) == port;
    case AF_INET6: return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port) == port;
    default: return false;
  }
}

}  // namespace

bool limitUnsentBytes(int port, int bytes) {
  DIR* open = opendir("/proc/self/fd");
  if (open == nullptr) return false;
  bool found = false, all = true;
  while (dirent* entry = readdir(open)) {
    if (entry->d_name[0] == '.') continue;
    int fd = atoi(entry->d_name);
    if (!listensOn(fd, port)) continue;
    found = true;
    all = setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) == 0 && all;
  }
  closedir(open);
  return found && all;
}

}  // namespace trawl
#else
namespace trawl {

bool limitUnsentBytes(int, int) { return false; }

}  // namespace trawl
#endif
