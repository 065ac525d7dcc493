#include "request-filter.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <strings.h>

namespace trawl {
namespace {

constexpr size_t blankBytesMax = 16;
constexpr size_t methodBytesMax = 32;
constexpr size_t authorityBytesMax = 255 + 6;
constexpr size_t lengthDigitsMax = 18;
constexpr uint8_t chunkDigitsMax = 8;
// In all lines of the chunks of one body.
constexpr uint16_t extensionBytesMax = 16 * 1024;

// What the parser answers with 400, because it names no host, and with 505.
constexpr std::string_view badRequest = "GET / HTTP/1.1\r\n\r\n";
constexpr std::string_view otherVersionRequest = "GET / HTTP/2.0\r\n\r\n";

enum : uint8_t { tokenByte = 1, valueByte = 2, targetByte = 4, hostByte = 8 };

constexpr std::array<uint8_t, 256> byteKinds = [] {
  std::array<uint8_t, 256> kinds = {};
  for (size_t byte = 0; byte < 256; byte++) {
    bool isText = byte >= 0x20 && byte != 0x7f;
    if (isText || byte == '\t') kinds[byte] |= valueByte;
    if (isText && byte != ' ') kinds[byte] |= targetByte;
    if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) kinds[byte] |= tokenByte | hostByte;
  }
  for (char byte : std::string_view("!#$%&'*+-.^_`|~")) kinds[static_cast<uint8_t>(byte)] |= tokenByte;
  for (char byte : std::string_view("-._~%!$&'()*+,;=")) kinds[static_cast<uint8_t>(byte)] |= hostByte;
  return kinds;
}();

// The first byte that is not of this kind.
size_t skip(const uint8_t* bytes, size_t from, size_t end, uint8_t kind) {
  while (from < end && (byteKinds[bytes[from]] & kind) != 0) from++;
  return from;
}

bool isSpace(uint8_t byte) { return byte == ' ' || byte == '\t'; }

bool isDigit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

bool equalsFolded(const uint8_t* bytes, size_t from, size_t end, std::string_view text) {
  return end - from == text.size() && strncasecmp(reinterpret_cast<const char*>(bytes + from), text.data(), text.size()) == 0;
}

// A host name, an IPv4 address, or an IPv6 address in brackets, and a port. A name of a user is not part of it. What follows
// is none of their bytes.
bool isAuthority(const uint8_t* bytes, size_t from, size_t end) {
  if (end - from > authorityBytesMax) return false;
  size_t at = from;
  if (bytes[at] == '[') {
    at++;
    while (at < end && (isDigit(bytes[at]) || bytes[at] == ':' || bytes[at] == '.' || ((bytes[at] | 0x20) >= 'a' && (bytes[at] | 0x20) <= 'f'))) at++;
    if (at == from + 1 || at == end || bytes[at] != ']') return false;
    at++;
  } else {
    at = skip(bytes, at, end, hostByte);
    if (at == from) return false;
  }
  if (at < end && bytes[at] != ':') return false;
  for (at++; at < end; at++) {
    if (!isDigit(bytes[at])) return false;
  }
  return true;
}

std::string_view view(const uint8_t* bytes, size_t from, size_t end) {
  return {reinterpret_cast<const char*>(bytes + from), end - from};
}

}  // namespace

RequestHead::Progress RequestHead::read(const uint8_t* bytes, size_t length, bool isFirst) {
  if (lineEnd_ == 0) {
    Progress begun = readStart(bytes, length, isFirst);
    if (begun != Progress::whole) return begun;
  }
  while (true) {
    const void* found = memchr(bytes + searched_, '\n', length - searched_);
    if (found == nullptr) {
      searched_ = length;
      return length - start_ > headBytesMax ? Progress::left : Progress::partial;
    }
    // A line ends with CRLF; a line feed by itself could also be taken for the end of one.
    size_t next = static_cast<size_t>(static_cast<const uint8_t*>(found) - bytes) + 1;
    size_t end = next - 2;
    if (next < at_ + 2 || bytes[end] != '\r') return Progress::bad;
    bool isEnd = lineEnd_ > 0 && end == at_;
    if (!isEnd) {
      Progress line = lineEnd_ == 0 ? readRequestLine(bytes, end) : readHeader(bytes, end);
      if (line != Progress::whole) return line;
    }
    at_ = searched_ = next;
    if (lineEnd_ == 0) lineEnd_ = next;
    // A length beside chunks, and chunks in HTTP/1.0, are what requests are smuggled with.
    if (isEnd) return isChunked_ && (hasLength_ || isHttp10_) ? Progress::bad : Progress::whole;
  }
}

// Skips blank lines, and recognizes what is no request before its first line is complete.
RequestHead::Progress RequestHead::readStart(const uint8_t* bytes, size_t length, bool isFirst) {
  while (start_ < length && (bytes[start_] == '\r' || bytes[start_] == '\n')) start_++;
  if (start_ > blankBytesMax) return Progress::bad;
  at_ = start_;
  if (searched_ < start_) searched_ = start_;
  if (start_ == length) return Progress::partial;
  // So the PROXY protocol begins.
  if (isFirst && start_ == 4 && bytes[start_] == 0) return Progress::left;
  size_t end = skip(bytes, start_, length, tokenByte);
  if (end - start_ > methodBytesMax) return Progress::bad;
  if (end == length) return Progress::partial;
  return end > start_ && bytes[end] == ' ' ? Progress::whole : Progress::bad;
}

RequestHead::Progress RequestHead::readRequestLine(const uint8_t* bytes, size_t end) {
  methodEnd_ = skip(bytes, at_, end, tokenByte);
  constexpr std::string_view version = " HTTP/1.1";
  if (end < methodEnd_ + 2 + version.size()) return Progress::otherVersion;
  targetEnd_ = end - version.size();
  isHttp10_ = bytes[end - 1] == '0';
  bool isKnown = (isHttp10_ || bytes[end - 1] == '1') && memcmp(bytes + targetEnd_, version.data(), version.size() - 1) == 0;
  if (!isKnown) return Progress::otherVersion;
  return readTarget(bytes, methodEnd_ + 1) ? Progress::whole : Progress::bad;
}

bool RequestHead::readTarget(const uint8_t* bytes, size_t from) {
  if (skip(bytes, from, targetEnd_, targetByte) < targetEnd_) return false;
  if (bytes[from] == '/') return true;
  isServer_ = view(bytes, from, targetEnd_) == "*" && view(bytes, start_, methodEnd_) == "OPTIONS";
  if (isServer_) return true;
  for (std::string_view scheme : {std::string_view("http://"), std::string_view("https://")}) {
    if (targetEnd_ - from < scheme.size() || !equalsFolded(bytes, from, from + scheme.size(), scheme)) continue;
    authorityStart_ = from + scheme.size();
    size_t at = authorityStart_;
    while (at < targetEnd_ && bytes[at] != '/' && bytes[at] != '?') at++;
    authorityEnd_ = at;
    return isAuthority(bytes, authorityStart_, authorityEnd_);
  }
  return false;
}

RequestHead::Progress RequestHead::readHeader(const uint8_t* bytes, size_t end) {
  // The parser takes a header without a name for the last one.
  size_t nameEnd = skip(bytes, at_, end, tokenByte);
  if (nameEnd == at_ || nameEnd == end || bytes[nameEnd] != ':') return Progress::bad;
  size_t from = nameEnd + 1;
  if (skip(bytes, from, end, valueByte) < end) return Progress::bad;
  while (from < end && isSpace(bytes[from])) from++;
  while (end > from && isSpace(bytes[end - 1])) end--;
  if (equalsFolded(bytes, at_, nameEnd, "host")) {
    // A second one, which is refused by request.ts, remains as it is.
    if (!hasHost_) {
      hostStart_ = from;
      hostEnd_ = end;
    }
    hasHost_ = true;
  } else if (equalsFolded(bytes, at_, nameEnd, "content-length")) {
    if (hasLength_ || from == end || end - from > lengthDigitsMax) return Progress::left;
    for (size_t at = from; at < end; at++) {
      if (!isDigit(bytes[at])) return Progress::left;
      bodyBytes_ = 10 * bodyBytes_ + (bytes[at] - '0');
    }
    hasLength_ = true;
  } else if (equalsFolded(bytes, at_, nameEnd, "transfer-encoding")) {
    if (isChunked_ || !equalsFolded(bytes, from, end, "chunked")) return Progress::left;
    isChunked_ = true;
  }
  return Progress::whole;
}

void RequestHead::write(const uint8_t* bytes, std::string_view secret, std::string* out) const {
  out->append(view(bytes, start_, methodEnd_ + 1));
  size_t path = isAbsolute() ? authorityEnd_ : methodEnd_ + 1;
  if (path == targetEnd_ || bytes[path] != '/') out->push_back('/');
  out->append(view(bytes, path, targetEnd_)).append(" HTTP/1.1\r\n");
  std::string_view authority = view(bytes, authorityStart_, authorityEnd_);
  if (isHttp10_) {
    // The first of several headers counts, so that a client's own Connection does not.
    out->append("Connection: close\r\n").append(versionMark).append(": ").append(secret).append("\r\n");
    if (!hasHost_) out->append("Host: ").append(isAbsolute() ? authority : secret).append("\r\n");
  }
  if (isAbsolute() && hasHost_) {
    out->append(view(bytes, lineEnd_, hostStart_)).append(authority).append(view(bytes, hostEnd_, at_));
  } else {
    out->append(view(bytes, lineEnd_, at_));
  }
}

void RequestFilter::beginBody(const RequestHead& head) {
  isLast_ = head.isHttp10();
  left_ = head.bodyBytes();
  digits_ = 0;
  droppedBytes_ = 0;
  if (head.isChunked()) {
    mode_ = Mode::chunkSize;
  } else if (left_ > 0) {
    mode_ = Mode::body;
  } else {
    endBody();
  }
}

bool RequestFilter::readChunkByte(uint8_t byte) {
  bool isHex = isDigit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
  bool isDropped = mode_ == Mode::chunkExtension || mode_ == Mode::trailerName || mode_ == Mode::trailer || mode_ == Mode::trailerLineFeed;
  Mode next = Mode::broken;
  switch (mode_) {
    case Mode::chunkSize:
      if (isHex && digits_ < chunkDigitsMax) {
        left_ = 16 * left_ + static_cast<uint64_t>(isDigit(byte) ? byte - '0' : (byte | 0x20) - 'a' + 10);
        digits_++;
        next = Mode::chunkSize;
      } else if (digits_ > 0 && (byte == '\r' || byte == ';')) {
        digits_ = 0;
        isDropped = byte == ';';
        next = isDropped ? Mode::chunkExtension : Mode::chunkSizeEnd;
      }
      break;
    case Mode::chunkExtension:
      isDropped = byte != '\r';
      if (byte == '\r') next = Mode::chunkSizeEnd;
      else if ((byteKinds[byte] & valueByte) != 0) next = Mode::chunkExtension;
      break;
    case Mode::chunkSizeEnd:
      if (byte == '\n') next = left_ > 0 ? Mode::chunk : Mode::trailerStart;
      break;
    case Mode::chunkEnd:
      if (byte == '\r') next = Mode::chunkLineFeed;
      break;
    case Mode::chunkLineFeed:
      if (byte == '\n') next = Mode::chunkSize;
      break;
    case Mode::trailerStart:
      isDropped = byte != '\r';
      if (byte == '\r') next = Mode::trailersEnd;
      else if ((byteKinds[byte] & tokenByte) != 0) next = Mode::trailerName;
      break;
    case Mode::trailerName:
      if (byte == ':') next = Mode::trailer;
      else if ((byteKinds[byte] & tokenByte) != 0) next = Mode::trailerName;
      break;
    case Mode::trailer:
      if (byte == '\r') next = Mode::trailerLineFeed;
      else if ((byteKinds[byte] & valueByte) != 0) next = Mode::trailer;
      break;
    case Mode::trailerLineFeed:
      if (byte == '\n') next = Mode::trailerStart;
      break;
    default:
      if (byte == '\n') next = isLast_ ? Mode::discard : Mode::head;
  }
  if (isDropped && ++droppedBytes_ > extensionBytesMax) next = Mode::broken;
  mode_ = next;
  return !isDropped && next != Mode::broken;
}

size_t RequestFilter::filter(uint8_t* bytes, size_t length, std::string_view secret) {
  using Progress = RequestHead::Progress;
  if (mode_ == Mode::pass) return length;
  const size_t lengthMax = heldBytes() + length + growthMax;
  RequestHead head;
  // What is known of the head that begins at `at`.
  Progress progress = Progress::partial;
  if (partial_ != nullptr) {
    partial_->bytes.append(view(bytes, 0, length));
    progress = partial_->head.read(reinterpret_cast<const uint8_t*>(partial_->bytes.data()), partial_->bytes.size(), isFirst_);
    if (progress == Progress::partial) return 0;
    length = partial_->bytes.size();
    memcpy(bytes, partial_->bytes.data(), length);
    head = partial_->head;
    partial_.reset();
  }
  // Where something is changed, the result is put together apart; `kept` is the first byte that is not in it yet.
  static thread_local std::string changed;
  changed.clear();
  bool isChanged = false;
  size_t kept = 0, at = 0;
  const auto drop = [&](size_t from, size_t to) {
    changed.append(view(bytes, kept, from));
    isChanged = true;
    kept = to;
  };
  while (at < length) {
    switch (mode_) {
      case Mode::head:
        if (progress == Progress::partial) {
          head = RequestHead();
          progress = head.read(bytes + at, length - at, isFirst_);
        }
        switch (progress) {
          case Progress::partial:
            partial_ = std::make_unique<Partial>(Partial{std::string(view(bytes, at, length)), head});
            length = at;
            break;
          case Progress::whole:
            if (!head.isUnderstood()) {
              drop(at, at + head.end());
              head.write(bytes + at, secret, &changed);
            } else if (head.start() > 0) {
              drop(at, at + head.start());
            }
            at += head.end();
            isFirst_ = false;
            beginBody(head);
            break;
          case Progress::left:
            if (head.start() > 0 && bytes[at + head.start()] != 0) drop(at, at + head.start());
            mode_ = Mode::pass;
            break;
          default:
            drop(at, length);
            changed.append(progress == Progress::bad ? badRequest : otherVersionRequest);
            at = length;
            mode_ = Mode::discard;
        }
        progress = Progress::partial;
        break;
      case Mode::body:
      case Mode::chunk: {
        size_t count = left_ < length - at ? static_cast<size_t>(left_) : length - at;
        at += count;
        left_ -= count;
        if (left_ > 0) break;
        if (mode_ == Mode::chunk) {
          mode_ = Mode::chunkEnd;
        } else {
          endBody();
        }
        break;
      }
      case Mode::discard:
      case Mode::broken:
        drop(at, length);
        at = length;
        break;
      case Mode::pass: at = length; break;
      default:
        if (!readChunkByte(bytes[at])) drop(at, at + 1);
        at++;
    }
  }
  if (!isChanged) return length;
  changed.append(view(bytes, kept, length));
  if (changed.size() > lengthMax) abort();
  memcpy(bytes, changed.data(), changed.size());
  return changed.size();
}

}  // namespace trawl
