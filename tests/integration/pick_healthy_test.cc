// PickHealthyService against gRPC servers in this process: the acceptance list of the seed's
// maintainers, and what Holdfast promises beyond it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <optional>
#include <set>

#include "base/reason.h"
#include "integration/pick_member.h"
#include "rpc/pick_healthy_service.h"
#include "rpc/server_stream.h"

namespace holdfast::rpc {
namespace {

using namespace std::chrono_literals;
using test::Member;
using test::MemberOptions;
using testing::HasSubstr;
using ResourceMethods = v1::Resources::StubInterface::async_interface;
using EventMethods = v1::Events::StubInterface::async_interface;

constexpr Duration kPatience = 30s;

// Short times, so that a test takes little of them; long enough for a busy machine.
PickHealthyServiceOptions quick() {
  return {.core = {.base_backoff = 100ms,
                   .max_backoff = 400ms,
                   .connect_timeout = 1s,
                   .redial = {.first = 10ms, .cap = 100ms},
                   .settled_after = 10ms,
                   .probe_timeout = 500ms},
          .unanswered_after = 500ms};
}

// A port that accepts connections and never says a word.
class MutePort {
 public:
  MutePort() {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    HF_CHECK(bind(socket_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bound");
    HF_CHECK(listen(socket_, 64) == 0, "listening");
    HF_CHECK(getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "named");
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~MutePort() { ::close(socket_); }
  MutePort(const MutePort&) = delete;
  MutePort& operator=(const MutePort&) = delete;

  const std::string& address() const { return address_; }

 private:
  int socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
  std::string address_;
};

// A port that speaks just enough HTTP/2 to take every connection back: SETTINGS, then GOAWAY.
class GoAwayPort {
 public:
  explicit GoAwayPort(asio::io_context& io) : acceptor_(io, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(io, accept(), asio::detached);
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  uint64_t accepted() const { return accepted_; }
  void close() {
    acceptor_.close();
    sockets_.clear();
  }

 private:
  asio::awaitable<void> accept() {
    constexpr std::string_view kHello("\0\0\0\4\0\0\0\0\0\0\0\10\7\0\0\0\0\0\0\0\0\0\0\0\0\0", 26);
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
      if (error) co_return;
      accepted_ += 1;
      boost::system::error_code ignored;
      asio::write(socket, asio::buffer(kHello), ignored);
      sockets_.push_back(std::move(socket));
    }
  }

  asio::ip::tcp::acceptor acceptor_;
  std::vector<asio::ip::tcp::socket> sockets_;
  uint64_t accepted_ = 0;
};

// A port that accepts one connection, says SETTINGS when it is told to, and notices the end.
class LatePort {
 public:
  explicit LatePort(asio::io_context& io) : acceptor_(io, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(io, accept(), asio::detached);
  }
  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  bool greeted() const { return greeted_; }
  bool ended() const { return ended_; }
  void say_settings() {
    boost::system::error_code ignored;
    asio::write(*socket_, asio::buffer(std::string_view("\0\0\0\4\0\0\0\0\0", 9)), ignored);
  }
  void refuse_more() { acceptor_.close(); }
  void close() { socket_.reset(); }

 private:
  asio::awaitable<void> accept() {
    auto [error, socket] = co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
    if (error) co_return;
    socket_ = std::move(socket);
    std::array<char, 256> bytes{};
    for (;;) {
      auto [failed, count] = co_await socket_->async_read_some(asio::buffer(bytes),
                                                               asio::as_tuple(asio::use_awaitable));
      if (failed) break;
      greeted_ = true;
    }
    ended_ = true;
  }

  asio::ip::tcp::acceptor acceptor_;
  std::optional<asio::ip::tcp::socket> socket_;
  bool greeted_ = false;
  bool ended_ = false;
};

class PickHealthyTest : public testing::Test {
 protected:
  ~PickHealthyTest() override { stop(); }

  void start(std::vector<std::string> addresses) {
    link_ = std::make_unique<PickHealthyService>(io_.get_executor(), clock_, std::move(addresses),
                                                 channel_, options_);
    link_->start();
  }
  void stop() {
    if (!link_) return;
    asio::co_spawn(io_, link_->stop(), [](const std::exception_ptr&) {});
    EXPECT_TRUE(until([this] { return io_.stopped(); }));
    link_.reset();
  }

  bool until(const std::function<bool()>& condition) {
    const Time deadline = clock_.now() + kPatience;
    while (!condition()) {
      if (clock_.now() > deadline) return false;
      io_.restart();
      io_.run_for(5ms);
    }
    return true;
  }
  template <typename T>
  T run(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(io_, std::move(work),
                   [&result](std::exception_ptr, T value) { result = std::move(value); });
    HF_CHECK(until([&result] { return result.has_value(); }), "the work ends");
    return *std::move(result);
  }

  asio::awaitable<Result<std::string>> ask(PickedCall options) {
    CO_TRY(const v1::Resource answer,
           co_await link_->call<v1::Resources>(&ResourceMethods::Get, {}, std::move(options)));
    co_return answer.metadata().name();
  }
  Result<std::string> get(Repeat repeat, Duration timeout) {
    return run(ask({.timeout = timeout, .repeat = repeat}));
  }
  // The name of the member that answers, or why none does.
  std::string get() {
    const auto answer = get(Repeat::Safe, 10s);
    return answer.ok() ? *answer : answer.status().ToString();
  }
  bool until_answered_by(const std::string& name) {
    return until([&] { return get() == name; });
  }
  bool until_picked(const Member& member) {
    return until([&] { return link_->picked() && link_->picked()->address == member.address(); });
  }
  // Brings the link up on the first of two members.
  void start_on_first_of(Member& first, Member& second) {
    second.serving = false;
    start({first.address(), second.address()});
    ASSERT_TRUE(until_picked(first) && until([&] { return first.health_watches == 1; }));
    second.serving = true;
    ASSERT_TRUE(until([&] { return second.health_watches == 0; }));
  }

  asio::io_context io_;
  SystemClock clock_;
  ChannelOptions channel_{.connect_timeout = 500ms};
  PickHealthyServiceOptions options_ = quick();
  std::unique_ptr<PickHealthyService> link_;
};

TEST_F(PickHealthyTest, PickFirstStaysOnAnUnhealthyServerUntilItStops) {
  auto first = std::make_unique<Member>("first", MemberOptions{.mode = "pick_first"});
  start({first->address()});
  ASSERT_EQ(get(), "first");
  Member second("second", {.mode = "pick_first"});
  ASSERT_TRUE(link_->set_addresses({first->address(), second.address()}).ok());

  first->serving = false;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(), "first");
  EXPECT_EQ(link_->stats().dialled, 1u);
  first.reset();

  EXPECT_EQ(get(), "second");
}

TEST_F(PickHealthyTest, ReconnectMovesOffAnUnhealthyServerAndStreamsRunOn) {
  Member first("first", {});
  Member second("second", {});
  start_on_first_of(first, second);
  Pinned pinned = link_->picked();
  const std::weak_ptr<const Connection> old = pinned;
  auto stub = v1::Events::NewStub(pinned->channel);
  auto stream = std::make_unique<ServerStream<v1::WatchResponse>>(io_.get_executor());
  stream->start(static_cast<EventMethods&>(*stub->async()), &EventMethods::Watch, {},
                {.timeout = 0s});
  ASSERT_TRUE(run(stream->read()).has_value());

  const uint64_t swaps = link_->stats().swaps;
  first.serving = false;
  ASSERT_TRUE(until_picked(second));

  EXPECT_EQ(get(), "second");
  first.gets += 1;  // makes it send a message
  EXPECT_TRUE(run(stream->read()).has_value()) << "the stream runs on where it was opened";
  EXPECT_TRUE(until([&] { return first.health_watches == 0 && second.health_watches == 1; }));
  EXPECT_EQ(link_->stats().swaps, swaps + 1);
  EXPECT_FALSE(old.expired());
  stream.reset();
  stub.reset();
  pinned.reset();
  EXPECT_TRUE(old.expired()) << "nobody else keeps the old connection";
}

TEST_F(PickHealthyTest, WhoeverWaitsForAnotherPickIsWoken) {
  Member first("first", {});
  Member second("second", {});
  start_on_first_of(first, second);
  bool woken = false;
  asio::co_spawn(io_, link_->left(link_->picked()->id),
                 [&woken](const std::exception_ptr&) { woken = true; });

  first.serving = false;

  EXPECT_TRUE(until([&] { return woken; }));
  EXPECT_EQ(link_->picked()->address, second.address());
}

TEST_F(PickHealthyTest, WhenTheHealthyServerDiesCallsGoToTheUnhealthyOne) {
  auto healthy = std::make_unique<Member>("healthy", MemberOptions{});
  Member unhealthy("unhealthy", {});
  start_on_first_of(*healthy, unhealthy);
  unhealthy.serving = false;

  healthy.reset();

  EXPECT_EQ(get(), "unhealthy");
}

TEST_F(PickHealthyTest, AModeChangeIsSeenOnReconnect) {
  auto first = std::make_unique<Member>("first", MemberOptions{.mode = "pick_first"});
  const int port = first->port();
  start({first->address()});
  ASSERT_EQ(get(), "first");
  first.reset();
  first = std::make_unique<Member>("first", MemberOptions{.port = port});
  ASSERT_EQ(get(), "first");
  Member second("second", {});
  ASSERT_TRUE(link_->set_addresses({first->address(), second.address()}).ok());

  first->serving = false;

  EXPECT_TRUE(until_answered_by("second"));
}

TEST_F(PickHealthyTest, AServerStuckInDiscoveryIsLeft) {
  Member stuck("stuck", {});
  stuck.stuck_in_discovery = true;
  start({stuck.address()});
  ASSERT_TRUE(until_picked(stuck));
  EXPECT_EQ(get(), "stuck") << "calls flow meanwhile";
  Member other("other", {});

  ASSERT_TRUE(link_->set_addresses({stuck.address(), other.address()}).ok());

  EXPECT_TRUE(until_picked(other));
}

TEST_F(PickHealthyTest, AnOldServerIsTakenAsItIs) {
  const Member old("old", {.knows_discovery = false, .knows_health = false});
  start({old.address()});

  EXPECT_EQ(get(), "old");
  EXPECT_EQ(get(), "old");
  EXPECT_EQ(link_->stats().dialled, 1u);
}

TEST_F(PickHealthyTest, AServerWithoutHealthIsHealthy) {
  const Member old("old", {.knows_health = false});
  start({old.address()});

  EXPECT_EQ(get(), "old");
  EXPECT_TRUE(until([&] { return link_->stats().last_recovery > 0s; }));
}

TEST_F(PickHealthyTest, AServerThatAcceptsAndNeverAnswersIsPassedBy) {
  const MutePort mute;
  const Member other("other", {});
  start({mute.address(), mute.address(), other.address()});

  EXPECT_EQ(get(), "other");
}

// gRPC 1.51 leaves a connection open for ever whose channel is destroyed between the client's
// preface and the server's SETTINGS.
TEST_F(PickHealthyTest, AConnectionGivenUpWhileItIsMadeIsClosed) {
  LatePort late(io_);
  start({late.address()});
  ASSERT_TRUE(until([&] { return late.greeted(); }));
  late.refuse_more();

  ASSERT_TRUE(link_->replace_channel_options(channel_).ok());
  io_.run_for(50ms);
  late.say_settings();

  EXPECT_TRUE(until([&] { return late.ended(); }));
  late.close();
  stop();  // whatever still reads from `late` ends with it
}

TEST_F(PickHealthyTest, AServerThatTakesConnectionsBackIsDialledNoOftenerThanDecided) {
  GoAwayPort port(io_);
  start({port.address()});

  EXPECT_TRUE(until([&] { return link_->stats().dialled >= 4; }));

  // A decided dial makes one connection. If the channel was ready for long enough to be asked
  // something, that call may make it dial once more (rpc/connectivity.h); such a dial did not fail.
  const auto& stats = link_->stats();
  EXPECT_LE(port.accepted(), stats.dialled + (stats.dialled - stats.failed_dials));
  port.close();
}

TEST_F(PickHealthyTest, ACallMovesOnFromAServerThatFallsSilent) {
  Member first("first", {});
  Member second("second", {});
  start_on_first_of(first, second);

  first.silent = true;
  EXPECT_EQ(get(), "second");

  EXPECT_EQ(link_->stats().repeated_calls, 1u);
  EXPECT_GE(link_->stats().doubts, 1u);
  EXPECT_TRUE(until_picked(second));
}

TEST_F(PickHealthyTest, ACallMovesOnFromAServerThatSaysUnavailable) {
  Member first("first", {});
  Member second("second", {});
  start_on_first_of(first, second);

  first.unavailable = true;

  EXPECT_EQ(get(), "second");
}

TEST_F(PickHealthyTest, WhatIsNeverRepeatedIsSentOnce) {
  Member first("first", {});
  start({first.address()});
  ASSERT_EQ(get(), "first");
  first.unavailable = true;

  const auto answer = get(Repeat::Never, 10s);

  EXPECT_EQ(answer.status(), absl::UnavailableError("as asked"));
  EXPECT_EQ(first.gets, 2);
}

TEST_F(PickHealthyTest, NoCallFailsWhileServersAreRestartedInTurn) {
  auto first = std::make_unique<Member>("first", MemberOptions{});
  auto second = std::make_unique<Member>("second", MemberOptions{});
  start({first->address(), second->address()});

  for (int round = 0; round < 6; ++round) {
    auto& restarted = round % 2 == 0 ? first : second;
    const int port = restarted->port();
    int answered = 0;
    for (int i = 0; i < 20; ++i) {
      asio::co_spawn(io_, ask({.timeout = 20s, .repeat = Repeat::Safe}),
                     [&answered](std::exception_ptr, Result<std::string> answer) {
                       EXPECT_TRUE(answer.ok()) << answer.status();
                       answered += 1;
                     });
    }
    restarted.reset();
    EXPECT_TRUE(until([&] { return answered == 20; }));
    restarted = std::make_unique<Member>("again", MemberOptions{.port = port});
  }
  EXPECT_TRUE(until([&] { return first->health_watches + second->health_watches == 1; }));
}

TEST_F(PickHealthyTest, NewCredentialsTakeOverOnceTheyAreAccepted) {
  Member member("member", {});
  start({member.address()});
  ASSERT_EQ(get(), "member");
  const uint64_t old = link_->picked()->id;

  ASSERT_TRUE(link_->use_channel_options({.tls = TlsOptions{}, .connect_timeout = 500ms}).ok());
  ASSERT_TRUE(until([&] { return link_->stats().failed_dials >= 3; }));
  EXPECT_EQ(link_->picked()->id, old) << "the server speaks no TLS, so the old ones stay";
  ASSERT_TRUE(link_->use_channel_options(channel_).ok());

  EXPECT_TRUE(until([&] { return link_->picked() && link_->picked()->credentials == 2; }));
  EXPECT_TRUE(until([&] { return member.health_watches == 1; }));
  EXPECT_EQ(get(), "member");
}

TEST_F(PickHealthyTest, CredentialsMayBeReplacedAtOnce) {
  const Member member("member", {});
  start({member.address()});
  ASSERT_EQ(get(), "member");

  ASSERT_TRUE(link_->replace_channel_options(channel_).ok());

  EXPECT_EQ(link_->picked(), nullptr);
  EXPECT_EQ(get(), "member");
  EXPECT_EQ(link_->picked()->credentials, 1u);
}

TEST_F(PickHealthyTest, WhoRefusesIsLeftForOneThatAcceptsIfThatIsWanted) {
  Member first("first", {});
  Member second("second", {});
  start_on_first_of(first, second);
  first.refuses = true;
  EXPECT_EQ(get(Repeat::Safe, 10s).status().code(), absl::StatusCode::kUnauthenticated);
  stop();
  first.refuses = false;
  options_.leave_who_refuses = true;
  start_on_first_of(first, second);

  first.refuses = true;

  EXPECT_EQ(get(), "second");
  EXPECT_EQ(link_->stats().repeated_calls, 1U);
  second.refuses = true;
  EXPECT_EQ(get(Repeat::Safe, 10s).status().code(), absl::StatusCode::kUnauthenticated);
}

// Whoever waits in a loop for another connection would never let go of the executor.
TEST_F(PickHealthyTest, ASilentServerIsLeftByStreamsAndNobodyHasMoved) {
  Member member("member", {.mode = "pick_first"});
  start({member.address()});
  ASSERT_EQ(get(), "member");
  const uint64_t id = link_->picked()->id;
  bool left = false;
  bool moved = false;
  asio::co_spawn(io_, link_->left(id), [&](const std::exception_ptr&) { left = true; });
  asio::co_spawn(io_, link_->moved(id), [&](const std::exception_ptr&) { moved = true; });

  member.silent = true;
  EXPECT_EQ(get(Repeat::Safe, 1500ms).status().code(), absl::StatusCode::kDeadlineExceeded);

  EXPECT_TRUE(until([&] { return left; }));
  EXPECT_FALSE(moved);
  member.silent = false;
  stop();
  EXPECT_TRUE(moved);
}

TEST_F(PickHealthyTest, APausedLinkDialsNobodyAndSaysWhy) {
  const Member member("member", {});
  start({member.address()});
  ASSERT_EQ(get(), "member");

  link_->pause("the certificate has run out");

  EXPECT_EQ(link_->picked(), nullptr);
  EXPECT_TRUE(until([&] { return member.health_watches == 0; }));
  const auto answer = get(Repeat::Safe, 700ms);
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("has run out"));
  EXPECT_EQ(link_->stats().dialled, 1U);
  ASSERT_TRUE(link_->replace_channel_options(channel_).ok());
  EXPECT_EQ(get(), "member");
}

TEST_F(PickHealthyTest, PeriodicReconnectsMoveTheConnectionAndNoCallFails) {
  const Member one("one", {});
  const Member two("two", {});
  start({one.address(), two.address()});
  ASSERT_TRUE(get(Repeat::Safe, 10s).ok());

  link_->set_reconnect_interval(50ms);
  std::set<std::string> seen;
  const Time end = clock_.now() + kPatience;
  while ((link_->stats().swaps < 10 || seen.size() < 2) && clock_.now() < end) {
    EXPECT_NE(link_->picked(), nullptr) << "made before the old one is left";
    const auto answer = get(Repeat::Never, 10s);  // sent once: nothing covers up for a lost one
    ASSERT_TRUE(answer.ok()) << answer.status();
    seen.insert(*answer);
  }
  link_->set_reconnect_interval(0s);

  EXPECT_GE(link_->stats().swaps, 10U);
  EXPECT_EQ(seen.size(), 2U) << "chance leads to both";
  EXPECT_EQ(link_->stats().failed_dials, 0U);
  EXPECT_TRUE(until([&] { return one.health_watches + two.health_watches == 1; }));
}

TEST_F(PickHealthyTest, WithoutAnyServerTheReasonIsSaid) {
  start({"127.0.0.1:1"});
  ASSERT_TRUE(until([&] { return link_->stats().failed_dials > 0; }));

  const auto answer = get(Repeat::Safe, 300ms);
  const auto waited = run(link_->wait_picked(100ms));

  EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(answer.status()).code, "HF1301");
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("refused"));
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("127.0.0.1:1"));
  EXPECT_EQ(waited.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(split_reason(waited.status()).code, "HF1301");
}

TEST_F(PickHealthyTest, TheDeadlineEndsACallThatNobodyAnswers) {
  Member member("member", {});
  start({member.address()});
  ASSERT_EQ(get(), "member");
  member.silent = true;

  EXPECT_EQ(get(Repeat::Safe, 300ms).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(get(Repeat::Never, 300ms).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(PickHealthyTest, ACancelledCallEndsAtOnce) {
  Member member("member", {});
  start({member.address()});
  ASSERT_EQ(get(), "member");
  member.silent = true;
  asio::cancellation_signal signal;
  std::optional<Status> ended;
  asio::co_spawn(io_, ask({.timeout = 60s, .repeat = Repeat::Safe}),
                 asio::bind_cancellation_slot(signal.slot(),
                                              [&](std::exception_ptr, Result<std::string> answer) {
                                                ended = answer.status();
                                              }));
  ASSERT_TRUE(until([&] { return member.gets == 2; }));

  signal.emit(asio::cancellation_type::terminal);

  EXPECT_TRUE(until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
}

TEST_F(PickHealthyTest, StoppingEndsWhatWaits) {
  start({"127.0.0.1:1"});
  std::optional<Status> ended;
  asio::co_spawn(io_, ask({.timeout = 60s, .repeat = Repeat::Safe}),
                 [&](std::exception_ptr, Result<std::string> answer) { ended = answer.status(); });
  ASSERT_TRUE(until([&] { return link_->stats().failed_dials > 0; }));

  stop();

  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace holdfast::rpc
