// Agents and proxies as real processes: they renew their certificates by themselves, are seen when
// they die and when they leave, outlive a restart of the controller, and follow the rotation of the
// authority's key without one of them being refused or cut off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "e2e/fleet.h"
#include "support/eventually.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// The next step as soon as nobody would be cut off by it; false if that never comes.
bool next_step(Fleet& fleet) {
  ProgramOutcome next;
  const auto step = [&] {
    next = fleet.cli({"rotate", "next"});
    // Whoever is waited for has HF5021; anything else is an answer.
    return next.exit_code == 0 || !next.error.contains("HF5021");
  };
  const bool in_time = eventually(step, 30s);
  EXPECT_TRUE(in_time && next.exit_code == 0) << next.error << next.output;
  return in_time && next.exit_code == 0;
}

std::string phase(Fleet& fleet) {
  const std::string text = fleet.cli({"rotate", "status"}).output;
  const size_t at = text.find("phase ");
  const size_t word = text.find_first_not_of(' ', at + 6);
  return text.substr(word, text.find_first_of(",\n", word) - word);
}

// From any phase to the end of the rotation.
bool finish_rotation(Fleet& fleet) {
  for (int steps = 0; phase(fleet) != "none"; ++steps) {
    if (steps == 5 || !next_step(fleet)) return false;
  }
  return true;
}

TEST(Node, CertificatesRenewThemselvesAndNobodyIsRefused) {
  Fleet fleet({"identity.node_certificate_ttl=8s"});
  fleet.add_usual();
  const PresenceWatch watch(fleet);
  std::map<std::string, std::set<std::string>> seen;

  const bool renewed = eventually(
      [&] {
        size_t done = 0;
        for (const std::string& name : fleet.names()) {
          seen[name].insert(fleet.identity(name));
          done += seen[name].size() >= 4 ? 1 : 0;
        }
        return done == fleet.names().size();
      },
      60s);

  EXPECT_TRUE(renewed) << fleet.log("a-1") << fleet.log("p-1");
  EXPECT_TRUE(fleet.all_online());
  EXPECT_EQ(watch.losses(), "");
  EXPECT_EQ(fleet.refusals(), "");
  std::set<std::string> keys;
  for (const std::string& identity : seen["a-1"]) {
    keys.insert(identity.substr(0, identity.find("-----BEGIN CERTIFICATE")));
  }
  EXPECT_EQ(keys.size(), seen["a-1"].size()) << "each certificate has a key of its own";
}

TEST(Node, ADeadNodeIsOfflineAndOneThatLeavesIsGone) {
  Fleet fleet;
  fleet.add_usual();

  fleet.process("a-1").kill();
  fleet.process("a-2").terminate();
  fleet.process("p-1").terminate();

  EXPECT_EQ(fleet.process("a-2").wait(10s), 0) << fleet.log("a-2");
  EXPECT_EQ(fleet.process("p-1").wait(10s), 0) << fleet.log("p-1");
  EXPECT_THAT(fleet.log("a-2"), HasSubstr("said goodbye"));
  EXPECT_THAT(fleet.presence(), AllOf(Not(Contains(Pair("agent/a-2", testing::_))),
                                      Not(Contains(Pair("proxy/p-1", testing::_)))));
  EXPECT_TRUE(eventually([&] { return fleet.presence()["agent/a-1"] == "offline"; }, 10s));
  EXPECT_THAT(fleet.cli({"get", "agent/a-1", "-o", "yaml"}).output, HasSubstr("offline_since: "));
  EXPECT_THAT(fleet.presence(), Contains(Pair("agent/a-3", "online")));

  fleet.start("a-1");
  EXPECT_TRUE(eventually([&] { return fleet.presence()["agent/a-1"] == "online"; }, 10s))
      << fleet.log("a-1");
}

TEST(Node, ACopiedIdentityIsToldAndItsGoodbyeTakesNobodyAway) {
  Fleet fleet;
  fleet.add("agent", "a-1");
  ASSERT_TRUE(eventually([&] { return fleet.all_online(); }, 10s)) << fleet.log("a-1");
  const TempDir elsewhere;
  std::filesystem::create_directories(elsewhere.file("copy"));
  std::filesystem::copy(fleet.data_dir("a-1") + "/identity", elsewhere.file("copy/identity"),
                        std::filesystem::copy_options::recursive);
  const PresenceWatch watch(fleet);
  {
    ChildProcess copy({.arguments = node_command("agent", elsewhere.file("copy")),
                       .output_file = elsewhere.file("log")});
    EXPECT_TRUE(eventually(
        [&] { return fleet.cli({"get", "agents"}).output.contains("degraded (HF1108)"); }, 10s))
        << fleet.cli({"get", "agents"}).output << read_text(elsewhere.file("log"));
    EXPECT_THAT(fleet.cli({"get", "agents", "-o", "wide"}).output,
                HasSubstr("another process with this identity"));

    copy.terminate();
    EXPECT_EQ(copy.wait(10s), 0) << read_text(elsewhere.file("log"));
    EXPECT_THAT(read_text(elsewhere.file("log")), HasSubstr("said goodbye"));
  }

  EXPECT_TRUE(
      eventually([&] { return !fleet.cli({"get", "agents"}).output.contains("HF1108"); }, 20s));
  EXPECT_EQ(watch.losses(), "");
  EXPECT_TRUE(fleet.all_online());
  fleet.process("a-1").terminate();
  EXPECT_TRUE(eventually([&] { return fleet.presence().empty(); }, 10s));
}

TEST(Node, ARestartOfTheControllerTakesNobodyOffline) {
  Fleet fleet({"identity.node_certificate_ttl=20s"});
  fleet.add_usual();

  fleet.controller().kill();
  // Longer than a TTL, and than an announcement waits for a controller to come back.
  let_pass(6s);
  fleet.controller().start();

  const PresenceWatch watch(fleet);
  const auto all_announced = [&] {
    for (const std::string& name : fleet.names()) {
      const std::string log = fleet.log(name);
      // At first, and again after the outage.
      if (log.find("\"announced\"") == log.rfind("\"announced\"")) return false;
    }
    return true;
  };
  EXPECT_TRUE(eventually(all_announced, 20s)) << fleet.log("a-1");
  EXPECT_TRUE(eventually([&] { return watch.changes() > 20; }, 20s));
  EXPECT_EQ(watch.losses(), "");
  EXPECT_TRUE(fleet.all_online());
  EXPECT_THAT(fleet.log("a-1"), HasSubstr("cannot announce"));
  EXPECT_EQ(fleet.refusals(), "");
}

TEST(Node, ARotationCutsNobodyOffAndEndsTheOldKey) {
  Fleet fleet({"identity.node_certificate_ttl=10m"});
  fleet.add_usual();
  const std::string old_pin = fleet.pins().front();
  const std::string old_identity = fleet.identity("a-1");
  const std::string old_trust = fleet.trusted("a-1");
  const PresenceWatch watch(fleet);

  ASSERT_EQ(fleet.cli({"rotate", "start"}).exit_code, 0);
  EXPECT_EQ(fleet.pins().size(), 2U);
  for (const char* reached : {"dual", "switch", "retire", "none"}) {
    ASSERT_TRUE(next_step(fleet)) << "to " << reached;
    EXPECT_EQ(phase(fleet), reached);
    EXPECT_TRUE(fleet.all_online()) << reached;
  }

  const std::vector<std::string> pins = fleet.pins();
  EXPECT_EQ(pins.size(), 1U);
  EXPECT_NE(pins.front(), old_pin);
  const auto followed = [&] {
    const auto knows_only_new = [&](const std::string& name) {
      return !fleet.trusted(name).contains(old_trust);
    };
    return std::ranges::all_of(fleet.names(), knows_only_new);
  };
  EXPECT_TRUE(eventually(followed, 10s)) << fleet.log("a-1");
  EXPECT_TRUE(eventually([&] { return fleet.all_online(); }, 5s));
  EXPECT_EQ(watch.losses(), "");
  EXPECT_EQ(fleet.refusals(), "");

  // A certificate of the old key that is still within its life, and a node that trusts the new one.
  fleet.process("a-1").terminate();
  ASSERT_EQ(fleet.process("a-1").wait(10s), 0);
  std::ofstream(fleet.data_dir("a-1") + "/identity/identity.pem") << old_identity;
  fleet.start("a-1");
  EXPECT_TRUE(eventually([&] { return fleet.log("a-1").contains("HF5004"); }, 10s))
      << fleet.log("a-1");
  EXPECT_THAT(fleet.refusals(), HasSubstr("HF5004"));
}

TEST(Node, ARollbackCutsNobodyOff) {
  // Short lives, so that renewals of their own fall into every phase.
  Fleet fleet({"identity.node_certificate_ttl=8s"});
  fleet.add_usual();
  const std::string old_pin = fleet.pins().front();
  const PresenceWatch watch(fleet);

  ASSERT_EQ(fleet.cli({"rotate", "start"}).exit_code, 0);
  ASSERT_EQ(fleet.cli({"rotate", "rollback"}).exit_code, 0);
  EXPECT_EQ(phase(fleet), "none");
  EXPECT_THAT(fleet.pins(), testing::ElementsAre(old_pin)) << "from prepare";

  ASSERT_EQ(fleet.cli({"rotate", "start"}).exit_code, 0);
  ASSERT_TRUE(next_step(fleet));
  EXPECT_EQ(phase(fleet), "dual");
  EXPECT_NE(fleet.pins().front(), old_pin) << "the new key signs";
  ASSERT_EQ(fleet.cli({"rotate", "rollback"}).exit_code, 0);
  EXPECT_EQ(phase(fleet), "switch") << "the other way round";
  ASSERT_TRUE(finish_rotation(fleet));
  EXPECT_THAT(fleet.pins(), testing::ElementsAre(old_pin)) << "from dual";

  const size_t changes = watch.changes();
  EXPECT_TRUE(eventually([&] { return watch.changes() > changes + 40; }, 30s));
  EXPECT_TRUE(fleet.all_online());
  EXPECT_EQ(watch.losses(), "");
  EXPECT_EQ(fleet.refusals(), "");
}

TEST(Node, ThatHasNotFollowedIsWaitedForAndJoinsAgainIfItIsCutOff) {
  Fleet fleet({"identity.node_certificate_ttl=8s"});
  fleet.add_usual();
  fleet.process("a-1").freeze();
  ASSERT_TRUE(eventually([&] { return fleet.presence()["agent/a-1"] == "offline"; }, 10s));

  ASSERT_EQ(fleet.cli({"rotate", "start"}).exit_code, 0);
  const auto only_a1_waits = [&] {
    const ProgramOutcome next = fleet.cli({"rotate", "next"});
    return next.error.contains("agent/a-1;");
  };
  EXPECT_TRUE(eventually(only_a1_waits, 10s)) << "an offline node may come back";
  ASSERT_EQ(fleet.cli({"rotate", "next", "--cut-off-laggards"}).exit_code, 0);
  let_pass(9s);  // longer than the certificate's life
  fleet.process("a-1").thaw();

  EXPECT_TRUE(eventually([&] { return fleet.log("a-1").contains("HF5003"); }, 10s));
  EXPECT_THAT(fleet.log("a-1"), HasSubstr("join again"));
  fleet.process("a-1").kill();
  std::filesystem::remove_all(fleet.data_dir("a-1"));
  fleet.add("agent", "a-1");
  EXPECT_TRUE(eventually([&] { return fleet.all_online(); }, 10s)) << fleet.log("a-1");
}

TEST(Node, AServerWithoutItsPortIsRefusedWithTheControllersPort) {
  Fleet fleet;
  fleet.add("agent", "a-1");
  fleet.process("a-1").kill();

  const ProgramOutcome refused =
      run_daemon({"agent", "--data-dir", fleet.data_dir("a-1"), "--server", "ctl-1:7443,ctl-2"});

  EXPECT_EQ(refused.exit_code, 78);
  EXPECT_THAT(refused.error,
              AllOf(HasSubstr("HF6010"), HasSubstr("ctl-2"), HasSubstr("as HOST:7443")));
}

TEST(Node, WithoutAnIdentityOrWithAnotherRolesItDoesNotStart) {
  Fleet fleet;
  fleet.add("agent", "a-1");
  const ProgramOutcome none = run_daemon({"agent", "--data-dir", fleet.data_dir("nobody")});
  EXPECT_EQ(none.exit_code, 78);
  EXPECT_THAT(none.error, AllOf(HasSubstr("HF5017"), HasSubstr("holdfast join")));
  const ProgramOutcome other = run_daemon({"proxy", "--data-dir", fleet.data_dir("a-1")});
  EXPECT_EQ(other.exit_code, 78);
  EXPECT_THAT(other.error, AllOf(HasSubstr("HF5018"), HasSubstr("agent/a-1")));
  EXPECT_THAT(run_daemon({"agent", "--help"}).output, HasSubstr("--service web=127.0.0.1:8080"));
}

}  // namespace
}  // namespace holdfast::test
