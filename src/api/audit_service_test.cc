#include "api/audit_service.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;

class AuditServiceTest : public testing::Test {
 protected:
  std::unique_ptr<AuditService> open(uint64_t max_bytes = 1 << 20) {
    auto opened =
        AuditService::open({.path = path_, .max_bytes = max_bytes, .keep_files = 3}, clock_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  std::string text(const std::string& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string text() const { return text(path_); }
  size_t lines() const { return static_cast<size_t>(std::ranges::count(text(), '\n')); }

  test::TempDir dir_;
  ManualClock clock_;
  const std::string path_ = dir_.file("audit.log");
  const identity::AuditRecord change_{.actor = "user/alice",
                                      .source = "unix",
                                      .verb = "create",
                                      .object = "service/web",
                                      .allowed = true};
  const identity::AuditRecord refusal_{
      .actor = "nobody", .source = "10.0.0.7:1", .verb = "list", .code = "HF5002"};
};

TEST_F(AuditServiceTest, TheChainGoesOnOverARestart) {
  open()->change(change_);
  open()->change(change_);

  EXPECT_EQ(lines(), 2U);
  EXPECT_TRUE(identity::verify_audit(text()).ok());
}

TEST_F(AuditServiceTest, HalfALineOfACrashIsCutOff) {
  open()->change(change_);
  const std::string whole = text();
  std::ofstream(path_, std::ios::app) << "{\"seq\":2,\"pre";

  open()->change(change_);

  EXPECT_EQ(text().substr(0, whole.size()), whole);
  EXPECT_EQ(lines(), 2U);
  EXPECT_TRUE(identity::verify_audit(text()).ok());
}

TEST_F(AuditServiceTest, AFileWithAChangedOrMissingLineIsKeptAside) {
  for (const bool removed : {false, true}) {
    std::filesystem::remove(path_);
    for (int i = 0; i < 3; ++i) open()->change(change_);
    std::string damaged = text();
    const size_t second = damaged.find('\n') + 1;
    if (removed) damaged.erase(second, damaged.find('\n', second) + 1 - second);
    if (!removed) damaged.replace(damaged.find("alice", second), 5, "mally");
    std::ofstream(path_) << damaged;

    open()->change(change_);

    EXPECT_EQ(lines(), 1U);
    EXPECT_NE(text().find("\"seq\":1,"), std::string::npos);
  }
}

TEST_F(AuditServiceTest, AForeignFileIsKeptAside) {
  std::ofstream(path_) << "my diary\n";

  open()->change(change_);

  EXPECT_EQ(lines(), 1U);
  bool kept = false;
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    kept = kept || text(entry.path().string()) == "my diary\n";
  }
  EXPECT_TRUE(kept);
}

TEST_F(AuditServiceTest, TheSameRefusalIsOneLineUntilItsTimeIsOver) {
  auto audit = open();
  for (int i = 0; i < 100; ++i) audit->refusal(refusal_);
  EXPECT_EQ(lines(), 1U);

  clock_.advance(10s);
  audit->on_tick();

  EXPECT_EQ(lines(), 2U);
  EXPECT_NE(text().find("\"repeated\":99"), std::string::npos);
  EXPECT_EQ(audit->stats().refusals, 100U);
}

TEST_F(AuditServiceTest, DifferentRefusalsAreDifferentLines) {
  auto audit = open();
  identity::AuditRecord other = refusal_;
  other.actor = "agent/edge-7";
  audit->refusal(refusal_);
  audit->refusal(other);

  EXPECT_EQ(lines(), 2U);
}

TEST_F(AuditServiceTest, AFullFileIsRotatedAndTheChainGoesOn) {
  auto audit = open(1'000);
  for (int i = 0; i < 40; ++i) audit->change(change_);

  EXPECT_LT(text().size(), 2'000U);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".3"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".4"));
  EXPECT_EQ(audit->stats().lines, 40U);
  const std::string both = text(path_ + ".1") + text();
  EXPECT_NE(text(path_ + ".1").find("\"seq\":"), std::string::npos);
  EXPECT_NE(both.find("\"seq\":40,"), std::string::npos);
}

TEST_F(AuditServiceTest, WhatCannotBeWrittenIsCountedAndSaidLater) {
  std::filesystem::create_symlink("/dev/full", path_);
  auto opened = AuditService::open({.path = path_}, clock_);
  ASSERT_TRUE(opened.ok()) << opened.status();

  (*opened)->change(change_);

  EXPECT_FALSE((*opened)->status().ok());
  EXPECT_EQ((*opened)->stats().lost, 1U);
}

}  // namespace
}  // namespace holdfast::api
