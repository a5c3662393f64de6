// The app behind every path of the tunnel benchmark, in a process of its own. A connection's first
// nine bytes say what it wants: 'D' and a count, that many bytes; 'U' and a count, to send that
// many and get one back; 'E', to get back what it sends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::bench {

inline constexpr size_t kHeadBytes = 9;
std::string head(char what, uint64_t count);

// Certificate and key files of PEM for the listener that speaks TLS 1.3 itself.
struct AppTls {
  std::string certificate_file;
  std::string key_file;
};

class TunnelApp {
 public:
  // Both listeners are open when it returns.
  explicit TunnelApp(const AppTls& tls);
  ~TunnelApp();
  TunnelApp(const TunnelApp&) = delete;
  TunnelApp& operator=(const TunnelApp&) = delete;

  uint16_t port() const { return port_; }
  uint16_t tls_port() const { return tls_port_; }
  pid_t pid() const { return pid_; }

 private:
  uint16_t port_ = 0;
  uint16_t tls_port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace holdfast::bench
