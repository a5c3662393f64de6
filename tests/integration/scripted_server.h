// A TCP server that says what it is told, connection by connection and request by request, and
// counts the requests it got. A connection whose answers are used up is closed when it asks again.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

class ScriptedServer {
 public:
  // Of one connection; "" closes without an answer, and one that ends with a form feed closes after
  // what comes before it.
  using Answers = std::vector<std::string>;
  // For the first connection the first answers, and so on; further ones are closed at once.
  explicit ScriptedServer(std::vector<Answers> connections);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string address() const;
  int requests() const { return requests_; }

 private:
  void run();
  void serve(int connection, const Answers& answers);

  std::vector<Answers> script_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> requests_ = 0;
  std::thread thread_;
};

}  // namespace holdfast::test
