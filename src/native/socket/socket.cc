#include "socket.h"

#include <errno.h>

#if defined(__linux__)
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace trawl {
namespace {

bool listens(int fd) {
  int listening = 0;
  socklen_t length = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0;
}

// The port of a TCP socket; 0 for another descriptor.
int portOf(int fd) {
  sockaddr_storage address = {};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  switch (address.ss_family) {
    case AF_INET: return ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    case AF_INET6: return ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
    default: return 0;
  }
}

// Calls back with each open descriptor whose socket has that port; with none if descriptors cannot be listed.
template <typename Callback>
void eachSocket(int port, Callback callback) {
  DIR* open = opendir("/proc/self/fd");
  if (open == nullptr) return;
  while (dirent* entry = readdir(open)) {
    if (entry->d_name[0] == '.') continue;
    int fd = atoi(entry->d_name);
    if (portOf(fd) == port) callback(fd);
  }
  closedir(open);
}

}  // namespace

bool limitUnsentBytes(int port, int bytes) {
  bool found = false, all = true;
  eachSocket(port, [&](int fd) {
    if (!listens(fd)) return;
    found = true;
    all = setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) == 0 && all;
  });
  return found && all;
}

int widenSendBuffers(int port, int bytes) {
  int unbounded = INT_MAX, count = 0;
  eachSocket(port, [&](int fd) {
    if (listens(fd)) return;
    // The kernel reserves, and reports, twice the requested size.
    int reserved = 0;
    socklen_t length = sizeof reserved;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &reserved, &length) != 0) return;
    if (reserved / 2 < bytes) setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unbounded, sizeof unbounded) == 0) count++;
  });
  return count;
}

int listenerOf(int port) {
  int found = 0;
  eachSocket(port, [&](int fd) {
    if (listens(fd)) found = fd;
  });
  return found;
}

int replaceListener(int port, int given) {
  int old = port == 0 ? 0 : listenerOf(port);
  int flags = fcntl(given, F_GETFL);
  if (old == 0 || old == given || flags < 0 || !listens(given)) return 0;
  int givenPort = portOf(given);
  if (givenPort == 0 || fcntl(given, F_SETFL, flags | O_NONBLOCK) != 0 || dup3(given, old, O_CLOEXEC) < 0) return 0;
  close(given);
  return givenPort;
}

int sendDatagram(const uint8_t* address, size_t addressLength, const uint8_t* message, size_t messageLength, int descriptor) {
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  if (addressLength < 2 || (address[0] != '/' && address[0] != '@')) return EAFNOSUPPORT;
  // A path is terminated by a zero byte, which is included in the length; an abstract name begins with one.
  bool isAbstract = address[0] == '@';
  if (addressLength + (isAbstract ? 0 : 1) > sizeof to.sun_path) return ENAMETOOLONG;
  memcpy(to.sun_path, address, addressLength);
  if (isAbstract) to.sun_path[0] = 0;
  socklen_t length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + addressLength + (isAbstract ? 0 : 1));
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  iovec bytes = {const_cast<uint8_t*>(message), messageLength};
  msghdr head = {};
  head.msg_name = &to;
  head.msg_namelen = length;
  head.msg_iov = &bytes;
  head.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  if (descriptor != 0) {
    head.msg_control = control;
    head.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&head);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t sent = sendmsg(fd, &head, MSG_NOSIGNAL);
  int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace trawl
#else
namespace trawl {

bool limitUnsentBytes(int, int) { return false; }
int widenSendBuffers(int, int) { return 0; }
int listenerOf(int) { return 0; }
int replaceListener(int, int) { return 0; }
int sendDatagram(const uint8_t*, size_t, const uint8_t*, size_t, int) { return ENOSYS; }

}  // namespace trawl
#endif
