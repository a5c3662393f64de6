// Proxies with real TLS on one loop of this process, and agents and clients made by hand to speak
// to them: whatever a test wants them to say.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "identity/certificate.h"
#include "metrics/metrics.h"
#include "net/task_group.h"
#include "tunnel/proxy_service.h"
#include "tunnel/secure_connection_service.h"

namespace holdfast::tunnel {

// A cluster's authority.
class Authority {
 public:
  explicit Authority(std::string cluster);
  ProxyIdentity issue(identity::Role role, const std::string& name, const std::string& zone,
                      std::chrono::seconds valid_for = std::chrono::hours(24)) const;

 private:
  std::string cluster_;
  identity::SigningKey key_;
};

// What a client's end of a stream has seen; outlives the stream.
struct ClientSide {
  std::string to_send{};
  bool send_end = false;
  std::string received{};
  bool ended = false;
  std::optional<ResetCode> reset{};
  bool over = false;  // its end is destroyed
  Link* link = nullptr;
  StreamId stream = 0;

  void send(std::string_view bytes);
  void finish();
};
using Client = std::shared_ptr<ClientSide>;  // tidy: shared, with the end that a link owns
std::unique_ptr<StreamEnd> make_client_end(Client client);

v1::Exposed exposing(const std::vector<std::string>& services);
// One service that does not work, and why.
v1::Exposed exposing_sick(const std::string& service, const std::string& why);

// An agent by hand: one tunnel.
class RawAgent final : public LinkOwner {
 public:
  enum class Answer { Echo, Refuse, Silence };
  struct Options {
    ProxyIdentity identity{};
    std::string says{};  // its name
    v1::Exposed exposed{};
    Answer answer = Answer::Echo;
    std::string protocol{kTunnelProtocol};
    bool says_hello = true;
    Side side = Side::Acceptor;  // Opener: a proxy's
    uint64_t boot = 1;
  };
  RawAgent(asio::any_io_executor loop, const Clock& clock, LinkBuffers& buffers, Options options);

  asio::awaitable<void> run(std::string address);
  void expose(const std::vector<std::string>& services) { expose(exposing(services)); }
  void expose(const v1::Exposed& exposed);
  // Of an opener: the word of the refusal, "accepted", or another status.
  // It is given up if there is none of them in time.
  asio::awaitable<std::string> open(v1::OpenStream wanted, Client client,
                                    Duration patience = std::chrono::seconds(10));
  void leave() { link_->say_goodbye("leaving"); }
  void close() {
    if (link_) link_->close(absl::CancelledError("closed by the test"));
  }

  void on_open(Link& link, StreamId stream, std::string_view payload) override;
  Status on_message(Link& link, std::string_view payload) override;
  void on_goodbye(Link& link, std::string_view why) override;

  bool has_link() const { return link_ != nullptr; }
  Answer answer() const { return options_.answer; }
  void set_answer(Answer answer) { options_.answer = answer; }

  // What it has seen.
  std::optional<v1::TunnelWelcome> welcome{};
  std::optional<v1::TunnelRefusal> refusal{};
  std::vector<v1::Discovery> discoveries{};
  std::vector<v1::Advice> advices{};
  std::vector<v1::Holding> holdings{};
  std::vector<v1::OpenStream> opened{};
  bool goodbye = false;
  bool over = false;
  Status why{};
  Time welcomed_at{};

 private:
  asio::any_io_executor loop_;
  const Clock& clock_;
  LinkBuffers& buffers_;
  Options options_;
  identity::Trust trust_;
  std::unique_ptr<Link> link_;
};

class TunnelFleet {
 public:
  struct Member {
    metrics::Registry registry{{.version = "test"}};
    ProxyIdentity identity{};
    std::unique_ptr<ProxyService> service{};
    ProxyService::Addresses at{};
    bool ready = false;
    bool announced_draining = false;
    bool has_controllers = true;
    bool ingress_closed = false;
    bool stopped = false;
  };
  using Tweak = std::function<void(ProxyOptions&)>;

  TunnelFleet() = default;
  ~TunnelFleet();

  // Short times throughout; `tweak` changes what a test is about.
  Member& add_proxy(const std::string& name, const std::string& zone, const Tweak& tweak = {});
  // Every proxy is told of every other, as a cache would.
  void introduce();
  std::vector<CachedProxy> listed() const;
  void add_service(const std::string& name,
                   const std::map<std::string, std::string>& selector = {});
  // What proxies find under this name from now on.
  v1::Service& service(const std::string& name) { return services_[name]; }

  RawAgent& dial(const Member& proxy, const std::string& agent, const std::string& zone,
                 std::vector<std::string> services);
  RawAgent& dial(const std::string& address, RawAgent::Options options);
  const ProxyIdentity& agent_identity(const std::string& agent, const std::string& zone);

  struct Dialled {
    Result<Reached> reached;
    Client client;
  };
  Dialled connect(Member& proxy, const std::string& service);
  // Sends the bytes and waits for them to come back.
  bool echoes(const Client& client, const std::string& bytes);

  // Runs the loop until it is so; false if it is not in time.
  bool until(const std::function<bool()>& condition, Duration patience = std::chrono::seconds(20));
  // Runs the loop for that long.
  void pass(Duration duration);
  template <typename T>
  T run(asio::awaitable<T> task) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(task),
                   [&result](const std::exception_ptr&, T value) { result = std::move(value); });
    until([&result] { return result.has_value(); }, std::chrono::seconds(60));
    return *std::move(result);
  }
  asio::io_context& loop() { return loop_; }
  asio::any_io_executor executor() { return loop_.get_executor(); }
  // From now on no agent answers.
  void silence_agents() {
    for (RawAgent& agent : agents_) agent.set_answer(RawAgent::Answer::Silence);
  }
  void spawn(asio::awaitable<void> task) { tasks_.spawn(std::move(task)); }
  void stop(Member& proxy);

  Authority authority{"prod"};
  SystemClock clock;

 private:
  asio::io_context loop_;
  LinkBuffers buffers_;
  std::map<std::string, v1::Service> services_;
  std::map<std::string, ProxyIdentity> identities_;
  std::map<std::string, Member> proxies_;
  std::map<std::string, v1::Proxy> entries_;
  std::list<RawAgent> agents_;
  net::TaskGroup tasks_{loop_.get_executor()};
};

}  // namespace holdfast::tunnel
