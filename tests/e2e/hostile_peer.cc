#include "e2e/hostile_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/check.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using tunnel::FrameType;

constexpr auto kHostilePeerPatience = 5s;

sockaddr_in loopback(const std::string& host, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  HF_CHECK(::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1, "an IPv4 address");
  return address;
}

bool wait_for(int socket, short what, Duration patience) {
  pollfd asked{.fd = socket, .events = what, .revents = 0};
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  return ::poll(&asked, 1, static_cast<int>(wait.count())) > 0;
}

bool use(SSL_CTX* context, const Papers& papers) {
  if (papers.certificate_pem.empty()) return true;
  BIO* certificate = BIO_new_mem_buf(papers.certificate_pem.data(), -1);
  X509* own = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  BIO_free(certificate);
  BIO* key = BIO_new_mem_buf(papers.private_key_pem.data(), -1);
  EVP_PKEY* secret = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  BIO_free(key);
  const bool used = own != nullptr && secret != nullptr &&
                    SSL_CTX_use_certificate(context, own) == 1 &&
                    SSL_CTX_use_PrivateKey(context, secret) == 1;
  X509_free(own);
  EVP_PKEY_free(secret);
  return used;
}

}  // namespace

Papers papers_in(const std::string& data_dir) {
  std::ifstream file(data_dir + "/identity/identity.pem");
  const std::string both{std::istreambuf_iterator<char>(file), {}};
  const size_t certificate = both.find("-----BEGIN CERTIFICATE");
  HF_CHECK(certificate != std::string::npos, data_dir + " has no identity");
  return {.certificate_pem = both.substr(certificate),
          .private_key_pem = both.substr(0, certificate)};
}

std::string number(uint32_t value) {
  std::array<char, 4> bytes{};
  tunnel::encode_u32(value, bytes);
  return {bytes.data(), bytes.size()};
}

std::string frame(FrameType type, tunnel::StreamId stream, std::string_view payload) {
  std::string bytes =
      number(static_cast<uint32_t>(payload.size() << 8) | static_cast<uint8_t>(type));
  bytes += number(stream);
  bytes += payload;
  return bytes;
}

std::vector<Nonsense> frames_that_make_no_sense() {
  const std::string window = number(1);
  const std::string too_long(tunnel::kMaxDataBytes + 1, 'x');
  std::string flood;
  for (int i = 0; i < 5'000; ++i) flood += frame(FrameType::Message, 0, "");
  return {
      {"an unknown type", frame(static_cast<FrameType>(77), 0, "x"), "HF2002"},
      {"data that is too long", frame(FrameType::Data, 0x10000, too_long), "HF2002"},
      {"a message that is too long", std::string("\xff\xff\xff\x08\0\0\0\0", 8), "HF2002"},
      {"data of no stream", frame(FrameType::Data, 0x10000, "x"), "HF2002"},
      {"a reset of no stream", frame(FrameType::Reset, 0x10000, window), "HF2002"},
      {"an accept of no stream", frame(FrameType::Accept, 0x10000, window), "HF2002"},
      {"a ping of three bytes", frame(FrameType::Ping, 0, "abc"), "HF2002"},
      {"two goodbyes", frame(FrameType::Goodbye, 0, "") + frame(FrameType::Goodbye, 0, ""),
       "HF2002"},
      {"a flood of messages", flood, "HF2006"},
      {"HTTP", "GET / HTTP/1.1\r\nHost: proxy\r\n\r\n", "HF2002"},
  };
}

int connect_from(const std::string& source, uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in from = loopback(source, 0);
  const sockaddr_in to = loopback("127.0.0.1", port);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
      ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    return socket;
  }
  ::close(socket);
  return -1;
}

std::unique_ptr<HostilePeer> HostilePeer::make(int socket, const Papers& papers) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to who has hung up
  std::unique_ptr<HostilePeer> made(new HostilePeer);
  made->socket_ = socket;
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval limit{.tv_sec = kHostilePeerPatience.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  made->context_.reset(SSL_CTX_new(TLS_method()));
  HF_CHECK(use(made->context_.get(), papers), "papers are in order, if not the peer's own");
  return made;
}

std::unique_ptr<HostilePeer> HostilePeer::dial(const Dial& dial) {
  const int socket = connect_from(dial.source, dial.port);
  if (socket < 0) return nullptr;
  std::unique_ptr<HostilePeer> made = make(socket, dial.papers);
  return made->shake_hands(dial.protocol, true) ? std::move(made) : nullptr;
}

std::unique_ptr<HostilePeer> HostilePeer::accept(int socket, const Papers& papers,
                                                 const std::string& protocol) {
  std::unique_ptr<HostilePeer> made = make(socket, papers);
  return made->shake_hands(protocol, false) ? std::move(made) : nullptr;
}

HostilePeer::~HostilePeer() {
  ssl_.reset();
  ::close(socket_);
}

bool HostilePeer::shake_hands(const std::string& protocol, bool dialled) {
  protocol_ = static_cast<char>(protocol.size()) + protocol;
  if (!dialled) {
    // The first that is offered: a rogue is not choosy.
    SSL_CTX_set_alpn_select_cb(
        context_.get(),
        [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned,
           void*) {
          *out = in + 1;
          *size = in[0];
          return SSL_TLSEXT_ERR_OK;
        },
        nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  }
  ssl_.reset(SSL_new(context_.get()));
  SSL_set_fd(ssl_.get(), socket_);
  const auto* offered = reinterpret_cast<const unsigned char*>(protocol_.data());
  if (dialled) SSL_set_alpn_protos(ssl_.get(), offered, static_cast<unsigned>(protocol_.size()));
  return (dialled ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get())) == 1;
}

bool HostilePeer::send(std::string_view bytes) {
  while (!closed_ && !bytes.empty()) {
    size_t sent = 0;
    if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) != 1) {
      closed_ = true;
    }
    bytes.remove_prefix(sent);
  }
  return !closed_;
}

bool HostilePeer::fill(Duration patience) {
  if (closed_) return false;
  if (SSL_pending(ssl_.get()) == 0 && !wait_for(socket_, POLLIN, patience)) return false;
  std::array<char, 16'384> bytes;
  size_t count = 0;
  if (SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &count) != 1) {
    closed_ = SSL_get_error(ssl_.get(), 0) != SSL_ERROR_WANT_READ;
    return !closed_;
  }
  heard_.append(bytes.data(), count);
  return true;
}

std::optional<HeardFrame> HostilePeer::read(Duration patience) {
  const Time deadline = SystemClock().now() + patience;
  for (;;) {
    const uint32_t length = heard_.size() < 8 ? 0 : tunnel::decode_u32(heard_) >> 8;
    if (heard_.size() >= 8 + size_t{length}) {
      HeardFrame heard{.header = {.length = length,
                                  .type = static_cast<FrameType>(heard_[3]),
                                  .stream = tunnel::decode_u32(heard_.substr(4, 4))},
                       .payload = heard_.substr(8, length)};
      heard_.erase(0, 8 + length);
      return heard;
    }
    const Duration left = deadline - SystemClock().now();
    if (left <= Duration::zero() || !fill(left)) return std::nullopt;
  }
}

std::optional<v1::TunnelMessage> HostilePeer::read_message(Duration patience) {
  const Time deadline = SystemClock().now() + patience;
  while (const auto heard = read(deadline - SystemClock().now())) {
    v1::TunnelMessage message;
    if (heard->header.type != FrameType::Message) continue;
    if (message.ParseFromString(heard->payload)) return message;
  }
  return std::nullopt;
}

bool HostilePeer::is_closed(Duration patience) {
  const Time deadline = SystemClock().now() + patience;
  while (!closed_ && SystemClock().now() < deadline) (void)read(deadline - SystemClock().now());
  return closed_;
}

void HostilePeer::hold(const std::function<bool()>& over, const OnFrame& on_frame) {
  Time next_ping = SystemClock().now();
  while (!closed_ && !over()) {
    if (const auto heard = read(50ms)) on_frame(*this, *heard);
    if (SystemClock().now() < next_ping) continue;
    next_ping = SystemClock().now() + 1s;
    send(FrameType::Ping, 0, "12345678");
  }
}

v1::TunnelMessage hello(const std::string& name, const std::vector<std::string>& services) {
  v1::TunnelMessage message;
  message.mutable_hello()->set_name(name);
  message.mutable_hello()->set_boot(1);
  for (const std::string& service : services) {
    v1::ExposedService& exposed = *message.mutable_hello()->mutable_exposed()->add_services();
    exposed.set_service(service);
    exposed.set_healthy(true);
  }
  return message;
}

std::string open_stream(const std::string& service, const std::string& agent) {
  v1::OpenStream open;
  open.set_service(service);
  open.set_agent(agent);
  return number(256 << 10) + open.SerializeAsString();
}

HostileListener::HostileListener(uint16_t port, Papers papers, std::string protocol)
    : papers_(std::move(papers)), protocol_(std::move(protocol)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in address = loopback("127.0.0.1", port);
  const bool listens =
      ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener_, 1024) == 0;
  HF_CHECK(listens, "the rogue's port is free");
  acceptor_ = std::thread([this] { accept_all(); });
}

HostileListener::~HostileListener() {
  ending_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& each : served_) each.join();
  ::close(listener_);
}

void HostileListener::serve(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void HostileListener::accept_all() {
  while (!ending_) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ++taken_;
    served_.emplace_back([this, socket] { serve_one(socket); });
  }
}

void HostileListener::serve_one(int socket) {
  Script script;
  {
    const std::lock_guard lock(mutex_);
    script = script_;
  }
  if (!script) {
    ::close(socket);
    return;
  }
  const std::unique_ptr<HostilePeer> peer = HostilePeer::accept(socket, papers_, protocol_);
  if (peer) script(*peer);
}

}  // namespace holdfast::test
