// The bytes of one connection, plain or under TLS. A connection is used by one loop; reading and
// writing at the same time is allowed, two reads or two writes are not.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::net {

namespace asio = boost::asio;

using StreamSocket = asio::generic::stream_protocol::socket;

class HttpStream {
 public:
  virtual ~HttpStream() = default;

  // What must happen before the first read.
  virtual asio::awaitable<Status> handshake() = 0;
  // 0: the peer sends no more.
  virtual asio::awaitable<Result<size_t>> read_some(std::span<char> into) = 0;
  // All of it.
  virtual asio::awaitable<Status> write(std::string_view bytes) = 0;
  // Whether there is no handshake, and the next two do something.
  virtual bool is_plain() const { return false; }
  // As far as it goes without waiting.
  virtual std::optional<Result<size_t>> read_now(std::span<char> /*into*/) { return std::nullopt; }
  virtual Result<size_t> write_now(std::string_view /*bytes*/) { return 0; }
  // Says that nothing more will be sent.
  virtual asio::awaitable<void> finish() = 0;
  // At once; what waits fails.
  virtual void close() = 0;
  // The same, and the peer sees a broken connection instead of an end.
  virtual void reset() { close(); }
  // The peer has ended its side, or the connection is broken. Does not wait; false where that
  // cannot be told.
  virtual bool is_gone() { return false; }
  // Nothing has come that was not read, not even the end: an idle connection that may be used
  // again.
  virtual bool is_quiet() = 0;
  // What the peer presented in the handshake; empty if nothing.
  virtual std::string chain_pem() const = 0;
};

std::unique_ptr<HttpStream> make_plain_stream(StreamSocket socket);

// Of the socket itself; does not wait.
bool nothing_to_read(int socket);
bool nothing_to_read(StreamSocket& socket);
bool is_gone(int socket);
bool is_gone(StreamSocket& socket);
void reset(StreamSocket& socket);

}  // namespace holdfast::net
