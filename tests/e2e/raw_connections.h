// TCP connections to a port on loopback that say what a test wants and are otherwise left alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace holdfast::test {

class RawConnections {
 public:
  // From 127.0.0.`host` to 127.0.0.1.
  explicit RawConnections(uint16_t port, uint8_t host = 1) : port_(port), host_(host) {}
  ~RawConnections();
  RawConnections(const RawConnections&) = delete;
  RawConnections& operator=(const RawConnections&) = delete;

  // One more, which sends `bytes` and stays open. False if it was refused.
  bool open(std::string_view bytes);
  // How many the other side has not closed; takes what it sent from the others.
  size_t still_open() const;

 private:
  uint16_t port_;
  uint8_t host_;
  std::vector<int> sockets_;
};

}  // namespace holdfast::test
