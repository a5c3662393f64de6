// A plain connection, TCP or unix, as one end of a stream: an app's at an agent, a client's at a
// proxy. Bytes go between the socket and the link's buffers without a copy in between; the loop is
// asked to wait only when the socket would block.
//
// The stream's end is the socket's: a half that ends is shut down, and a stream that is reset
// resets the connection (RST), so that what was cut never looks whole. A unix socket has no such
// thing: it is closed.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "net/http_stream.h"
#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

struct SocketEndOptions {
  std::string already_read{};  // from the socket, by whoever looked at its first bytes
  OnEnded on_ended{};
};

// Whoever made the connection has set its options (TCP_NODELAY).
class SocketEnd final : public StreamEnd {
 public:
  explicit SocketEnd(net::StreamSocket socket, SocketEndOptions options = {});
  ~SocketEnd() override;

  // Of an end that no link has taken: to answer the client after all.
  net::StreamSocket release();

  void attached(Link& link, StreamId stream) override;
  Pulled pull(std::span<char> into) override;
  ssize_t push(std::string_view bytes) override;
  ssize_t push_parts(std::span<const std::string_view> parts) override;
  void push_end() override;
  void reset(ResetCode code, std::string_view why) override;

 private:
  // The loop may still hold a wait when the end is gone; the wait then finds nobody. To wait for
  // bytes is to read the first of them: of all ways to wait only this asks the kernel just once.
  struct Shared {
    net::StreamSocket socket;
    SocketEnd* end;
    std::array<char, 128> first{};
    bool waits_to_read = false;
    bool waits_to_write = false;
    bool watches = false;  // for a reset
  };
  size_t take_already_read(std::span<char> into);
  Pulled pull_more(std::span<char> into, size_t had);
  void came(size_t bytes, int error);
  ssize_t pushed(ssize_t count, size_t wanted);
  void wait_to_read();
  void wait_to_write();
  void watch_for_reset();
  void on_error();
  void broke();  // says errno
  void abort();

  std::shared_ptr<Shared> shared_;  // tidy: shared, with waits of the loop
  std::string already_read_;
  OnEnded on_ended_;
  EndReport report_;
  Link* link_ = nullptr;
  StreamId stream_ = 0;
  int socket_ = -1;
  int error_ = 0;            // of what the loop read; its end is none, that comes again
  bool read_all_ = false;    // the loop did, when it read what already_read_ has
  bool peer_ended_ = false;  // push_end() came
  bool ended_ = false;       // the socket's own end was pulled
};

}  // namespace holdfast::tunnel
