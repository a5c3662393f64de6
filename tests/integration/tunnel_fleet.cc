#include "tunnel_fleet.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "resource/proto_time.h"

namespace holdfast::tunnel {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

identity::Validity validity(seconds valid_for = hours(24)) {
  const WallTime now = SystemClock().wall_now();
  return {.not_before = now - hours(1), .not_after = now + valid_for};
}

class ClientEnd final : public StreamEnd {
 public:
  explicit ClientEnd(Client client) : client_(std::move(client)) {}
  ~ClientEnd() override {
    client_->link = nullptr;
    client_->over = true;
  }
  void attached(Link& link, StreamId stream) override {
    client_->link = &link;
    client_->stream = stream;
  }
  Pulled pull(std::span<char> into) override {
    const size_t bytes = std::min(into.size(), client_->to_send.size());
    std::memcpy(into.data(), client_->to_send.data(), bytes);
    client_->to_send.erase(0, bytes);
    return {.bytes = bytes, .ended = client_->send_end && client_->to_send.empty()};
  }
  ssize_t push(std::string_view bytes) override {
    client_->received += bytes;
    return static_cast<ssize_t>(bytes.size());
  }
  void push_end() override { client_->ended = true; }
  void reset(ResetCode code, std::string_view /*why*/) override {
    client_->reset = code;
    client_->link = nullptr;
  }

 private:
  Client client_;
};

// Sends back what comes.
class EchoEnd final : public StreamEnd {
 public:
  void attached(Link& link, StreamId stream) override {
    link_ = &link;
    stream_ = stream;
  }
  Pulled pull(std::span<char> into) override {
    const size_t bytes = std::min(into.size(), waiting_.size());
    std::memcpy(into.data(), waiting_.data(), bytes);
    waiting_.erase(0, bytes);
    return {.bytes = bytes, .ended = ended_ && waiting_.empty()};
  }
  ssize_t push(std::string_view bytes) override {
    waiting_ += bytes;
    link_->ready(stream_);
    return static_cast<ssize_t>(bytes.size());
  }
  void push_end() override {
    ended_ = true;
    link_->ready(stream_);
  }
  void reset(ResetCode /*code*/, std::string_view /*why*/) override { link_ = nullptr; }

 private:
  Link* link_ = nullptr;
  StreamId stream_ = 0;
  std::string waiting_;
  bool ended_ = false;
};

}  // namespace

Authority::Authority(std::string cluster)
    : cluster_(std::move(cluster)), key_(identity::make_authority(cluster_, validity()).value()) {}

ProxyIdentity Authority::issue(identity::Role role, const std::string& name,
                               const std::string& zone, seconds valid_for) const {
  const std::string key = identity::make_private_key().value();
  const identity::CertificateSpec spec{
      .identity = {.role = role, .cluster = cluster_, .name = name, .zone = zone},
      .validity = validity(valid_for)};
  return {
      .certificate_pem = identity::issue(key_, spec, identity::make_request(key).value()).value(),
      .private_key_pem = key,
      .ca_pem = key_.certificate_pem};
}

void ClientSide::send(std::string_view bytes) {
  to_send += bytes;
  if (link != nullptr) link->ready(stream);
}

void ClientSide::finish() {
  send_end = true;
  if (link != nullptr) link->ready(stream);
}

std::unique_ptr<StreamEnd> make_client_end(Client client) {
  return std::make_unique<ClientEnd>(std::move(client));
}

v1::Exposed exposing(const std::vector<std::string>& services) {
  v1::Exposed exposed;
  for (const std::string& name : services) {
    v1::ExposedService& service = *exposed.add_services();
    service.set_service(name);
    service.set_healthy(true);
  }
  return exposed;
}

v1::Exposed exposing_sick(const std::string& service, const std::string& why) {
  v1::Exposed exposed;
  exposed.add_services()->set_service(service);
  exposed.mutable_services(0)->set_reason(why);
  return exposed;
}

RawAgent::RawAgent(asio::any_io_executor loop, const Clock& clock, LinkBuffers& buffers,
                   Options options)
    : loop_(std::move(loop)), clock_(clock), buffers_(buffers), options_(std::move(options)) {
  trust_.set("prod", options_.identity.ca_pem).IgnoreError();
}

asio::awaitable<void> RawAgent::run(std::string address) {
  const auto context =
      net::TlsContext::make_tunnel_client({.certificate_pem = options_.identity.certificate_pem,
                                           .private_key_pem = options_.identity.private_key_pem,
                                           .protocols = {options_.protocol},
                                           .ca_pem = options_.identity.ca_pem,
                                           .server_name = std::string(identity::kProxyServerName)})
          .value();
  Secured secured = co_await secure_connect(std::move(address), {trust_, clock_},
                                            {.context = context, .timeout = seconds(20)});
  why = secured.status();
  if (why.ok()) {
    LinkOptions link;
    link.session.side = options_.side;
    link_ = std::make_unique<Link>(
        Link::Parts{.loop = loop_, .clock = clock_, .buffers = buffers_, .owner = *this},
        *std::move(secured), link);
    v1::TunnelMessage message;
    message.mutable_hello()->set_name(options_.says);
    message.mutable_hello()->set_boot(options_.boot);
    *message.mutable_hello()->mutable_exposed() = options_.exposed;
    if (options_.says_hello) link_->send(message.SerializeAsString()).IgnoreError();
    why = co_await link_->run();
    link_.reset();
  }
  over = true;
}

asio::awaitable<std::string> RawAgent::open(v1::OpenStream wanted, Client client,
                                            Duration patience) {
  std::unique_ptr<StreamEnd> end = make_client_end(std::move(client));
  const Status answered = co_await link_->open(wanted.SerializeAsString(), end, patience);
  if (answered.ok()) co_return "accepted";
  const std::string message(answered.message());
  co_return message.substr(0, message.find(':'));
}

void RawAgent::expose(const v1::Exposed& exposed) {
  v1::TunnelMessage message;
  *message.mutable_exposed() = exposed;
  link_->send(message.SerializeAsString()).IgnoreError();
}

void RawAgent::on_open(Link& link, StreamId stream, std::string_view payload) {
  v1::OpenStream asked;
  asked.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  opened.push_back(asked);
  if (options_.answer == Answer::Echo) link.accept(stream, std::make_unique<EchoEnd>());
  if (options_.answer == Answer::Refuse) link.reset(stream, ResetCode::Refused, "nothing listens");
}

Status RawAgent::on_message(Link& /*link*/, std::string_view payload) {
  v1::TunnelMessage message;
  message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  if (message.has_welcome()) {
    welcome = message.welcome();
    welcomed_at = clock_.now();
  }
  if (message.has_refusal()) refusal = message.refusal();
  if (message.has_discovery()) discoveries.push_back(message.discovery());
  if (message.has_advice()) advices.push_back(message.advice());
  if (message.has_holding()) holdings.push_back(message.holding());
  return absl::OkStatus();
}

void RawAgent::on_goodbye(Link& /*link*/, std::string_view /*why*/) {
  goodbye = true;
}

TunnelFleet::~TunnelFleet() {
  for (RawAgent& agent : agents_) agent.close();
  for (auto& [name, proxy] : proxies_) stop(proxy);
  bool joined = false;
  asio::co_spawn(loop_, tasks_.join(), [&joined](const std::exception_ptr&) { joined = true; });
  until([&joined] { return joined; });
}

void TunnelFleet::stop(Member& proxy) {
  if (std::exchange(proxy.stopped, true)) return;
  bool stopped = false;
  asio::co_spawn(loop_, proxy.service->stop(),
                 [&stopped](const std::exception_ptr&) { stopped = true; });
  until([&stopped] { return stopped; });
}

TunnelFleet::Member& TunnelFleet::add_proxy(const std::string& name, const std::string& zone,
                                            const Tweak& tweak) {
  proxies_.erase(name);
  Member& member = proxies_[name];
  ProxyOptions options{.name = name,
                       .cluster = "prod",
                       .zone = zone,
                       .version = "test",
                       .boot = proxies_.size(),
                       .tunnel_listen = "127.0.0.1:0",
                       .peer_listen = "127.0.0.1:0"};
  options.peer_backoff = {.first = milliseconds(20), .cap = milliseconds(200)};
  options.peers.grace = milliseconds(300);
  options.drain.advise_over = milliseconds(100);
  options.drain.move_within = milliseconds(500);
  options.drain.deadline = seconds(30);
  if (tweak) tweak(options);
  ProxyService::Asks asks;
  asks.service = [this](const std::string& service) -> std::optional<v1::Service> {
    const auto found = services_.find(service);
    return found == services_.end() ? std::nullopt : std::optional(found->second);
  };
  asks.announce_draining = [&member]() -> asio::awaitable<bool> {
    member.announced_draining = true;
    co_return member.has_controllers;
  };
  asks.ready = [&member] { member.ready = true; };
  asks.close_ingress = [&member]() -> asio::awaitable<void> {
    member.ingress_closed = true;
    co_return;
  };
  member.service = std::make_unique<ProxyService>(
      ProxyService::Parts{loop_.get_executor(), clock, member.registry, buffers_},
      std::move(options), std::move(asks));
  member.identity = authority.issue(identity::Role::Proxy, name, zone);
  member.service->set_identity(member.identity).IgnoreError();
  member.at = member.service->listen().value();
  member.service->start();
  v1::Proxy& entry = entries_[name];
  entry.set_zone(zone);
  entry.set_tunnel_address(member.at.tunnel);
  entry.set_peer_address(member.at.peer);
  *entry.mutable_last_heartbeat() = resource::to_proto(clock.wall_now());
  return member;
}

std::vector<CachedProxy> TunnelFleet::listed() const {
  std::vector<CachedProxy> all;
  for (const auto& [name, entry] : entries_) all.push_back({.name = name, .proxy = entry});
  return all;
}

void TunnelFleet::introduce() {
  for (auto& [name, proxy] : proxies_) {
    if (!proxy.stopped) proxy.service->set_proxies(listed());
  }
}

void TunnelFleet::add_service(const std::string& name,
                              const std::map<std::string, std::string>& selector) {
  v1::Service& service = services_[name];
  service.Clear();
  service.mutable_agent_selector()->insert(selector.begin(), selector.end());
}

const ProxyIdentity& TunnelFleet::agent_identity(const std::string& agent,
                                                 const std::string& zone) {
  auto found = identities_.find(agent);
  if (found == identities_.end()) {
    found = identities_.emplace(agent, authority.issue(identity::Role::Agent, agent, zone)).first;
  }
  return found->second;
}

RawAgent& TunnelFleet::dial(const Member& proxy, const std::string& agent, const std::string& zone,
                            std::vector<std::string> services) {
  return dial(
      proxy.at.tunnel,
      {.identity = agent_identity(agent, zone), .says = agent, .exposed = exposing(services)});
}

RawAgent& TunnelFleet::dial(const std::string& address, RawAgent::Options options) {
  RawAgent& agent = agents_.emplace_back(loop_.get_executor(), clock, buffers_, std::move(options));
  tasks_.spawn(agent.run(address));
  return agent;
}

TunnelFleet::Dialled TunnelFleet::connect(Member& proxy, const std::string& service) {
  Client client = std::make_shared<ClientSide>();
  std::unique_ptr<StreamEnd> end = make_client_end(client);
  const Wanted wanted{.service = service, .client = "10.0.0.7:51234"};
  Result<Reached> reached = run(proxy.service->dial(wanted, end));
  return {.reached = std::move(reached), .client = std::move(client)};
}

bool TunnelFleet::echoes(const Client& client, const std::string& bytes) {
  const size_t before = client->received.size();
  client->send(bytes);
  return until([&] { return client->received.size() >= before + bytes.size(); }) &&
         client->received.substr(before) == bytes;
}

bool TunnelFleet::until(const std::function<bool()>& condition, Duration patience) {
  const Time end = clock.now() + patience;
  while (!condition()) {
    if (clock.now() >= end) return false;
    loop_.restart();
    loop_.run_one_for(milliseconds(20));
  }
  return true;
}

void TunnelFleet::pass(Duration duration) {
  const Time end = clock.now() + duration;
  until([&] { return clock.now() >= end; }, duration + seconds(1));
}

}  // namespace holdfast::tunnel
