// The other side of a tunnel, written from the wire contract (docs/tunnel.md) and not from our
// session: it shows whatever certificate it is given and sends what a test wants, right or wrong.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "holdfast/v1/tunnel.pb.h"
#include "tunnel/frame.h"

namespace holdfast::test {

struct Papers {
  std::string certificate_pem;
  std::string private_key_pem;
};
// Those that `holdfast join` wrote into a node's folder. Aborts if there are none.
Papers papers_in(const std::string& data_dir);

struct HeardFrame {
  tunnel::FrameHeader header;
  std::string payload;
};

// A frame's bytes, whether it is allowed or not.
std::string frame(tunnel::FrameType type, tunnel::StreamId stream, std::string_view payload);
std::string number(uint32_t value);

// What no side of a tunnel or of a peer's link may send, each by itself enough to end it.
struct Nonsense {
  const char* what;
  std::string bytes;
  const char* code;  // of the reason, as it is counted
};
std::vector<Nonsense> frames_that_make_no_sense();

// Of loopback, but not the one that everybody else has: limits count by address.
inline constexpr const char* kStranger = "127.66.0.1";
// A TCP connection to a port on loopback, -1 if it fails.
int connect_from(const std::string& source, uint16_t port);

class HostilePeer {
 public:
  struct Dial {
    uint16_t port = 0;
    std::string protocol = "holdfast-tunnel/1";
    Papers papers{};  // without: no certificate
    std::string source = kStranger;
  };
  // Null without a connection or if the handshake fails. With TLS 1.3 it does not fail here if the
  // other side does not like the certificate: the connection is closed then.
  static std::unique_ptr<HostilePeer> dial(const Dial& dial);
  static std::unique_ptr<HostilePeer> accept(int socket, const Papers& papers,
                                             const std::string& protocol);
  ~HostilePeer();
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;

  // False once the other side is gone, or takes nothing for five seconds.
  bool send(std::string_view bytes);
  bool send(tunnel::FrameType type, tunnel::StreamId stream, std::string_view payload) {
    return send(frame(type, stream, payload));
  }
  bool say(const v1::TunnelMessage& message) {
    return send(tunnel::FrameType::Message, 0, message.SerializeAsString());
  }
  // Absent if none comes in time, or ever.
  std::optional<HeardFrame> read(Duration patience);
  // The next message, whatever frames come before it.
  std::optional<v1::TunnelMessage> read_message(Duration patience);
  // Reads until the other side closes it; false if it does not.
  bool is_closed(Duration patience);
  bool closed() const { return closed_; }
  int socket() const { return socket_; }

  using OnFrame = std::function<void(HostilePeer&, const HeardFrame&)>;
  // Stays alive, by pings, and hands over what comes, until `over` says so or the other side
  // closes.
  void hold(const std::function<bool()>& over, const OnFrame& on_frame);

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  HostilePeer() = default;
  static std::unique_ptr<HostilePeer> make(int socket, const Papers& papers);
  bool shake_hands(const std::string& protocol, bool dialled);
  bool fill(Duration patience);

  int socket_ = -1;
  bool closed_ = false;
  std::string protocol_;
  std::string heard_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

// A hello as an agent says it.
v1::TunnelMessage hello(const std::string& name, const std::vector<std::string>& services = {});
std::string open_stream(const std::string& service, const std::string& agent = "");

// A rogue that is dialled: each connection is served by the script of the time, in a thread.
class HostileListener {
 public:
  using Script = std::function<void(HostilePeer&)>;
  HostileListener(uint16_t port, Papers papers, std::string protocol);
  ~HostileListener();
  HostileListener(const HostileListener&) = delete;
  HostileListener& operator=(const HostileListener&) = delete;

  void serve(Script script);
  // Connections taken so far, those whose handshake failed included.
  size_t taken() const { return taken_; }

 private:
  void accept_all();
  void serve_one(int socket);

  Papers papers_;
  std::string protocol_;
  int listener_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<size_t> taken_ = 0;
  std::mutex mutex_;
  Script script_;
  std::vector<std::thread> served_;
  std::thread acceptor_;
};

}  // namespace holdfast::test
