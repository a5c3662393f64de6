// Whom a first contact believes.
#include "cli/first_contact.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/tls_peek.h"
#include "identity/certificate.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using identity::SigningKey;

constexpr WallTime kFirstContactNow(1'700'000'000'000ms);

SigningKey authority() {
  return identity::make_authority("prod", {kFirstContactNow - 1h, kFirstContactNow + 24h * 365})
      .value();
}

std::string leaf_of(const SigningKey& signer, identity::Role role, WallTime ends) {
  const std::string key = identity::make_private_key().value();
  return identity::issue(signer,
                         {.identity = {.role = role, .cluster = "prod", .name = "one"},
                          .validity = {kFirstContactNow - 1h, ends}},
                         identity::make_request(key).value())
      .value();
}

std::string pin(const SigningKey& key) {
  return identity::pin_of(key.certificate_pem).value();
}

TEST(FirstContact, TheAuthorityOfThePinIsTrusted) {
  const SigningKey ca = authority();
  const std::string leaf = leaf_of(ca, identity::Role::Controller, kFirstContactNow + 1h);

  const auto trusted =
      recognise({leaf, ca.certificate_pem}, {pin(ca)}, "ctl:7443", kFirstContactNow);

  ASSERT_TRUE(trusted) << trusted.error().message;
  EXPECT_EQ(pin({*trusted, ""}), pin(ca));
}

TEST(FirstContact, WhileAnAuthorityIsReplacedEitherPinWillDo) {
  const SigningKey old_ca = authority();
  const SigningKey new_ca = authority();
  const std::string leaf = leaf_of(new_ca, identity::Role::Controller, kFirstContactNow + 1h);
  const std::vector<std::string> chain = {leaf, new_ca.certificate_pem};

  EXPECT_TRUE(recognise(chain, {pin(old_ca), pin(new_ca)}, "ctl:7443", kFirstContactNow));
}

TEST(FirstContact, AnotherPinNamesBothAndWarns) {
  const SigningKey ca = authority();
  const SigningKey stranger = authority();
  const std::string leaf = leaf_of(stranger, identity::Role::Controller, kFirstContactNow + 1h);

  const auto trusted =
      recognise({leaf, stranger.certificate_pem}, {pin(ca)}, "ctl:7443", kFirstContactNow);

  ASSERT_FALSE(trusted);
  EXPECT_EQ(trusted.error().code, "HF5008");
  EXPECT_EQ(trusted.error().exit, Exit::NotPermitted);
  EXPECT_TRUE(trusted.error().message.contains(pin(ca))) << trusted.error().message;
  EXPECT_TRUE(trusted.error().message.contains(pin(stranger))) << trusted.error().message;
  EXPECT_TRUE(trusted.error().next.contains("in between")) << trusted.error().next;
}

TEST(FirstContact, ShowingTheAuthorityIsNotEnough) {
  const SigningKey ca = authority();
  const SigningKey stranger = authority();
  const struct {
    const char* what;
    std::string leaf;
  } cases[] = {
      {"signed by another", leaf_of(stranger, identity::Role::Controller, kFirstContactNow + 1h)},
      {"of another role", leaf_of(ca, identity::Role::Proxy, kFirstContactNow + 1h)},
      {"an agent's", leaf_of(ca, identity::Role::Agent, kFirstContactNow + 1h)},
      {"expired", leaf_of(ca, identity::Role::Controller, kFirstContactNow - 1min)},
  };
  for (const auto& [what, leaf] : cases) {
    const auto trusted =
        recognise({leaf, ca.certificate_pem}, {pin(ca)}, "ctl:7443", kFirstContactNow);
    ASSERT_FALSE(trusted) << what;
    EXPECT_EQ(trusted.error().code, "HF5008") << what;
  }
}

TEST(FirstContact, AChainWithoutAnAuthorityIsNobodys) {
  const SigningKey ca = authority();
  const std::string leaf = leaf_of(ca, identity::Role::Controller, kFirstContactNow + 1h);
  // Not even the pin of the leaf itself.
  EXPECT_FALSE(recognise({leaf}, {identity::pin_of(leaf).value()}, "ctl:7443", kFirstContactNow));
  EXPECT_FALSE(recognise({}, {pin(ca)}, "ctl:7443", kFirstContactNow));
  EXPECT_FALSE(recognise({leaf, "garbage"}, {pin(ca)}, "ctl:7443", kFirstContactNow));
}

TEST(FirstContact, WithoutAPinNothingIsSent) {
  const Address nowhere{.host = "127.0.0.1", .port = 1};
  EXPECT_EQ(first_contact(nowhere, {}, 1s).error().exit, Exit::Usage);
  EXPECT_EQ(first_contact(nowhere, {}, 1s).error().code, "HF5008");
  for (const char* pin : {"", "sha256:", "sha256:12", "md5:1234"}) {
    EXPECT_EQ(first_contact(nowhere, {.pins = {pin}}, 1s).error().exit, Exit::Usage) << pin;
  }
}

TEST(FirstContact, NobodyThereIsNoController) {
  const Address nowhere{.host = "127.0.0.1", .port = 1};
  const auto trusted = first_contact(nowhere, {.pins = {"sha256:" + std::string(64, 'a')}}, 2s);
  ASSERT_FALSE(trusted);
  EXPECT_EQ(trusted.error().code, "HF1001");
  EXPECT_EQ(trusted.error().exit, Exit::NoController);
}

TEST(TlsPeek, AServerThatNeverSpeaksIsGivenUp) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener, generic, size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, generic, &size), 0);

  const auto chain = peek_chain({.host = "127.0.0.1", .port = ntohs(address.sin_port)}, 200ms);

  ::close(listener);
  EXPECT_TRUE(absl::IsDeadlineExceeded(chain.status())) << chain.status();
}

}  // namespace
}  // namespace holdfast::cli
