/*
 * A layer between programs and the file system, loaded by LD_PRELOAD. It sees each call that changes what is under one folder, and
 *
 * - ends the daemon by SIGKILL before or after the n-th such call (a failpoint between any two of them);
 * - or fails calls with an errno such as ENOSPC, from the n-th on;
 * - keeps a journal of how to undo each call, so that a tool can take back what no fsync had made durable: a power loss.
 *
 * fsync and fdatasync return at once: what they promise is a line of the journal. Processes that share the journal take turns by a
 * lock, so its order is the order of the calls.
 *
 * FAULT_ROOT is the folder, with all links resolved; FAULT_CONTROL a file that holds `struct control`, which the test maps or writes
 * at any time; FAULT_JOURNAL, if given, a folder on the same file system for the journal and for what was deleted. FAULT_BOOT_ID is
 * what programs read as the id of the system's boot. The clock on the wall can be set, too.
 *
 * Not seen: writes through a memory map (of LMDB only its lock file, which no crash needs), and those of C's streams.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum action { NONE = 0, KILL_BEFORE = 1, KILL_AFTER = 2, FAIL = 3 };

/* All fields are 64 bits wide, in this order; test/support/fault-layer.ts has the same list. */
struct control {
  int64_t seen;       /* calls so far that change something */
  int64_t at;         /* number of the call at which `action` begins; 0 is never */
  int64_t until;      /* FAIL ends before this number; 0 is never */
  int64_t action;
  int64_t error;      /* errno of FAIL */
  int64_t daemon;     /* process to kill with the one that calls; 0 is none: each process is killed at its own next call */
  int64_t hit;        /* calls that were failed, or 1 when the daemon was killed */
  int64_t syncs;      /* calls of fsync and fdatasync, which count as calls that change something, too */
  int64_t delay;      /* microseconds that a sync takes: who does not wait for it is seen to be ahead of the disk */
  int64_t clock;      /* microseconds by which the clock on the wall is ahead */
};

enum kind { WRITE = 1, SIZE, SYNC, SYNC_RANGE, CREATE, RENAME, UNLINK, LINK, MKDIR, RMDIR };

struct record {
  uint32_t kind;
  uint32_t pathBytes, otherBytes, dataBytes;
  uint64_t inode, offset, length, oldSize, newSize, grave;
};

#define FDS 65536
static struct { ino_t inode; dev_t device; char tracked, syncs, isBootId; } fds[FDS];

static struct control *control;
static char root[PATH_MAX], journalFolder[PATH_MAX];
static size_t rootBytes;
static int journal = -1, lockFile = -1;
static const char *bootId;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* A child between vfork and exec shares our memory: what it opens and closes is not ours. */
static pid_t self;
static int isOurs(int fd) { return fd >= 0 && fd < FDS && getpid() == self; }

#define LIBC(name, result, ...) \
  static result (*real_##name)(__VA_ARGS__); \
  __attribute__((constructor(101))) static void find_##name(void) { real_##name = dlsym(RTLD_NEXT, #name); }

LIBC(open, int, const char *, int, ...)
LIBC(write, ssize_t, int, const void *, size_t)
LIBC(pwrite, ssize_t, int, const void *, size_t, off_t)
LIBC(pread, ssize_t, int, void *, size_t, off_t)
LIBC(writev, ssize_t, int, const struct iovec *, int)
LIBC(pwritev, ssize_t, int, const struct iovec *, int, off_t)
LIBC(ftruncate, int, int, off_t)
LIBC(close, int, int)

static int highFd(int fd) {
  int moved = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
  if (moved < 0) return fd;
  real_close(fd);
  return moved;
}

/* What makes a program load this layer, for those that are started with an environment of their own, such as git. */
static const char *const variableNames[] = { "LD_PRELOAD", "FAULT_ROOT", "FAULT_CONTROL", "FAULT_JOURNAL", "FAULT_BOOT_ID", "UV_USE_IO_URING" };
enum { VARIABLES = sizeof variableNames / sizeof *variableNames };
static char *variables[VARIABLES];

static void keepVariables(void) {
  for (int i = 0; i < VARIABLES; i++) {
    const char *value = getenv(variableNames[i]);
    if (value != NULL && asprintf(&variables[i], "%s=%s", variableNames[i], value) < 0) abort();
  }
}

__attribute__((constructor(102))) static void begin(void) {
  keepVariables();
  const char *file = getenv("FAULT_CONTROL"), *folder = getenv("FAULT_JOURNAL"), *given = getenv("FAULT_ROOT");
  bootId = getenv("FAULT_BOOT_ID");
  self = getpid();
  if (file == NULL || given == NULL) return;
  int fd = real_open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  lockFile = highFd(fd);
  if (map == MAP_FAILED) return;
  rootBytes = snprintf(root, sizeof root, "%s/", given);
  if (folder != NULL) {
    char path[PATH_MAX + 16];
    snprintf(journalFolder, sizeof journalFolder, "%s", folder);
    snprintf(path, sizeof path, "%s/journal", folder);
    journal = highFd(real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  }
  control = map;
}

/* A process that was forked while another thread held the mutex. */
static void afterFork(void) {
  pthread_mutex_init(&mutex, NULL);
  self = getpid();
}
__attribute__((constructor(103))) static void watchForks(void) { pthread_atfork(NULL, NULL, afterFork); }

static void lock(void) {
  pthread_mutex_lock(&mutex);
  while (flock(lockFile, LOCK_EX) < 0 && errno == EINTR);
}

static void unlock(void) {
  int error = errno;
  flock(lockFile, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = error;
}

static void killAll(void) {
  control->hit = 1;
  if (control->daemon > 0) kill((pid_t)control->daemon, SIGKILL);
  raise(SIGKILL);
  for (;;) pause();
}

enum effort { DELETES, WRITES, SYNCS };

/* Begins a call that changes something: 0, or -1 with errno set where it is to fail. Caller holds the lock. */
static int enter(enum effort effort) {
  if (control->hit && control->action != FAIL) killAll();
  int64_t number = ++control->seen;
  if (effort == SYNCS) control->syncs++;
  if (control->at == 0 || number < control->at) return 0;
  if (control->action == KILL_BEFORE) killAll();
  /* A full disk lets what it has be deleted. */
  if (effort == DELETES && control->error == ENOSPC) return 0;
  if (control->action == FAIL && (control->until == 0 || number < control->until)) {
    control->hit++;
    errno = (int)control->error;
    return -1;
  }
  return 0;
}

static void leave(void) {
  if (control->action == KILL_AFTER && control->at != 0 && control->seen >= control->at) killAll();
  unlock();
}

static void append(struct record record, const char *path, const char *other, const void *data) {
  if (journal < 0) return;
  record.pathBytes = path == NULL ? 0 : strlen(path);
  record.otherBytes = other == NULL ? 0 : strlen(other);
  struct iovec parts[] = { { &record, sizeof record }, { (void *)path, record.pathBytes }, { (void *)other, record.otherBytes },
    { (void *)data, record.dataBytes } };
  ssize_t whole = sizeof record + record.pathBytes + record.otherBytes + record.dataBytes;
  if (real_writev(journal, parts, 4) != whole) {
    fprintf(stderr, "fault layer: the journal cannot be written: %s\n", strerror(errno));
    abort();
  }
}

/* The absolute path, or NULL when it is not under the root. */
static const char *within(int folder, const char *path, char *space) {
  if (control == NULL || path == NULL || getpid() != self) return NULL;
  if (path[0] == '/') snprintf(space, PATH_MAX, "%s", path);
  else {
    char link[64], base[PATH_MAX];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return NULL;
    base[length] = 0;
    while (path[0] == '.' && path[1] == '/') path += 2;
    if (snprintf(space, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
  }
  /* The root itself, too: whoever syncs it makes the names in it durable. */
  int isRoot = strlen(space) + 1 == rootBytes && strncmp(space, root, rootBytes - 1) == 0;
  return isRoot || strncmp(space, root, rootBytes) == 0 ? space : NULL;
}

/* Whether a descriptor is still the file that was opened. libuv closes by a system call of its own, which no library sees, and the number may
 * be that of a pipe or an eventfd since then: libuv aborts the process when it cannot write to the eventfd that wakes a thread. */
static int isStill(int fd) {
  struct stat now;
  return fstat(fd, &now) == 0 && now.st_ino == fds[fd].inode && now.st_dev == fds[fd].device;
}
static int isTracked(int fd) { return control != NULL && fd >= 0 && fd < FDS && fds[fd].tracked && isStill(fd); }

/* Keeps what a path names alive under a number of its own; 0 where nothing is there. */
static uint64_t bury(const char *path) {
  struct stat stat;
  if (journal < 0 || lstat(path, &stat) < 0 || S_ISDIR(stat.st_mode)) return 0;
  char grave[PATH_MAX + 32];
  static uint64_t count;
  int (*reallyLink)(const char *, const char *) = dlsym(RTLD_NEXT, "link");
  /* A process that another program was executed in has the id, and counts from the start. */
  for (;;) {
    uint64_t number = ((uint64_t)getpid() << 32) | ++count;
    snprintf(grave, sizeof grave, "%s/%llu", journalFolder, (unsigned long long)number);
    if (reallyLink(path, grave) == 0) return number;
    if (errno != EEXIST) return 0;
  }
}

/* The bytes of a file from `offset` on, at most `length`; they are to be freed. */
static void *oldBytes(int fd, off_t offset, size_t length, uint32_t *found) {
  *found = 0;
  if (journal < 0 || length == 0) return NULL;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int readable = real_open(path, O_RDONLY | O_CLOEXEC);
  if (readable < 0) return NULL;
  char *bytes = malloc(length);
  while (*found < length) {
    ssize_t count = real_pread(readable, bytes + *found, length - *found, offset + *found);
    if (count <= 0) break;
    *found += count;
  }
  real_close(readable);
  return bytes;
}

static ssize_t changeBytes(int fd, const struct iovec *parts, int count, off_t offset, int isAt) {
  lock();
  if (enter(WRITES) < 0) { unlock(); return -1; }
  struct stat stat;
  fstat(fd, &stat);
  size_t length = 0;
  for (int i = 0; i < count; i++) length += parts[i].iov_len;
  if (!isAt) offset = fcntl(fd, F_GETFL) & O_APPEND ? stat.st_size : lseek(fd, 0, SEEK_CUR);
  struct record record = { .kind = WRITE, .inode = stat.st_ino, .offset = offset, .oldSize = stat.st_size };
  void *bytes = oldBytes(fd, offset, length, &record.dataBytes);
  ssize_t written = isAt ? real_pwritev(fd, parts, count, offset) : real_writev(fd, parts, count);
  int error = errno;
  if (written > 0) {
    record.length = written;
    record.newSize = (uint64_t)(offset + written) > record.oldSize ? (uint64_t)(offset + written) : record.oldSize;
    if (record.dataBytes > written) record.dataBytes = written;
    append(record, NULL, NULL, bytes);
    if (fds[fd].syncs) append((struct record){ .kind = SYNC_RANGE, .inode = stat.st_ino, .offset = offset, .length = written }, NULL, NULL, NULL);
  }
  free(bytes);
  errno = error;
  leave();
  return written;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!isTracked(fd)) return real_write(fd, bytes, length);
  struct iovec part = { (void *)bytes, length };
  return changeBytes(fd, &part, 1, 0, 0);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  return isTracked(fd) ? changeBytes(fd, parts, count, 0, 0) : real_writev(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  if (!isTracked(fd)) return real_pwrite(fd, bytes, length, offset);
  struct iovec part = { (void *)bytes, length };
  return changeBytes(fd, &part, 1, offset, 1);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  return isTracked(fd) ? changeBytes(fd, parts, count, offset, 1) : real_pwritev(fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return pwritev(fd, parts, count, offset); }

/* Changes a file's size, with the lock held. */
static int changeSize(int fd, off_t size) {
  struct stat stat;
  fstat(fd, &stat);
  struct record record = { .kind = SIZE, .inode = stat.st_ino, .offset = size, .oldSize = stat.st_size, .newSize = size };
  void *bytes = size < stat.st_size ? oldBytes(fd, size, stat.st_size - size, &record.dataBytes) : NULL;
  int result = real_ftruncate(fd, size);
  int error = errno;
  if (result == 0) append(record, NULL, NULL, bytes);
  free(bytes);
  errno = error;
  return result;
}

int ftruncate(int fd, off_t size) {
  if (!isTracked(fd)) return real_ftruncate(fd, size);
  lock();
  if (enter(size > 0 ? WRITES : DELETES) < 0) { unlock(); return -1; }
  int result = changeSize(fd, size);
  leave();
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

static int synced(int fd, int (*really)(int)) {
  if (!isTracked(fd)) return really(fd);
  if (control->delay > 0) usleep((useconds_t)control->delay);
  lock();
  if (enter(SYNCS) < 0) { unlock(); return -1; }
  append((struct record){ .kind = SYNC, .inode = fds[fd].inode }, NULL, NULL, NULL);
  leave();
  return 0;
}
LIBC(fsync, int, int)
LIBC(fdatasync, int, int)
int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }

LIBC(openat, int, int, const char *, int, ...)
static int opened(int folder, const char *path, int flags, mode_t mode) {
  char space[PATH_MAX];
  const char *whole = within(folder, path, space);
  struct stat before, after;
  if (whole == NULL) {
    int fd = real_openat(folder, path, flags, mode);
    if (isOurs(fd)) {
      fds[fd].tracked = 0;
      fds[fd].isBootId = bootId != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0;
      if (fds[fd].isBootId && fstat(fd, &after) == 0) {
        fds[fd].inode = after.st_ino;
        fds[fd].device = after.st_dev;
      }
    }
    return fd;
  }
  int isThere = stat(whole, &before) == 0;
  int creates = (flags & O_CREAT) != 0 && !isThere, cuts = (flags & O_TRUNC) != 0 && isThere && before.st_size > 0;
  int changes = creates || cuts;
  if (changes) {
    lock();
    if (enter(WRITES) < 0) { unlock(); return -1; }
  }
  int fd = real_openat(folder, path, flags & ~(O_DSYNC | O_SYNC | (cuts && !(flags & O_EXCL) ? O_TRUNC : 0)), mode);
  int error = errno;
  if (fd >= 0 && fstat(fd, &after) == 0) {
    if (fd < FDS) {
      fds[fd].inode = after.st_ino;
      fds[fd].device = after.st_dev;
      fds[fd].tracked = S_ISREG(after.st_mode) || S_ISDIR(after.st_mode);
      fds[fd].syncs = (flags & O_DSYNC) != 0;
      fds[fd].isBootId = 0;
    }
    if (creates) append((struct record){ .kind = CREATE, .inode = after.st_ino }, whole, NULL, NULL);
    else if (cuts) changeSize(fd, 0);
  }
  errno = error;
  if (changes) leave();
  return fd;
}

#define MODE mode_t mode = 0; if (flags & (O_CREAT | O_TMPFILE)) { va_list list; va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
int open(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return opened(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return opened(folder, path, flags, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

int close(int fd) {
  if (isOurs(fd)) fds[fd].tracked = fds[fd].isBootId = 0;
  return real_close(fd);
}

LIBC(read, ssize_t, int, void *, size_t)
ssize_t read(int fd, void *bytes, size_t length) {
  ssize_t count = real_read(fd, bytes, length);
  if (count > 0 && fd >= 0 && fd < FDS && fds[fd].isBootId && isStill(fd)) {
    size_t known = strlen(bootId);
    memcpy(bytes, bootId, known < (size_t)count ? known : (size_t)count);
  }
  return count;
}

/* What JavaScript and git read as the time. The kernel's clock, by which LMDB waits for others, stays. */
LIBC(gettimeofday, int, struct timeval *, void *)
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  int result = real_gettimeofday(now, zone);
  if (result != 0 || control == NULL) return result;
  int64_t micros = now->tv_sec * 1000000LL + now->tv_usec + control->clock;
  now->tv_sec = micros / 1000000;
  now->tv_usec = micros % 1000000;
  return 0;
}

time_t time(time_t *to) {
  struct timeval now;
  gettimeofday(&now, NULL);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

static int isOurVariable(const char *text) {
  for (int i = 0; i < VARIABLES; i++) {
    size_t length = strlen(variableNames[i]);
    if (strncmp(text, variableNames[i], length) == 0 && text[length] == '=') return 1;
  }
  return 0;
}

/* An environment with our variables in place of such as it has. The child of a vfork calls this in its parent's memory: it allocates nothing
 * that stays. */
#define WITH_VARIABLES(given) \
  size_t givenCount = 0, count = 0; \
  while (given[givenCount] != NULL) givenCount++; \
  char *environment[givenCount + VARIABLES + 1]; \
  for (size_t i = 0; i < givenCount; i++) if (control == NULL || !isOurVariable(given[i])) environment[count++] = given[i]; \
  for (int i = 0; i < VARIABLES; i++) if (control != NULL && variables[i] != NULL) environment[count++] = variables[i]; \
  environment[count] = NULL;

LIBC(execve, int, const char *, char *const *, char *const *)
LIBC(execvpe, int, const char *, char *const *, char *const *)
int execve(const char *file, char *const *arguments, char *const *given) {
  WITH_VARIABLES(given)
  return real_execve(file, arguments, environment);
}
int execvpe(const char *file, char *const *arguments, char *const *given) {
  WITH_VARIABLES(given)
  return real_execvpe(file, arguments, environment);
}
int execvp(const char *file, char *const *arguments) { return execvpe(file, arguments, environ); }

/* A call on one path; `really` is what the system does. */
#define ON_PATH(folder, path, kindOfIt, burying, really) \
  char space[PATH_MAX]; \
  const char *whole = within(folder, path, space); \
  if (whole == NULL) return really; \
  lock(); \
  struct record record = { .kind = kindOfIt }; \
  if (enter(record.kind == MKDIR ? WRITES : DELETES) < 0) { unlock(); return -1; } \
  if (burying) record.grave = bury(whole); \
  int result = really; \
  int error = errno; \
  struct stat made; \
  if (result == 0 && record.kind == MKDIR && lstat(whole, &made) == 0) record.inode = made.st_ino; \
  if (result == 0) append(record, whole, NULL, NULL); \
  errno = error; \
  leave(); \
  return result;

LIBC(unlinkat, int, int, const char *, int)
LIBC(mkdirat, int, int, const char *, mode_t)
int unlinkat(int folder, const char *path, int flags) {
  ON_PATH(folder, path, (flags & AT_REMOVEDIR) ? RMDIR : UNLINK, !(flags & AT_REMOVEDIR), real_unlinkat(folder, path, flags))
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int mkdirat(int folder, const char *path, mode_t mode) { ON_PATH(folder, path, MKDIR, 0, real_mkdirat(folder, path, mode)) }
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* A call on two paths of which the second one is made. */
#define ON_PATHS(oldFolder, old, newFolder, new, kindOfIt, burying, really) \
  char oldSpace[PATH_MAX], newSpace[PATH_MAX]; \
  const char *oldWhole = within(oldFolder, old, oldSpace), *newWhole = within(newFolder, new, newSpace); \
  if (oldWhole == NULL && newWhole == NULL) return really; \
  lock(); \
  if (enter(WRITES) < 0) { unlock(); return -1; } \
  struct record record = { .kind = kindOfIt, .grave = burying && newWhole != NULL ? bury(newWhole) : 0 }; \
  int result = really; \
  int error = errno; \
  if (result == 0) append(record, oldSpace, newSpace, NULL); \
  errno = error; \
  leave(); \
  return result;

LIBC(renameat2, int, int, const char *, int, const char *, unsigned)
LIBC(linkat, int, int, const char *, int, const char *, int)
int renameat2(int oldFolder, const char *old, int newFolder, const char *new, unsigned flags) {
  ON_PATHS(oldFolder, old, newFolder, new, RENAME, 1, real_renameat2(oldFolder, old, newFolder, new, flags))
}
int renameat(int oldFolder, const char *old, int newFolder, const char *new) { return renameat2(oldFolder, old, newFolder, new, 0); }
int rename(const char *old, const char *new) { return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0); }
int linkat(int oldFolder, const char *old, int newFolder, const char *new, int flags) {
  ON_PATHS(oldFolder, old, newFolder, new, LINK, 0, real_linkat(oldFolder, old, newFolder, new, flags))
}
int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }
