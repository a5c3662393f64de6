// Whether the peer is there, in virtual time.
#include "tunnel/session_keepalive.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

constexpr SessionOptions kTwoSeconds{.keepalive = 2s, .misses = 3};

// Lets time pass, each session woken when it asks for it; both ways take `delay`.
Status pass(SessionPair& pair, Duration time, Duration delay = 0ms) {
  const Time until = pair.now + time;
  for (;;) {
    const Time next =
        std::min(pair.opener.session.next_deadline(), pair.acceptor.session.next_deadline());
    if (next > until) break;
    pair.now = std::max(pair.now, next);
    TRY_OK(pair.opener.session.on_tick(pair.now));
    TRY_OK(pair.acceptor.session.on_tick(pair.now));
    const std::string there = pair.opener.take(), back = pair.acceptor.take();
    pair.now += delay / 2;
    TRY_OK(pair.deliver(pair.acceptor, there));
    TRY_OK(pair.deliver(pair.opener, back));
    const std::string answer_there = pair.opener.take(), answer_back = pair.acceptor.take();
    pair.now += delay / 2;
    TRY_OK(pair.deliver(pair.acceptor, answer_there));
    TRY_OK(pair.deliver(pair.opener, answer_back));
  }
  pair.now = std::max(pair.now, until);
  return absl::OkStatus();
}

TEST(SessionKeepalive, APingGoesEveryInterval) {
  SessionPair pair(kTwoSeconds);

  ASSERT_TRUE(pass(pair, 20s).ok());

  EXPECT_EQ(pair.opener.session.stats().pings, 10);
  EXPECT_EQ(pair.acceptor.session.stats().pings, 10);
}

TEST(SessionKeepalive, TheRoundTripIsKnownEarlyAndSmoothed) {
  SessionPair pair(kTwoSeconds);
  EXPECT_EQ(pair.opener.session.round_trip(), std::nullopt);

  ASSERT_TRUE(pass(pair, 600ms, 80ms).ok());
  EXPECT_EQ(pair.opener.session.round_trip(), 80ms);
  ASSERT_TRUE(pass(pair, 2s, 160ms).ok());

  EXPECT_EQ(pair.opener.session.round_trip(), 90ms);
  EXPECT_EQ(pair.acceptor.session.round_trip(), 90ms);
}

TEST(SessionKeepalive, ASilentPeerIsDeadAfterThreeIntervalsAndNotBefore) {
  SessionPair pair(kTwoSeconds);
  ASSERT_TRUE(pass(pair, 10s).ok());
  Session& session = pair.opener.session;
  const Time silent_since = session.last_frame();

  Status status = absl::OkStatus();
  Time now = pair.now;
  while (status.ok()) {
    ASSERT_GT(session.next_deadline() + 1ms, now) << "it asks to be woken in time";
    now = session.next_deadline();
    status = session.on_tick(now);
  }

  EXPECT_EQ(split_reason(status).code, "HF2001");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(now - silent_since, 6s);
}

TEST(SessionKeepalive, AnyByteIsASignOfLife) {
  SessionPair pair(kTwoSeconds);
  const StreamId stream = pair.open();
  for (int i = 0; i < 20; ++i) {
    pair.now += 1s;
    ASSERT_TRUE(pair.opener.session.on_tick(pair.now).ok());
    pair.acceptor.send(stream, "x");
    ASSERT_TRUE(pair.deliver(pair.opener, pair.acceptor.take()).ok());  // which answers nothing
  }

  EXPECT_EQ(pair.opener.session.last_frame(), pair.now);
}

TEST(SessionKeepalive, WhoWasHeldUpItselfWaitsOneMoreInterval) {
  SessionPair pair(kTwoSeconds);
  ASSERT_TRUE(pass(pair, 10s).ok());

  pair.now += 60s;
  ASSERT_TRUE(pair.opener.session.on_tick(pair.now).ok()) << "nothing could be read meanwhile";

  EXPECT_TRUE(pair.opener.session.on_tick(pair.now + 1'999ms).ok());
  EXPECT_EQ(split_reason(pair.opener.session.on_tick(pair.now + 2s)).code, "HF2001");
}

TEST(SessionKeepalive, BeingHeldUpIsForgivenOnce) {
  SessionPair pair(kTwoSeconds);

  EXPECT_TRUE(pair.opener.session.on_tick(pair.now + 60s).ok());
  EXPECT_FALSE(pair.opener.session.on_tick(pair.now + 120s).ok());
}

TEST(SessionKeepalive, ANewIntervalAppliesAtOnce) {
  SessionPair pair(SessionOptions{.keepalive = 60s, .misses = 3});
  ASSERT_TRUE(pass(pair, 50s).ok());

  pair.opener.session.set_keepalive(2s, 3, pair.now);

  EXPECT_TRUE(pair.opener.session.on_tick(pair.now).ok()) << "the silence until now was allowed";
  EXPECT_LE(pair.opener.session.next_deadline(), pair.now + 2s);
  EXPECT_TRUE(pair.opener.session.on_tick(pair.now + 2s).ok());
  EXPECT_TRUE(pair.opener.session.on_tick(pair.now + 4s).ok());
  EXPECT_FALSE(pair.opener.session.on_tick(pair.now + 6s).ok());
}

TEST(SessionKeepalive, APongNobodyAskedForMeasuresNothing) {
  Keepalive keepalive(2s, 3, Time(0s));
  keepalive.on_pong(0, Time(1s));
  keepalive.on_pong(1, Time(1s));
  EXPECT_EQ(keepalive.round_trip(), std::nullopt);

  ASSERT_EQ(keepalive.on_tick(Time(2s)), Keepalive::Action::Ping);
  keepalive.on_pong(keepalive.ping_value(), Time(2'100ms));
  keepalive.on_pong(keepalive.ping_value(), Time(4s));
  keepalive.on_pong(UINT64_MAX, Time(4s));

  EXPECT_EQ(keepalive.round_trip(), 100ms);
}

TEST(SessionKeepalive, AnAnswerLaterThanTheNextPingStillMeasures) {
  Keepalive keepalive(2s, 3, Time(0s));
  ASSERT_EQ(keepalive.on_tick(Time(2s)), Keepalive::Action::Ping);
  const uint64_t first = keepalive.ping_value();
  ASSERT_EQ(keepalive.on_tick(Time(4s)), Keepalive::Action::Ping);

  keepalive.on_pong(first, Time(4'500ms));

  EXPECT_EQ(keepalive.round_trip(), 2'500ms);
}

}  // namespace
}  // namespace holdfast::tunnel
