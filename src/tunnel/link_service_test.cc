#include "tunnel/link_service.h"

#include "base/reason.h"
#include "tunnel/link_fixture_service.h"
#include "tunnel/tls_pipe_service.h"

namespace holdfast::tunnel {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// Bytes that show where they belong.
std::string pattern(size_t size) {
  std::string made(size, '\0');
  uint32_t state = 1;
  for (char& byte : made)
    byte = static_cast<char>((state = state * 1'664'525 + 1'013'904'223) >> 24);
  return made;
}

TEST_F(LinkTest, EveryByteArrivesBothWays) {
  start();
  TestSocket client = open("app");
  TestSocket& app = agent_.apps["app"];
  const std::string down = pattern(3 << 20), up = pattern(2 << 20);
  std::string got_down, got_up;
  size_t sent_down = 0, sent_up = 0;

  EXPECT_TRUE(run_until([&] {
    sent_down += app.write(std::string_view(down).substr(sent_down));
    sent_up += client.write(std::string_view(up).substr(sent_up));
    got_down += client.read();
    got_up += app.read();
    return got_down.size() >= down.size() && got_up.size() >= up.size();
  }));

  EXPECT_TRUE(got_down == down);
  EXPECT_TRUE(got_up == up);
}

TEST_F(LinkTest, APipeGivesBackTheRoomOfWhatItHadToKeep) {
  const Connected connected = connect(16 << 10);
  TlsPipe writer(*connected.proxy, 256 << 10), reader(*connected.agent, 256 << 10);
  const std::string bytes = pattern(1 << 20);
  std::vector<char> into(64 << 10);
  size_t got = 0;

  EXPECT_TRUE(writer.write(bytes).ok());
  EXPECT_TRUE(writer.blocked());
  writer.release_kept();
  EXPECT_TRUE(writer.blocked()) << "what is kept stays";
  EXPECT_TRUE(run_until([&] {
    if (writer.blocked()) EXPECT_TRUE(writer.write_kept().ok());
    const Result<TlsPipe::Got> read = reader.read(into);
    if (read.ok()) got += read->bytes;
    return !read.ok() || got == bytes.size();
  }));
  EXPECT_EQ(got, bytes.size());
  EXPECT_GT(writer.kept_capacity(), 0U) << "for the next batch";

  writer.release_kept();

  EXPECT_EQ(writer.kept_capacity(), 0U);
}

TEST_F(LinkTest, HalfACloseTravelsAndTheOtherDirectionGoesOn) {
  start();
  TestSocket client = open("app");
  TestSocket& app = agent_.apps["app"];
  std::string asked, answered;

  client.write("question");
  client.end();
  EXPECT_TRUE(run_until([&] { return asked += app.read(), app.ended; }));
  app.write("answer");
  app.end();
  EXPECT_TRUE(run_until([&] { return answered += client.read(), client.ended; }));

  EXPECT_EQ(asked, "question");
  EXPECT_EQ(answered, "answer");
  EXPECT_TRUE(run_until([&] { return proxy_.living_ends + agent_.living_ends == 0; }));
  EXPECT_EQ(proxy_.reports.at(0).to_peer, 8U);
  EXPECT_EQ(proxy_.reports.at(0).from_peer, 6U);
  EXPECT_FALSE(proxy_.reports.at(0).reset);
}

TEST_F(LinkTest, WhatIsCutAtOneSideIsCutAtTheOther) {
  proxy_.uses_tcp = agent_.uses_tcp = true;
  start();
  TestSocket first = open("first"), second = open("second");
  TestSocket &first_app = agent_.apps["first"], &second_app = agent_.apps["second"];

  first.cut();
  second_app.cut();

  EXPECT_TRUE(run_until([&] {
    first_app.read();
    second.read();
    return first_app.was_reset && second.was_reset;
  }));
  EXPECT_FALSE(first_app.ended || second.ended);
  EXPECT_TRUE(run_until([&] { return proxy_.living_ends + agent_.living_ends == 0; }));
}

TEST_F(LinkTest, AClientThatIsCutWhileItsStreamStandsStillIsNoticed) {
  proxy_.uses_tcp = agent_.uses_tcp = true;
  start();
  TestSocket client = open("app");
  const std::string block = pattern(64 << 10);
  size_t stuck = 0;
  EXPECT_TRUE(run_until([&] {
    stuck = client.write(block) == 0 ? stuck + 1 : 0;
    return stuck > 200;
  }));

  client.cut();

  EXPECT_TRUE(run_until([&] { return proxy_.living_ends + agent_.living_ends == 0; }));
  EXPECT_EQ(proxy_.reports.at(0).reset, ResetCode::Broken);
}

TEST_F(LinkTest, ASlowReaderDoesNotStallItsNeighbours) {
  start();
  TestSocket slow = open("slow"), quick = open("quick");
  const std::string block = pattern(64 << 10);
  size_t offered = 0;
  std::string echoed;

  EXPECT_TRUE(run_until([&] {
    const size_t went = agent_.apps["slow"].write(block);
    offered += went;
    return offered > 256 << 10 && went == 0;  // nobody reads it: it must come to a stop
  }));
  const size_t before = offered;
  agent_.apps["quick"].write("hello");
  EXPECT_TRUE(run_until([&] { return echoed += quick.read(), echoed == "hello"; }));

  EXPECT_LT(before, 4U << 20);
  size_t got = 0;
  EXPECT_TRUE(run_until([&] { return got += slow.read().size(), got == offered; }));
}

TEST_F(LinkTest, ARefusedStreamLeavesItsEndWithTheCaller) {
  agent_.answer = [](Link& link, StreamId stream, std::string_view) {
    link.reset(stream, ResetCode::Refused, "nobody listens");
  };
  start();
  TestSocket client;

  proxy_.open("app", proxy_.make_end(client));
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains("app"); }));

  EXPECT_EQ(proxy_.opened["app"].code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(proxy_.opened["app"].message()),
              StartsWith(std::string(to_string(ResetCode::Refused)) + ": nobody listens"));
}

TEST_F(LinkTest, AStreamNobodyAnswersIsGivenUpAndALateAnswerIsDropped) {
  std::optional<StreamId> asked;
  agent_.answer = [&](Link&, StreamId stream, std::string_view) { asked = stream; };
  start();
  TestSocket client, app;

  proxy_.open("app", proxy_.make_end(client), 50ms);
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains("app"); }));
  EXPECT_TRUE(run_until([&] { return agent_.link->session().streams() == 0; }));
  agent_.link->accept(*asked, agent_.make_end(app));

  EXPECT_EQ(proxy_.opened["app"].code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(agent_.living_ends, 0);
  EXPECT_EQ(agent_.reports.at(0).reset, ResetCode::Cancelled);
}

// An end without a socket, of a stream that is never accepted.
class NoEnd : public StreamEnd {
  void attached(Link&, StreamId) override {}
  Pulled pull(std::span<char>) override { return {}; }
  ssize_t push(std::string_view bytes) override { return static_cast<ssize_t>(bytes.size()); }
  void push_end() override {}
  void reset(ResetCode, std::string_view) override {}
};

asio::awaitable<void> open_in_vain(Link& link, std::string payload, size_t& refused) {
  std::unique_ptr<StreamEnd> end = std::make_unique<NoEnd>();
  const Status status = co_await link.open(std::move(payload), end, 60s);
  if (!status.ok()) refused += 1;
}

// Other links of the same loop get a turn between two reads.
TEST_F(LinkTest, ManyStreamsThatComeAtOnceAreHandledAFewAtATime) {
  constexpr size_t kStreams = 4'000;
  constexpr size_t kPayload = 100;
  constexpr size_t kMost = (32 << 10) / kPayload;
  size_t came = 0;
  size_t refused = 0;
  agent_.answer = [&](Link& link, StreamId stream, std::string_view) {
    came += 1;
    link.reset(stream, ResetCode::NotAllowed, "none");
  };
  start();
  for (size_t i = 0; i < kStreams; ++i) {
    proxy_.tasks.spawn(open_in_vain(*proxy_.link, fmt::format("{:0{}}", i, kPayload), refused));
  }
  const Time end = proxy_.clock.now() + 60s;

  size_t most = 0;
  while (came < kStreams && proxy_.clock.now() < end) {
    proxy_.loop.restart();
    agent_.loop.restart();
    proxy_.loop.poll();
    const size_t before = came;
    agent_.loop.run_one_for(10ms);
    most = std::max(most, came - before);
  }

  EXPECT_EQ(came, kStreams);
  EXPECT_LE(most, kMost);
  EXPECT_TRUE(run_until([&] { return refused == kStreams; }));
}

TEST_F(LinkTest, MessagesTravelBothWaysAndAWrongOneEndsTheLink) {
  start();

  EXPECT_TRUE(proxy_.link->send("welcome").ok());
  EXPECT_TRUE(agent_.link->send("hello").ok());
  EXPECT_TRUE(run_until([&] { return !proxy_.messages.empty() && !agent_.messages.empty(); }));
  EXPECT_TRUE(proxy_.link->send("wrong").ok());
  EXPECT_TRUE(run_until([&] { return agent_.ended && proxy_.ended; }));

  EXPECT_THAT(proxy_.messages, ElementsAre("hello"));
  EXPECT_EQ(agent_.ended->code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(split_reason(*proxy_.ended).code, "HF2023");
}

TEST_F(LinkTest, AfterAGoodbyeRunningStreamsFinishAndBothSidesEndWell) {
  start();
  TestSocket client = open("app");
  TestSocket refused;
  std::string answered;

  agent_.link->say_goodbye("moving");
  EXPECT_TRUE(run_until([&] { return !proxy_.goodbyes.empty(); }));
  proxy_.open("late", proxy_.make_end(refused));
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains("late"); }));
  agent_.apps["app"].write("last words");
  agent_.apps["app"].end();
  client.end();
  EXPECT_TRUE(run_until([&] { return answered += client.read(), client.ended; }));
  EXPECT_TRUE(run_until([&] { return proxy_.ended && agent_.ended; }));

  EXPECT_EQ(proxy_.opened["late"].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(answered, "last words");
  EXPECT_TRUE(proxy_.ended->ok()) << *proxy_.ended;
  EXPECT_TRUE(agent_.ended->ok()) << *agent_.ended;
}

// A stream that has ended both ways, and whose client has not read all when the agent is gone.
class LinkFlushTest : public LinkTest {
 protected:
  TestSocket leave_whole_stream(std::string_view down) {
    TestSocket client = open("app");
    TestSocket& app = agent_.apps["app"];
    client.end();
    EXPECT_TRUE(run_until([&] { return app.read(), app.ended; }));
    size_t sent = 0;
    EXPECT_TRUE(
        run_until([&] { return sent += app.write(down.substr(sent)), sent == down.size(); }));
    agent_.link->say_goodbye("moving");
    app.end();
    EXPECT_TRUE(run_until([&] { return agent_.ended.has_value(); }));
    EXPECT_TRUE(agent_.ended->ok()) << *agent_.ended;
    return client;
  }
  const std::string down_ = pattern(400 << 10);  // more than a socket's buffer
};

TEST_F(LinkFlushTest, AGoodbyeLosesNothingOfWhatCameForASlowReader) {
  start();
  TestSocket client = leave_whole_stream(down_);

  EXPECT_EQ(proxy_.living_ends, 1);
  std::string got;
  EXPECT_TRUE(run_until([&] { return got += client.read(), client.ended; }));
  EXPECT_TRUE(run_until([&] { return proxy_.ended.has_value(); }));

  EXPECT_TRUE(got == down_) << got.size();
  EXPECT_TRUE(proxy_.ended->ok()) << *proxy_.ended;
  EXPECT_FALSE(proxy_.reports.at(0).reset);
}

TEST_F(LinkFlushTest, AReaderThatNeverReadsIsGivenUpInTime) {
  start({.flush_timeout = 50ms});
  TestSocket client = leave_whole_stream(down_);

  EXPECT_TRUE(run_until([&] { return proxy_.ended.has_value(); }));

  EXPECT_EQ(proxy_.reports.at(0).reset, ResetCode::Broken);
}

TEST_F(LinkFlushTest, ClosingItGivesSlowReadersUp) {
  start();
  TestSocket client = leave_whole_stream(down_);

  proxy_.link->close(absl::UnavailableError("told to"));

  EXPECT_TRUE(run_until([&] { return proxy_.ended.has_value(); }));
  EXPECT_EQ(proxy_.reports.at(0).reset, ResetCode::Broken);
}

TEST_F(LinkTest, WhatIsSaidBeforeAGoodbyeArrives) {
  start();

  EXPECT_TRUE(proxy_.link->send("refused").ok());
  proxy_.link->say_goodbye("refused");
  EXPECT_TRUE(run_until([&] { return proxy_.ended && agent_.ended; }));

  EXPECT_THAT(agent_.messages, ElementsAre("refused"));
  EXPECT_TRUE(agent_.ended->ok()) << *agent_.ended;
}

TEST_F(LinkTest, AConnectionThatIsResetWhileItIsSilentIsNoEnd) {
  proxy_.uses_tcp = agent_.uses_tcp = true;
  start();
  TestSocket client = open("app");
  client.write("hello");
  std::string came;
  EXPECT_TRUE(run_until([&] { return (came += agent_.apps["app"].read()) == "hello"; }));

  client.cut();

  EXPECT_TRUE(run_until([&] { return agent_.apps["app"].read().empty() && !agent_.living_ends; }));
  EXPECT_TRUE(agent_.apps["app"].was_reset);
  EXPECT_FALSE(agent_.apps["app"].ended);
}

TEST_F(LinkTest, TheEndOfTheLinkResetsEveryStreamAndWhoeverWaits) {
  proxy_.uses_tcp = agent_.uses_tcp = true;
  start();
  std::vector<TestSocket> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(open("app" + std::to_string(i)));
  agent_.answer = [](Link&, StreamId, std::string_view) {};
  TestSocket waiting;
  proxy_.open("waiting", proxy_.make_end(waiting));

  agent_.link->close(absl::UnavailableError("told to"));

  EXPECT_TRUE(run_until([&] { return proxy_.ended && agent_.ended; }));
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains("waiting"); }));
  EXPECT_EQ(proxy_.opened["waiting"].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(proxy_.living_ends + agent_.living_ends, 0);
  for (TestSocket& client : clients) {
    client.read();
    EXPECT_TRUE(client.was_reset);
  }
}

TEST_F(LinkTest, APeerThatFallsSilentIsNoticedWithinThreeKeepalives) {
  start({.session = {.keepalive = 100ms}});
  TestSocket client = open("app");
  const Time silent = proxy_.clock.now();

  EXPECT_TRUE(run_until([&] { return proxy_.ended.has_value(); }, false));

  EXPECT_EQ(split_reason(*proxy_.ended).code, "HF2001");
  EXPECT_GE(proxy_.clock.now() - silent, 200ms);
  EXPECT_LE(proxy_.clock.now() - silent, 2s);
}

TEST_F(LinkTest, APeerThatStopsReadingIsGivenUpAfterTheWriteTimeout) {
  start_sides(connect(8 << 10), {.session = {.keepalive = 60s}, .write_timeout = 200ms});
  TestSocket client = open("app");
  const std::string block = pattern(64 << 10);

  EXPECT_TRUE(run_until(
      [&] {
        client.write(block);
        return proxy_.ended.has_value();
      },
      false));

  EXPECT_EQ(split_reason(*proxy_.ended).code, "HF2024");
}

TEST_F(LinkTest, CancellingItEndsIt) {
  start();
  TestSocket client = open("app");
  bool joined = false;
  const auto join = [&]() -> asio::awaitable<void> {
    co_await proxy_.tasks.join();
    joined = true;
  };

  net::TaskGroup joiner(proxy_.loop.get_executor());
  joiner.spawn(join());
  EXPECT_TRUE(run_until([&] { return joined && agent_.ended && joiner.size() == 0; }));

  EXPECT_EQ(proxy_.ended->code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(proxy_.living_ends + agent_.living_ends, 0);
}

TEST_F(LinkTest, WhatIsKeptForSlowReadersIsBoundedAndGivenBack) {
  agent_.buffers.set_max_kept(1 << 20);
  start();
  std::vector<TestSocket> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(open("slow" + std::to_string(i)));
  const std::string block = pattern(64 << 10);

  EXPECT_TRUE(run_until([&] {
    for (TestSocket& client : clients) client.write(block);
    return agent_.buffers.cut_streams() > 0;
  }));
  TestSocket late;
  proxy_.open("late", proxy_.make_end(late));
  EXPECT_TRUE(run_until([&] { return proxy_.opened.contains("late"); }));

  EXPECT_GT(agent_.buffers.kept_bytes(), 512U << 10);
  EXPECT_LE(agent_.buffers.kept_bytes(), 2U << 20) << "a string may have twice what it needs";
  EXPECT_EQ(agent_.buffers.refused_streams(), 1U);
  EXPECT_THAT(std::string(proxy_.opened["late"].message()), testing::StartsWith("limit"));
  TearDown();
  EXPECT_EQ(agent_.buffers.kept_bytes(), 0U);
}

}  // namespace
}  // namespace holdfast::tunnel
