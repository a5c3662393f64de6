// Who sends when many want to.
#include "tunnel/session_turns.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

constexpr SessionOptions kWideWindows{.initial_window = 4 << 20, .window_budget = 1 << 30};

// Streams that send without end, past their first bytes.
std::vector<StreamId> busy_streams(SessionPair& pair, int count) {
  std::vector<StreamId> streams;
  for (int i = 0; i < count; ++i) streams.push_back(pair.open());
  for (const StreamId stream : streams) pair.opener.send(stream, std::string(2 << 20, 'x'));
  static_cast<void>(pair.opener.take(count * (64 << 10)));
  pair.opener.turns.clear();
  return streams;
}

TEST(SessionTurns, StreamsThatSendAllTheTimeTakeTurnsAFrameEach) {
  SessionPair pair(kWideWindows);
  const std::vector<StreamId> streams = busy_streams(pair, 3);

  static_cast<void>(pair.opener.take(30 * kMaxDataBytes));

  ASSERT_GE(pair.opener.turns.size(), 29);
  for (size_t i = 3; i < pair.opener.turns.size(); ++i) {
    EXPECT_EQ(pair.opener.turns[i], pair.opener.turns[i - 3]);
  }
}

TEST(SessionTurns, AStreamThatSendsLittlePassesThoseThatSendMuch) {
  SessionPair pair(kWideWindows);
  const StreamId quick = pair.open();
  busy_streams(pair, 16);

  for (int i = 0; i < 200; ++i) {
    pair.opener.send(quick, "ping");
    static_cast<void>(pair.opener.take(1));
    ASSERT_EQ(pair.opener.turns.back(), quick) << i;
    static_cast<void>(pair.opener.take(2 * kMaxDataBytes));
  }
}

TEST(SessionTurns, AStreamThatWasQuickForLongIsStillQuickWhenOthersBegin) {
  SessionPair pair(kWideWindows);
  const StreamId quick = pair.open();
  for (int i = 0; i < 2'000; ++i) {
    pair.opener.send(quick, std::string(64, 'q'));
    static_cast<void>(pair.opener.take());
  }

  busy_streams(pair, 4);
  static_cast<void>(pair.opener.take(3 << 20));
  pair.opener.send(quick, "ping");
  static_cast<void>(pair.opener.take(1));

  EXPECT_EQ(pair.opener.turns.back(), quick);
}

TEST(SessionTurns, AQuickStreamThatSendsMuchIsQuickNoMore) {
  SessionPair pair(kWideWindows);
  const StreamId late = pair.open();
  busy_streams(pair, 2);

  pair.opener.send(late, std::string(1 << 20, 'x'));
  static_cast<void>(pair.opener.take(30 * kMaxDataBytes));

  const auto& turns = pair.opener.turns;
  EXPECT_EQ(turns[0], late);
  EXPECT_EQ(turns[1], late);
  EXPECT_LE(std::count(turns.begin(), turns.end(), late), 13);
  EXPECT_GE(std::count(turns.begin(), turns.end(), late), 9);
}

TEST(SessionTurns, ManyQuickStreamsDoNotStarveTheOthers) {
  SessionPair pair(kWideWindows);
  std::vector<StreamId> quick;
  for (int i = 0; i < 40; ++i) quick.push_back(pair.open());
  const StreamId busy = busy_streams(pair, 1).front();
  for (const StreamId stream : quick) pair.opener.send(stream, std::string(16'000, 'x'));

  static_cast<void>(pair.opener.take(1 << 20));

  const auto& turns = pair.opener.turns;
  EXPECT_GE(std::count(turns.begin(), turns.end(), busy), 5);
  EXPECT_LE(std::count(turns.begin(), turns.end(), busy), 12);
}

TEST(SessionTurns, AStreamWithoutAWindowTakesNoTurnsUntilItHasOne) {
  SessionPair pair(SessionOptions{.initial_window = 16 << 10});
  pair.acceptor.consumes = false;
  const StreamId stuck = pair.open();
  pair.opener.send(stuck, std::string(64 << 10, 'x'));
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_EQ(pair.acceptor.came(stuck).size(), 16 << 10);
  EXPECT_FALSE(pair.opener.session.next_turn());

  const StreamId other = pair.open();
  pair.opener.send(other, "passes");
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_EQ(pair.acceptor.came(other), "passes");
  pair.acceptor.session.consumed(stuck, 16 << 10, pair.now);
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_GT(pair.acceptor.came(stuck).size(), 16 << 10);
}

TEST(SessionTurns, ATurnIsNoLargerThanAskedForAndLeavesTheStreamReady) {
  SessionPair pair;
  const StreamId stream = pair.open();
  pair.opener.send(stream, std::string(1'000, 'x'));
  std::array<char, kFrameHeaderBytes> header{};

  const auto turn = pair.opener.session.next_turn(10);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->most, 10);
  pair.opener.session.commit(*turn, 10, header);
  EXPECT_TRUE(pair.opener.session.next_turn());
  pair.opener.session.commit(*pair.opener.session.next_turn(10), 9, header);

  EXPECT_FALSE(pair.opener.session.next_turn());
}

TEST(SessionTurns, AQuickStreamsTurnIsShortAndABusyOnesAFullFrame) {
  SessionPair pair(kWideWindows);
  const StreamId stream = pair.open();
  pair.opener.send(stream, std::string(1 << 20, 'x'));

  EXPECT_EQ(pair.opener.session.next_turn()->most, 16 << 10);
  static_cast<void>(pair.opener.take(64 << 10));

  EXPECT_EQ(pair.opener.session.next_turn()->most, kMaxDataBytes);
}

TEST(SessionTurns, AStreamThatIsOverHasNoTurns) {
  SessionPair pair(kWideWindows);
  const std::vector<StreamId> streams = busy_streams(pair, 3);
  const auto turn = pair.opener.session.next_turn();
  ASSERT_TRUE(turn);

  pair.opener.session.reset(turn->stream, ResetCode::Broken, "");
  std::array<char, kFrameHeaderBytes> header{};
  pair.opener.session.commit(*turn, 0, header);
  static_cast<void>(pair.opener.take(10 * kMaxDataBytes));

  EXPECT_EQ(std::ranges::count(pair.opener.turns, turn->stream), 0);
  EXPECT_GE(pair.opener.turns.size(), 9);
}

}  // namespace
}  // namespace holdfast::tunnel
