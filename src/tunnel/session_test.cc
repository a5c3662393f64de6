#include "tunnel/session.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(pair.opener.session.streams(), 0);
  EXPECT_EQ(pair.acceptor.session.streams(), 0);
}

}  // namespace
}  // namespace holdfast::tunnel
