// An application that is probed: for each connection it reads one request, says what it is told,
// and then closes or holds on. It remembers what it was asked and how its peers left.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

class ScriptedApp {
 public:
  struct Reply {
    std::string bytes{};
    bool hold = false;  // until the peer closes
  };
  using Answer = std::function<Reply(const std::string& request)>;

  explicit ScriptedApp(Answer answer, bool ipv6 = false);
  // The same to everybody.
  explicit ScriptedApp(Reply reply, bool ipv6 = false);
  ~ScriptedApp();
  ScriptedApp(const ScriptedApp&) = delete;
  ScriptedApp& operator=(const ScriptedApp&) = delete;

  // What counts as a request: this many bytes, instead of what an empty line ends.
  void answer_after(size_t bytes) { enough_ = bytes; }
  uint16_t port() const { return port_; }
  std::vector<std::string> requests() const;
  // Their addresses, without ports.
  std::vector<std::string> peers() const;
  int connections() const { return connections_; }
  int left() const { return left_; }      // peers that have closed, however
  int resets() const { return resets_; }  // of those, by a reset

 private:
  void run();
  void serve(int connection);
  bool read_request(int connection, std::string& request);
  void watch_end(int connection);

  Answer answer_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<size_t> enough_ = SIZE_MAX;
  std::atomic<int> connections_ = 0;
  std::atomic<int> left_ = 0;
  std::atomic<int> resets_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<std::string> peers_;
  std::list<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

// Whole answers.
std::string http_answer(int status, const std::string& body = "", const std::string& headers = "");

}  // namespace holdfast::test
