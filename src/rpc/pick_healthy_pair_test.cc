// PickHealthy with servers that are halves of a pair, in virtual time: a is active at first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "rpc/pick_healthy.h"
#include "rpc/pick_healthy_harness.h"

namespace holdfast::rpc::pick {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Lt;
using testing::SizeIs;

// A client of a:1 and b:1 that is served by a:1, which is half of a pair.
class PairLink : public Harness {
 public:
  explicit PairLink(PickHealthyOptions options = {}, const Mode& mode = kPickFirst,
                    uint64_t seed = 1)
      : Harness(options, {"a:1", "b:1"}, seed) {
    // Who is dialled first is a matter of the seed.
    if (dials.back().address != "a:1") close(last());
    a = last();
    connect(a);
    take(core.on_paired(a, now));
    tell(a, mode);
    serve(a, true);
    now += 1min;
  }
  void not_active(uint64_t id, const std::string& active = {}) {
    take(core.on_not_active(id, active, now));
  }
  // The connection dialled last is with a half that does not serve, and says so when first asked.
  uint64_t refuse_discovery(const std::string& active = {}) {
    const uint64_t id = last();
    connect(id);
    not_active(id, active);
    fail_discovery(id, Discovery::Outcome::NotActive);
    return id;
  }

  uint64_t a = 0;
};

TEST(PickHealthyPair, TheHalfThatIsNamedIsDialledAtOnceWhateverTheModeAndTakesOver) {
  PairLink link;
  ASSERT_EQ(link.dials.back().address, "a:1");

  link.not_active(link.a, "b:1");

  ASSERT_NE(link.last(), link.a);
  EXPECT_EQ(link.dials.back().address, "b:1");
  const uint64_t b = link.bring_up(kPickFirst);
  EXPECT_EQ(link.core.picked(), b);
  EXPECT_TRUE(link.has_dropped(link.a));
  EXPECT_EQ(link.core.counts().followed, 1u);
  EXPECT_EQ(link.core.counts().last_recovery, Duration::zero());
}

TEST(PickHealthyPair, ManyCallsThatAreRefusedAtOnceMakeOneDial) {
  PairLink link;
  const size_t before = link.dials.size();

  for (int call = 0; call < 100; ++call) link.not_active(link.a, "b:1");

  EXPECT_THAT(link.dials, SizeIs(before + 1));
}

TEST(PickHealthyPair, AHintThatNobodyFollowedIsForgotten) {
  PairLink link({.follow_strangers = true});
  link.not_active(link.a, "b:1");
  link.not_active(link.a, "c:1");  // beside the dial that runs
  const uint64_t b = link.bring_up(kPickFirst);
  link.take(link.core.on_paired(b, link.now));
  link.advance(1min);

  link.serve(b, false);

  EXPECT_EQ(link.dials.back().address, "a:1");
}

TEST(PickHealthyPair, AHalfThatStopsServingIsLeftAtOnceWithoutBackoff) {
  PairLink link;

  link.serve(link.a, false);

  ASSERT_NE(link.last(), link.a);
  EXPECT_EQ(link.dials.back().address, "b:1");
}

TEST(PickHealthyPair, AServerWithoutAPairIsStillLeftOnlyAfterTheBackoff) {
  Harness link({}, {"a:1", "b:1"});
  const uint64_t a = link.bring_up(kReconnect);

  link.serve(a, false);

  EXPECT_EQ(link.last(), a);
  EXPECT_THAT(link.until_next_dial(), AllOf(Ge(Duration(2s)), Lt(Duration(3s))));
}

TEST(PickHealthyPair, AStrangerIsDialledOnlyByThoseWhoKnowAControllerByItsCertificate) {
  PairLink careful;
  careful.not_active(careful.a, "c:1");
  EXPECT_EQ(careful.dials.back().address, "b:1");

  PairLink knowing({.follow_strangers = true});
  knowing.not_active(knowing.a, "c:1");
  EXPECT_EQ(knowing.dials.back().address, "c:1");
  // It is gone again: those of the list are next.
  knowing.close(knowing.last());
  EXPECT_EQ(knowing.dials.back().address, "b:1");
}

TEST(PickHealthyPair, AHalfThatNamesItselfIsNotBelieved) {
  PairLink link;

  link.not_active(link.a, "a:1");

  EXPECT_EQ(link.dials.back().address, "b:1");
}

TEST(PickHealthyPair, WhenBothHalvesDoNotServeTriesGrowApartWithJitter) {
  std::set<Duration> first_waits;
  for (uint64_t round = 0; round < 3; ++round) {
    PairLink link({}, kPickFirst, /*seed=*/1 + round);
    link.serve(link.a, false);
    link.refuse_discovery("a:1");
    size_t dials = 0;
    Duration wait{};
    for (const Time start = link.now; link.now - start < 60s; ++dials) {
      wait = link.until_next_dial();
      ASSERT_LT(wait, 1min) << "it gave up";
      if (dials == 0) first_waits.insert(wait);
      link.refuse_discovery("a:1");
    }

    EXPECT_LE(dials, 40u) << "a storm";
  }
  EXPECT_EQ(first_waits.size(), 3u) << "without jitter";
  EXPECT_GE(*first_waits.begin(), 100ms);
  EXPECT_LT(*first_waits.rbegin(), 150ms);
}

TEST(PickHealthyPair, HalvesThatClaimToServeAndRefuseEveryCallMakeNoStorm) {
  PairLink link;
  size_t rounds = 0;
  const Time start = link.now;

  while (link.now - start < 60s) {
    const size_t before = link.dials.size();
    const uint64_t picked = link.core.picked();
    link.not_active(picked, picked == link.a ? "b:1" : "a:1");
    if (link.dials.size() == before) link.until_next_dial();
    link.bring_up(kPickFirst);
    ++rounds;
    ASSERT_LT(rounds, 200u) << "a storm";
  }

  EXPECT_LE(rounds, 120u);
}

TEST(PickHealthyPair, AHalfThatBeginsToServeIsUsedAgainOnTheConnectionThatIsThere) {
  PairLink link;
  link.not_active(link.a);
  link.refuse_discovery("a:1");

  link.serve(link.a, true);

  EXPECT_EQ(link.core.picked(), link.a);
  EXPECT_FALSE(link.core.is_doubted(link.a));
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyPair, APassiveHalfThatIsFoundFirstIsWatchedUntilItServes) {
  Harness link({}, {"b:1"});
  const uint64_t b = link.last();
  link.connect(b);
  link.take(link.core.on_not_active(b, "", link.now));
  link.fail_discovery(b, Discovery::Outcome::NotActive);

  ASSERT_EQ(link.asked<WatchHealth>().back().connection, b);
  link.serve(b, true);

  EXPECT_EQ(link.core.picked(), b);
  link.advance(10s);
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyPair, WhoseTimeIsOverIsLeftHoweverWellItSaysItIs) {
  PairLink link;

  link.take(link.core.on_fenced(link.a, link.now));
  link.serve(link.a, true);

  EXPECT_TRUE(link.core.is_doubted(link.a));
  ASSERT_EQ(link.dials.back().address, "b:1");
  EXPECT_EQ(link.core.picked(), link.a);
  const uint64_t b = link.bring_up(kPickFirst);
  EXPECT_EQ(link.core.picked(), b);
}

TEST(PickHealthyPair, APassiveHalfHasTimeToDecideWhetherItTakesOver) {
  PairLink link;
  link.not_active(link.a, "b:1");
  const uint64_t b = link.last();

  link.connect(b);
  link.advance(2s);

  EXPECT_FALSE(link.has_dropped(b));
}

TEST(PickHealthyPair, ASilentHalfIsLeftSoonerThanAServerOfItsOwn) {
  PairLink link;

  link.unanswered(link.a);
  EXPECT_EQ(link.until_next_dial(), Duration(300ms));
  EXPECT_EQ(link.dials.back().address, "b:1");
}

TEST(PickHealthyPair, AHalfThatWasFoundSilentIsNotDialledAgainBecauseTheOtherStillNamesIt) {
  PairLink link;
  link.unanswered(link.a);
  link.until_next_dial();
  ASSERT_EQ(link.dials.back().address, "b:1");

  const uint64_t b = link.refuse_discovery("a:1");

  EXPECT_EQ(link.last(), b);
  EXPECT_FALSE(link.has_dropped(b));
  EXPECT_LT(link.until_next_dial(), Duration(150ms));
  EXPECT_EQ(link.dials.back().address, "b:1");
}

TEST(PickHealthyPair, AHalfThatLetsCallsWaitUntilItServesIsNotDoubtedAfterwards) {
  PairLink link;
  link.unanswered(link.a);
  link.until_next_dial();
  const uint64_t b = link.last();
  link.connect(b);
  link.take(link.core.on_paired(b, link.now));
  link.tell(b, kPickFirst);
  link.serve(b, false);
  ASSERT_EQ(link.core.picked(), b) << "better than one that is silent";
  link.advance(300ms);
  link.unanswered(b);
  ASSERT_TRUE(link.core.is_doubted(b));

  link.serve(b, true);

  EXPECT_FALSE(link.core.is_doubted(b));
  EXPECT_EQ(link.core.children(), 1u);
  EXPECT_EQ(link.until_next_dial(1min), Duration::max());
}

// From the moment at which the half that is picked does this, until the other one serves.
template <typename Trouble>
Duration time_to_leave(PairLink& link, Trouble&& trouble) {
  const Time start = link.now;
  const size_t before = link.dials.size();
  trouble(link.core.picked());
  if (link.dials.size() == before) link.until_next_dial();
  const uint64_t id = link.last();
  link.connect(id);
  link.take(link.core.on_paired(id, link.now));
  link.tell(id, kPickFirst);
  link.serve(id, true);
  return link.now - start;
}

TEST(PickHealthyPair, AHalfThatAnsweredIsLeftAsSoonAsTheOneBefore) {
  PairLink link;
  const auto fall_silent = [&](uint64_t id) { link.unanswered(id); };
  const auto step_down = [&](uint64_t id) { link.not_active(id); };
  for (int round = 0; round < 30; ++round) {
    link.take(link.core.on_answered(link.core.picked(), link.now));
    ASSERT_LT(time_to_leave(link, fall_silent), Duration(450ms)) << round;
    link.take(link.core.on_answered(link.core.picked(), link.now));
    ASSERT_EQ(time_to_leave(link, step_down), Duration(0)) << round;
  }
}

TEST(PickHealthyPair, HalvesThatFallSilentBeforeTheyAnswerAreLeftEverMoreSeldom) {
  PairLink link;
  Duration all{0};
  for (int round = 0; round < 30; ++round) {
    all += time_to_leave(link, [&](uint64_t id) { link.unanswered(id); });
  }
  EXPECT_GE(all, Duration(30s));
}

TEST(PickHealthyPair, OnlyTheFirstAnswerIsNews) {
  PairLink link;
  ASSERT_TRUE(link.core.would_be_news(link.a));
  link.take(link.core.on_answered(link.a, link.now));
  EXPECT_FALSE(link.core.would_be_news(link.a));
  link.unavailable(link.a);
  EXPECT_TRUE(link.core.would_be_news(link.a));
}

TEST(PickHealthyBeats, ThreeMissedOnesMakeAServerSilentWithNobodyAskingIt) {
  PairLink link({}, kReconnect);
  link.take(link.core.on_beats(link.a, 900ms, link.now));
  for (int beat = 0; beat < 100; ++beat) {
    link.advance(900ms);
    link.serve(link.a, true);
  }
  ASSERT_FALSE(link.core.is_silent(link.a));

  EXPECT_EQ(link.until_next_dial(), Duration(2700ms));

  EXPECT_TRUE(link.core.is_silent(link.a));
  EXPECT_EQ(link.dials.back().address, "b:1");
  EXPECT_EQ(link.core.counts().missed_beats, 1u);
  EXPECT_EQ(link.asked<Probe>().back().connection, link.a);
}

TEST(PickHealthyBeats, AServerThatPromisedNoneIsNotMissed) {
  PairLink link({}, kReconnect);

  link.advance(1h);

  EXPECT_FALSE(link.core.is_silent(link.a));
  EXPECT_EQ(link.core.children(), 1u);
}

TEST(PickHealthyBeats, WhoWasAwayItselfWaitsForOneMore) {
  PairLink link({}, kReconnect);
  link.take(link.core.on_beats(link.a, 900ms, link.now));

  link.now += 10s;  // nobody ticked
  link.take(link.core.on_tick(link.now));
  ASSERT_FALSE(link.core.is_silent(link.a));
  link.advance(800ms);
  link.serve(link.a, true);

  link.advance(2s);
  EXPECT_FALSE(link.core.is_silent(link.a));
}

TEST(PickHealthyBeats, OneThatComesAfterAllEndsTheDoubt) {
  PairLink link({}, kReconnect);
  link.take(link.core.on_beats(link.a, 900ms, link.now));
  link.advance(3s);
  ASSERT_TRUE(link.core.is_silent(link.a));

  link.serve(link.a, true);

  EXPECT_FALSE(link.core.is_silent(link.a));
  EXPECT_EQ(link.core.picked(), link.a);
  EXPECT_EQ(link.core.children(), 1u);
}

}  // namespace
}  // namespace holdfast::rpc::pick
