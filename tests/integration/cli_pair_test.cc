// The verbs of `holdfast ha` against a server in this process that plays a half's PairControl, and
// commands that are pointed at a passive half.
#include <gmock/gmock.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "cli/pair.h"
#include "holdfast/v1/pair.grpc.pb.h"
#include "integration/pick_member.h"
#include "support/temp_dir.h"

namespace holdfast::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Answers as it is told, and keeps what it was asked.
class FakeControl final : public v1::PairControl::Service {
 public:
  using Context = grpc::ServerContext;
  grpc::Status GetPair(Context*, const v1::GetPairRequest*, v1::PairStatus* answer) override {
    *answer = pair;
    return grpc::Status::OK;
  }
  grpc::Status SwitchOver(Context*, const v1::SwitchOverRequest*,
                          v1::SwitchOverResponse* answer) override {
    switchovers += 1;
    answer->set_active("ctl-b");
    answer->set_epoch(8);
    return refusal;
  }
  grpc::Status Promote(Context*, const v1::PromoteRequest* asked,
                       v1::PromoteResponse* answer) override {
    promotions += asked->force() ? 1 : 0;
    answer->set_epoch(9);
    return refusal;
  }
  grpc::Status ListDivergences(Context*, const v1::ListDivergencesRequest*,
                               v1::ListDivergencesResponse* answer) override {
    answer->add_files()->set_file("epoch-5.txt");
    return grpc::Status::OK;
  }
  // In pages of one.
  grpc::Status GetDivergence(Context*, const v1::GetDivergenceRequest* asked,
                             v1::Divergence* answer) override {
    if (asked->file() != "epoch-5.txt") {
      return {grpc::StatusCode::NOT_FOUND, "HF4131: there is no such file"};
    }
    v1::DivergedChange& change = *answer->add_changes();
    change.set_key("service/number-" + std::to_string(asked->after()));
    change.set_removed(true);
    if (asked->after() < 2) answer->set_next(asked->after() + 1);
    return grpc::Status::OK;
  }
  grpc::Status ResolveDivergence(Context*, const v1::ResolveDivergenceRequest* asked,
                                 v1::ResolveDivergenceResponse* answer) override {
    resolved = *asked;
    answer->set_written(2);
    answer->set_skipped(asked->overwrite() ? 0 : 1);
    answer->set_kept(asked->way() == v1::ResolveDivergenceRequest::WAY_REPLAY &&
                     !asked->overwrite());
    return grpc::Status::OK;
  }

  v1::PairStatus pair{};
  grpc::Status refusal{};
  int switchovers = 0;
  int promotions = 0;
  v1::ResolveDivergenceRequest resolved{};
};

class CliPair : public testing::Test {
 protected:
  CliPair() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&control_);
    server_ = builder.BuildAndStart();
    control_.pair.set_paired(true);
    control_.pair.set_mode(v1::PAIR_MODE_SYNC);
    v1::PairHalf& self = *control_.pair.mutable_self();
    self.set_member(v1::PAIR_MEMBER_PRIMARY);
    self.set_state(v1::PAIR_STATE_ACTIVE);
    self.set_name("ctl-a");
    self.set_epoch(7);
  }
  ~CliPair() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // The exit status; what was printed is in output_ and error_.
  template <typename Verb>
  Exit run(Verb verb) {
    const Console console;
    Client client({.server = address_});
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const Exit exit = verb(Session{console, client});
    output_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
    return exit;
  }

  test::TempDir folder_;
  std::string address_ = "unix:" + folder_.file("s");
  FakeControl control_;
  std::unique_ptr<grpc::Server> server_;
  std::string output_;
  std::string error_;
};

TEST_F(CliPair, StatusIsZeroWhileAllIsWellAndTwoWhenThereIsTrouble) {
  const auto status = [](const Session& session) { return pair_status(session, {}); };
  EXPECT_EQ(run(status), Exit::Ok);
  EXPECT_THAT(output_, HasSubstr("ctl-a is active, epoch 7, mode sync"));

  control_.pair.add_problems("HF4102: the backup's process is gone");

  EXPECT_EQ(run(status), Exit::Warned);
  EXPECT_THAT(output_, HasSubstr("HF4102"));
}

TEST_F(CliPair, StatusAsJsonIsOneDocument) {
  EXPECT_EQ(
      run([](const Session& session) { return pair_status(session, {.output = Output::Json}); }),
      Exit::Ok);
  EXPECT_THAT(output_, AllOf(testing::StartsWith("{"), HasSubstr("\"active\": \"primary\"")));
}

TEST_F(CliPair, ASwitchoverSaysWhoIsActiveAndWhyItIsRefused) {
  EXPECT_EQ(run(switch_over), Exit::Ok);
  EXPECT_THAT(output_, HasSubstr("ctl-b is active, epoch 8"));

  control_.refusal = {grpc::StatusCode::FAILED_PRECONDITION, "HF4104: it lacks 3 revisions"};

  EXPECT_EQ(run(switch_over), Exit::Failed);
  EXPECT_THAT(error_, AllOf(HasSubstr("error HF4104: it lacks 3 revisions"), HasSubstr("next: ")));
  EXPECT_EQ(control_.switchovers, 2);
}

TEST_F(CliPair, APromotionWithoutForceSaysWhatMayBeLostAndDoesNothing) {
  control_.pair.mutable_self()->set_state(v1::PAIR_STATE_PASSIVE);

  EXPECT_EQ(run([](const Session& session) { return promote(session, {}); }), Exit::Usage);

  EXPECT_THAT(error_, AllOf(HasSubstr("HF4130"), HasSubstr("--force")));
  EXPECT_EQ(control_.promotions, 0);
}

TEST_F(CliPair, WhoNamesSeveralControllersPromotesNone) {
  const Console console;
  Client client({.server = address_ + "," + address_});
  testing::internal::CaptureStderr();

  EXPECT_EQ(promote(Session{console, client}, {.force = true}), Exit::Usage);

  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--server HOST:PORT"));
  EXPECT_EQ(control_.promotions, 0);
}

TEST_F(CliPair, AForcedPromotionIsDone) {
  EXPECT_EQ(run([](const Session& session) { return promote(session, {.force = true}); }),
            Exit::Ok);

  EXPECT_EQ(control_.promotions, 1);
  EXPECT_THAT(output_, HasSubstr("epoch 9"));
}

TEST_F(CliPair, DivergencesAreListedAndShownToTheLastPage) {
  EXPECT_EQ(run([](const Session& session) { return list_divergences(session, {}); }), Exit::Ok);
  EXPECT_THAT(output_, HasSubstr("epoch-5.txt"));

  EXPECT_EQ(
      run([](const Session& session) { return show_divergence(session, {.file = "epoch-5.txt"}); }),
      Exit::Ok);
  EXPECT_THAT(output_, AllOf(HasSubstr("service/number-0"), HasSubstr("service/number-2")));

  EXPECT_EQ(run([](const Session& session) { return show_divergence(session, {.file = "x"}); }),
            Exit::Failed);
  EXPECT_THAT(error_, HasSubstr("HF4131"));
}

TEST_F(CliPair, AReplayThatLeavesConflictsIsAWarning) {
  DivergenceOptions options{.file = "epoch-5.txt"};
  const auto replay = [&](const Session& session) { return replay_divergence(session, options); };
  EXPECT_EQ(run(replay), Exit::Warned);
  EXPECT_THAT(output_, AllOf(HasSubstr("2 written, 1 in conflict"), HasSubstr("--overwrite")));

  options.overwrite = true;

  EXPECT_EQ(run(replay), Exit::Ok);
  EXPECT_TRUE(control_.resolved.overwrite());
  EXPECT_EQ(run([&](const Session& session) { return discard_divergence(session, options); }),
            Exit::Ok);
  EXPECT_EQ(control_.resolved.way(), v1::ResolveDivergenceRequest::WAY_DISCARD);
}

TEST(CliAtAPassiveHalf, ACommandThatIsGivenBothIsAnsweredByTheActiveOne) {
  test::Member active("active", {});
  test::Member passive("passive", {});
  active.epoch = 3;
  passive.epoch = 3;
  passive.passive = true;
  passive.set_active(active.address());

  for (int round = 0; round < 8; ++round) {  // whom it asks first is chance
    Client client({.server = passive.address() + "," + active.address()});
    const auto answer = client.get({});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->metadata().name(), "active");
  }
  EXPECT_GT(passive.refusals, 0);
}

TEST(CliAtAPassiveHalf, ACommandThatIsGivenOnlyThePassiveOneIsToldWhereTheOtherIs) {
  test::Member passive("passive", {});
  passive.passive = true;

  Client client({.server = passive.address(), .timeout = std::chrono::seconds(1)});
  const auto answer = client.get({});

  const Failure failure = explain(answer.status(), client.asked());
  EXPECT_EQ(failure.code, "HF4101");
  EXPECT_THAT(failure.next, HasSubstr("--server A,B"));
}

}  // namespace
}  // namespace holdfast::cli
