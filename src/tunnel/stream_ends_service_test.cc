// The ends that are no socket: a relay to another link, and a connection behind an HttpStream.
#include "base/reason.h"
#include "tunnel/link_fixture_service.h"
#include "tunnel/proxy_shared_service.h"
#include "tunnel/relay_end_service.h"
#include "tunnel/tls_end_service.h"

namespace holdfast::tunnel {
namespace {

std::string numbers(size_t size) {
  std::string made(size, '\0');
  for (size_t i = 0; i < size; ++i) made[i] = static_cast<char>(i * 31 + i / 251);
  return made;
}

// The agent's side relays every stream to a second tunnel, as a proxy does for its peer.
class RelayTest : public LinkTest {
 protected:
  // Another pair of links, whose test never runs.
  class Far : public LinkTest {
   public:
    Far() {
      proxy_.uses_tcp = agent_.uses_tcp = true;
      start();
    }
    LinkSide& proxy() { return proxy_; }
    LinkSide& agent() { return agent_; }
    void TestBody() override {}
    using LinkTest::TearDown;
  };

  RelayTest() {
    proxy_.uses_tcp = true;
    agent_.answer = [this](Link& from, StreamId stream, std::string_view payload) {
      RelayPair pair = make_relay(agent_.buffers,
                                  [this](const EndReport& report) { relayed_.push_back(report); });
      far_.proxy().open(std::string(payload), std::move(pair.second), 200ms);
      from.accept(stream, std::move(pair.first));
    };
    start();
  }
  void TearDown() override {
    LinkTest::TearDown();
    far_.TearDown();
  }
  // All four loops.
  bool run_all(const std::function<bool()>& condition) {
    return run_until([&] {
      for (LinkSide* side : {&far_.proxy(), &far_.agent()}) {
        side->loop.restart();
        side->loop.poll();
      }
      return condition();
    });
  }

  // The application writes until nothing goes any more: how many bytes went.
  size_t offer_all(const std::string& app) {
    const std::string block = numbers(64 << 10);
    size_t offered = 0, stuck = 0;
    EXPECT_TRUE(run_all([&] {
      const size_t went = far_.agent().apps[app].write(block);
      offered += went;
      stuck = went == 0 ? stuck + 1 : 0;
      return stuck > 1'000;
    }));
    return offered;
  }

  Far far_;
  std::vector<EndReport> relayed_;
};

TEST_F(RelayTest, EveryByteAndBothEndsGoThrough) {
  TestSocket client = open("app");
  EXPECT_TRUE(run_all([&] { return far_.agent().apps.contains("app"); }));
  TestSocket& app = far_.agent().apps["app"];
  const std::string down = numbers(2 << 20), up = numbers(1 << 20);
  std::string got_down, got_up;
  size_t sent_down = 0, sent_up = 0;

  EXPECT_TRUE(run_all([&] {
    sent_down += app.write(std::string_view(down).substr(sent_down));
    sent_up += client.write(std::string_view(up).substr(sent_up));
    got_down += client.read();
    got_up += app.read();
    return got_down.size() >= down.size() && got_up.size() >= up.size();
  }));
  client.end();
  EXPECT_TRUE(run_all([&] { return app.read(), app.ended; }));
  app.end();
  EXPECT_TRUE(run_all([&] { return client.read(), client.ended; }));
  EXPECT_TRUE(run_all([&] { return !relayed_.empty(); }));

  EXPECT_TRUE(got_down == down && got_up == up);
  EXPECT_EQ(relayed_.at(0).from_peer, up.size());
  EXPECT_EQ(relayed_.at(0).to_peer, down.size());
  EXPECT_FALSE(relayed_.at(0).reset);
}

TEST_F(RelayTest, AResetGoesThroughBothWays) {
  TestSocket client = open("first"), other_client = open("second");
  EXPECT_TRUE(run_all([&] { return far_.agent().apps.size() == 2; }));

  client.cut();
  far_.agent().apps["second"].cut();

  EXPECT_TRUE(run_all([&] {
    far_.agent().apps["first"].read();
    other_client.read();
    return far_.agent().apps["first"].was_reset && other_client.was_reset;
  }));
}

TEST_F(RelayTest, AStreamThatNobodyTakesFurtherIsReset) {
  far_.agent().answer = [](Link& link, StreamId stream, std::string_view) {
    link.reset(stream, ResetCode::NotExposed, "not here");
  };
  TestSocket client = open("app");

  EXPECT_TRUE(run_all([&] { return client.read(), client.was_reset; }));
}

TEST_F(RelayTest, ASlowReaderHoldsOnlyItsOwnStream) {
  TestSocket slow = open("slow"), quick = open("quick");
  EXPECT_TRUE(run_all([&] { return far_.agent().apps.size() == 2; }));
  std::string echoed;

  const size_t offered = offer_all("slow");
  far_.agent().apps["quick"].write("hello");
  EXPECT_TRUE(run_all([&] { return echoed += quick.read(), echoed == "hello"; }));

  size_t got = 0;
  EXPECT_TRUE(run_all([&] { return got += slow.read().size(), got == offered; }));
}

TEST_F(RelayTest, WhatWaitsInItIsCountedAsKept) {
  TestSocket slow = open("slow");
  EXPECT_TRUE(run_all([&] { return far_.agent().apps.size() == 1; }));
  EXPECT_EQ(agent_.buffers.kept_bytes(), 0U);

  const size_t offered = offer_all("slow");

  EXPECT_GE(agent_.buffers.kept_bytes(), size_t{128 << 10});
  size_t got = 0;
  EXPECT_TRUE(run_all([&] { return got += slow.read().size(), got == offered; }));
  EXPECT_EQ(agent_.buffers.kept_bytes(), 0U);
}

TEST_F(RelayTest, LittleWaitsInItOnceTooMuchIsKeptAndAllOfItArrives) {
  TestSocket slow = open("slow");
  EXPECT_TRUE(run_all([&] { return far_.agent().apps.size() == 1; }));
  agent_.buffers.set_max_kept(0);

  const size_t offered = offer_all("slow");

  EXPECT_GT(agent_.buffers.kept_bytes(), 0U);
  EXPECT_LE(agent_.buffers.kept_bytes(), 4 * kLeastRelayBytes) << "with what the string spares";
  size_t got = 0;
  EXPECT_TRUE(run_all([&] { return got += slow.read().size(), got == offered; }));
  EXPECT_EQ(agent_.buffers.cut_streams(), 0U);
}

// Takes everything.
class TakingEnd final : public StreamEnd {
 public:
  struct Taken {
    size_t bytes = 0;
    size_t together = 0;  // calls that brought several parts
  };
  explicit TakingEnd(Taken& taken) : taken_(taken) {}
  void attached(Link& /*link*/, StreamId /*stream*/) override {}
  Pulled pull(std::span<char> /*into*/) override { return {}; }
  ssize_t push(std::string_view bytes) override {
    taken_.bytes += bytes.size();
    return static_cast<ssize_t>(bytes.size());
  }
  ssize_t push_parts(std::span<const std::string_view> parts) override {
    taken_.together += 1;
    return StreamEnd::push_parts(parts);
  }
  void push_end() override {}
  void reset(ResetCode /*code*/, std::string_view /*why*/) override {}

 private:
  Taken& taken_;
};

class CountedTest : public LinkTest {
 protected:
  asio::awaitable<void> open_counted() {
    std::unique_ptr<StreamEnd> end = std::make_unique<TakingEnd>(taken_);
    const Status opened = co_await shared_.open_on(
        *proxy_.link, {.agent = "db-7", .tunnel = 0, .payload = "app"}, end, 5s);
    EXPECT_TRUE(opened.ok()) << opened;
  }

  TakingEnd::Taken taken_;
  ProxyShared shared_{
      {.loop = proxy_.loop.get_executor(), .clock = proxy_.clock, .buffers = proxy_.buffers}, {}};
};

TEST_F(CountedTest, AStreamThatIsCountedIsGivenItsFramesTogether) {
  start();
  proxy_.tasks.spawn(open_counted());
  EXPECT_TRUE(run_until([&] { return agent_.apps.contains("app"); }));
  const std::string down = numbers(1 << 20);
  size_t sent = 0;

  EXPECT_TRUE(run_until([&] {
    sent += agent_.apps["app"].write(std::string_view(down).substr(sent));
    return taken_.bytes == down.size();
  }));

  EXPECT_GT(taken_.together, 0U);
  EXPECT_EQ(shared_.streams, 1U);
  TearDown();
  EXPECT_EQ(shared_.streams, 0U);
}

class PumpTest : public LinkTest {
 protected:
  // A stream whose client is behind an HttpStream.
  TestSocket open_pumped() { return open_pumped(make_tcp_pair(proxy_.loop.get_executor())); }
  // Next to nothing waits between the pump and the client.
  TestSocket open_narrow() {
    SocketPair pair = make_unix_pair(proxy_.loop.get_executor());
    pair.inner.set_option(asio::socket_base::send_buffer_size(4 << 10));
    return open_pumped(std::move(pair));
  }
  TestSocket open_pumped(SocketPair pair) {
    pumps_.spawn(pump(net::make_plain_stream(std::move(pair.inner))));
    EXPECT_TRUE(run_until([&] { return agent_.apps.contains("app"); }));
    return std::move(pair.outer);
  }
  asio::awaitable<void> pump(std::unique_ptr<net::HttpStream> stream) {
    StreamPump pump(proxy_.loop.get_executor(), std::move(stream),
                    [this](const EndReport& report) { reports_.push_back(report); });
    std::unique_ptr<StreamEnd> end = pump.take_end();
    const Status opened = co_await proxy_.link->open("app", end, 5s);
    EXPECT_TRUE(opened.ok()) << opened;
    co_await pump.run(last_words_);
    pumps_ended_ += 1;
  }
  // Both directions end, and the client has not read all.
  void give_whole(TestSocket& client, std::string_view down) {
    TestSocket& app = agent_.apps["app"];
    size_t sent = 0;
    EXPECT_TRUE(
        run_until([&] { return sent += app.write(down.substr(sent)), sent == down.size(); }));
    app.end();
    client.end();
    EXPECT_TRUE(run_until([&] { return !reports_.empty(); }));
    EXPECT_EQ(pumps_ended_, 0) << "the sockets took all of it";
  }
  void stop_pump() {
    const auto stop = [this]() -> asio::awaitable<void> { co_await pumps_.join(); };
    proxy_.tasks.spawn(stop());
  }
  void TearDown() override {
    stop_pump();
    EXPECT_TRUE(run_until([&] { return pumps_.size() == 0; }));
    LinkTest::TearDown();
  }

  net::TaskGroup pumps_{proxy_.loop.get_executor()};
  Duration last_words_ = 10s;
  std::vector<EndReport> reports_;
  int pumps_ended_ = 0;
};

TEST_F(PumpTest, EveryByteAndBothEndsGoThrough) {
  start();
  TestSocket client = open_pumped();
  TestSocket& app = agent_.apps["app"];
  const std::string down = numbers(1 << 20), up = numbers(1 << 20);
  std::string got_down, got_up;
  size_t sent_down = 0, sent_up = 0;

  EXPECT_TRUE(run_until([&] {
    sent_down += app.write(std::string_view(down).substr(sent_down));
    sent_up += client.write(std::string_view(up).substr(sent_up));
    got_down += client.read();
    got_up += app.read();
    return got_down.size() >= down.size() && got_up.size() >= up.size();
  }));
  app.end();
  EXPECT_TRUE(run_until([&] { return client.read(), client.ended; }));
  client.write("still there");
  client.end();
  got_up.clear();
  EXPECT_TRUE(run_until([&] { return got_up += app.read(), app.ended; }));
  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));

  EXPECT_TRUE(got_down == down);
  EXPECT_EQ(got_up, "still there");
  EXPECT_FALSE(reports_.at(0).reset);
  EXPECT_EQ(reports_.at(0).from_peer, down.size());
}

TEST_F(PumpTest, WhatIsSentAfterTheAppHasEndedArrivesWhole) {
  agent_.uses_tcp = true;
  start();
  TestSocket client = open_pumped();
  TestSocket& app = agent_.apps["app"];
  const std::string up = numbers(1 << 20);
  std::string got_up;
  size_t sent_up = 0;

  app.end();
  EXPECT_TRUE(run_until([&] { return client.read(), client.ended; }));
  EXPECT_TRUE(run_until([&] {
    sent_up += client.write(std::string_view(up).substr(sent_up));
    got_up += app.read();
    return sent_up == up.size();
  }));
  client.end();
  EXPECT_TRUE(run_until([&] { return got_up += app.read(), app.ended || app.was_reset; }));
  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));

  EXPECT_FALSE(app.was_reset);
  EXPECT_TRUE(got_up == up);
  EXPECT_FALSE(reports_.at(0).reset);
}

TEST_F(PumpTest, CancellingItBreaksAStreamThatStandsStill) {
  agent_.uses_tcp = true;
  start();
  TestSocket client = open_pumped();
  const std::string block = numbers(64 << 10);
  size_t stuck = 0;
  EXPECT_TRUE(run_until([&] {
    stuck = client.write(block) == 0 ? stuck + 1 : 0;
    return stuck > 200;
  }));

  stop_pump();

  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));
  EXPECT_TRUE(run_until([&] { return agent_.apps["app"].read(), agent_.apps["app"].was_reset; }));
}

TEST_F(PumpTest, WhatCameWholeIsStillWrittenWhenItIsCancelled) {
  start();
  TestSocket client = open_narrow();
  const std::string down = numbers(60 << 10);
  std::string got_down;
  give_whole(client, down);

  stop_pump();
  EXPECT_TRUE(run_until([&] { return got_down += client.read(), client.ended; }));

  EXPECT_EQ(got_down.size(), down.size());
  EXPECT_FALSE(reports_.at(0).reset);
  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));
}

TEST_F(PumpTest, AClientThatDoesNotReadDoesNotHoldUpACancelledPump) {
  last_words_ = 50ms;
  start();
  TestSocket client = open_narrow();
  give_whole(client, numbers(60 << 10));

  stop_pump();

  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));
}

TEST_F(PumpTest, AClientThatBreaksOffResetsTheStream) {
  agent_.uses_tcp = true;
  start();
  TestSocket client = open_pumped();

  client.cut();

  EXPECT_TRUE(run_until([&] { return agent_.apps["app"].read(), agent_.apps["app"].was_reset; }));
  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));
  EXPECT_EQ(reports_.at(0).reset, ResetCode::Broken);
}

TEST_F(PumpTest, TheEndOfTheLinkEndsThePump) {
  start();
  TestSocket client = open_pumped();

  agent_.link->close(absl::UnavailableError("told to"));

  EXPECT_TRUE(run_until([&] { return pumps_ended_ == 1; }));
  EXPECT_TRUE(run_until([&] { return client.read(), client.ended || client.was_reset; }));
}

}  // namespace
}  // namespace holdfast::tunnel
