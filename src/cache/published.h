// A value that one thread replaces and many threads read without waiting for it or each other.
//
//   writer: publish(next) ──► current ◄── guard of thread 1
//                             retired ◄── guard of thread 2: freed by reclaim() once it lets go
//
// Readers have a slot each, on a cache line of its own, that says what they are looking at (a
// hazard pointer). The writer frees what no slot names; nobody ever blocks.
#pragma once

#include <cstddef>
#include <memory>

namespace holdfast::cache {

struct PublishedOptions {
  size_t max_readers = 64;
};

template <typename T>
class Published {
 public:
  class Guard;   // gives `const T&` until it goes; does not move between threads
  class Reader;  // one per thread: Guard read(). One guard at a time (HF_CHECK).

  Published(std::unique_ptr<const T> first, PublishedOptions options);

  // Writer only. Never waits.
  void publish(std::unique_ptr<const T> next);
  const T& current() const;
  // Writer only. Frees what is retired and unread; how many are still held.
  size_t reclaim();
};

}  // namespace holdfast::cache
