#include "foreign_apps.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "support/eventually.h"
#include "support/free_ports.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGrpcServer = R"(
import sys, time, grpc
from concurrent import futures
port, host, secure, seen = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
STATES = {"": 1, "up": 1, "/startup": 1, "\u00e4 b": 1, "down": 2, "none": 3}
def check(request, context):
    name = request[2:].decode()
    host = context._rpc_event.call_details.host.decode()
    keys = dict(context.invocation_metadata())
    with open(seen, "a") as file:
        file.write(f"{name}|{host}|{keys.get('user-agent')}|{context.time_remaining():.1f}\n")
    if name == "slow":
        time.sleep(5)
    if name == "denied":
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "no")
    if name == "zero":
        return b""
    if name not in STATES:
        context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")
    return bytes([8, STATES[name]])
class Health(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method == "/grpc.health.v1.Health/Check" and secure != "bare":
            return grpc.unary_unary_rpc_method_handler(check)
server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Health(),))
if secure == "tls":
    pair = (open(sys.argv[5], "rb").read(), open(sys.argv[6], "rb").read())
    server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials((pair,)))
else:
    server.add_insecure_port(f"{host}:{port}")
server.start()
server.wait_for_termination()
)";

// On either loopback.
bool listens(uint16_t port) {
  sockaddr_in four = {};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six = {};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  const auto reaches = [](int family, const void* where, socklen_t size) {
    const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool done = ::connect(socket, static_cast<const sockaddr*>(where), size) == 0;
    ::close(socket);
    return done;
  };
  return reaches(AF_INET, &four, sizeof four) || reaches(AF_INET6, &six, sizeof six);
}

}  // namespace

ForeignApp::ForeignApp(std::vector<std::string> arguments,
                       const std::vector<std::pair<std::string, std::string>>& files)
    : port_(free_ports(1)[0]) {
  const TestCertificate own = make_test_certificate("foreign");
  std::ofstream(dir_.file("cert.pem")) << own.certificate_pem;
  std::ofstream(dir_.file("key.pem")) << own.private_key_pem;
  for (const auto& [name, text] : files) std::ofstream(dir_.file(name)) << replaced(text);
  for (std::string& argument : arguments) argument = replaced(argument);
  process_ = std::make_unique<ChildProcess>(ChildOptions{.arguments = std::move(arguments),
                                                         .output_file = dir_.file("output"),
                                                         .input_file = "/dev/null"});
  const bool there =
      eventually([&] { return listens(port_) || !process_->running(); }, 15s) && listens(port_);
  if (!there) fmt::print(stderr, "{}", output());
  HF_CHECK(there, "the foreign application listens");
}

std::string ForeignApp::output() const {
  std::ifstream stream(dir_.file("output"));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string ForeignApp::replaced(std::string text) const {
  const std::pair<std::string, std::string> kWords[] = {{"PORT", std::to_string(port_)},
                                                        {"CERT", dir_.file("cert.pem")},
                                                        {"KEY", dir_.file("key.pem")},
                                                        {"DIR", dir_.file("")}};
  for (const auto& [word, value] : kWords) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), value);
      at += value.size();
    }
  }
  return text;
}

std::unique_ptr<ForeignApp> grpc_app(const std::string& kind, const std::string& host) {
  return std::make_unique<ForeignApp>(
      std::vector<std::string>{"/usr/bin/python3", "DIRserver.py", "PORT", host, kind, "DIRseen",
                               "KEY", "CERT"},
      std::vector<std::pair<std::string, std::string>>{{"server.py", kGrpcServer}});
}

}  // namespace holdfast::test
