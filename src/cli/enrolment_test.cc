// join and login against a controller that is one in all but its store: real TLS, real gRPC, real
// certificates.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/private_file.h"
#include "base/reason.h"
#include "cli/identity_commands.h"
#include "cli/profile.h"
#include "identity/certificate.h"
#include "rpc/epoch.h"
#include "support/temp_dir.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using identity::Role;

constexpr const char* kToken = "hf_abcdefgh_abcdefghijklmnopqrstuvwx";

class FakeController final : public v1::Identity::Service {
 public:
  FakeController() : FakeController(identity::make_authority("prod", life()).value()) {}
  explicit FakeController(identity::SigningKey authority) : authority_(std::move(authority)) {
    const std::string key = identity::make_private_key().value();
    const std::string leaf = issue({.role = Role::Controller, .cluster = "prod", .name = "ctl"},
                                   identity::make_request(key).value());
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
    tls.pem_root_certs = authority_.certificate_pem;
    tls.pem_key_cert_pairs.push_back({key, leaf + authority_.certificate_pem});
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeController() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string pin() const { return identity::pin_of(authority_.certificate_pem).value(); }
  int calls() const { return calls_; }
  int refusals() const { return refusals_; }
  // From now on it is half of a pair that does not serve.
  void stand_aside_for(const FakeController& active) { active_ = active.address(); }
  const identity::SigningKey& authority() const { return authority_; }

  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::Credentials* out) override {
    if (!active_.empty()) return refuse(*context);
    calls_ += 1;
    if (request->token() != kToken) {
      return {grpc::StatusCode::UNAUTHENTICATED, "HF5005: the token is not valid"};
    }
    fill({.role = Role::Agent, .cluster = "prod", .name = request->name(), .zone = request->zone()},
         request->request_pem(), *out);
    return grpc::Status::OK;
  }

  grpc::Status Login(grpc::ServerContext* context, const v1::LoginRequest* request,
                     v1::Credentials* out) override {
    if (!active_.empty()) return refuse(*context);
    calls_ += 1;
    if (request->password() != "right one") {
      return {grpc::StatusCode::UNAUTHENTICATED, "HF5010: the user or the password is wrong"};
    }
    fill({.role = Role::User, .cluster = "prod", .name = request->user(), .user_roles = {"admin"}},
         request->request_pem(), *out);
    return grpc::Status::OK;
  }

  // Only for those who show a certificate.
  grpc::Status WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest*,
                      v1::WhoAmIResponse* out) override {
    calls_ += 1;
    const auto shown = context->auth_context()->FindPropertyValues("x509_pem_cert");
    if (shown.empty()) return {grpc::StatusCode::UNAUTHENTICATED, "HF5002: no certificate"};
    const std::string pem(shown.front().data(), shown.front().size());
    out->set_role("user");
    out->set_name(identity::identity_of(pem)->name);
    return grpc::Status::OK;
  }

 private:
  static identity::Validity life() {
    const WallTime now = SystemClock().wall_now();
    return {now - 1h, now + 24h};
  }
  grpc::Status refuse(grpc::ServerContext& context) {
    refusals_ += 1;
    context.AddTrailingMetadata(rpc::kActiveKey, active_);
    return {grpc::StatusCode::UNAVAILABLE, "HF4101: this half is passive"};
  }
  std::string issue(const identity::Identity& who, const std::string& request_pem) {
    return identity::issue(authority_, {.identity = who, .validity = life_}, request_pem).value();
  }
  void fill(const identity::Identity& who, const std::string& request_pem, v1::Credentials& out) {
    out.set_certificate_pem(issue(who, request_pem));
    out.set_ca_pem(authority_.certificate_pem);
    out.set_cluster("prod");
    out.set_name(who.name);
    out.set_zone(who.zone);
  }

  const identity::Validity life_ = life();
  identity::SigningKey authority_;
  std::string active_;
  int port_ = 0;
  std::atomic<int> calls_ = 0;
  std::atomic<int> refusals_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class Enrolment : public testing::Test {
 protected:
  Enrolment() {
    std::ofstream(folder_.file("token")) << kToken << "\n";
    std::ofstream(folder_.file("password")) << "right one\n";
  }
  Introduction introduction() const {
    return {.server = controller_.address(), .recognition = {.pins = {controller_.pin()}}};
  }
  JoinOptions join_options() const {
    return {.introduction = introduction(),
            .token_file = folder_.file("token"),
            .name = "edge-07",
            .zone = "a",
            .data_dir = folder_.file("data")};
  }
  LoginOptions login_options() const {
    return {.introduction = introduction(),
            .user = "ann",
            .password_file = folder_.file("password"),
            .profile_dir = folder_.file("profile")};
  }
  std::string identity_file() const { return folder_.file("data") + "/identity/identity.pem"; }

  test::TempDir folder_;
  FakeController controller_;
  Console console_;
};

TEST_F(Enrolment, ANodeThatJoinsHasAnIdentityForItsOwnerOnly) {
  ASSERT_EQ(join(console_, join_options()), Exit::Ok);

  const std::string pem = read_small_file(identity_file()).value();
  const KeyAndCertificate parts = split_identity(pem).value();
  EXPECT_EQ(identity::identity_of(parts.certificate_pem)->name, "edge-07");
  struct stat info{};
  ASSERT_EQ(::stat(identity_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const std::string node = read_small_file(folder_.file("data") + "/identity/node.yaml").value();
  for (const char* line : {"role: agent\n", "name: edge-07\n", "zone: a\n", "cluster: prod\n"}) {
    EXPECT_TRUE(node.contains(line)) << line << node;
  }
  EXPECT_EQ(read_small_file(folder_.file("data") + "/identity/ca.pem").value(),
            controller_.authority().certificate_pem);
}

TEST_F(Enrolment, AnIdentityIsReplacedOnlyWhenToldTo) {
  ASSERT_EQ(join(console_, join_options()), Exit::Ok);
  const std::string before = read_small_file(identity_file()).value();

  EXPECT_EQ(join(console_, join_options()), Exit::Failed);
  EXPECT_EQ(controller_.calls(), 1) << "the token is not spent on it";
  EXPECT_EQ(read_small_file(identity_file()).value(), before);
  JoinOptions again = join_options();
  again.replace = true;
  EXPECT_EQ(join(console_, again), Exit::Ok);
  EXPECT_NE(read_small_file(identity_file()).value(), before);
}

TEST_F(Enrolment, AWrongTokenLeavesNoIdentity) {
  std::ofstream(folder_.file("token")) << "hf_wrong";
  EXPECT_EQ(join(console_, join_options()), Exit::NotPermitted);
  EXPECT_FALSE(std::filesystem::exists(identity_file()));
}

TEST_F(Enrolment, AWrongPinIsNeverToldTheToken) {
  JoinOptions options = join_options();
  options.introduction.recognition.pins = {"sha256:" + std::string(64, '0')};

  EXPECT_EQ(join(console_, options), Exit::NotPermitted);
  EXPECT_EQ(controller_.calls(), 0);
  options.introduction.recognition.pins.clear();
  EXPECT_EQ(join(console_, options), Exit::Usage);
  EXPECT_EQ(controller_.calls(), 0);
}

TEST_F(Enrolment, WhoIsGivenThePassiveHalfIsLetInByTheActiveOne) {
  const FakeController active(controller_.authority());
  controller_.stand_aside_for(active);

  EXPECT_EQ(join(console_, join_options()), Exit::Ok);
  EXPECT_EQ(login(console_, login_options()), Exit::Ok);

  EXPECT_EQ(active.calls(), 2);
  EXPECT_EQ(controller_.refusals(), 2);
}

TEST_F(Enrolment, BothHalvesOfAPairMayBeNamed) {
  FakeController passive(controller_.authority());
  passive.stand_aside_for(controller_);
  LoginOptions options = login_options();
  options.introduction.server = passive.address() + "," + controller_.address();

  EXPECT_EQ(login(console_, options), Exit::Ok);

  const Profile profile = load_profile(options.profile_dir).value();
  EXPECT_EQ(profile.server, options.introduction.server);
  EXPECT_EQ(profile.ca_pem, controller_.authority().certificate_pem);
}

TEST_F(Enrolment, OneOfTheHalvesMayBeAway) {
  std::string gone;
  {
    const FakeController passive(controller_.authority());
    gone = passive.address();
  }
  LoginOptions options = login_options();
  options.introduction.server = gone + "," + controller_.address();
  EXPECT_EQ(login(console_, options), Exit::Ok);

  options.introduction.server = gone + "," + gone;
  EXPECT_EQ(login(console_, options), Exit::NoController);
}

TEST_F(Enrolment, AStrangerBesideTheRightOneIsToldNothing) {
  const FakeController stranger;
  JoinOptions options = join_options();
  options.introduction.server = controller_.address() + "," + stranger.address();

  EXPECT_EQ(join(console_, options), Exit::NotPermitted);

  EXPECT_EQ(controller_.calls() + stranger.calls(), 0);
}

TEST_F(Enrolment, AFileWithTheAuthorityDoesWithoutAPin) {
  JoinOptions options = join_options();
  options.introduction.recognition = {.ca_file = folder_.file("ca.pem")};
  EXPECT_EQ(join(console_, options), Exit::BadInput) << "there is no such file";
  std::ofstream(folder_.file("ca.pem")) << controller_.authority().certificate_pem;
  EXPECT_EQ(join(console_, options), Exit::Ok);
}

TEST_F(Enrolment, AFileWithAnotherAuthorityTrustsNobody) {
  const WallTime now = SystemClock().wall_now();
  std::ofstream(folder_.file("ca.pem"))
      << identity::make_authority("prod", {now - 1h, now + 1h})->certificate_pem;
  JoinOptions options = join_options();
  options.introduction.recognition = {.ca_file = folder_.file("ca.pem")};

  EXPECT_EQ(join(console_, options), Exit::NoController);
  EXPECT_EQ(controller_.calls(), 0);
}

TEST_F(Enrolment, WhoLogsInIsKnownAfterwards) {
  ASSERT_EQ(login(console_, login_options()), Exit::Ok);

  const auto options = find_controller({.profile_dir = folder_.file("profile")});
  ASSERT_TRUE(options) << options.error().message;
  Client client(*options);
  const auto me = client.identity(&IdentityCalls::WhoAmI, v1::WhoAmIRequest());
  ASSERT_TRUE(me.ok()) << me.status();
  EXPECT_EQ(me->name(), "ann");
}

TEST_F(Enrolment, AWrongPasswordLeavesNoProfile) {
  std::ofstream(folder_.file("password")) << "wrong one";
  EXPECT_EQ(login(console_, login_options()), Exit::NotPermitted);
  EXPECT_TRUE(absl::IsNotFound(load_profile(folder_.file("profile")).status()));
}

TEST_F(Enrolment, AProfileOfAnotherClusterDoesNotBelieveThisOne) {
  ASSERT_EQ(login(console_, login_options()), Exit::Ok);
  const FakeController stranger;
  const auto options =
      find_controller({.server = stranger.address(), .profile_dir = folder_.file("profile")});
  Client client(*options);

  const auto me = client.identity(&IdentityCalls::WhoAmI, v1::WhoAmIRequest());

  EXPECT_EQ(explain(me.status(), client.asked()).code, "HF5004") << me.status();
  EXPECT_EQ(stranger.calls(), 0);
}

}  // namespace
}  // namespace holdfast::cli
