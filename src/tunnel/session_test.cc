// What two sessions say to each other when both keep the rules.
#include "tunnel/session.h"

#include <gtest/gtest.h>

#include "base/reason.h"
#include "tunnel/session_pair.h"

namespace holdfast::tunnel {
namespace {

TEST(Session, AStreamIsAskedForAcceptedAndCarriesBytesBothWays) {
  SessionPair pair;

  const StreamId stream = pair.open("db");
  pair.opener.send(stream, "question");
  pair.acceptor.send(stream, "answer");
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.acceptor.log(), "open db");
  EXPECT_EQ(pair.opener.log(), "accepted");
  EXPECT_EQ(pair.acceptor.came(stream), "question");
  EXPECT_EQ(pair.opener.came(stream), "answer");
}

TEST(Session, AStreamIsOverWhenBothSidesHaveEnded) {
  SessionPair pair;
  const StreamId stream = pair.open();

  pair.opener.session.end(stream);
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_EQ(pair.opener.session.streams(), 1);
  pair.acceptor.send(stream, "still comes");
  ASSERT_TRUE(pair.exchange().ok());
  pair.acceptor.session.end(stream);
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.opener.came(stream), "still comes");
  EXPECT_EQ(pair.opener.log(), "accepted; end");
  EXPECT_EQ(pair.opener.session.streams(), 0);
  EXPECT_EQ(pair.acceptor.session.streams(), 0);
}

TEST(Session, WhereverTheBytesAreCutTheSameComesOut) {
  const std::string large(kMaxMessageBytes, 'x');
  for (const size_t cut : {1, 2, 3, 5, 7, 8, 9, 11, 13, 4'099, 16'384, 16'385, 70'000}) {
    SCOPED_TRACE(cut);
    SessionPair pair;
    const StreamId stream = pair.open("db");
    const StreamId refused = pair.opener.session.open("web").value();
    ASSERT_TRUE(pair.exchange(cut).ok());
    pair.acceptor.session.reset(refused, ResetCode::NotExposed, "no web here");
    pair.opener.send(stream, large);
    ASSERT_TRUE(pair.opener.session.send_message(large).ok());
    ASSERT_TRUE(pair.opener.session.send_message("").ok());
    pair.opener.session.say_goodbye("moving");
    ASSERT_TRUE(pair.exchange(cut).ok());
    pair.opener.session.end(stream);
    ASSERT_TRUE(pair.exchange(cut).ok());

    EXPECT_EQ(pair.acceptor.came(stream), large);
    EXPECT_EQ(pair.acceptor.log(),
              "open db; open web; message " + large + "; message ; goodbye moving; end");
    EXPECT_EQ(pair.opener.log(), "accepted; reset not exposed no web here");
  }
}

TEST(Session, AStreamMayBeCutAtEveryByteOfItsLife) {
  for (size_t first = 1; first < 80; ++first) {
    SCOPED_TRACE(first);
    SessionPair pair;
    const StreamId stream = pair.open("db");
    pair.opener.send(stream, "some bytes");
    ASSERT_TRUE(pair.opener.session.send_message("a message").ok());
    std::string bytes = pair.opener.take();
    pair.opener.session.reset(stream, ResetCode::Cancelled, "gone");
    bytes += pair.opener.take();
    ASSERT_GT(bytes.size(), 50);

    ASSERT_TRUE(pair.deliver(pair.acceptor, bytes.substr(0, first)).ok());
    if (first < bytes.size()) {
      ASSERT_TRUE(pair.deliver(pair.acceptor, bytes.substr(first)).ok());
    }

    EXPECT_EQ(pair.acceptor.came(stream), "some bytes");
    EXPECT_EQ(pair.acceptor.log(), "open db; message a message; reset cancelled gone");
  }
}

TEST(Session, DataIsPassedOnBeforeItsFrameIsAllThere) {
  SessionPair pair;
  const StreamId stream = pair.open();
  pair.opener.send(stream, "0123456789");
  const std::string bytes = pair.opener.take();

  ASSERT_TRUE(pair.deliver(pair.acceptor, bytes.substr(0, kFrameHeaderBytes + 4)).ok());

  EXPECT_EQ(pair.acceptor.came(stream), "0123");
}

TEST(Session, ARefusedStreamIsOverOnBothSidesAndSaysWhy) {
  SessionPair pair;
  const StreamId stream = pair.opener.session.open("db").value();
  ASSERT_TRUE(pair.exchange().ok());

  pair.acceptor.session.reset(stream, ResetCode::Refused, "connection refused");
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.opener.log(), "reset refused connection refused");
  EXPECT_EQ(pair.opener.session.streams(), 0);
  EXPECT_EQ(pair.acceptor.session.streams(), 0);
  EXPECT_EQ(pair.opener.session.stats().resets, 1);
}

TEST(Session, WhatWasUnderWayWhenAStreamWasResetIsDroppedAndCounted) {
  SessionPair pair;
  const StreamId stream = pair.open();
  pair.acceptor.send(stream, "too late");
  const std::string late = pair.acceptor.take();
  pair.opener.session.reset(stream, ResetCode::Cancelled, "");
  pair.acceptor.session.end(stream);

  ASSERT_TRUE(pair.deliver(pair.opener, late).ok());
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.opener.came(stream), "");
  EXPECT_EQ(pair.opener.session.stats().bytes_dropped, 8);
  EXPECT_EQ(pair.opener.log(), "accepted");
}

TEST(Session, AStreamResetInTheMiddleOfAFrameTakesNoMoreOfIt) {
  SessionPair pair;
  const StreamId stream = pair.open();
  pair.acceptor.send(stream, "0123456789");
  const std::string bytes = pair.acceptor.take();

  ASSERT_TRUE(pair.deliver(pair.opener, bytes.substr(0, kFrameHeaderBytes + 4)).ok());
  pair.opener.session.reset(stream, ResetCode::Cancelled, "");
  ASSERT_TRUE(pair.deliver(pair.opener, bytes.substr(kFrameHeaderBytes + 4)).ok());

  EXPECT_EQ(pair.opener.came(stream), "0123");
}

TEST(Session, ASlotIsUsedAgainUnderAnotherNumberAndOldFramesDoNotCount) {
  SessionPair pair;
  const StreamId old = pair.open();
  pair.acceptor.send(old, "old");
  const std::string late = pair.acceptor.take();
  pair.opener.session.reset(old, ResetCode::Cancelled, "");

  const StreamId fresh = pair.open();
  ASSERT_TRUE(pair.deliver(pair.opener, late).ok());

  EXPECT_EQ(slot_of(fresh), slot_of(old));
  EXPECT_NE(fresh, old);
  EXPECT_EQ(pair.opener.came(fresh), "");
}

TEST(Session, ASlotMayBeUsedForEver) {
  SessionPair pair({.max_resets_per_second = 1'000'000});
  for (int i = 0; i < 70'000; ++i) {
    const StreamId stream = pair.opener.session.open("").value();
    pair.opener.session.reset(stream, ResetCode::Cancelled, "");
    if (i % 100 > 0) continue;
    pair.now += std::chrono::seconds(1);
    ASSERT_TRUE(pair.deliver(pair.acceptor, pair.opener.take()).ok()) << i;
  }

  const StreamId stream = pair.open();
  pair.opener.send(stream, "after many");
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(slot_of(stream), 0);
  EXPECT_EQ(pair.acceptor.came(stream), "after many");
}

TEST(Session, AnEndBeforeTheStreamIsOpenGoesWhenItIs) {
  SessionPair pair;
  const StreamId stream = pair.opener.session.open("db").value();
  pair.opener.session.end(stream);
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_EQ(pair.acceptor.log(), "open db");

  pair.acceptor.session.end(stream);
  pair.acceptor.session.accept(stream);
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.acceptor.log(), "open db; end");
  EXPECT_EQ(pair.opener.log(), "accepted; end");
  EXPECT_EQ(pair.opener.session.streams(), 0);
  EXPECT_EQ(pair.acceptor.session.streams(), 0);
}

TEST(Session, AStreamReadyBeforeItIsOpenSendsWhenItIs) {
  SessionPair pair;
  const StreamId stream = pair.opener.session.open("db").value();
  pair.opener.send(stream, "early");
  ASSERT_TRUE(pair.exchange().ok());
  pair.acceptor.send(stream, "early too");
  EXPECT_FALSE(pair.acceptor.session.next_turn());

  pair.acceptor.session.accept(stream);
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.acceptor.came(stream), "early");
  EXPECT_EQ(pair.opener.came(stream), "early too");
}

TEST(Session, ControlGoesBeforeData) {
  SessionPair pair;
  const StreamId stream = pair.open();
  pair.opener.send(stream, std::string(200'000, 'x'));
  ASSERT_TRUE(pair.opener.session.next_turn());

  ASSERT_TRUE(pair.opener.session.send_message("now").ok());

  EXPECT_FALSE(pair.opener.session.next_turn());
  const std::string bytes = pair.opener.take(1);
  ASSERT_TRUE(pair.deliver(pair.acceptor, bytes).ok());
  EXPECT_EQ(pair.acceptor.log(), "open db; message now");
  EXPECT_EQ(pair.acceptor.came(stream), "");
  EXPECT_TRUE(pair.opener.session.next_turn());
}

TEST(Session, ControlIsTakenInWholeFrames) {
  SessionPair pair;
  ASSERT_TRUE(pair.opener.session.send_message(std::string(100, 'a')).ok());
  ASSERT_TRUE(pair.opener.session.send_message(std::string(100, 'b')).ok());
  std::string room(150, '\0');

  EXPECT_EQ(pair.opener.session.take_control(room), 108);
  EXPECT_TRUE(pair.opener.session.has_control());
  EXPECT_EQ(pair.opener.session.take_control(room), 108);
  EXPECT_FALSE(pair.opener.session.has_control());
  EXPECT_EQ(pair.opener.session.take_control(room), 0);
}

TEST(Session, AfterAGoodbyeNothingNewIsOpenedAndWhatRunsFinishes) {
  SessionPair pair;
  const StreamId stream = pair.open();
  const StreamId crossing = pair.opener.session.open("late").value();

  pair.acceptor.session.say_goodbye("the agent stops");
  pair.acceptor.session.say_goodbye("told once");
  EXPECT_TRUE(pair.acceptor.session.is_leaving());
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(split_reason(pair.opener.session.open("more").status()).code, "HF2008");
  EXPECT_EQ(pair.opener.log(),
            "accepted; goodbye the agent stops; reset draining the tunnel takes no new streams");
  EXPECT_EQ(pair.opener.over, std::vector{crossing});
  EXPECT_EQ(pair.acceptor.session.stats().refused, 1);
  pair.opener.send(stream, "goes on");
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_EQ(pair.acceptor.came(stream), "goes on");
}

TEST(Session, WhoSaysGoodbyeOpensNothingMore) {
  SessionPair pair;

  pair.opener.session.say_goodbye("drained");

  EXPECT_EQ(pair.opener.session.open("db").status().code(), absl::StatusCode::kUnavailable);
}

TEST(Session, TheOpenerGivesUpNoFasterThanItsPeerBears) {
  SessionPair pair({.max_streams = 5, .max_resets_per_second = 20});
  const auto open_and_give_up = [&] {
    const Result<StreamId> stream = pair.opener.session.open("db");
    if (stream.ok()) pair.opener.session.reset(*stream, ResetCode::Cancelled, "gone");
    EXPECT_TRUE(pair.exchange().ok()) << "the tunnel is not to suffer";
    return std::string(split_reason(stream.status()).code);
  };
  for (int i = 0; i < 10; ++i) ASSERT_EQ(open_and_give_up(), "");
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(open_and_give_up(), "HF2007");
  EXPECT_EQ(pair.opener.session.stats().throttled, 1'000);

  pair.now += std::chrono::seconds(1);
  ASSERT_TRUE(pair.opener.session.on_tick(pair.now).ok());
  EXPECT_EQ(open_and_give_up(), "");
}

TEST(Session, TheOpenerKnowsItsLimitOfStreams) {
  SessionPair pair(SessionOptions{.max_streams = 2});
  pair.open();
  const StreamId second = pair.open();
  EXPECT_EQ(split_reason(pair.opener.session.open("db").status()).code, "HF2007");
  EXPECT_EQ(pair.opener.session.stats().full, 1U);

  pair.opener.session.reset(second, ResetCode::Cancelled, "");

  EXPECT_TRUE(pair.opener.session.open("db").ok());
}

TEST(Session, TheAcceptorRefusesWhatIsBeyondItsOwnLimit) {
  SessionPair pair({.side = Side::Opener}, {.side = Side::Acceptor, .max_streams = 1});
  const StreamId first = pair.open();

  const StreamId second = pair.opener.session.open("web").value();
  ASSERT_TRUE(pair.exchange().ok());

  EXPECT_EQ(pair.opener.over, std::vector{second});
  EXPECT_EQ(pair.opener.log(), "accepted; reset limit the tunnel is full of streams");
  pair.opener.session.reset(first, ResetCode::Cancelled, "");
  const StreamId third = pair.open();
  EXPECT_EQ(slot_of(third), slot_of(first));
}

TEST(Session, WhatIsTooLongOrTooMuchToSendIsRefusedHere) {
  SessionPair pair(SessionOptions{.max_queued_control = 300'000});
  const std::string too_long(kMaxMessageBytes + 1, 'x');

  EXPECT_EQ(pair.opener.session.send_message(too_long).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(pair.opener.session.open(too_long).status().code(), absl::StatusCode::kInvalidArgument);
  const std::string large(kMaxMessageBytes, 'x');
  EXPECT_TRUE(pair.opener.session.send_message(large).ok());
  EXPECT_TRUE(pair.opener.session.send_message(large).ok());
  EXPECT_EQ(split_reason(pair.opener.session.send_message(large)).code, "HF2009");
  ASSERT_TRUE(pair.exchange().ok());
  EXPECT_TRUE(pair.opener.session.send_message(large).ok());
}

TEST(Session, AnIdleSessionIsSmall) {
  EXPECT_LE(sizeof(Session), 1'024);
  EXPECT_LE(sizeof(Stream), 72);
}

}  // namespace
}  // namespace holdfast::tunnel
