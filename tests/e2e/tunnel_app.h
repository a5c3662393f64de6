// The application behind the tunnels of a test, on a port of loopback: echoes numbered records and
// checks on the way that each comes once and in its turn; answers HTTP with what was asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

// What a client sends and gets back, as it is in memory.
struct Record {
  uint64_t connection = 0;
  uint64_t number = 0;  // 1, 2, 3 ... within its connection
  bool operator==(const Record&) const = default;
};

class TunnelTestApp {
 public:
  TunnelTestApp();
  ~TunnelTestApp();
  TunnelTestApp(const TunnelTestApp&) = delete;
  TunnelTestApp& operator=(const TunnelTestApp&) = delete;

  uint16_t port() const { return port_; }
  // Records that came twice, or were skipped by the one after them, whatever became of their
  // connection.
  uint64_t doubled() const { return doubled_; }
  uint64_t skipped() const { return skipped_; }
  uint64_t records() const { return records_; }
  // Connections that began with something else than a first record: echoed, not counted.
  uint64_t strangers() const { return strangers_; }

 private:
  // How far a connection has come.
  struct Course {
    uint64_t connection = 0;
    uint64_t expected = 1;
    bool is_stranger = false;
  };

  void accept_all();
  void join_ended();
  void serve(int socket);
  void serve_records(int socket, std::vector<char> begun);
  void serve_http(int socket, std::string begun);
  void count(const Record& record, Course& course);

  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<uint64_t> doubled_ = 0;
  std::atomic<uint64_t> skipped_ = 0;
  std::atomic<uint64_t> records_ = 0;
  std::atomic<uint64_t> strangers_ = 0;
  std::mutex mutex_;
  std::vector<int> open_;
  bool ending_ = false;
  std::map<std::thread::id, std::thread> served_;
  std::vector<std::thread> ended_;  // to be joined: each keeps its stack until then
  std::thread acceptor_;
};

}  // namespace holdfast::test
