/*
 * Sends HTTP requests and says how long the answers took: `generator HOST PORT CONNECTIONS RATE SECONDS PAUSE COUNT
 * SAME`. The requests come from standard input, each ended by a zero byte, and are sent in that order, over and over. With RATE,
 * so many are sent a second, and a latency counts from when the request was due; with 0, each connection asks again PAUSE
 * seconds after its answer, and the pause is no part of the latency. The first tenth of the time does not count. With COUNT, the
 * run ends after so many requests, all of which count, and their latencies are printed in the order in which they were sent; 0 for
 * no such end.
 *
 * Prints one line of JSON. A good answer is 200 and whole: an event stream ends with `done`, and with SAME, where its head
 * tells a length, it is that of the first answer to the same request. Any other is counted as a failure of its kind. Answers
 * are not kept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { connectionsMax = 1024, requestBytesMax = 64 << 20, requestsMax = 1 << 18, headBytesMax = 8192, tailBytes = 64, latenciesMax = 20000000, eachMax = 100000, silenceSeconds = 10 };

struct connection {
  int socket;
  // When the request that is under way was due.
  int64_t dueNs;
  // Whether it is in `idle`.
  int isIdle;
  int request;
  // The number of the request among all that were sent.
  int64_t number;
  // When it may ask again.
  int64_t readyNs;
  // What has come of the answer's head, then what has come of its body.
  char head[headBytesMax + 1];
  size_t headBytes, bodyBytes;
  int hasHead;
  // -1 for a body in chunks.
  int64_t lengthTold;
  int isStream;
  // Of the body.
  char tail[tailBytes];
  // What is wrong with the answer; `good` for nothing.
  int failure;
};

enum failureKind { good, denied, overloaded, status, otherLength, noDone, reset, unfinished, failureKinds };
static const char *const failureNames[failureKinds] = {"", "denied", "overloaded", "status", "other-length", "no-done", "reset", "unfinished"};
static int64_t failures[failureKinds];
static int firstStatus;
static const int64_t refusalNs = 100000000;

static struct connection connections[connectionsMax];
static int idle[connectionsMax];
static int idleCount;
static char text[requestBytesMax];
// Where each request begins in the text, and where the last one ends.
static size_t starts[requestsMax + 1];
static int requestCount;
// By request: the length of its first answer, or -1.
static int64_t lengths[requestsMax];
static uint32_t *latencies;
static size_t latencyCount;
static int64_t receivedBytes;
static char buffer[1 << 18];
static int64_t countFromNs, pauseNs;
// By the number of a request, in tenths of a microsecond.
static uint32_t each[eachMax];
static int isSame;

static void fail(const char *what) {
  printf("{\"failure\":\"%s\"}\n", what);
  exit(1);
}

static int64_t nowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void readRequests(void) {
  size_t bytes = 0;
  for (ssize_t count; (count = read(0, text + bytes, requestBytesMax - bytes)) > 0;) bytes += count;
  for (size_t at = 0; at < bytes; at++) {
    if (text[at] != 0) continue;
    if (requestCount == requestsMax) fail("there are too many requests");
    lengths[requestCount++] = -1;
    starts[requestCount] = at + 1;
  }
  if (requestCount == 0 || starts[requestCount] != bytes) fail("a request is not ended by a zero byte, or too long");
}

static double cpuSeconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// Of the name of the server, the one to which connections are made, and whether one has been.
static struct addrinfo *address;
static int isConnected;
static int epoll;

// Makes a connection wait for its next request.
static void rest(int i, int64_t readyNs) {
  connections[i].readyNs = readyNs;
  connections[i].isIdle = 1;
  idle[idleCount++] = i;
}

// The place in `idle` of the connection that may ask first.
static int firstReady(void) {
  int first = 0;
  for (int k = 1; k < idleCount; k++)
    if (connections[idle[k]].readyNs < connections[idle[first]].readyNs) first = k;
  return first;
}

static int takeIdle(int place) {
  int i = idle[place];
  idle[place] = idle[--idleCount];
  connections[i].isIdle = 0;
  return i;
}

static void findAddress(const char *host, const char *port) {
  struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
  if (getaddrinfo(host, port, &wanted, &address) != 0) fail("unknown host");
}

static void connectOne(int i, int64_t readyNs) {
  int one = 1;
  struct connection *connection = &connections[i];
  // The server may listen at some of the addresses of its name; one that it refused is not tried again.
  for (;;) {
    connection->socket = socket(address->ai_family, SOCK_STREAM, 0);
    if (connection->socket >= 0 && connect(connection->socket, address->ai_addr, address->ai_addrlen) == 0) break;
    const int isMissing = connection->socket < 0 && errno != EAFNOSUPPORT;
    if (connection->socket >= 0) close(connection->socket);
    if (isMissing) fail("no socket");
    if (isConnected || address->ai_next == NULL) fail("cannot connect");
    address = address->ai_next;
  }
  isConnected = 1;
  setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
  epoll_ctl(epoll, EPOLL_CTL_ADD, connection->socket, &event);
  rest(i, readyNs);
}

// A request is smaller than a socket's buffer, and there is one at a time, so it is taken whole.
static void sendOn(int i, int64_t number, int64_t dueNs) {
  int request = number % requestCount;
  connections[i].dueNs = dueNs;
  connections[i].request = request;
  connections[i].number = number;
  connections[i].headBytes = connections[i].bodyBytes = connections[i].hasHead = 0;
  connections[i].failure = good;
  memset(connections[i].tail, 0, tailBytes);
  ssize_t bytes = starts[request + 1] - 1 - starts[request];
  if (send(connections[i].socket, text + starts[request], bytes, MSG_NOSIGNAL) != bytes) fail("a request was not taken");
}

// Takes what belongs to the head, and returns how many bytes that were.
static size_t takeHead(struct connection *connection, const char *bytes, size_t count) {
  size_t room = headBytesMax - connection->headBytes, before = connection->headBytes;
  size_t taken = count < room ? count : room;
  memcpy(connection->head + before, bytes, taken);
  connection->head[connection->headBytes += taken] = 0;
  char *end = strstr(connection->head, "\r\n\r\n");
  if (end == NULL) {
    if (taken == room) fail("the head of an answer is too long");
    return taken;
  }
  if (strncmp(connection->head, "HTTP/1.1 ", 9) != 0) fail("an answer is not HTTP/1.1");
  const int code = atoi(connection->head + 9);
  if (code != 200) {
    connection->failure = code == 401 || code == 403 ? denied : code == 503 ? overloaded : status;
    if (firstStatus == 0) firstStatus = code;
  }
  end[2] = 0;
  connection->isStream = strcasestr(connection->head, "\r\ncontent-type: text/event-stream") != NULL;
  const char *length = strcasestr(connection->head, "\r\ncontent-length:");
  connection->lengthTold = length == NULL ? -1 : strtol(length + 17, NULL, 10);
  int64_t *known = &lengths[connection->request];
  if (*known < 0) *known = connection->lengthTold;
  if (isSame && connection->lengthTold != *known && connection->failure == good) connection->failure = otherLength;
  connection->hasHead = 1;
  return end + 4 - connection->head - before;
}

static void takeBody(struct connection *connection, const char *bytes, size_t count) {
  size_t kept = count < tailBytes ? count : tailBytes;
  memmove(connection->tail, connection->tail + kept, tailBytes - kept);
  memcpy(connection->tail + tailBytes - kept, bytes + count - kept, kept);
  connection->bodyBytes += count;
}

static int isWhole(const struct connection *connection) {
  if (!connection->hasHead) return 0;
  if (connection->lengthTold >= 0) return connection->bodyBytes >= (size_t)connection->lengthTold;
  return connection->bodyBytes >= 5 && memcmp(connection->tail + tailBytes - 5, "0\r\n\r\n", 5) == 0;
}

// Whether the last event is "done". A chunk may begin anywhere in it; in the events themselves there is no "\r".
static int endsWithDone(const char *tail) {
  char data[tailBytes];
  size_t length = 0;
  for (size_t at = 0; at < tailBytes; at++) {
    if (tail[at] != '\r') {
      data[length++] = tail[at];
      continue;
    }
    // "\r\n", the size of the next chunk, "\r\n".
    for (int lineCount = 0; lineCount < 2 && at < tailBytes; at++) lineCount += tail[at] == '\n';
    at--;
  }
  return memmem(data, length, "event: done\n", 12) != NULL;
}

// A refused request has no latency: it would look fast.
static int endAnswer(int i) {
  struct connection *connection = &connections[i];
  int64_t now = nowNs();
  const int64_t tenths = (now - connection->dueNs) / 100;
  const uint32_t latency = tenths < UINT32_MAX ? tenths : UINT32_MAX;
  failures[connection->failure]++;
  if (connection->failure == good) {
    if (connection->dueNs >= countFromNs && latencyCount < latenciesMax) latencies[latencyCount++] = latency;
    if (connection->number < eachMax) each[connection->number] = latency;
  }
  return connection->failure == good;
}

static int receiveOn(int i) {
  struct connection *connection = &connections[i];
  ssize_t count = read(connection->socket, buffer, sizeof buffer);
  if (count <= 0) {
    // A server may close a connection that is idle; its pause goes on.
    const int isIdle = connection->isIdle;
    int place = 0;
    while (isIdle && idle[place] != i) place++;
    if (isIdle) takeIdle(place);
    close(connection->socket);
    connection->failure = reset;
    if (!isIdle) endAnswer(i);
    connectOne(i, isIdle ? connection->readyNs : nowNs() + refusalNs);
    return 0;
  }
  if (connection->isIdle) fail("the server sent more than its answer");
  receivedBytes += count;
  size_t taken = connection->hasHead ? 0 : takeHead(connection, buffer, count);
  takeBody(connection, buffer + taken, count - taken);
  if (!isWhole(connection)) return 0;
  if (connection->failure == good && connection->isStream && !endsWithDone(connection->tail))
    connection->failure = noDone;
  int isGood = endAnswer(i);
  // A server that refuses everything is not asked in a busy loop.
  rest(i, nowNs() + (isGood ? pauseNs : refusalNs));
  return isGood;
}

static int compareLatencies(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static double millisecondsAt(double share) {
  if (latencyCount == 0) return 0;
  size_t at = latencyCount * share;
  return latencies[at < latencyCount ? at : latencyCount - 1] / 1e4;
}

static void setTimer(int timer, int64_t atNs) {
  struct itimerspec spec = {.it_value = {atNs / 1000000000LL, atNs % 1000000000LL}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

int main(int argumentCount, char **arguments) {
  if (argumentCount != 9) fail("usage: generator HOST PORT CONNECTIONS RATE SECONDS PAUSE COUNT SAME");
  findAddress(arguments[1], arguments[2]);
  int connectionCount = atoi(arguments[3]);
  double rate = atof(arguments[4]), seconds = atof(arguments[5]);
  if (connectionCount < 1 || connectionCount > connectionsMax) fail("too few or too many connections");
  pauseNs = atof(arguments[6]) * 1e9;
  const int64_t countMax = atoll(arguments[7]);
  isSame = atoi(arguments[8]);
  if (countMax > eachMax) fail("too many requests are counted");
  readRequests();
  latencies = malloc(latenciesMax * sizeof *latencies);
  epoll = epoll_create1(0);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  for (int i = 0; i < connectionCount; i++) connectOne(i, nowNs() + pauseNs);
  struct epoll_event timerEvent = {.events = EPOLLIN, .data.u32 = connectionsMax};
  epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &timerEvent);

  const int64_t startNs = nowNs(), endNs = startNs + seconds * 1e9;
  countFromNs = countMax > 0 ? startNs : startNs + seconds * 1e8;
  double cpuBefore = cpuSeconds();
  int64_t sent = 0, answered = 0, knownBytes = 0, progressNs = startNs;
  for (;;) {
    int64_t now = nowNs();
    // An answer that began in time may be a stream that takes long: it is awaited as long as bytes arrive.
    if (receivedBytes != knownBytes || now < endNs) progressNs = now;
    knownBytes = receivedBytes;
    if (now - progressNs > silenceSeconds * 1000000000LL) {
      failures[unfinished] = connectionCount - idleCount;
      break;
    }
    const int isOver = now >= endNs || (countMax > 0 && sent == countMax);
    for (; idleCount > 0 && now < endNs && (countMax == 0 || sent < countMax); sent++) {
      const int place = rate > 0 ? idleCount - 1 : firstReady();
      const int64_t dueNs = rate > 0 ? startNs + (int64_t)(sent / rate * 1e9) : connections[idle[place]].readyNs;
      if (dueNs > now) {
        setTimer(timer, dueNs);
        break;
      }
      sendOn(takeIdle(place), sent, rate > 0 ? dueNs : now);
    }
    if (isOver && idleCount == connectionCount) break;
    struct epoll_event events[64];
    int count = epoll_wait(epoll, events, 64, 100);
    for (int k = 0; k < count; k++) {
      uint64_t expirations;
      if (events[k].data.u32 < connectionsMax) answered += receiveOn(events[k].data.u32);
      else if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN) fail("the timer is broken");
    }
  }
  double took = (nowNs() - startNs) / 1e9;
  qsort(latencies, latencyCount, sizeof *latencies, compareLatencies);
  printf("{\"answered\":%lld,\"perSecond\":%.3f,\"bytesPerSecond\":%.0f,\"cpuShare\":%.4f,\"count\":%zu,\"p50Ms\":%.4f,\"p90Ms\":%.4f,\"p99Ms\":%.4f,\"p999Ms\":%.4f,\"maxMs\":%.4f,\"failures\":{",
    (long long)answered, answered / took, receivedBytes / took, (cpuSeconds() - cpuBefore) / took, latencyCount, millisecondsAt(0.5), millisecondsAt(0.9), millisecondsAt(0.99),
    millisecondsAt(0.999), millisecondsAt(1));
  const char *comma = "";
  for (int kind = denied; kind < failureKinds; kind++) {
    if (failures[kind] == 0) continue;
    printf("%s\"%s\":%lld", comma, failureNames[kind], (long long)failures[kind]);
    comma = ",";
  }
  printf("},\"firstStatus\":%d,\"eachMs\":[", firstStatus);
  comma = "";
  for (int64_t i = 0; i < countMax && i < sent; i++) {
    printf("%s%.4f", comma, each[i] / 1e4);
    comma = ",";
  }
  printf("]}\n");
  return 0;
}
