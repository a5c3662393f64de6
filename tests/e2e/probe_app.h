// An application that is probed, on a port of loopback: one thread that answers HTTP by what is
// asked for, one request per connection.
//
//   /status/NNN   that status        /hang      nothing, for as long as the peer stays
//   /cut          half a body        all else   200
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

class ProbeApp {
 public:
  // "127.0.0.1" or "::1"; port 0 picks one.
  explicit ProbeApp(const std::string& ip = "127.0.0.1", uint16_t port = 0);
  ~ProbeApp();
  ProbeApp(const ProbeApp&) = delete;
  ProbeApp& operator=(const ProbeApp&) = delete;

  uint16_t port() const { return port_; }
  uint64_t accepted() const { return accepted_; }
  uint64_t requests() const { return requests_; }
  size_t hanging() const { return hanging_; }
  // The head of each request, as it came; of the first thousand.
  std::vector<std::string> heads();

 private:
  void run();
  void accept_one();
  // Whether the connection is to be closed.
  bool serve(int socket, std::string& begun);
  void answer(int socket, const std::string& head);

  int listener_ = -1;
  int poll_ = -1;
  int ending_ = -1;
  uint16_t port_ = 0;
  std::atomic<uint64_t> accepted_ = 0;
  std::atomic<uint64_t> requests_ = 0;
  std::atomic<size_t> hanging_ = 0;
  std::map<int, std::string> open_;  // what has come of each that is not answered
  std::mutex mutex_;                 // guards heads_
  std::vector<std::string> heads_;
  std::thread thread_;
};

}  // namespace holdfast::test
