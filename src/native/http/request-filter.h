// What the HTTP server's parser does not understand, and is given in a form that it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace trawl {

// The limit on an incomplete head, which is that of the parser (uws-binding.ts).
constexpr size_t headBytesMax = 128 * 1024;

// The name of the header that marks a request of HTTP/1.0. Its value is a secret of the process, and so is the value of
// `Host` where such a request has none; a header of that name that a client sends has another value.
constexpr std::string_view versionMark = "trawl-http10";

constexpr size_t secretBytesMax = 64;

// One request's head, read line by line.
class RequestHead {
 public:
  enum class Progress : uint8_t {
    partial,
    whole,
    // No request, or one that a parser could read in more than one way.
    bad,
    // Not in a version that is supported.
    otherVersion,
    // The parser, or request.ts, knows what to do: an encoding or a length that is refused with a message, a head that is
    // too long, or the PROXY protocol.
    left,
  };

  // Reads on; `bytes` begins with what was given before. `isFirst` if they are the first ones of a connection.
  Progress read(const uint8_t* bytes, size_t length, bool isFirst);

  // Where the head begins, behind blank lines, and where it ends. These and the following need a whole head.
  size_t start() const { return start_; }
  size_t end() const { return at_; }
  bool isUnderstood() const { return !isHttp10_ && !isAbsolute() && !isServer_; }
  bool isHttp10() const { return isHttp10_; }
  bool isAbsolute() const { return authorityEnd_ > 0; }
  bool isChunked() const { return isChunked_; }
  uint64_t bodyBytes() const { return bodyBytes_; }

  // Appends the head in the form that the parser understands.
  void write(const uint8_t* bytes, std::string_view secret, std::string* out) const;

 private:
  Progress readStart(const uint8_t* bytes, size_t length, bool isFirst);
  Progress readRequestLine(const uint8_t* bytes, size_t end);
  bool readTarget(const uint8_t* bytes, size_t end);
  Progress readHeader(const uint8_t* bytes, size_t end);

  // Offsets in the bytes. `at_` is the first that has not been read.
  size_t at_ = 0;
  size_t start_ = 0;
  size_t searched_ = 0;
  size_t methodEnd_ = 0;
  size_t authorityStart_ = 0;
  size_t authorityEnd_ = 0;
  size_t targetEnd_ = 0;
  size_t lineEnd_ = 0;
  // The first Host: its value, without the white space around it.
  size_t hostStart_ = 0;
  size_t hostEnd_ = 0;
  uint64_t bodyBytes_ = 0;
  bool isHttp10_ = false;
  // Whether it asks for the options of the server as a whole, with the target *.
  bool isServer_ = false;
  bool hasHost_ = false;
  bool hasLength_ = false;
  bool isChunked_ = false;
};

// The bytes of one connection, as its client sends them.
//
// - Blank lines before a request are left out.
// - A target in absolute form becomes one in origin form, and its authority the value of Host.
// - The target of OPTIONS *, which is for the server as a whole, becomes /*.
// - A request of HTTP/1.0 becomes a marked one of HTTP/1.1, which is the last of its connection.
// - Extensions of chunks, which the parser takes for digits, and the lines after the last chunk are left out.
// - A head that could be read in more than one way is replaced by one that is refused, and a connection with such chunks
//   ends, so that a proxy and the parser always agree where a request ends.
//
// Everything else passes as it is. A head is passed on when it is whole.
class RequestFilter {
 public:
  // What has to be free behind the bytes received: by how much they can grow in one call.
  static constexpr size_t growthMax = 512;

  // How many bytes are held back.
  size_t heldBytes() const { return partial_ == nullptr ? 0 : partial_->bytes.size(); }

  bool isPassing() const { return mode_ == Mode::pass; }

  // The connection must be closed, because it is not known where the body ends.
  bool isBroken() const { return mode_ == Mode::broken; }

  // Replaces `length` bytes that were received by those that are to be read, and returns how many; 0 if there are none yet.
  // `bytes` must have room for `growthMax` and the bytes held back, too.
  size_t filter(uint8_t* bytes, size_t length, std::string_view secret);

 private:
  enum class Mode : uint8_t {
    head,
    body,
    // In the line of a chunk's size, in the chunk, or in the line end after it.
    chunkSize,
    chunkExtension,
    chunkSizeEnd,
    chunk,
    chunkEnd,
    chunkLineFeed,
    // At the start of a line after the last chunk, in its name, its value, or its end; in the end of the empty one.
    trailerStart,
    trailerName,
    trailer,
    trailerLineFeed,
    trailersEnd,
    discard,
    pass,
    broken,
  };

  struct Partial {
    std::string bytes;
    RequestHead head;
  };

  void beginBody(const RequestHead& head);
  void endBody() { mode_ = isLast_ ? Mode::discard : Mode::head; }
  // Returns whether the byte is passed on.
  bool readChunkByte(uint8_t byte);

  Mode mode_ = Mode::head;
  // After a request of HTTP/1.0, whose answer ends the connection, whatever follows is dropped.
  bool isLast_ = false;
  bool isFirst_ = true;
  uint8_t digits_ = 0;
  uint16_t droppedBytes_ = 0;
  // Bytes of the body or of the chunk.
  uint64_t left_ = 0;
  std::unique_ptr<Partial> partial_;
};

// Puts a `RequestFilter` between the sockets that the loaded shared library `file` accepts and what it reads from them:
// from then on, its calls of recv, accept4 and close go through functions of ours, and nobody else's calls. Called again,
// it does nothing. Returns false, and filters nothing, if this is another system, or if the library does not call these
// three functions of libc through its global offset table.
//
// Caller guarantees: it has accepted no socket yet, and all of its sockets belong to the calling thread.
bool filterInput(const std::string& file, const std::string& secret);

}  // namespace trawl
