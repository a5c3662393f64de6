#include "ha/fsm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/paths.h"

namespace holdfast::ha {
namespace {

struct Row {
  Member me;
  State state;
  Event event;
  Outcome alive;
  Outcome dead;
};

constexpr Member kPrimary = Member::Primary;
constexpr Member kBackup = Member::Backup;
constexpr Outcome kStay = Outcome::Stay;
constexpr Outcome kClaim = Outcome::Claim;
constexpr Outcome kFollow = Outcome::Follow;
constexpr Outcome kRevert = Outcome::Revert;
constexpr Outcome kResolve = Outcome::Resolve;
constexpr Outcome kServe = Outcome::Serve;
constexpr Outcome kRedirect = Outcome::Redirect;
constexpr Outcome kWrong = Outcome::Misconfigured;

// Each of the 4 x 5 x 2 cells, for both halves. Histories are equal.
const std::vector<Row>& cells() {
  static const std::vector<Row> rows = {
      {kPrimary, State::Primary, Event::PeerPrimary, kWrong, kWrong},
      {kPrimary, State::Primary, Event::PeerBackup, kClaim, kClaim},
      {kPrimary, State::Primary, Event::PeerActive, kFollow, kFollow},
      {kPrimary, State::Primary, Event::PeerPassive, kClaim, kClaim},
      {kPrimary, State::Primary, Event::ClientRequest, kRedirect, kClaim},
      {kPrimary, State::Backup, Event::PeerPrimary, kWrong, kWrong},
      {kPrimary, State::Backup, Event::PeerBackup, kWrong, kWrong},
      {kPrimary, State::Backup, Event::PeerActive, kWrong, kWrong},
      {kPrimary, State::Backup, Event::PeerPassive, kWrong, kWrong},
      {kPrimary, State::Backup, Event::ClientRequest, kWrong, kWrong},
      {kPrimary, State::Active, Event::PeerPrimary, kStay, kStay},
      {kPrimary, State::Active, Event::PeerBackup, kStay, kStay},
      {kPrimary, State::Active, Event::PeerActive, kResolve, kResolve},
      {kPrimary, State::Active, Event::PeerPassive, kStay, kStay},
      {kPrimary, State::Active, Event::ClientRequest, kServe, kServe},
      {kPrimary, State::Passive, Event::PeerPrimary, kWrong, kWrong},
      {kPrimary, State::Passive, Event::PeerBackup, kClaim, kClaim},
      {kPrimary, State::Passive, Event::PeerActive, kStay, kStay},
      {kPrimary, State::Passive, Event::PeerPassive, kRevert, kRevert},
      {kPrimary, State::Passive, Event::ClientRequest, kRedirect, kClaim},
      {kBackup, State::Primary, Event::PeerPrimary, kWrong, kWrong},
      {kBackup, State::Primary, Event::PeerBackup, kWrong, kWrong},
      {kBackup, State::Primary, Event::PeerActive, kWrong, kWrong},
      {kBackup, State::Primary, Event::PeerPassive, kWrong, kWrong},
      {kBackup, State::Primary, Event::ClientRequest, kWrong, kWrong},
      {kBackup, State::Backup, Event::PeerPrimary, kStay, kStay},
      {kBackup, State::Backup, Event::PeerBackup, kWrong, kWrong},
      {kBackup, State::Backup, Event::PeerActive, kFollow, kFollow},
      {kBackup, State::Backup, Event::PeerPassive, kStay, kStay},
      {kBackup, State::Backup, Event::ClientRequest, kRedirect, kClaim},
      {kBackup, State::Active, Event::PeerPrimary, kStay, kStay},
      {kBackup, State::Active, Event::PeerBackup, kStay, kStay},
      {kBackup, State::Active, Event::PeerActive, kResolve, kResolve},
      {kBackup, State::Active, Event::PeerPassive, kStay, kStay},
      {kBackup, State::Active, Event::ClientRequest, kServe, kServe},
      {kBackup, State::Passive, Event::PeerPrimary, kStay, kStay},
      {kBackup, State::Passive, Event::PeerBackup, kWrong, kWrong},
      {kBackup, State::Passive, Event::PeerActive, kStay, kStay},
      {kBackup, State::Passive, Event::PeerPassive, kRevert, kRevert},
      {kBackup, State::Passive, Event::ClientRequest, kRedirect, kClaim},
  };
  return rows;
}

TEST(Fsm, DoesInEachCellWhatTheTableSays) {
  for (const Row& row : cells()) {
    Situation situation{.me = row.me, .state = row.state, .event = row.event};
    SCOPED_TRACE(testing::Message() << to_string(row.me) << " in " << to_string(row.state) << ", "
                                    << to_string(row.event));
    EXPECT_EQ(decide(situation), row.alive) << to_string(decide(situation)) << ", peer alive";
    situation.peer_alive = false;
    EXPECT_EQ(decide(situation), row.dead) << to_string(decide(situation)) << ", peer dead";
  }
}

TEST(Fsm, TheTableHasEachCellOnce) {
  ASSERT_EQ(cells().size(), 40);
  for (size_t i = 0; i < cells().size(); ++i) {
    const Row& row = cells()[i];
    EXPECT_EQ(static_cast<size_t>(row.me), i / 20);
    EXPECT_EQ(static_cast<size_t>(row.state), 1 + i / 5 % 4);
    EXPECT_EQ(static_cast<size_t>(row.event), 1 + i % 5);
  }
}

TEST(Fsm, WhoHasMoreHistoryClaimsAndTheOtherWaits) {
  const std::vector<std::pair<Member, State>> idle = {{kPrimary, State::Primary},
                                                      {kPrimary, State::Passive},
                                                      {kBackup, State::Backup},
                                                      {kBackup, State::Passive}};
  for (const auto& [me, state] : idle) {
    Situation situation{.me = me, .state = state, .event = event_of(initial_state(other(me)))};
    situation.histories = Histories::PeerAhead;
    EXPECT_EQ(decide(situation), kStay);
    situation.histories = Histories::PeerBehind;
    EXPECT_EQ(decide(situation), kClaim);
    situation.event = Event::PeerPassive;
    EXPECT_EQ(decide(situation), state == State::Passive ? kRevert : kClaim);
    situation.histories = Histories::PeerAhead;
    EXPECT_EQ(decide(situation), state == State::Passive ? kRevert : kStay);
  }
}

TEST(Fsm, HistoriesChangeNothingForOrBesideAnActiveHalf) {
  for (const Histories histories : {Histories::PeerAhead, Histories::PeerBehind}) {
    for (const Row& row : cells()) {
      const bool active = row.state == State::Active || row.event == Event::PeerActive;
      if (!active && row.event != Event::ClientRequest) continue;
      const Situation situation{
          .me = row.me, .state = row.state, .event = row.event, .histories = histories};
      EXPECT_EQ(decide(situation), row.alive);
    }
  }
}

TEST(Fsm, ThePrintedTableHasThePossibleCells) {
  const std::string table = fsm_table();
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 2 * 3 * 5);
  EXPECT_THAT(table,
              testing::HasSubstr("| backup | PASSIVE | CLIENT_REQUEST | redirect | claim |"));
}

TEST(Fsm, TheDocumentHasThePrintedTable) {
  std::ifstream file(test::in_tree("docs/pair.md"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, testing::HasSubstr("\n" + fsm_table()));
}

TEST(Epochs, AreOddForThePrimaryAndEvenForTheBackup) {
  EXPECT_EQ(next_epoch(0, kPrimary), 1);
  EXPECT_EQ(next_epoch(0, kBackup), 2);
  EXPECT_EQ(next_epoch(1, kPrimary), 3);
  EXPECT_EQ(next_epoch(1, kBackup), 2);
  EXPECT_EQ(next_epoch(2, kBackup), 4);
  for (Epoch epoch = 1; epoch < 10; ++epoch) {
    EXPECT_EQ(next_epoch(epoch - 1, active_in(epoch)), epoch);
  }
}

}  // namespace
}  // namespace holdfast::ha
