// What an operator does with a pair, by the real commands: making one, forcing a half, looking at
// what a half had written alone, keeping the record on a node, halves of two versions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <thread>

#include "e2e/api_client.h"
#include "e2e/loopback_pair.h"
#include "e2e/old_half.h"
#include "resource/schema.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/paths.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string user_yaml(const std::string& name, bool disabled) {
  return fmt::format("kind: user\nmetadata: {{name: {}}}\nspec: {{roles: [admin], disabled: {}}}\n",
                     name, disabled);
}

bool applies(const ControllerProcess& half, const std::string& yaml) {
  return half.cli({"apply", "-f", "-"}, yaml).exit_code == 0;
}

bool shows(const ControllerProcess& half, const std::string& kind, const std::string& name) {
  return half.cli({"get", kind, name}).exit_code == 0;
}

// The arguments of half of a pair whose other half and witness are not there yet.
Arguments of_new_pair(const std::string& role, const std::string& mode) {
  const std::vector<uint16_t> ports = free_ports(2);
  Arguments arguments = {"--set", "ha.role=" + role,
                         "--set", "ha.mode=" + mode,
                         "--set", fmt::format("ha.peer=127.0.0.1:{}", ports[0])};
  if (mode == "witness") {
    arguments.insert(arguments.end(), {"--set", fmt::format("ha.witness=127.0.0.1:{}", ports[1])});
  }
  return arguments;
}

class NewPair : public testing::TestWithParam<std::string> {};

TEST_P(NewPair, IsMadeWithItsKeysSetFromTheStart) {
  const ControllerProcess primary(of_new_pair("primary", GetParam()));
  const ProgramOutcome made = primary.cli({"init"});
  EXPECT_EQ(made.exit_code, 0) << made.error << primary.log();
  EXPECT_THAT(made.output, HasSubstr("sha256:"));
  const ProgramOutcome token =
      primary.cli({"token", "create", "--role", "controller", "--name", "backup"});
  EXPECT_EQ(token.exit_code, 0) << token.error << primary.log();
  EXPECT_EQ(primary.cli({"init"}).exit_code, 0) << "it is there already";
}

INSTANTIATE_TEST_SUITE_P(Modes, NewPair, testing::Values("witness", "sync", "best-effort"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(PairOperations, ABackupDoesNotMakeTheCluster) {
  const ControllerProcess backup(of_new_pair("backup", "witness"));
  const ProgramOutcome refused = backup.cli({"init"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF4123"), HasSubstr("at the primary")));
}

// Its disk was lost, and an operator takes it for a new one.
TEST(PairOperations, APrimaryWhoseOtherHalfIsThereDoesNotMakeACluster) {
  LoopbackPair pair("witness");
  Arguments arguments = {"--set", "ha.role=primary",
                         "--set", "ha.mode=sync",
                         "--set", "ha.peer=" + pair.backup().tcp_server()};
  const ControllerProcess replaced(arguments);
  const ProgramOutcome refused = replaced.cli({"init"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF4123"), HasSubstr("holdfast join")));
}

// The primary acknowledged some things alone and died; the backup went on without them.
class Diverged : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(applies(primary(), user_yaml("disabled-later", false)));
    ASSERT_TRUE(applies(primary(), user_yaml("deleted-later", false)));
    ASSERT_TRUE(pair_.becomes_in_sync(primary())) << pair_.describe();
    backup().kill();
    ASSERT_NE(backup().wait(10s), -1);
    ASSERT_TRUE(applies(primary(), service_yaml("lost")));
    ASSERT_TRUE(applies(primary(), user_yaml("disabled-later", true)));
    ASSERT_EQ(primary().cli({"delete", "user", "deleted-later"}).exit_code, 0);
    ASSERT_TRUE(applies(primary(), user_yaml("granted", false)));
    primary().kill();
    ASSERT_NE(primary().wait(10s), -1);
    pair_.start_backup();
    ASSERT_TRUE(eventually([&] { return applies(backup(), service_yaml("kept")); }, 20s))
        << pair_.describe();
    ASSERT_TRUE(shows(backup(), "user", "deleted-later")) << "it has not heard of that";
    pair_.start_primary();
    ASSERT_TRUE(pair_.becomes_in_sync(backup())) << pair_.describe();
  }
  ClusterProcess& primary() { return pair_.primary(); }
  ControllerProcess& backup() { return pair_.backup(); }
  // The one file that the primary keeps.
  std::string file() {
    const ProgramOutcome names = primary().cli({"ha", "divergence", "-o", "name"});
    EXPECT_EQ(names.exit_code, 0) << names.error;
    return names.output.substr(0, names.output.find('\n'));
  }

  LoopbackPair pair_{"best-effort"};
};

TEST_F(Diverged, WhatOneHalfHadAloneIsKeptAndShown) {
  EXPECT_THAT(backup().cli({"ha", "status"}).output, HasSubstr("backup is active"));
  const ProgramOutcome status = primary().cli({"ha", "status"});
  EXPECT_THAT(status.output, HasSubstr("1 waiting for a decision"));
  EXPECT_EQ(status.exit_code, 2);
  const ProgramOutcome list = primary().cli({"ha", "divergence"});
  EXPECT_THAT(list.output, AllOf(HasSubstr("primary"), HasSubstr(file()))) << list.error;
  EXPECT_THAT(backup().cli({"ha", "divergence"}).output, HasSubstr("no history"));

  const ProgramOutcome shown = primary().cli({"ha", "divergence", "show", file()});
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  EXPECT_THAT(shown.output, AllOf(HasSubstr("put service/lost  lost"),
                                  HasSubstr("put user/granted  lost"), Not(HasSubstr("kept"))));
  EXPECT_FALSE(shows(backup(), "service", "lost"));

  const ProgramOutcome discarded = primary().cli({"ha", "divergence", "discard", file()});
  EXPECT_EQ(discarded.exit_code, 0) << discarded.error;
  EXPECT_THAT(primary().cli({"ha", "divergence"}).output, HasSubstr("no history"));
  EXPECT_THAT(primary().cli({"ha", "divergence", "show", "none"}).error, HasSubstr("HF4131"));
}

TEST_F(Diverged, WhatWasTakenAwayStaysAwayAndNothingIsGrantedAgain) {
  EXPECT_TRUE(eventually([&] { return !shows(backup(), "user", "deleted-later"); }, 20s))
      << pair_.describe();
  EXPECT_TRUE(eventually(
      [&] {
        const ProgramOutcome user = backup().cli({"get", "user", "disabled-later", "-o", "yaml"});
        return user.output.contains("disabled: true");
      },
      20s))
      << pair_.describe();
  EXPECT_FALSE(shows(backup(), "user", "granted"));
  EXPECT_TRUE(shows(backup(), "service", "kept"));
}

// By the half that has the file, which is passive; the other one writes it.
TEST_F(Diverged, AReplayBringsBackWhatWasLostAndEndsTheFile) {
  ASSERT_TRUE(eventually([&] { return !shows(backup(), "user", "deleted-later"); }, 20s));
  const std::string name = file();
  EXPECT_TRUE(eventually(
      [&] {
        return primary()
            .cli({"ha", "divergence", "show", name})
            .output.contains("delete user/deleted-later  reapplied");
      },
      10s))
      << primary().cli({"ha", "divergence", "show", name}).output;

  const ProgramOutcome replayed = primary().cli({"ha", "divergence", "replay", name});

  EXPECT_EQ(replayed.exit_code, 0) << replayed.error;
  EXPECT_THAT(replayed.output, HasSubstr("2 written, 0 in conflict"));
  EXPECT_TRUE(shows(backup(), "service", "lost"));
  EXPECT_TRUE(shows(backup(), "user", "granted"));
  EXPECT_FALSE(shows(backup(), "user", "deleted-later"));
  EXPECT_THAT(primary().cli({"ha", "divergence"}).output, HasSubstr("no history"));
  EXPECT_THAT(primary().cli({"ha", "divergence", "replay", name}).error, HasSubstr("HF4131"));
}

TEST_F(Diverged, AReplayPassesOverWhatSomebodyWroteSince) {
  const std::string other =
      "kind: service\nmetadata: {name: lost}\nspec: {ports: [{port: 99, "
      "protocol: tcp}]}\n";
  ASSERT_TRUE(applies(backup(), other));
  ASSERT_TRUE(eventually(
      [&] {
        const ProgramOutcome shown = primary().cli({"ha", "divergence", "show", file()});
        return shown.output.contains("put service/lost  conflict");
      },
      10s))
      << pair_.describe();
  const auto port = [&] { return backup().cli({"get", "service", "lost", "-o", "yaml"}).output; };

  const ProgramOutcome replayed = primary().cli({"ha", "divergence", "replay", file()});

  EXPECT_EQ(replayed.exit_code, 2) << replayed.output << replayed.error;
  EXPECT_THAT(replayed.output, AllOf(HasSubstr("1 in conflict"), HasSubstr("the file is kept")));
  EXPECT_THAT(port(), HasSubstr("99"));
  const ProgramOutcome forced =
      primary().cli({"ha", "divergence", "replay", file(), "--overwrite"});
  EXPECT_EQ(forced.exit_code, 0) << forced.output << forced.error;
  EXPECT_THAT(port(), Not(HasSubstr("99")));
}

// What was acknowledged while the other half was away, and lost by a forced promotion.
TEST(PairOperations, WhatAForcedPromotionTakesBackWasAcknowledgedAndIsShownSo) {
  LoopbackPair pair("witness");
  ASSERT_TRUE(applies(pair.primary(), user_yaml("deleted-later", false)));
  pair.backup().kill();
  ASSERT_NE(pair.backup().wait(10s), -1);
  ASSERT_TRUE(eventually([&] { return applies(pair.primary(), service_yaml("lost")); }, 20s));
  ASSERT_EQ(pair.primary().cli({"delete", "user", "deleted-later"}).exit_code, 0);
  pair.primary().kill();
  ASSERT_NE(pair.primary().wait(10s), -1);
  pair.start_backup();
  ProgramOutcome refused;
  const auto is_refused = [&] {
    refused = pair.backup().cli({"ha", "promote", "--force"});
    return refused.error.contains("HF4125");
  };
  EXPECT_TRUE(eventually(is_refused, 20s)) << refused.output << refused.error << pair.describe();
  // What it heard last of a witness that is lost too is still true.
  const auto knows_record = [&] {
    return LoopbackPair::status_of(pair.backup()).record().epoch() != 0;
  };
  ASSERT_TRUE(eventually(knows_record, 20s)) << pair.describe();
  pair.witness().kill();
  ASSERT_NE(pair.witness().wait(10s), -1);
  refused = pair.backup().cli({"ha", "promote", "--force"});
  EXPECT_THAT(refused.error, HasSubstr("HF4125")) << refused.output << pair.describe();
  EXPECT_THAT(pair.backup().cli({"ha", "promote"}).error,
              AllOf(HasSubstr("HF4130"), HasSubstr("in sync primary")));
  pair.start_witness();
  const auto forced = [&] {
    return pair.backup().cli({"ha", "promote", "--force", "--lose-the-other-half"}).exit_code == 0;
  };
  ASSERT_TRUE(eventually(forced, 20s)) << pair.describe();
  ASSERT_TRUE(eventually([&] { return applies(pair.backup(), service_yaml("kept")); }, 20s));
  pair.start_primary();
  ASSERT_TRUE(pair.becomes_in_sync(pair.backup())) << pair.describe();

  const ProgramOutcome list = pair.primary().cli({"ha", "divergence"});
  EXPECT_THAT(list.output, HasSubstr("acknowledged to clients")) << list.error;
  EXPECT_THAT(list.output, AllOf(HasSubstr("the whole store, as it was, is"),
                                 HasSubstr(pair.primary().data_dir() + "/divergence/")));
  EXPECT_TRUE(eventually([&] { return !shows(pair.backup(), "user", "deleted-later"); }, 20s))
      << pair.describe();
}

// It lost its store, and kept its certificate. Whoever insists loses nothing for good either.
class LostStore : public testing::TestWithParam<std::string> {};

TEST_P(LostStore, AnEmptyHalfIsNotPromotedAndWhatItWouldReplaceIsKeptWhole) {
  LoopbackPair pair(GetParam());
  ASSERT_TRUE(applies(pair.primary(), service_yaml("web")));
  ASSERT_TRUE(pair.becomes_in_sync(pair.primary())) << pair.describe();
  for (ControllerProcess* half :
       {&static_cast<ControllerProcess&>(pair.primary()), &pair.backup()}) {
    half->kill();
    ASSERT_NE(half->wait(10s), -1);
  }
  for (const char* file : {"store.db", "store.db-wal", "store.db-shm"}) {
    std::filesystem::remove(pair.backup().data_dir() + "/" + file);
  }
  // As on a half that joined again, and was not alone since.
  std::filesystem::remove(pair.primary().data_dir() + "/alone");
  pair.start_backup();
  // Whoever asks it until it takes the other for dead, and after that.
  const auto other_is_dead = [&] {
    (void)shows(pair.backup(), "service", "web");
    return pair.backup().cli({"ha", "status"}).output.contains("HF4102");
  };
  ASSERT_TRUE(eventually(other_is_dead, 20s)) << pair.describe();
  ProgramOutcome refused;
  const auto is_refused = [&] {
    refused = pair.backup().cli({"ha", "promote", "--force"});
    return refused.error.contains("HF4124") || refused.exit_code == 0;
  };
  EXPECT_TRUE(eventually(is_refused, 20s)) << refused.output << refused.error << pair.describe();
  EXPECT_THAT(refused.error, AllOf(HasSubstr("HF4124"), HasSubstr("--lose-the-other-half")));

  const ProgramOutcome insisted =
      pair.backup().cli({"ha", "promote", "--force", "--lose-the-other-half"});
  EXPECT_EQ(insisted.exit_code, 0) << insisted.error << pair.describe();
  pair.start_primary();
  const std::string kept = pair.primary().data_dir() + "/divergence";
  const auto is_kept = [&] {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(kept, none)) {
      if (entry.path().extension() == ".sqlite") return true;
    }
    return false;
  };
  EXPECT_TRUE(eventually(is_kept, 20s)) << pair.describe();
  const auto list = [&] { return pair.primary().cli({"ha", "divergence"}).output; };
  EXPECT_TRUE(eventually([&] { return list().contains("may have been acknowledged"); }, 20s))
      << list();

  // The first revision, from before the pair, is in no file of changes.
  EXPECT_EQ(pair.primary().cli({"ha", "status"}).exit_code, 2);
  const std::string names = pair.primary().cli({"ha", "divergence", "-o", "name"}).output;
  const std::string name = names.substr(0, names.find('\n'));
  const ProgramOutcome replayed = pair.primary().cli({"ha", "divergence", "replay", name});
  EXPECT_EQ(replayed.exit_code, 2) << replayed.output << replayed.error;
  EXPECT_THAT(replayed.output, AllOf(HasSubstr(" 0 in conflict"), HasSubstr(kept + "/"),
                                     HasSubstr("only in the whole store")));
  EXPECT_TRUE(shows(pair.backup(), "service", "web"));
  EXPECT_THAT(list(), HasSubstr(name));
  EXPECT_EQ(pair.primary().cli({"ha", "divergence", "discard", name}).exit_code, 0);
  EXPECT_FALSE(is_kept()) << "it goes with its file";
}

INSTANTIATE_TEST_SUITE_P(Modes, LostStore, testing::Values("sync", "best-effort"),
                         [](const auto& info) {
                           return info.param == "sync" ? "Sync" : "BestEffort";
                         });

TEST(PairOperations, AnAgentKeepsTheRecordBesideItsWork) {
  LoopbackPair pair({.mode = "witness", .witness_role = "agent"});
  ASSERT_TRUE(applies(pair.primary(), service_yaml("web")));
  pair.primary().kill();
  EXPECT_TRUE(eventually([&] { return shows(pair.backup(), "service", "web"); }, 20s))
      << pair.describe();
  EXPECT_TRUE(std::filesystem::exists(pair.record_file()));
}

TEST(PairOperations, AProxyKeepsTheRecordBesideItsWork) {
  LoopbackPair pair({.mode = "witness", .witness_role = "proxy"});
  ASSERT_TRUE(applies(pair.primary(), service_yaml("web")));
  pair.primary().kill();
  EXPECT_TRUE(eventually([&] { return shows(pair.backup(), "service", "web"); }, 20s))
      << pair.describe();
}

TEST(PairOperations, AForcedHalfServesAloneAndTheOtherFollowsIt) {
  LoopbackPair pair("sync");
  ASSERT_TRUE(applies(pair.primary(), service_yaml("web")));
  pair.primary().kill();
  ASSERT_NE(pair.primary().wait(10s), -1);
  EXPECT_FALSE(applies(pair.backup(), service_yaml("alone"))) << "nobody may, in this mode";

  const ProgramOutcome asked = pair.backup().cli({"ha", "promote"});
  EXPECT_EQ(asked.exit_code, 64) << asked.output;
  EXPECT_THAT(asked.error, HasSubstr("HF4130"));
  EXPECT_FALSE(applies(pair.backup(), service_yaml("alone"))) << "it was only asked";
  const ProgramOutcome forced = pair.backup().cli({"ha", "promote", "--force"});
  EXPECT_EQ(forced.exit_code, 0) << forced.error << pair.describe();
  EXPECT_THAT(
      forced.output,
      HasSubstr(fmt::format("epoch {}\n", LoopbackPair::status_of(pair.backup()).self().epoch())));
  EXPECT_TRUE(applies(pair.backup(), service_yaml("alone"))) << pair.describe();

  pair.start_primary();
  EXPECT_TRUE(pair.becomes_in_sync(pair.backup())) << pair.describe();
  EXPECT_TRUE(LoopbackPair::becomes(pair.primary(), v1::PAIR_STATE_PASSIVE)) << pair.describe();
}

// Writes one after the other, at whichever half takes them, until it is told to stop.
class Writer {
 public:
  explicit Writer(LoopbackPair& pair)
      : halves_{ApiClient(pair.primary().tcp_server(), pair.primary().admin()),
                ApiClient(pair.backup().tcp_server(), pair.primary().admin())},
        thread_([this] { run(); }) {}
  // The names of what was acknowledged.
  std::vector<std::string> stop() {
    stops_ = true;
    thread_.join();
    return acknowledged_;
  }

 private:
  void run() {
    for (size_t at = 0; !stops_;) {
      v1::Resource resource;
      resource.mutable_metadata()->set_name(fmt::format("w-{}", acknowledged_.size()));
      v1::ServicePort& port = *resource.mutable_service()->add_ports();
      port.set_port(80);
      port.set_protocol(v1::PROTOCOL_TCP);
      if (halves_[at].upsert(resource).status.ok()) {
        acknowledged_.push_back(resource.metadata().name());
      } else {
        at = 1 - at;
      }
    }
  }

  std::array<ApiClient, 2> halves_;
  std::vector<std::string> acknowledged_;
  std::atomic<bool> stops_ = false;
  std::thread thread_;
};

// The steps of docs/pair-operations.md, with one version: a restart stands for an installation.
TEST(PairOperations, AnUpgradeInTheDocumentedOrderLosesNoWrite) {
  LoopbackPair pair("witness");
  Writer writer(pair);
  const auto switches = [](const ControllerProcess& half) {
    return half.cli({"ha", "switchover"}).exit_code == 0;
  };
  pair.backup().terminate();
  EXPECT_EQ(pair.backup().wait(20s), 0);
  pair.start_backup();
  EXPECT_TRUE(pair.becomes_in_sync(pair.primary())) << pair.describe();
  EXPECT_TRUE(eventually([&] { return switches(pair.primary()); }, 20s)) << pair.describe();
  pair.primary().terminate();
  EXPECT_EQ(pair.primary().wait(20s), 0);
  pair.start_primary();
  EXPECT_TRUE(pair.becomes_in_sync(pair.backup())) << pair.describe();
  EXPECT_TRUE(eventually([&] { return switches(pair.backup()); }, 20s)) << pair.describe();

  const std::vector<std::string> acknowledged = writer.stop();
  EXPECT_GT(acknowledged.size(), 10U) << pair.describe();
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  for (const std::string& name : acknowledged) {
    EXPECT_TRUE(client.get("service", name).status.ok()) << name;
  }
}

// A primary of this version, and beside it the backup as another version would be it.
class MixedVersions : public testing::Test {
 protected:
  void pair_with(OldHalfOptions half, Arguments more = {"--set", "ha.mode=sync"}) {
    half.listen = fmt::format("127.0.0.1:{}", free_ports(1).front());
    half.data_dir = folder_.file("backup");
    join(primary_, {.role = "controller", .name = "backup", .data_dir = folder_.file("backup")});
    primary_.terminate();
    ASSERT_EQ(primary_.wait(20s), 0) << primary_.log();
    more.insert(more.end(), {"--set", "ha.role=primary", "--set", "ha.peer=" + half.listen});
    primary_.start(more);
    half.primary = primary_.tcp_server();
    half_ = std::make_unique<OldHalf>(std::move(half));
  }

  TempDir folder_;
  ClusterProcess primary_{Arguments{"--name", "primary"}};
  std::unique_ptr<OldHalf> half_;
};

TEST_F(MixedVersions, AHalfOfTheVersionBeforeIsSentEverything) {
  pair_with({.schema_min = 0, .schema_max = 1});
  ASSERT_TRUE(eventually([&] { return applies(primary_, service_yaml("web")); }, 20s))
      << primary_.log();
  // The primary writes on its own, too, so the two are equal only now and then.
  const auto has_everything = [&] {
    return half_->revision() == LoopbackPair::status_of(primary_).self().head().revision();
  };
  EXPECT_TRUE(eventually(has_everything, 20s)) << half_->revision();
  EXPECT_EQ(half_->heard().schema_min(), resource::kSchemaMin);
  EXPECT_EQ(half_->heard().schema_max(), resource::kSchemaMax);
  const ProgramOutcome status = primary_.cli({"ha", "status"});
  EXPECT_EQ(status.exit_code, 0) << status.output << status.error;
  EXPECT_THAT(status.output, AllOf(HasSubstr("0.0.9"), HasSubstr(", in sync")));
}

// The older half leads for a while, as during an upgrade, and what it writes is kept when it hands
// back.
TEST_F(MixedVersions, AHalfOfTheVersionBeforeLeadsAndHandsBack) {
  pair_with({.schema_min = 0, .schema_max = 1});
  ASSERT_TRUE(eventually([&] { return applies(primary_, service_yaml("web")); }, 20s))
      << primary_.log();
  const auto switches = [&] { return primary_.cli({"ha", "switchover"}).exit_code == 0; };
  ASSERT_TRUE(eventually(switches, 20s)) << primary_.log();
  ASSERT_TRUE(half_->leads()) << primary_.log();
  EXPECT_TRUE(LoopbackPair::becomes(primary_, v1::PAIR_STATE_PASSIVE)) << primary_.log();
  const std::string passive = primary_.cli({"ha", "status"}).output;
  EXPECT_THAT(passive, AllOf(HasSubstr("0.0.9"), Not(HasSubstr("HF4112"))));

  EXPECT_TRUE(half_->remove("/service/web")) << primary_.log();
  half_->hand_over();

  EXPECT_TRUE(LoopbackPair::becomes(primary_, v1::PAIR_STATE_ACTIVE)) << primary_.log();
  EXPECT_TRUE(eventually([&] { return applies(primary_, service_yaml("after")); }, 20s))
      << primary_.log();
  EXPECT_FALSE(shows(primary_, "service", "web"));
  EXPECT_TRUE(shows(primary_, "service", "after"));
  EXPECT_TRUE(eventually(
      [&] {
        return half_->revision() == LoopbackPair::status_of(primary_).self().head().revision();
      },
      20s));
}

TEST_F(MixedVersions, AHalfThatIsFurtherApartIsSentNothingAndNamed) {
  pair_with({.schema_min = 9, .schema_max = 9});
  const auto status = [&] { return primary_.cli({"ha", "status"}).output; };
  EXPECT_TRUE(eventually([&] { return status().contains("HF4112"); }, 20s)) << primary_.log();
  EXPECT_THAT(status(), AllOf(HasSubstr("0.0.9"), HasSubstr("NOT in sync")));
  EXPECT_FALSE(applies(primary_, service_yaml("web")));
  EXPECT_EQ(half_->revision(), 1);
}

// Nothing waits for the other half's disk then; the next beat comes in a minute, if at all.
TEST_F(MixedVersions, InBestEffortModeAWriteIsSentAtOnce) {
  Arguments more;
  for (const char* set :
       {"mode=best-effort", "beat=1m", "lease=6m", "drop=7m", "take=10m", "vote_patience=11m"}) {
    more.insert(more.end(), {"--set", std::string("ha.") + set});
  }
  pair_with({.mode = v1::PAIR_MODE_BEST_EFFORT, .beat = 10min}, more);
  const auto head = [&] { return LoopbackPair::status_of(primary_).self().head().revision(); };
  ASSERT_TRUE(eventually([&] { return applies(primary_, service_yaml("first")); }, 20s))
      << primary_.log();
  ASSERT_TRUE(eventually([&] { return half_->revision() > 1; }, 20s)) << primary_.log();
  ASSERT_TRUE(applies(primary_, service_yaml("second"))) << primary_.log();
  const int64_t written = head();
  EXPECT_TRUE(eventually([&] { return half_->revision() >= written; }, 20s)) << primary_.log();
}

// The halves send each other more at once than most clients do, and yet no more than any may.
TEST(PairOperations, AMessageThatNoHalfWouldSendIsRefused) {
  LoopbackPair pair("best-effort");
  ApiClient client(pair.primary().tcp_server(), pair.primary().admin());
  v1::Resource resource;
  resource.mutable_metadata()->set_name(std::string(5 << 20, 'a'));
  EXPECT_EQ(client.upsert(resource).status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Certificates of nodes live for 15 s here; the witness's is renewed after two thirds of that.
TEST(PairOperations, AWitnessRenewsItsCertificateAndIsStillHeard) {
  LoopbackPair pair({.mode = "witness", .more = {"--set", "identity.node_certificate_ttl=15s"}});
  EXPECT_TRUE(
      eventually([&] { return pair.log_of_witness().contains("certificate renewed"); }, 30s))
      << pair.log_of_witness();
  EXPECT_TRUE(eventually(
      [&] {
        return pair.log_of_witness().find("certificate renewed") !=
               pair.log_of_witness().rfind("certificate renewed");
      },
      30s))
      << "by now what it began with has run out";
  pair.primary().kill();
  ASSERT_TRUE(eventually([&] { return applies(pair.backup(), service_yaml("after")); }, 20s))
      << pair.describe();
}

// Who is told to stop while it starts does so in good order.
TEST(PairOperations, AControllerThatIsToldToStopWhileItStartsStops) {
  const TempDir folder;
  for (int round = 0; round < 10; ++round) {
    const std::string data = folder.file(fmt::format("data-{}", round));
    ChildProcess process({.arguments = {built("holdfastd"), "controller", "--data-dir", data,
                                        "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
                                        "--http-listen", "127.0.0.1:0"},
                          .output_file = folder.file("log")});
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(data + "/store.db"); }, 20s));
    process.terminate();
    EXPECT_EQ(process.wait(20s), 0);
  }
}

// The backup asks a witness that knows nothing of the pair.
TEST(PairOperations, AHalfThatAsksAnotherWitnessSaysSoAndPromisesNothing) {
  LoopbackPair pair("witness");
  const TempDir folder;
  join(pair.primary(), {.role = "witness", .name = "other", .data_dir = folder.file("other")});
  const std::string address = fmt::format("127.0.0.1:{}", free_ports(1).front());
  Arguments witness = node_command("witness", folder.file("other"));
  witness.insert(witness.end(), {"--listen", address, "--server", pair.primary().tcp_server()});
  const ChildProcess other({.arguments = witness, .output_file = folder.file("other.log")});
  pair.backup().kill();
  ASSERT_NE(pair.backup().wait(10s), -1);
  pair.backup().start({"--set", "ha.role=backup", "--set", "ha.mode=witness", "--set",
                       "ha.peer=" + pair.primary().tcp_server(), "--set", "ha.witness=" + address});

  ProgramOutcome status;
  const auto is_said = [&] {
    status = pair.backup().cli({"ha", "status"});
    return status.output.contains("HF4127");
  };
  ASSERT_TRUE(eventually(is_said, 40s)) << status.output << status.error << pair.describe();
  EXPECT_THAT(status.output, AllOf(HasSubstr("its record: epoch 0, in sync nobody"),
                                   HasSubstr("It is " + address + " here"),
                                   HasSubstr("nobody takes over: the witness that the backup")));
  EXPECT_EQ(status.exit_code, 2);
}

}  // namespace
}  // namespace holdfast::test
