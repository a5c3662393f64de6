// A tunnel's connection: TLS on a socket, a Session on top, and at this side of each stream
// whatever takes and gives its bytes. One loop; buffers are shared by all links of a loop, so that
// an idle one costs next to nothing.
//
//   socket ═ TLS ─► Session ─► DataCame ──► StreamEnd::push ──► an app's or a client's connection
//          ◄─ TLS ─ Session ◄─ next_turn ── StreamEnd::pull ◄── the same
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/http_stream.h"
#include "tunnel/session.h"

namespace holdfast::tunnel {

namespace asio = boost::asio;

class Link;

// What stands at this side of one stream: a socket, a client's TLS connection, or a stream of
// another link. Belongs to the link from attach() to the end of the stream and is destroyed with
// it, never from within one of its own calls.
class StreamEnd {
 public:
  virtual ~StreamEnd() = default;

  // Before anything else: whom to tell that there is something (Link::ready) or room (Link::room).
  virtual void attached(Link& link, StreamId stream) = 0;
  struct Pulled {
    size_t bytes = 0;
    bool ended = false;   // nothing comes after these
    bool broken = false;  // neither side can go on
  };
  // Bytes for the peer. Fewer than there is room for means that there are no more for now: the end
  // calls Link::ready() when there are.
  virtual Pulled pull(std::span<char> into) = 0;
  // Bytes from the peer: how many it took. If not all, it calls Link::room() when it can take more.
  // Negative: broken.
  virtual ssize_t push(std::string_view bytes) = 0;
  // The same for bytes in several places, at most kMostParts: fewer calls of the kernel.
  static constexpr size_t kMostParts = 16;
  virtual ssize_t push_parts(std::span<const std::string_view> parts);
  // The peer sends no more; all it sent was pushed.
  virtual void push_end() = 0;
  // The stream is over before its time; nothing else is called after it.
  virtual void reset(ResetCode code, std::string_view why) = 0;
};

// What a link's owner does with what comes. Called from run(), on the loop; must not wait.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;
  // Answer, now or later, with Link::accept() or Link::reset(). Of the accepting side only.
  virtual void on_open(Link& link, StreamId stream, std::string_view payload) = 0;
  // An error ends the link.
  virtual Status on_message(Link& link, std::string_view payload) = 0;
  virtual void on_goodbye(Link& link, std::string_view why) = 0;
};

// The bytes that links of one loop read into and write from, and how many they keep together for
// ends that do not take them: a peer may send a window on every stream, and all windows of all
// links are more than a process can have. The bytes to read into and write
// from cost nothing until they are used.
class LinkBuffers {
 public:
  static constexpr size_t kBatchBytes = 384 << 10;
  LinkBuffers();
  std::span<char> in() { return {in_.get(), kBatchBytes}; }
  std::span<char> out() { return {out_.get(), kBatchBytes}; }
  std::vector<Event>& events() { return events_; }

  // What one stream keeps; given back at its end.
  class Kept {
   public:
    explicit Kept(LinkBuffers& buffers) : buffers_(buffers) {}
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { set(0); }
    void set(size_t bytes);

   private:
    LinkBuffers& buffers_;
    size_t bytes_ = 0;
  };
  // Above half of it there are no new streams; what would go beyond it ends the stream that it came
  // on.
  void set_max_kept(size_t bytes) { max_kept_ = bytes; }
  size_t kept_bytes() const { return kept_; }
  // Whether there may be a new stream; counts it if not.
  bool allow_stream();
  // Whether that much more may be kept; counts it if not.
  bool allow_bytes(size_t bytes);
  // The same, for those who can do with less.
  bool has_room(size_t bytes) const;
  uint64_t refused_streams() const { return refused_streams_; }
  uint64_t cut_streams() const { return cut_streams_; }

 private:
  std::unique_ptr<char[]> in_, out_;
  std::vector<Event> events_;  // what the bytes in in_ mean
  size_t max_kept_ = size_t{1} << 30;
  size_t kept_ = 0;
  uint64_t refused_streams_ = 0;
  uint64_t cut_streams_ = 0;
};

struct LinkOptions {
  SessionOptions session{};
  // Unsent bytes in the kernel above which nothing more is written: what waits there cannot be
  // overtaken.
  size_t unsent_bytes = 256 << 10;
  Duration write_timeout = std::chrono::seconds(10);  // a peer that reads nothing that long is dead
  // After the peer has left, for whoever has not yet read what came to its end.
  Duration flush_timeout = std::chrono::seconds(30);
};

struct SecureConnection;  // secure_connection_service.h

class Link {
 public:
  // Everything outlives it.
  struct Parts {
    asio::any_io_executor loop;
    const Clock& clock;
    LinkBuffers& buffers;
    LinkOwner& owner;
  };
  Link(Parts parts, std::unique_ptr<SecureConnection> connection, LinkOptions options);
  ~Link();

  // Until the connection ends; why. Every stream is reset then; only after a goodbye those that
  // came to their end are given the time to be read. Cancelling it closes the link.
  asio::awaitable<Status> run();
  // Ends run() soon, with this.
  void close(Status why);

  // The opener's side: returns when the peer has accepted. kUnavailable if it refused or the link
  // ended: the message begins with the ResetCode's word. kResourceExhausted, HF2010 if too much
  // is kept already; kDeadlineExceeded.
  // Takes `end` only if it is OK.
  asio::awaitable<Status> open(std::string payload, std::unique_ptr<StreamEnd>& end,
                               Duration timeout);
  // The acceptor's side.
  void accept(StreamId stream, std::unique_ptr<StreamEnd> end);
  void reset(StreamId stream, ResetCode code, std::string_view why);

  Status send(std::string_view message);
  // No new streams either way; run() ends when the last stream has.
  void say_goodbye(std::string_view why);

  // From a StreamEnd.
  void ready(StreamId stream);
  void room(StreamId stream);
  // ready(), and nobody else is being served: from a handler of the loop's own.
  void woken(StreamId stream);

  const Session& session() const;
  void set_keepalive(Duration interval, uint32_t misses);

  const SecureConnection& connection() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace holdfast::tunnel
