// Connections whose last response is sent and whose peers are to close first. Nothing waits for
// them: they are looked at when the server has something to do anyway, and by its sweep.
#pragma once

#include <list>
#include <memory>

#include "base/clock.h"
#include "net/http_connection.h"
#include "net/http_stream.h"

namespace holdfast::net {

class HttpLinger {
 public:
  // Outlives it.
  explicit HttpLinger(HttpShared& shared) : shared_(shared) {}
  ~HttpLinger();
  HttpLinger(const HttpLinger&) = delete;
  HttpLinger& operator=(const HttpLinger&) = delete;

  // Requires: is_plain(), so that it can be looked at without waiting.
  void add(std::unique_ptr<HttpStream> stream, Time deadline);
  // Closes the oldest ones, as far as their peers have closed; a few at a time.
  void look_at_oldest();
  // Closes all whose peers have closed, or whose time is over.
  void on_tick(Time now);
  // For another that needs its place. False if there is none.
  bool give_way();
  void close_all();
  size_t size() const { return all_.size(); }

 private:
  struct One {
    std::unique_ptr<HttpStream> stream;
    Time deadline;
    size_t discarded_bytes = 0;
  };
  static bool has_ended(One& one);
  void close(std::list<One>::iterator one);

  HttpShared& shared_;
  std::list<One> all_;  // the oldest first
};

}  // namespace holdfast::net
