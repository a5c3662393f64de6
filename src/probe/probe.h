// What a probe asks of an application, in the words of a pod: an HTTP request, a TCP connection, or
// a gRPC health check. Values only; prober_service.h carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace holdfast::probe {

struct Header {
  std::string name{};
  std::string value{};
  bool operator==(const Header&) const = default;
};

struct HttpGet {
  std::string path = "/";  // with its query, byte for byte as the pod has it
  bool tls = false;        // scheme HTTPS: nothing is verified, h2 and http/1.1 are offered
  bool h2c = false;        // protocol HTTP2 without TLS
  std::vector<Header> headers{};
  bool operator==(const HttpGet&) const = default;
};

struct TcpSocket {
  bool operator==(const TcpSocket&) const = default;
};

struct Grpc {
  std::string service{};
  bool tls = false;  // mode TLS, unverified
  bool operator==(const Grpc&) const = default;
};

// The kubelet's default, also for 0 and for what is absent.
constexpr Duration kDefaultTimeout = std::chrono::seconds(1);

struct Probe {
  std::variant<HttpGet, TcpSocket, Grpc> action{};
  uint16_t port = 0;
  std::string host{};  // an address or a name; empty: the pod's own address
  Duration timeout = kDefaultTimeout;
  // A lifecycle hook, HTTP only: any answer is a success, only a connection that fails is not.
  bool hook = false;
  bool operator==(const Probe&) const = default;
};

// What the code of an outcome counts: HTTP statuses, what a gRPC health service says (SERVING), or
// the statuses of gRPC calls, when there was no such word.
enum class CodeOf : uint8_t { Http, GrpcHealth, GrpcCall };

// What became of it.
struct Outcome {
  bool healthy = false;
  // The kubelet's "error": it asks again up to three times and counts neither way.
  bool error = false;
  // The application's own word, as a number; 0 of Http if it did not speak.
  int code = 0;
  CodeOf code_of = CodeOf::Http;
  std::string reason{};  // one line, for people; never the application's body
  bool operator==(const Outcome&) const = default;
};

}  // namespace holdfast::probe
