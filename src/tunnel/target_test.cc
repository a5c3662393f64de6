#include "tunnel/target.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::tunnel {
namespace {

using Lines = std::vector<std::string>;

TargetTable table_of(const Lines& lines) {
  Result<TargetTable> table = TargetTable::parse(lines);
  EXPECT_TRUE(table.ok()) << table.status();
  return table.value_or(TargetTable{});
}

std::string found(const TargetTable& table, std::string_view service, std::string_view port,
                  const v1::Service* known = nullptr) {
  const Target* target = table.find(service, port, known);
  return target == nullptr ? "none" : to_string(*target);
}

// What is said of a single line.
std::string said(const std::string& line) {
  const Result<TargetTable> table = TargetTable::parse(Lines{line});
  return table.ok() ? "OK" : std::string(table.status().message());
}

v1::Service two_ports() {
  v1::Service service;
  v1::ServicePort& first = *service.add_ports();
  first.set_name("http");
  first.set_port(80);
  v1::ServicePort& second = *service.add_ports();
  second.set_name("metrics");
  second.set_port(9090);
  return service;
}

TEST(Target, EveryFormOfTargetIsReadAndPrintedBack) {
  const TargetTable table = table_of({"web=127.0.0.1:8080", "six=[::1]:9", "db=unix:/run/pg.sock",
                                      "api=http://app.internal:80", "slash=http://[fd00::7]:81/"});
  EXPECT_EQ(found(table, "web", ""), "127.0.0.1:8080");
  EXPECT_EQ(found(table, "six", ""), "[::1]:9");
  EXPECT_EQ(found(table, "db", ""), "unix:/run/pg.sock");
  EXPECT_EQ(found(table, "api", ""), "app.internal:80");
  EXPECT_EQ(found(table, "slash", ""), "[fd00::7]:81");
  EXPECT_EQ(table.size(), 5U);
  EXPECT_EQ(table.services(), (Lines{"api", "db", "six", "slash", "web"}));
}

TEST(Target, WrongLinesAreRefusedWithWhatWasMeant) {
  EXPECT_EQ(said("web"),
            "HF2120: service \"web\" has no '='; write SERVICE=HOST:PORT, such as "
            "\"web=127.0.0.1:8080\", or SERVICE=unix:/PATH");
  EXPECT_TRUE(said("web=").contains("names no target"));
  EXPECT_TRUE(said("=127.0.0.1:1").contains("has a name that is empty"));
  EXPECT_TRUE(said("w eb=127.0.0.1:1").contains("holds byte 0x20"));
  EXPECT_TRUE(said("web=127.0.0.1").contains("has no port"));
  EXPECT_TRUE(said("web=127.0.0.1:0").contains("is not 1 to 65535"));
  EXPECT_TRUE(said("web=127.0.0.1:65536").contains("is not 1 to 65535"));
  EXPECT_TRUE(said("web=::1:80").contains("does not begin with a host"));
  EXPECT_TRUE(said("web=:80").contains("does not begin with a host"));
  EXPECT_TRUE(said("web=/run/app.sock").contains("did you mean unix:\"/run/app.sock\"?"));
  EXPECT_TRUE(said("web=unix:app.sock").contains("no whole path"));
  EXPECT_TRUE(said("web=unix:/" + std::string(107, 'x')).contains("at most 107"));
  EXPECT_TRUE(said("web=https://app:443").contains("let clients speak TLS"));
  EXPECT_TRUE(said("web=http://app:80/v1").contains("names a path"));
  EXPECT_TRUE(said("web/=127.0.0.1:1").contains("has a port that is empty"));
  EXPECT_TRUE(said("web/0=127.0.0.1:1").contains("is not 1 to 65535"));
  EXPECT_TRUE(said("web/70000=127.0.0.1:1").contains("is not 1 to 65535"));
  EXPECT_TRUE(said("web/a/b=127.0.0.1:1").contains("holds '/'"));
  EXPECT_TRUE(said("web=" + std::string(2'000, 'x')).contains("use at most 1024"));
  EXPECT_EQ(said("web=unix:/" + std::string(106, 'x')), "OK");
}

TEST(Target, ASecondLineForTheSamePortIsRefusedByName) {
  const Result<TargetTable> table =
      TargetTable::parse(Lines{"web=127.0.0.1:1", "web/admin=127.0.0.1:2", "web=127.0.0.1:3"});
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(split_reason(table.status()).code, "HF2120");
  EXPECT_TRUE(table.status().message().find("web is 127.0.0.1:1 already") !=
              absl::string_view::npos)
      << table.status();
}

TEST(Target, MoreLinesThanAnAgentMayCarryAreRefused) {
  Lines lines;
  for (size_t at = 0; at <= kMaxTargets; ++at) {
    lines.push_back("s" + std::to_string(at) + "=127.0.0.1:80");
  }
  EXPECT_FALSE(TargetTable::parse(lines).ok());
  lines.pop_back();
  EXPECT_TRUE(TargetTable::parse(lines).ok());
}

TEST(Target, APortIsFoundByItsNameAndByItsNumber) {
  const v1::Service service = two_ports();
  const TargetTable by_name = table_of({"web=127.0.0.1:1", "web/metrics=127.0.0.1:2"});
  const TargetTable by_number = table_of({"web/80=127.0.0.1:1", "web/9090=127.0.0.1:2"});
  for (const TargetTable* table : {&by_name, &by_number}) {
    EXPECT_EQ(found(*table, "web", "", &service), "127.0.0.1:1");
    EXPECT_EQ(found(*table, "web", "http", &service), "127.0.0.1:1");
    EXPECT_EQ(found(*table, "web", "80", &service), "127.0.0.1:1");
    EXPECT_EQ(found(*table, "web", "metrics", &service), "127.0.0.1:2");
    EXPECT_EQ(found(*table, "web", "9090", &service), "127.0.0.1:2");
    EXPECT_EQ(found(*table, "web", "8080", &service), "none");
  }
}

TEST(Target, ALineWithoutAPortIsForTheFirstPortOnly) {
  const v1::Service service = two_ports();
  const TargetTable table = table_of({"web=127.0.0.1:1"});
  EXPECT_EQ(found(table, "web", "http", &service), "127.0.0.1:1");
  EXPECT_EQ(found(table, "web", "metrics", &service), "none");
}

TEST(Target, WhileNothingIsKnownOfAServiceItsOnlyLineServes) {
  const TargetTable one = table_of({"web=127.0.0.1:1", "api/metrics=127.0.0.1:2"});
  EXPECT_EQ(found(one, "web", "80"), "127.0.0.1:1");
  EXPECT_EQ(found(one, "web", "http"), "127.0.0.1:1");
  EXPECT_EQ(found(one, "api", ""), "127.0.0.1:2");
  EXPECT_EQ(found(one, "api", "metrics"), "127.0.0.1:2");
  EXPECT_EQ(found(one, "api", "http"), "none");
  const TargetTable two = table_of({"web=127.0.0.1:1", "web/admin=127.0.0.1:2"});
  EXPECT_EQ(found(two, "web", ""), "127.0.0.1:1");
  EXPECT_EQ(found(two, "web", "admin"), "127.0.0.1:2");
  EXPECT_EQ(found(two, "web", "80"), "none");
}

TEST(Target, WhatIsNotInTheTableIsNeverFound) {
  const v1::Service service = two_ports();
  const TargetTable table = table_of({"web=127.0.0.1:8080"});
  for (const v1::Service* known : {static_cast<const v1::Service*>(nullptr), &service}) {
    EXPECT_EQ(found(table, "web", "127.0.0.1:22", known), "none");
    EXPECT_EQ(found(table, "web", "unix:/etc/passwd", known), "none");
    EXPECT_EQ(found(table, "web", "99999", known), "none");
    EXPECT_EQ(found(table, "127.0.0.1:22", "", known), "none");
    EXPECT_EQ(found(table, "web=127.0.0.1:22", "", known), "none");
    EXPECT_EQ(found(table, "", "", known), "none");
  }
}

}  // namespace
}  // namespace holdfast::tunnel
