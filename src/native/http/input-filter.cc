#include "request-filter.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace trawl {
namespace {

#if defined(__x86_64__)
constexpr uint32_t jumpSlot = R_X86_64_JUMP_SLOT, globalData = R_X86_64_GLOB_DAT;
#else
constexpr uint32_t jumpSlot = R_AARCH64_JUMP_SLOT, globalData = R_AARCH64_GLOB_DAT;
#endif

// The library reads 512 KiB at a time.
constexpr size_t roomMin = 2 * headBytesMax;

// The thread whose sockets are filtered has its table here; others have none, and their calls are not changed.
struct Connections {
  std::string secret;
  // By descriptor; others than those of connections that were accepted are not there.
  std::unordered_map<int, std::unique_ptr<RequestFilter>> filters;

  RequestFilter* find(int fd) const {
    auto found = filters.find(fd);
    return found == filters.end() ? nullptr : found->second.get();
  }
};

thread_local Connections* connections = nullptr;

int acceptConnection(int listener, sockaddr* address, socklen_t* length, int flags) {
  int fd = accept4(listener, address, length, flags);
  if (fd < 0 || connections == nullptr) return fd;
  int error = errno;
  try {
    connections->filters[fd] = std::make_unique<RequestFilter>();
  } catch (const std::bad_alloc&) {
    // Without memory the connection is not filtered.
    connections->filters.erase(fd);
  }
  errno = error;
  return fd;
}

int closeConnection(int fd) {
  if (connections != nullptr) connections->filters.erase(fd);
  return close(fd);
}

ssize_t receive(int fd, void* buffer, size_t length, int flags) {
  RequestFilter* filter = connections == nullptr ? nullptr : connections->find(fd);
  if (filter == nullptr || filter->isPassing()) return recv(fd, buffer, length, flags);
  if (length < roomMin || (flags & MSG_PEEK) != 0) {
    errno = EINVAL;
    return -1;
  }
  ssize_t received = recv(fd, buffer, length - RequestFilter::growthMax - filter->heldBytes(), flags);
  if (received <= 0) return received;
  try {
    size_t count = filter->filter(static_cast<uint8_t*>(buffer), static_cast<size_t>(received), connections->secret);
    // The library then reads the end of the connection, and closes it.
    if (filter->isBroken()) shutdown(fd, SHUT_RD);
    if (count > 0) return static_cast<ssize_t>(count);
    // As if nothing had arrived: the rest of what is held back makes the socket readable again.
    errno = EAGAIN;
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
  }
  return -1;
}

struct Function {
  const char* name;
  void* ours;
  std::vector<void**> entries;
};

struct Library {
  std::string_view file;
  Function functions[3];
  uintptr_t readOnlyStart = 0;
  uintptr_t readOnlyEnd = 0;
};

void findEntries(uintptr_t base, const ElfW(Dyn)* dynamic, Library* library) {
  // The loader has added the base to the addresses of the table.
  uintptr_t symbols = 0, strings = 0, tables[2] = {}, sizes[2] = {};
  for (; dynamic->d_tag != DT_NULL; dynamic++) {
    switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols = dynamic->d_un.d_ptr; break;
      case DT_STRTAB: strings = dynamic->d_un.d_ptr; break;
      case DT_JMPREL: tables[0] = dynamic->d_un.d_ptr; break;
      case DT_PLTRELSZ: sizes[0] = dynamic->d_un.d_val; break;
      case DT_RELA: tables[1] = dynamic->d_un.d_ptr; break;
      case DT_RELASZ: sizes[1] = dynamic->d_un.d_val; break;
    }
  }
  if (symbols < base || strings < base) return;
  for (size_t table = 0; table < 2; table++) {
    if (tables[table] < base) continue;
    const auto* entries = reinterpret_cast<const ElfW(Rela)*>(tables[table]);
    for (size_t i = 0; i < sizes[table] / sizeof *entries; i++) {
      uint32_t type = static_cast<uint32_t>(ELF64_R_TYPE(entries[i].r_info));
      if (type != jumpSlot && type != globalData) continue;
      const auto& symbol = reinterpret_cast<const ElfW(Sym)*>(symbols)[ELF64_R_SYM(entries[i].r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const char* name = reinterpret_cast<const char*>(strings) + symbol.st_name;
      for (Function& function : library->functions) {
        if (strcmp(name, function.name) == 0) function.entries.push_back(reinterpret_cast<void**>(base + entries[i].r_offset));
      }
    }
  }
}

int visit(dl_phdr_info* info, size_t, void* data) {
  auto* library = static_cast<Library*>(data);
  if (info->dlpi_name == nullptr || library->file != info->dlpi_name) return 0;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_RELRO) {
      library->readOnlyStart = info->dlpi_addr + part.p_vaddr;
      library->readOnlyEnd = library->readOnlyStart + part.p_memsz;
    }
    if (part.p_type == PT_DYNAMIC) findEntries(info->dlpi_addr, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + part.p_vaddr), library);
  }
  return 1;
}

bool replace(const Library& library, void** entry, void* ours) {
  auto address = reinterpret_cast<uintptr_t>(entry);
  if (address < library.readOnlyStart || address >= library.readOnlyEnd) {
    *entry = ours;
    return true;
  }
  auto pageBytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* page = reinterpret_cast<void*>(address & ~(pageBytes - 1));
  if (mprotect(page, pageBytes, PROT_READ | PROT_WRITE) != 0) return false;
  *entry = ours;
  // The page may stay writable.
  (void)mprotect(page, pageBytes, PROT_READ);
  return true;
}

}  // namespace

bool filterInput(const std::string& file, const std::string& secret) {
  if (connections != nullptr) return true;
  Library library = {file,
                     {{"accept4", reinterpret_cast<void*>(acceptConnection), {}},
                      {"close", reinterpret_cast<void*>(closeConnection), {}},
                      {"recv", reinterpret_cast<void*>(receive), {}}}};
  dl_iterate_phdr(visit, &library);
  for (const Function& function : library.functions) {
    if (function.entries.empty()) return false;
  }
  for (const Function& function : library.functions) {
    for (void** entry : function.entries) {
      if (!replace(library, entry, function.ours)) return false;
    }
  }
  // Until here our functions only call those that they replace.
  connections = new Connections{secret, {}};
  return true;
}

}  // namespace trawl
#else
namespace trawl {

bool filterInput(const std::string&, const std::string&) { return false; }

}  // namespace trawl
#endif
