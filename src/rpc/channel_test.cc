#include "rpc/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::rpc {
namespace {

TEST(LoadTls, ACertificateWithoutItsKeyIsRefused) {
  const auto loaded = load_tls({.certificate = "certificate.pem"});

  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LoadTls, AMissingFileIsNamed) {
  const auto loaded = load_tls({.ca = "/nowhere/ca.pem"});

  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(loaded.status().message()), testing::HasSubstr("/nowhere/ca.pem"));
}

TEST(LoadTls, NoFilesMeanTheSystemsRoots) {
  const auto loaded = load_tls({.server_name = "etcd.example"});

  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->ca_pem, "");
  EXPECT_EQ(loaded->server_name, "etcd.example");
}

}  // namespace
}  // namespace holdfast::rpc
