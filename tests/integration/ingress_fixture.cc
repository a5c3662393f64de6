#include "ingress_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "identity/certificate.h"
#include "net/http_address.h"

namespace holdfast::ingress {
namespace {

using std::chrono::hours;

identity::Validity fixture_validity() {
  const WallTime now = SystemClock().wall_now();
  return {.not_before = now - hours(1), .not_after = now + hours(24)};
}

struct Issued {
  std::string certificate_pem;
  std::string private_key_pem;
};
Issued issue(const identity::SigningKey& authority, identity::Identity who) {
  const std::string key = identity::make_private_key().value();
  who.cluster = "prod";
  return {identity::issue(authority, {.identity = std::move(who), .validity = fixture_validity()},
                          identity::make_request(key).value())
              .value(),
          key};
}

template <typename T>
Result<T> find(const std::map<std::string, T>& all, const std::string& name) {
  const auto found = all.find(name);
  if (found == all.end()) return absl::NotFoundError("none");
  return found->second;
}

asio::awaitable<net::HttpResponse> say_who(const PublicCall& call) {
  co_return net::HttpResponse{.body = identity::to_string(call.caller) + " " + call.request.method +
                                      " " + call.request.body};
}

}  // namespace

RawClient::RawClient(const std::string& address) {
  const net::ListenAddress at = net::parse_listen_address(address).value();
  socket_ = ::socket(at.endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  over_ = ::connect(socket_, at.endpoint.data(), static_cast<socklen_t>(at.endpoint.size())) != 0;
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
}

RawClient::~RawClient() {
  close();
}

bool RawClient::send(std::string_view bytes) {
  const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent >= 0 || errno == EAGAIN;
}

void RawClient::finish() {
  ::shutdown(socket_, SHUT_WR);
}

void RawClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

const std::string& RawClient::received() {
  std::array<char, 65'536> buffer;
  while (!over_) {
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) received_.append(buffer.data(), static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EAGAIN)) over_ = true;
    if (count <= 0) break;
  }
  return received_;
}

bool RawClient::over() {
  received();
  return over_;
}

IngressFixture::IngressFixture(IngressOptions options)
    : authority_(identity::make_authority("prod", fixture_validity()).value()),
      proxy_(fleet.add_proxy("p1", "a")) {
  for (const char* name : {"web", "db", "raw"}) {
    fleet.add_service(name);
    v1::ServicePort& port = *services[name].mutable_service()->add_ports();
    port.set_name("main");
    port.set_port(80);
    port.set_protocol(name == std::string("raw") ? v1::PROTOCOL_TCP : v1::PROTOCOL_HTTP);
  }
  users["ann"].add_roles("operator");
  users["bob"].add_roles("viewer");
  users["eve"].add_roles("operator");
  users["eve"].set_disabled(true);
  ingress = std::make_unique<IngressService>(
      IngressService::Parts{
          .loop = fleet.executor(),
          .clock = fleet.clock,
          .registry = registry,
          .dialer = *proxy_.service,
          .lookups = {.service = [this](const std::string& name) { return find(services, name); },
                      .role = [](const std::string&) -> Result<v1::Role> {
                        return absl::NotFoundError("none");
                      },
                      .user = [this](const std::string& name) { return find(users, name); }},
          .handler = say_who},
      options);
  const Issued own = issue(authority_, {.role = identity::Role::Proxy, .name = "p1", .zone = "a"});
  ingress->set_identity(own.certificate_pem, own.private_key_pem).IgnoreError();
  ingress->set_trust("prod", authority_.certificate_pem).IgnoreError();
  ingress->open();
  std::ofstream(dir_.file("ca.pem")) << authority_.certificate_pem;
}

IngressFixture::~IngressFixture() {
  bool stopped = false;
  asio::co_spawn(fleet.executor(), ingress->stop(),
                 [&stopped](const std::exception_ptr&) { stopped = true; });
  until([&stopped] { return stopped; });
}

std::string IngressFixture::listen(const std::string& spec) {
  return ingress->listen(parse_listener_spec(spec).value()).value();
}

std::string IngressFixture::listen_public() {
  return ingress->listen_public("127.0.0.1:0").value();
}

void IngressFixture::add_agent(const std::vector<std::string>& carried) {
  const tunnel::RawAgent& agent = fleet.dial(proxy_, "edge-1", "a", carried);
  until([&] { return agent.welcome.has_value(); });
}

std::vector<std::string> IngressFixture::curl_identity(const std::string& user) {
  std::vector<std::string> arguments = {"--proxy-cacert", dir_.file("ca.pem"), "--cacert",
                                        dir_.file("ca.pem")};
  if (user.empty()) return arguments;
  const Issued own =
      issue(authority_,
            {.role = identity::Role::User, .name = user, .user_roles = {users[user].roles(0)}});
  const std::string file = dir_.file(user + ".pem");
  std::ofstream(file) << own.certificate_pem << own.private_key_pem;
  for (const char* option : {"--proxy-cert", "--proxy-key", "--cert", "--key"}) {
    arguments.insert(arguments.end(), {option, file});
  }
  return arguments;
}

test::ProgramResult IngressFixture::run(std::vector<std::string> arguments) {
  const std::string output = dir_.file("output");
  test::ChildProcess child(
      {.arguments = std::move(arguments), .output_file = output, .input_file = "/dev/null"});
  until([&] { return !child.running(); });
  std::stringstream text;
  text << std::ifstream(output).rdbuf();
  return {.exit_code = child.wait(std::chrono::seconds(1)), .output = text.str()};
}

bool IngressFixture::until(const std::function<bool()>& condition, Duration patience) {
  return fleet.until(condition, patience);
}

bool IngressFixture::answers(RawClient& client, const std::string& text) {
  return until([&] { return client.received().contains(text); });
}

double IngressFixture::counter(const std::string& line) {
  const std::string page = "\n" + registry.expose();
  const size_t at = page.find("\n" + line + " ");
  return at == std::string::npos ? 0 : std::strtod(page.c_str() + at + line.size() + 2, nullptr);
}

}  // namespace holdfast::ingress
