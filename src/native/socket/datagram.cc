#include "datagram.h"

#include <errno.h>

#if defined(__linux__)
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace trawl {

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

int sendDatagram(const uint8_t*, size_t, const uint8_t*, size_t, int) { return ENOSYS; }

}  // namespace trawl
#endif
