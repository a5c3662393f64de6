// A peer that does not keep the rules: the tunnel is broken with a reason, or it costs us nothing.
#include <gtest/gtest.h>

#include "base/reason.h"
#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

using namespace std::chrono_literals;

constexpr StreamId kFirst = stream_id(0, 1);

std::string number(uint32_t value) {
  std::array<char, 4> bytes{};
  encode_u32(value, bytes);
  return {bytes.data(), bytes.size()};
}

std::string header(uint32_t length, FrameType type, StreamId stream) {
  std::array<char, kFrameHeaderBytes> bytes{};
  encode_header({.length = length, .type = type, .stream = stream}, bytes);
  return {bytes.data(), bytes.size()};
}

std::string session_hostile_frame(FrameType type, StreamId stream,
                                  const std::string& payload = "") {
  return header(static_cast<uint32_t>(payload.size()), type, stream) + payload;
}

std::string open_frame(StreamId stream, uint32_t window = 65'536) {
  return session_hostile_frame(FrameType::Open, stream, number(window) + "db");
}

// One side of ours; what the other says is up to the test.
struct Hostile {
  explicit Hostile(SessionOptions options) : ours(options, now) {}
  // The reason code; empty if it is taken.
  std::string say(std::string_view bytes) {
    return std::string(split_reason(ours.receive(bytes, now)).code);
  }
  Time now{100s};
  TestSide ours;
};

Hostile acceptor(SessionOptions options = {}) {
  return Hostile(SessionPair::with_side(options, Side::Acceptor));
}

// An acceptor with kFirst open.
struct HostileOpener : Hostile {
  explicit HostileOpener(SessionOptions options = {})
      : Hostile(SessionPair::with_side(options, Side::Acceptor)) {
    EXPECT_EQ(say(open_frame(kFirst)), "");
    ours.session.accept(kFirst);
    static_cast<void>(ours.take());
  }
};

// An opener with kFirst asked for.
struct HostileAcceptor : Hostile {
  explicit HostileAcceptor(SessionOptions options = {})
      : Hostile(SessionPair::with_side(options, Side::Opener)) {
    EXPECT_EQ(ours.session.open("db").value(), kFirst);
    static_cast<void>(ours.take());
  }
};

TEST(SessionHostile, DataBeyondTheWindowBreaksTheTunnel) {
  HostileOpener peer({.initial_window = 16'384});
  peer.ours.consumes = false;
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Data, kFirst, std::string(16'000, 'x'))), "");
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Data, kFirst, std::string(384, 'x'))), "");

  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Data, kFirst, "x")), "HF2003");
  EXPECT_EQ(peer.ours.came(kFirst).size(), 16'384);
}

TEST(SessionHostile, AFrameTooLargeForTheWindowIsRefusedAtItsHeader) {
  HostileOpener peer({.initial_window = 16'384});
  peer.ours.consumes = false;
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Data, kFirst, std::string(16'000, 'x'))), "");

  EXPECT_EQ(peer.say(header(16'000, FrameType::Data, kFirst)), "HF2003");
}

TEST(SessionHostile, DataBeforeTheStreamIsOpenBreaksTheTunnel) {
  Hostile opening = acceptor();
  EXPECT_EQ(opening.say(open_frame(kFirst)), "");
  EXPECT_EQ(opening.say(session_hostile_frame(FrameType::Data, kFirst, "early")), "HF2002");

  HostileAcceptor accepting;
  EXPECT_EQ(accepting.say(session_hostile_frame(FrameType::Data, kFirst, "early")), "HF2002");
}

TEST(SessionHostile, EndsAndWindowsBeforeTheStreamIsOpenBreakTheTunnel) {
  EXPECT_EQ(HostileAcceptor().say(session_hostile_frame(FrameType::End, kFirst)), "HF2002");
  EXPECT_EQ(HostileAcceptor().say(session_hostile_frame(FrameType::Window, kFirst, number(1))),
            "HF2002");
}

TEST(SessionHostile, FramesFromTheWrongSideBreakTheTunnel) {
  HostileAcceptor accepting;
  EXPECT_EQ(accepting.say(open_frame(stream_id(1, 1))), "HF2002");

  HostileOpener opening;
  EXPECT_EQ(opening.say(session_hostile_frame(FrameType::Accept, kFirst, number(1))), "HF2002");
}

TEST(SessionHostile, FramesOfStreamsThatNeverWereBreakTheTunnel) {
  for (const StreamId unknown : {stream_id(0, 2), stream_id(1, 1), stream_id(65'535, 65'535)}) {
    for (const std::string& bytes :
         {session_hostile_frame(FrameType::Data, unknown, "x"),
          session_hostile_frame(FrameType::End, unknown),
          session_hostile_frame(FrameType::Window, unknown, number(1)),
          session_hostile_frame(FrameType::Reset, unknown, number(1)),
          session_hostile_frame(FrameType::Accept, unknown, number(1))}) {
      EXPECT_EQ(HostileOpener().say(bytes), "HF2002");
      EXPECT_EQ(HostileAcceptor().say(bytes), "HF2002");
    }
  }
}

TEST(SessionHostile, FramesOfStreamsThatAreOverAreDropped) {
  HostileOpener peer;
  peer.ours.session.reset(kFirst, ResetCode::Broken, "");

  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Data, kFirst, "xxx")), "");
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Window, kFirst, number(1))), "");
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::End, kFirst)), "");
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Reset, kFirst, number(1))), "");
  EXPECT_EQ(peer.ours.session.stats().bytes_dropped, 3);
  EXPECT_EQ(peer.ours.log(), "open db");
}

TEST(SessionHostile, NothingComesAfterAnEnd) {
  for (const std::string& bytes : {session_hostile_frame(FrameType::Data, kFirst, "x"),
                                   session_hostile_frame(FrameType::End, kFirst)}) {
    HostileOpener peer;
    EXPECT_EQ(peer.say(session_hostile_frame(FrameType::End, kFirst)), "");
    EXPECT_EQ(peer.say(bytes), "HF2002");
  }
}

TEST(SessionHostile, AStreamIsAcceptedOnce) {
  HostileAcceptor peer;
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Accept, kFirst, number(1))), "");
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Accept, kFirst, number(1))), "HF2002");
}

TEST(SessionHostile, WindowsOfNothingOrOfTooMuchBreakTheTunnel) {
  EXPECT_EQ(HostileOpener().say(session_hostile_frame(FrameType::Window, kFirst, number(0))),
            "HF2002");
  EXPECT_EQ(
      HostileOpener().say(session_hostile_frame(FrameType::Window, kFirst, number(INT32_MAX))),
      "HF2003");
  EXPECT_EQ(
      HostileOpener().say(session_hostile_frame(FrameType::Window, kFirst, number(UINT32_MAX))),
      "HF2003");
  EXPECT_EQ(acceptor().say(open_frame(kFirst, UINT32_MAX)), "HF2003");
  EXPECT_EQ(
      HostileAcceptor().say(session_hostile_frame(FrameType::Accept, kFirst, number(1U << 31))),
      "HF2003");
}

TEST(SessionHostile, StreamsAreOpenedInTheNextFreeSlotsAndUses) {
  EXPECT_EQ(acceptor().say(open_frame(stream_id(1, 1))), "HF2002");
  EXPECT_EQ(acceptor().say(open_frame(stream_id(0, 2))), "HF2002");
  EXPECT_EQ(HostileOpener().say(open_frame(kFirst)), "HF2002");
  EXPECT_EQ(HostileOpener().say(open_frame(stream_id(0, 2))), "HF2002") << "still in use";
  EXPECT_EQ(HostileOpener().say(open_frame(stream_id(2, 1))), "HF2002");
  EXPECT_EQ(HostileOpener().say(open_frame(stream_id(1, 1))), "");
}

TEST(SessionHostile, FramesTooLongOrOfOddLengthsBreakTheTunnelAtTheirHeader) {
  for (const std::string& bytes : {
           header(kMaxDataBytes + 1, FrameType::Data, kFirst),
           header(0, FrameType::Data, kFirst),
           header(0xffffff, FrameType::Message, 0),
           header(kMaxOpenBytes + 5, FrameType::Open, stream_id(1, 1)),
           header(3, FrameType::Open, stream_id(1, 1)),
           header(3, FrameType::Window, kFirst),
           header(5, FrameType::Window, kFirst),
           header(1, FrameType::End, kFirst),
           header(3, FrameType::Reset, kFirst),
           header(7, FrameType::Ping, 0),
           header(kMaxTextBytes + 1, FrameType::Goodbye, 0),
           header(1, FrameType::Data, 0),
           header(0, FrameType::Message, kFirst),
           header(0, static_cast<FrameType>(10), 0),
       }) {
    EXPECT_EQ(HostileOpener().say(bytes), "HF2002");
  }
}

TEST(SessionHostile, AWindowThatIsNeverOpenedKeepsTheBytesWhereTheyAre) {
  HostileAcceptor peer;
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Accept, kFirst, number(0))), "");

  peer.ours.send(kFirst, std::string(1'000'000, 'x'));

  EXPECT_EQ(peer.ours.take(), "");
  EXPECT_EQ(peer.ours.outgoing[kFirst].size(), 1'000'000);
  EXPECT_FALSE(peer.ours.session.next_turn());
}

TEST(SessionHostile, AWindowOpenedByteByByteIsServedByteByByte) {
  HostileAcceptor peer;
  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Accept, kFirst, number(0))), "");
  peer.ours.send(kFirst, "0123456789");

  for (const char byte : std::string("0123456789")) {
    EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Window, kFirst, number(1))), "");
    EXPECT_EQ(peer.ours.take(),
              session_hostile_frame(FrameType::Data, kFirst, std::string(1, byte)));
  }
}

TEST(SessionHostile, AFloodOfStreamsIsRefusedAndTheTunnelLives) {
  Hostile peer = acceptor({.max_streams = 100, .max_resets_per_second = 50});
  for (uint32_t slot = 0; slot < 5'000; ++slot) {
    ASSERT_EQ(peer.say(open_frame(stream_id(slot, 1))), "") << slot;
    peer.ours.take();
  }

  EXPECT_EQ(peer.ours.session.streams(), 100);
  EXPECT_EQ(peer.ours.session.stats().refused, 4'900);
}

TEST(SessionHostile, AFloodOfStreamsThatDoesNotReadTheRefusalsBreaksTheTunnel) {
  Hostile peer = acceptor({.max_streams = 0, .max_queued_control = 10'000});
  std::string code;
  for (uint32_t slot = 0; slot < 5'000 && code.empty(); ++slot) {
    code = peer.say(open_frame(stream_id(slot, 1)));
  }
  EXPECT_EQ(code, "HF2005");
}

// What was open may be given up at once, and so may what an honest peer sends in ten seconds that
// come together.
TEST(SessionHostile, MoreStreamsGivenUpThanAnHonestPeerWouldBreakTheTunnel) {
  Hostile peer = acceptor({.max_streams = 100, .max_resets_per_second = 50});
  uint16_t use = 0;
  const auto open_and_give_up = [&] {
    use += 1;
    return peer.say(open_frame(stream_id(0, use)) +
                    session_hostile_frame(FrameType::Reset, stream_id(0, use), number(1)));
  };
  for (int i = 0; i < 600; ++i) ASSERT_EQ(open_and_give_up(), "") << i;
  for (int second = 0; second < 20; ++second) {
    peer.now += 1s;
    for (int i = 0; i < 50; ++i) ASSERT_EQ(open_and_give_up(), "") << second;
  }

  EXPECT_EQ(open_and_give_up(), "HF2004");
  EXPECT_EQ(peer.ours.session.stats().given_up, 1'601);
}

TEST(SessionHostile, ResetsOfStreamsThatWereAcceptedAreNoFlood) {
  Hostile peer = acceptor({.max_resets_per_second = 5});
  for (uint16_t use = 1; use < 100; ++use) {
    ASSERT_EQ(peer.say(open_frame(stream_id(0, use))), "");
    peer.ours.session.accept(stream_id(0, use));
    ASSERT_EQ(peer.say(session_hostile_frame(FrameType::Reset, stream_id(0, use), number(6))), "");
  }
}

TEST(SessionHostile, AFloodOfPingsWaitsAsOneAnswer) {
  Hostile peer = acceptor();
  const std::string last = session_hostile_frame(FrameType::Ping, 0, "12345678");
  for (int i = 0; i < 10'000; ++i)
    ASSERT_EQ(peer.say(session_hostile_frame(FrameType::Ping, 0, "abcdefgh")), "");
  ASSERT_EQ(peer.say(last), "");

  EXPECT_EQ(peer.ours.session.queued_control(), 0);
  EXPECT_EQ(peer.ours.take(), session_hostile_frame(FrameType::Pong, 0, "12345678"));
}

TEST(SessionHostile, APeerThatMakesUsAnswerAndDoesNotReadBreaksItsTunnel) {
  Hostile peer = acceptor({.max_streams = 0, .max_queued_control = 10'000});
  std::string code;
  uint16_t use = 0;
  while (code.empty() && use < 1'000) {
    use += 1;
    code = peer.say(open_frame(stream_id(0, use)));
  }

  EXPECT_EQ(code, "HF2005");
  EXPECT_LE(peer.ours.session.queued_control(), 10'100);
  EXPECT_EQ(split_reason(peer.ours.session.on_tick(peer.now)).code, "HF2005");
}

TEST(SessionHostile, AFloodOfMessagesBreaksTheTunnel) {
  Hostile peer = acceptor({.max_messages_per_second = 10});
  for (int i = 0; i < 30; ++i) {
    if (i % 10 == 0) peer.now += 1s;
    ASSERT_EQ(peer.say(session_hostile_frame(FrameType::Message, 0, "hello")), "");
  }

  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Message, 0, "hello")), "HF2006");
}

TEST(SessionHostile, GoodbyeIsSaidOnceAndNothingIsOpenedAfterIt) {
  Hostile twice = acceptor();
  EXPECT_EQ(twice.say(session_hostile_frame(FrameType::Goodbye, 0, "bye")), "");
  EXPECT_EQ(twice.say(session_hostile_frame(FrameType::Goodbye, 0, "bye")), "HF2002");

  Hostile opening = acceptor();
  EXPECT_EQ(opening.say(session_hostile_frame(FrameType::Goodbye, 0, "bye")), "");
  EXPECT_EQ(opening.say(open_frame(kFirst)), "HF2002");
}

TEST(SessionHostile, AResetOfANewerKindIsStillAReset) {
  HostileAcceptor peer;

  EXPECT_EQ(peer.say(session_hostile_frame(FrameType::Reset, kFirst, number(99) + "later")), "");

  EXPECT_EQ(peer.ours.log(), "reset unknown later");
  EXPECT_EQ(peer.ours.session.streams(), 0);
}

}  // namespace
}  // namespace holdfast::tunnel
