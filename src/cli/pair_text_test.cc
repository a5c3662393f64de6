// The texts of `holdfast ha`, as somebody at a terminal reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/pair.h"
#include "cli/times.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kPairTextNowSeconds = 1'700'000'000;
constexpr WallTime kPairTextNow(std::chrono::seconds{kPairTextNowSeconds});

v1::PairHalf half(v1::PairMember member, v1::PairState state, const std::string& name) {
  v1::PairHalf out;
  out.set_member(member);
  out.set_state(state);
  out.set_name(name);
  out.set_address(name + ".example:7443");
  out.set_version("0.6.0");
  out.set_epoch(6);
  out.mutable_head()->set_revision(812);
  out.mutable_head()->set_epoch(6);
  out.set_connected(true);
  return out;
}

// As the backup, which is active, tells it.
v1::PairStatus after_failover() {
  v1::PairStatus pair;
  pair.set_paired(true);
  pair.set_mode(v1::PAIR_MODE_WITNESS);
  *pair.mutable_self() = half(v1::PAIR_MEMBER_BACKUP, v1::PAIR_STATE_ACTIVE, "ctl-b");
  *pair.mutable_peer() = half(v1::PAIR_MEMBER_PRIMARY, v1::PAIR_STATE_PASSIVE, "ctl-a");
  *pair.mutable_peer()->mutable_silent() = to_proto(120ms);
  pair.set_in_sync(true);
  pair.set_witness("10.0.0.3:7444");
  *pair.mutable_witness_silent() = to_proto(80ms);
  pair.mutable_record()->set_epoch(6);
  pair.mutable_record()->set_primary_in_sync(true);
  pair.mutable_record()->set_backup_in_sync(true);
  v1::PairSwitch& last = *pair.mutable_last_switch();
  last.mutable_at()->set_seconds(kPairTextNowSeconds - 192);
  last.set_to("ctl-b");
  last.set_epoch(4);
  *last.mutable_took() = to_proto(140ms);
  last.set_reason("the active half was killed");
  pair.set_if_active_died("ctl-a takes over within 1.1s; nothing is lost");
  return pair;
}

TEST(PairText, OneScreenSaysWhoIsActiveAndWhatWouldHappen) {
  EXPECT_EQ(
      render_pair(after_failover(), {.now = kPairTextNow}),
      "pair        ctl-b is active, epoch 6, mode witness, in sync\n"
      "HALF      STATE     NAME    ADDRESS              VERSION   EPOCH   REVISION   HEARD\n"
      "primary   passive   ctl-a   ctl-a.example:7443   0.6.0     6       812        120ms ago\n"
      "backup    active    ctl-b   ctl-b.example:7443   0.6.0     6       812        answers\n"
      "witness     10.0.0.3:7444, heard 80ms ago; its record: epoch 6, in sync primary and backup\n"
      "last switch 3m12s ago to ctl-b, epoch 4, took 140ms: the active half was killed\n"
      "if the active died now: ctl-a takes over within 1.1s; nothing is lost\n");
  EXPECT_TRUE(is_well(after_failover()));
}

TEST(PairText, TroubleIsShownWithItsCodesAndIsNotWell) {
  v1::PairStatus pair = after_failover();
  pair.set_in_sync(false);
  pair.set_lag(31);
  pair.mutable_peer()->set_connected(false);
  *pair.mutable_peer()->mutable_silent() = to_proto(90s);
  pair.add_problems("HF4102: the primary has been silent for 1m30s");
  pair.set_quarantined(2);

  const std::string text = render_pair(pair, {.now = kPairTextNow});

  EXPECT_THAT(text, AllOf(HasSubstr("NOT in sync, 31 revisions behind"),
                          HasSubstr("silent for 1m30s"), HasSubstr("problem     HF4102: "),
                          HasSubstr("2 waiting for a decision: holdfast ha divergence")));
  EXPECT_FALSE(is_well(pair));
}

TEST(PairText, ADivergenceThatWaitsIsNotWell) {
  v1::PairStatus pair = after_failover();
  pair.set_quarantined(1);
  EXPECT_FALSE(is_well(pair));
  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}), HasSubstr("divergence  1 waiting"));
  EXPECT_THAT(pair_line(pair), HasSubstr(", 1 waiting for a decision: holdfast ha divergence"));
}

TEST(PairText, WhatASilentHalfSaidOfItselfIsNotBelieved) {
  v1::PairStatus pair = after_failover();
  pair.mutable_self()->set_state(v1::PAIR_STATE_PASSIVE);
  pair.mutable_peer()->set_state(v1::PAIR_STATE_ACTIVE);
  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}), HasSubstr("ctl-a is active"));

  pair.mutable_peer()->set_connected(false);

  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}), HasSubstr("NOBODY is active"));
  EXPECT_FALSE(is_well(pair));
}

TEST(PairText, AnActiveHalfThatCannotServeIsShownSo) {
  v1::PairStatus pair = after_failover();
  pair.set_not_serving("HF4107: the primary has not confirmed for 600ms");
  pair.add_problems("HF4107: this half is active and answers nobody");

  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}),
              HasSubstr("ctl-b is active, epoch 6, and does NOT serve, mode witness"));
  EXPECT_THAT(pair_line(pair), HasSubstr("and does NOT serve"));
  EXPECT_THAT(render_pair(pair, {.output = Output::Json, .now = kPairTextNow}),
              HasSubstr("\"not_serving\": \"HF4107: "));
  EXPECT_FALSE(is_well(pair));
}

TEST(PairText, JsonSaysTheSameWithItsZeros) {
  const std::string json =
      render_pair(after_failover(), {.output = Output::Json, .now = kPairTextNow});

  EXPECT_THAT(json, AllOf(HasSubstr("\"kind\": \"pair\""), HasSubstr("\"paired\": true"),
                          HasSubstr("\"mode\": \"witness\""), HasSubstr("\"active\": \"backup\""),
                          HasSubstr("\"in_sync\": true"), HasSubstr("\"lag\": 0"),
                          HasSubstr("\"half\": \"primary\""), HasSubstr("\"took\": \"140ms\""),
                          HasSubstr("\"problems\": []"), HasSubstr("\"quarantined\": 0")));
}

TEST(PairText, WithoutAPairThereIsOneSentenceAndNoLineInStatus) {
  EXPECT_EQ(render_pair({}, {.now = kPairTextNow}), "this controller is no half of a pair\n");
  EXPECT_EQ(pair_line({}), "");
  EXPECT_TRUE(is_well({}));
  EXPECT_THAT(render_pair({}, {.output = Output::Json}), HasSubstr("\"paired\": false"));
}

TEST(PairText, StatusHasOneLineOfIt) {
  EXPECT_EQ(pair_line(after_failover()),
            "pair       ctl-b is active, epoch 6, mode witness, in sync\n");
}

TEST(PairText, WhatIsNotKnownIsNotShown) {
  v1::PairStatus pair = after_failover();
  pair.set_witness_never_heard(true);
  pair.mutable_last_switch()->clear_took();
  const std::string text = render_pair(pair, {.now = kPairTextNow});
  EXPECT_THAT(text, HasSubstr("witness     10.0.0.3:7444, not heard since this half started\n"));
  EXPECT_THAT(text, HasSubstr("to ctl-b, epoch 4: the active half was killed\n"));
}

TEST(PairText, AnEmptyHalfSaysWhatItsPromotionGivesUp) {
  v1::PairStatus pair = after_failover();
  pair.mutable_self()->set_state(v1::PAIR_STATE_PASSIVE);
  pair.mutable_self()->mutable_head()->set_epoch(0);
  pair.mutable_peer()->set_connected(false);
  EXPECT_THAT(promotion_risk(pair), HasSubstr("gives up all that the other half has"));
}

TEST(PairText, ForeignTextCannotPaintTheTerminal) {
  v1::PairStatus pair = after_failover();
  pair.mutable_self()->set_name("\x1b[31m");
  pair.add_problems("HF4102: \x1b[2J");

  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}), Not(HasSubstr("\x1b")));
  EXPECT_THAT(pair_line(pair), Not(HasSubstr("\x1b")));
}

TEST(PairText, ThePromotionsRiskDependsOnTheOtherHalf) {
  v1::PairStatus pair = after_failover();
  EXPECT_THAT(promotion_risk(pair), HasSubstr("active one already"));

  pair.mutable_self()->set_state(v1::PAIR_STATE_PASSIVE);
  pair.mutable_peer()->set_state(v1::PAIR_STATE_ACTIVE);
  EXPECT_THAT(promotion_risk(pair), HasSubstr("switchover"));

  pair.mutable_peer()->set_connected(false);
  pair.mutable_peer()->mutable_head()->set_revision(815);
  EXPECT_THAT(promotion_risk(pair), AllOf(HasSubstr("revision 812"), HasSubstr("at 815")));

  pair.mutable_peer()->set_state(v1::PAIR_STATE_UNSPECIFIED);
  EXPECT_THAT(promotion_risk(pair), AllOf(HasSubstr("revision 812"), HasSubstr("not heard"),
                                          HasSubstr("epoch 6, in sync primary and backup")));
  pair.clear_record();
  EXPECT_THAT(promotion_risk(pair), Not(HasSubstr("record")));
}

TEST(PairText, WhereNobodyIsActiveTheHalfWithMoreIsToBePromoted) {
  v1::PairStatus pair = after_failover();
  pair.mutable_self()->set_state(v1::PAIR_STATE_PASSIVE);
  pair.mutable_peer()->set_state(v1::PAIR_STATE_PRIMARY);
  pair.mutable_peer()->mutable_head()->set_revision(815);

  EXPECT_THAT(promotion_risk(pair),
              AllOf(HasSubstr("revision 812"), HasSubstr("revision 815"),
                    HasSubstr("the one with more"), Not(HasSubstr("switchover"))));
}

// In mode sync, after the other half died.
TEST(PairText, AHalfThatIsActiveAndServesNobodyMayBePromoted) {
  v1::PairStatus pair = after_failover();
  pair.set_not_serving("HF4107: the primary has not confirmed for 600ms");
  pair.mutable_peer()->set_connected(false);

  EXPECT_THAT(promotion_risk(pair), AllOf(HasSubstr("revision 812"), Not(HasSubstr("already"))));
}

TEST(PairText, AHalfThatIsNotHeardWasWhatItSaid) {
  v1::PairStatus pair = after_failover();
  pair.mutable_peer()->set_state(v1::PAIR_STATE_ACTIVE);
  pair.mutable_peer()->set_connected(false);
  EXPECT_THAT(render_pair(pair, {.now = kPairTextNow}), HasSubstr("primary   was active   ctl-a"));
}

v1::DivergenceFile file() {
  v1::DivergenceFile out;
  out.set_file("epoch-5.txt");
  out.mutable_at()->set_seconds(kPairTextNowSeconds - 60);
  out.set_half("ctl-a");
  out.mutable_fork()->set_revision(800);
  out.mutable_head()->set_revision(803);
  out.set_changes(3);
  out.set_reapplied(1);
  out.set_reason("forced promotion");
  return out;
}

TEST(DivergenceText, EachFileIsARow) {
  v1::ListDivergencesResponse list;
  EXPECT_EQ(render_divergences(list, {.now = kPairTextNow}),
            "no history of this half has diverged\n");

  *list.add_files() = file();

  EXPECT_EQ(render_divergences(list, {.now = kPairTextNow}),
            "FILE          AGE     HALF    FORK   HEAD   CHANGES   REAPPLIED   REASON\n"
            "epoch-5.txt   1m00s   ctl-a   800    803    3         1           forced promotion\n");
  EXPECT_EQ(render_divergences(list, {.output = Output::Name}), "epoch-5.txt\n");
}

TEST(DivergenceText, WhatAReplayLeavesIsNamed) {
  v1::DivergenceFile left = file();
  left.set_reason("3 changes of ctl-a; 146 more are only in the whole store");
  left.set_whole_store("/data/divergence/x.sqlite");
  EXPECT_THAT(render_what_is_left(left), AllOf(HasSubstr("146 more are only in the whole store"),
                                               HasSubstr("/data/divergence/x.sqlite on ctl-a"),
                                               HasSubstr("divergence discard epoch-5.txt")));
  left.clear_whole_store();
  EXPECT_THAT(render_what_is_left(left), HasSubstr("is not kept any more"));
}

TEST(DivergenceText, AChangeIsShownBesideWhatThereIsNow) {
  v1::Divergence divergence;
  *divergence.mutable_file() = file();
  v1::DivergedChange& put = *divergence.add_changes();
  put.set_key("service/web");
  put.set_lost("port: 1\nname: a\n");
  put.set_current("port: 2\n");
  put.set_standing(v1::DivergedChange::STANDING_CONFLICT);
  v1::DivergedChange& gone = *divergence.add_changes();
  gone.set_key("user/eve");
  gone.set_removed(true);
  gone.set_standing(v1::DivergedChange::STANDING_REAPPLIED);

  EXPECT_EQ(render_divergence(divergence, {.now = kPairTextNow}),
            "put service/web  conflict\n"
            "  lost:\n    port: 1\n    name: a\n"
            "  now:\n    port: 2\n"
            "delete user/eve  reapplied\n");
}

}  // namespace
}  // namespace holdfast::cli
