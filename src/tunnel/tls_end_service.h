// A connection behind an HttpStream (a client's TLS) as one end of a stream. HttpStreams wait in
// coroutines, so bytes are copied once more than at a socket's end, and someone has to run it. A
// stream that is reset closes the connection without TLS's farewell: the client knows it was cut.
//
//   StreamPump pump(loop, std::move(stream));
//   std::unique_ptr<StreamEnd> end = pump.take_end();
//   CO_TRY_OK(co_await link.open(payload, end, timeout));
//   co_await pump.run();   // until the stream is over
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <memory>

#include "net/http_stream.h"
#include "tunnel/end_report.h"
#include "tunnel/link_service.h"

namespace holdfast::tunnel {

class StreamPump {
 public:
  StreamPump(const asio::any_io_executor& loop, std::unique_ptr<net::HttpStream> stream,
             OnEnded on_ended = {});
  // The end, if it lives on, is broken from then on.
  ~StreamPump();

  // Once.
  std::unique_ptr<StreamEnd> take_end();
  // Copies until both directions have ended or the stream or the connection broke; closes the
  // connection. Cancelling it breaks the stream; if that has come to its end, what is left is still
  // written, for at most so long.
  asio::awaitable<void> run(Duration last_words = std::chrono::seconds(10));
  // The connection, for its owner to answer the client itself if no link took the end.
  net::HttpStream& stream();

 private:
  asio::awaitable<void> breaking(asio::awaitable<Status> half);
  class State;
  class End;
  std::shared_ptr<State> state_;  // tidy: shared, pump and end may go in either order
  std::unique_ptr<End> end_;
};

}  // namespace holdfast::tunnel
