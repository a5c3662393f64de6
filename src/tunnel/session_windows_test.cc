// How much may come before it is consumed.
#include "tunnel/session_windows.h"

#include <gtest/gtest.h>

#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kInitial = 64 << 10;
constexpr WindowOptions kOptions{.initial = kInitial, .max = 1 << 20, .budget = 4 << 20};

// Both sides learn that they are 50 ms apart.
void measure_round_trip(SessionPair& pair) {
  pair.now += 1s;
  ASSERT_TRUE(pair.acceptor.session.on_tick(pair.now).ok());
  ASSERT_TRUE(pair.deliver(pair.opener, pair.acceptor.take()).ok());
  pair.now += 50ms;
  ASSERT_TRUE(pair.deliver(pair.acceptor, pair.opener.take()).ok());
  ASSERT_EQ(pair.acceptor.session.round_trip(), 50ms);
}

// The peer sends all it may and all of it is consumed, in that time.
uint32_t turn_over(ReceiveWindows& windows, Stream& stream, Duration took) {
  const uint32_t bytes = stream.may_come;
  EXPECT_TRUE(windows.receive(stream, bytes));
  return windows.consume(stream, bytes, stream.measured_since + took, 1ms);
}

TEST(SessionWindows, NoMoreIsSentThanWasNotConsumed) {
  SessionPair pair(SessionOptions{.initial_window = 100'000});
  pair.acceptor.consumes = false;
  const StreamId stream = pair.open();

  pair.opener.send(stream, std::string(1'000'000, 'x'));
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.acceptor.came(stream).size(), 100'000);
  EXPECT_EQ(pair.opener.outgoing[stream].size(), 900'000);
}

TEST(SessionWindows, ASlowReaderHoldsUpNobodyElse) {
  SessionPair pair(SessionOptions{.initial_window = 100'000});
  pair.acceptor.consumes = false;
  const StreamId slow = pair.open();
  pair.opener.send(slow, std::string(1'000'000, 'x'));
  ASSERT_TRUE(pair.exchange().ok());

  pair.acceptor.consumes = true;
  const StreamId quick = pair.open();
  pair.opener.send(quick, std::string(1'000'000, 'y'));
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.acceptor.came(quick).size(), 1'000'000);
  EXPECT_EQ(pair.acceptor.came(slow).size(), 100'000);
}

TEST(SessionWindows, ThePeerIsToldWhenHalfAWindowWasConsumed) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  EXPECT_EQ(windows.start(stream, 1, Time(0s)), kInitial);
  ASSERT_TRUE(windows.receive(stream, kInitial));

  EXPECT_EQ(windows.consume(stream, kInitial / 2 - 1, Time(1s), 1ms), 0);
  EXPECT_EQ(windows.consume(stream, 1, Time(1s), 1ms), kInitial / 2);
  EXPECT_EQ(stream.may_come, kInitial / 2);
}

TEST(SessionWindows, ASmallWindowThatLastsLessThanAMillisecondGrowsHoweverNearThePeer) {
  const WindowOptions options{.initial = 256 << 10, .max = 4 << 20, .budget = 64 << 20};
  for (const auto& [took, expected] :
       {std::pair(Duration(1ms), 512U << 10), std::pair(Duration(1001us), 256U << 10)}) {
    ReceiveWindows windows(options);
    Stream stream;
    windows.start(stream, 1, Time(0s));
    Time now(0s);
    for (int round = 0; round < 3; ++round) {  // 512 KiB do not grow so
      const uint32_t window = stream.window;
      ASSERT_TRUE(windows.receive(stream, window));
      now += took;
      windows.consume(stream, window, now, 50us);
    }
    EXPECT_EQ(stream.window, expected) << took.count();
  }
}

TEST(SessionWindows, NothingBeyondTheWindowIsTaken) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));

  EXPECT_TRUE(windows.receive(stream, kInitial - 1));
  EXPECT_FALSE(windows.receive(stream, 2));
  EXPECT_TRUE(windows.receive(stream, 1));
  EXPECT_FALSE(windows.receive(stream, 1));
}

TEST(SessionWindows, AStreamConsumedAsFastAsItComesGetsALargerWindowUpToTheLargest) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));

  EXPECT_EQ(turn_over(windows, stream, 1ms), 2 * kInitial);
  for (int i = 0; i < 10; ++i) turn_over(windows, stream, 1ms);

  EXPECT_EQ(stream.may_come, kOptions.max);
  EXPECT_EQ(windows.grown_bytes(), kOptions.max - kInitial);
}

TEST(SessionWindows, AFarPeerThatFillsItsWindowEachRoundTripGetsALargerOne) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));
  ASSERT_TRUE(windows.receive(stream, kInitial));

  EXPECT_EQ(windows.consume(stream, kInitial, Time(300ms), 300ms), 2 * kInitial);
}

TEST(SessionWindows, AStreamThatIsSlowKeepsItsFirstWindow) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));

  for (int i = 0; i < 10; ++i) EXPECT_EQ(turn_over(windows, stream, 500ms), kInitial);
}

TEST(SessionWindows, AStreamWhoseBytesPileUpKeepsItsWindow) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));
  ASSERT_TRUE(windows.receive(stream, kInitial));

  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(windows.consume(stream, kInitial / 2, Time(i * 1ms), 1ms), kInitial / 2);
    ASSERT_TRUE(windows.receive(stream, kInitial / 2));
  }

  EXPECT_EQ(windows.grown_bytes(), 0);
}

TEST(SessionWindows, AWindowThatComesAtOnceAndIsConsumedAtOnceGrows) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));

  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(windows.receive(stream, stream.may_come));
    while (stream.held > 0) windows.consume(stream, 8 << 10, Time(1ms), 1ms);
  }

  EXPECT_GE(stream.window, 4 * kInitial);
}

TEST(SessionWindows, AWindowFallsBackWhenItsStreamSlowsDown) {
  ReceiveWindows windows(kOptions);
  Stream stream;
  windows.start(stream, 1, Time(0s));
  for (int i = 0; i < 5; ++i) turn_over(windows, stream, 1ms);
  ASSERT_EQ(stream.may_come, kOptions.max);

  for (int i = 0; i < 30; ++i) turn_over(windows, stream, 3s);

  EXPECT_EQ(stream.may_come, kInitial);
  EXPECT_EQ(windows.grown_bytes(), 0);
}

TEST(SessionWindows, AllWindowsTogetherGrowWithinTheBudget) {
  ReceiveWindows windows({.initial = kInitial, .max = 1 << 20, .budget = 3 << 20});
  std::vector<Stream> streams(10);
  for (Stream& stream : streams) windows.start(stream, 1, Time(0s));

  for (int i = 0; i < 100; ++i) turn_over(windows, streams[static_cast<size_t>(i) % 10], 1ms);

  EXPECT_EQ(windows.grown_bytes(), 3 << 20);
  for (Stream& stream : streams) windows.stop(stream);
  EXPECT_EQ(windows.grown_bytes(), 0);
}

TEST(SessionWindows, ManyStreamsStartWithTheirShareOfTheBudgetAndNeverTooLittle) {
  ReceiveWindows windows(kOptions);
  Stream stream;

  EXPECT_EQ(windows.start(stream, 16, Time(0s)), kInitial);
  EXPECT_EQ(windows.start(stream, 32, Time(0s)), kInitial / 2);
  EXPECT_EQ(windows.start(stream, 16'384, Time(0s)), ReceiveWindows::kSmallestWindow);
}

// What docs/tunnel.md promises of one tunnel, with what its streams may grow by.
TEST(SessionWindows, AFullTunnelsWindowsAreWithinTheirBound) {
  const SessionOptions options;
  ReceiveWindows windows({options.initial_window, options.max_window, options.window_budget});
  size_t sum = options.window_budget;
  for (size_t streams = 1; streams <= options.max_streams; ++streams) {
    Stream stream;
    sum += windows.start(stream, streams, Time(0s));
  }

  EXPECT_LE(sum, 176 << 20);
}

TEST(SessionWindows, WhatAStreamGrewByIsGivenBackHoweverItEnds) {
  for (const bool is_reset : {false, true}) {
    SessionPair pair;
    measure_round_trip(pair);
    const StreamId stream = pair.open();
    pair.opener.send(stream, std::string(1 << 20, 'x'));
    ASSERT_TRUE(pair.exchange().ok());
    EXPECT_EQ(pair.acceptor.came(stream).size(), 1 << 20);
    EXPECT_GT(pair.acceptor.session.grown_window_bytes(), 0);

    if (is_reset) pair.opener.session.reset(stream, ResetCode::Broken, "");
    pair.opener.session.end(stream);
    ASSERT_TRUE(pair.exchange().ok());

    EXPECT_EQ(pair.acceptor.session.grown_window_bytes(), 0);
  }
}

TEST(SessionWindows, WhatWasNotConsumedBeforeTheEndMayBeConsumedAfterIt) {
  SessionPair pair;
  pair.acceptor.consumes = false;
  const StreamId stream = pair.open();
  pair.opener.send(stream, "0123456789");
  ASSERT_TRUE(pair.exchange().ok());
  pair.opener.session.end(stream);
  ASSERT_TRUE(pair.exchange().ok());

  pair.acceptor.session.consumed(stream, 4, pair.now);
  pair.acceptor.session.end(stream);
  pair.acceptor.session.consumed(stream, 6, pair.now);
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.opener.session.streams(), 0);
}

}  // namespace
}  // namespace holdfast::tunnel
