#include "datagram.h"

#include <errno.h>

#if defined(__linux__)
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace trawl {

int sendDatagram(const uint8_t* address, size_t addressLength, const uint8_t* message, size_t messageLength) {
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  if (addressLength < 2 || (address[0] != '/' && address[0] != '@')) return EAFNOSUPPORT;
  // A path ends with a zero byte, which is counted; an abstract name begins with one.
  bool isAbstract = address[0] == '@';
  if (addressLength + (isAbstract ? 0 : 1) > sizeof to.sun_path) return ENAMETOOLONG;
  memcpy(to.sun_path, address, addressLength);
  if (isAbstract) to.sun_path[0] = 0;
  socklen_t length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + addressLength + (isAbstract ? 0 : 1));
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  ssize_t sent = sendto(fd, message, messageLength, MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&to), length);
  int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace trawl
#else
namespace trawl {

int sendDatagram(const uint8_t*, size_t, const uint8_t*, size_t) { return ENOSYS; }

}  // namespace trawl
#endif
