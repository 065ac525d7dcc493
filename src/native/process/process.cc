#include "process.h"

#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace trawl {
namespace {

// How much output a child may write before it is read. 30,000 blobs of Linux arrived at 104 MB/s, and at 91 MB/s
// through the sockets that Node creates; the default pipe size of 64 KiB slowed indexing down.
constexpr int outputBytesMax = 1 << 20;

// Time between the signal for the limit and the one that cannot be ignored.
constexpr rlim_t cpuGraceSeconds = 5;

// The kernel kills the process with the highest score first: its share of memory in thousandths, plus this.
constexpr char oomScoreAdjustment[] = "500";

// Two ends of a pipe that no other child inherits.
struct Pipe {
  int ends[2] = {-1, -1};

  bool open() { return pipe2(ends, O_CLOEXEC) == 0; }

  int take(int end) {
    int taken = ends[end];
    ends[end] = -1;
    return taken;
  }

  ~Pipe() {
    for (int end : ends) {
      if (end >= 0) close(end);
    }
  }
};

// The data that the child needs before it executes another program.
struct Command {
  const char* file;
  const char* directory;
  char* const* arguments;
  char* const* environment;
  const ChildLimits* limits;
  int streams[3];
  pid_t parent;
};

// Never exceeds the current limit.
bool limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0) return false;
  const struct rlimit wanted = {soft < now.rlim_max ? soft : now.rlim_max, hard < now.rlim_max ? hard : now.rlim_max};
  return setrlimit(resource, &wanted) == 0;
}

bool setLimits(const ChildLimits& limits) {
  const auto isSet = [](uint32_t value) { return value != ChildLimits::unlimited; };
  const auto bytes = [](uint32_t mebibytes) { return static_cast<rlim_t>(mebibytes) << 20; };
  const rlim_t cpu = limits.cpuSeconds;
  bool done = limit(RLIMIT_CORE, 0, 0);
  if (isSet(limits.dataMebibytes)) done &= limit(RLIMIT_DATA, bytes(limits.dataMebibytes), bytes(limits.dataMebibytes));
  if (isSet(limits.fileMebibytes)) done &= limit(RLIMIT_FSIZE, bytes(limits.fileMebibytes), bytes(limits.fileMebibytes));
  if (isSet(limits.cpuSeconds)) done &= limit(RLIMIT_CPU, cpu, cpu + cpuGraceSeconds);
  if (isSet(limits.descriptorCount)) done &= limit(RLIMIT_NOFILE, limits.descriptorCount, limits.descriptorCount);
  return done;
}

// If the system does not permit it, the child is killed like any other process.
void raiseOomScore() {
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] ssize_t written = write(file, oomScoreAdjustment, sizeof oomScoreAdjustment - 1);
  close(file);
}

// Otherwise, handlers of this process would run in its memory, from the child.
void resetSignals() {
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; signal++) sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child of `vfork`, in the memory of this process, whose thread is suspended: it makes only system calls,
// and changes nothing that outlives it. Returns an error number.
int become(const Command& command) {
  resetSignals();
  if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != command.parent) return ESRCH;
  for (int target = 0; target < 3; target++) {
    if (dup2(command.streams[target], target) < 0) return errno;
  }
  if (chdir(command.directory) != 0) return errno;
  raiseOomScore();
  if (!setLimits(*command.limits)) return errno;
  execve(command.file, command.arguments, command.environment);
  return errno;
}

// `vfork` does not copy the page tables of this process, as `fork` does, and unlike `posix_spawn` it lets the child set
// its own limits before it runs anything. A separate function, because its frame is shared with the child.
__attribute__((noinline)) pid_t spawn(const Command& command, volatile int* failed) {
  pid_t pid = vfork();
  if (pid == 0) {
    *failed = become(command);
    _exit(127);
  }
  return pid;
}

// Returns an error number. Signals are blocked between the fork and the new program, where their handlers would run in
// both.
int spawnQuietly(const Command& command, pid_t* pid) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  volatile int failed = 0;
  *pid = spawn(command, &failed);
  if (*pid < 0) failed = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (*pid > 0 && failed != 0) waitpid(*pid, nullptr, 0);
  return failed;
}

}  // namespace

int startProcess(const char* file, const char* directory, char* const* arguments, char* const* environment,
                 const ChildLimits& limits, Child* child) {
  Pipe in, out, error;
  if (!in.open() || !out.open() || !error.open()) return errno;
  // If the system does not permit it, the default 64 KiB is sufficient.
  fcntl(out.ends[0], F_SETPIPE_SZ, outputBytesMax);
  const Command command = {file, directory, arguments, environment, &limits,
                           {in.ends[0], out.ends[1], error.ends[1]}, getpid()};
  pid_t pid = 0;
  int failed = spawnQuietly(command, &pid);
  if (failed == 0) *child = {pid, in.take(1), out.take(0), error.take(0)};
  return failed;
}

bool hasEnded(int pid, Ending* ending) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return false;
  *ending = WIFSIGNALED(status) ? Ending{0, WTERMSIG(status)} : Ending{WEXITSTATUS(status), 0};
  return true;
}

}  // namespace trawl
#else
#include <errno.h>

namespace trawl {

int startProcess(const char*, const char*, char* const*, char* const*, const ChildLimits&, Child*) { return ENOSYS; }

bool hasEnded(int, Ending*) { return false; }

}  // namespace trawl
#endif
