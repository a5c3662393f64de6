#include "ingress/listener_spec.h"

#include <gtest/gtest.h>

#include "base/reason.h"

namespace holdfast::ingress {
namespace {

TEST(ListenerSpec, ReadsAsItIsWritten) {
  for (const char* text :
       {"tcp:0.0.0.0:5432=db", "tcp:[::]:9090=api/metrics", "tcp:127.0.0.1:0=web/443",
        "sni:0.0.0.0:8443=web", "sni:10.0.0.1:8443=web,api/tls,db_2.x"}) {
    const Result<ListenerSpec> spec = parse_listener_spec(text);
    ASSERT_TRUE(spec.ok()) << spec.status();
    EXPECT_EQ(to_string(*spec), text);
  }
  const Result<ListenerSpec> spec = parse_listener_spec("sni:0.0.0.0:8443=web,api/tls");
  EXPECT_EQ(*spec,
            (ListenerSpec{.kind = ListenerSpec::Kind::Sni,
                          .address = "0.0.0.0:8443",
                          .services = {{.service = "web"}, {.service = "api", .port = "tls"}}}));
}

TEST(ListenerSpec, WhatIsWrongIsSaidWithTheText) {
  for (const char* text : {"",
                           "tcp",
                           "udp:0.0.0.0:1=x",
                           "tcp:0.0.0.0:5432",
                           "tcp:=db",
                           "tcp:5432=db",
                           "tcp:0.0.0.0:=db",
                           "tcp:0.0.0.0:70000=db",
                           "tcp:0.0.0.0:5x=db",
                           "tcp:host:5432=db",
                           "tcp:::1:5432=db",
                           "tcp:[127.0.0.1]:5432=db",
                           "tcp:0.0.0.0:5432=",
                           "tcp:0.0.0.0:5432=d b",
                           "tcp:0.0.0.0:5432=db/",
                           "tcp:0.0.0.0:5432=db/a/b",
                           "tcp:0.0.0.0:5432=db,web",
                           "sni:0.0.0.0:1=web,",
                           "sni:0.0.0.0:1=web,Web",
                           "sni:0.0.0.0:1=web,web/tls"}) {
    const Result<ListenerSpec> spec = parse_listener_spec(text);
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(split_reason(spec.status()).code, "HF2306") << text;
  }
}

TEST(ListenerSpec, ServesAtMostItsLimit) {
  std::string text = "sni:0.0.0.0:1=s";
  for (size_t i = 1; i < kMaxServicesPerListener; ++i) text += ",s" + std::to_string(i);
  EXPECT_TRUE(parse_listener_spec(text).ok());
  EXPECT_FALSE(parse_listener_spec(text + ",more").ok());
}

TEST(ListenerSpec, ANameMeansAServiceWithOrWithoutTheCluster) {
  const ListenerSpec spec = *parse_listener_spec("sni:0.0.0.0:1=web,API/tls,web.prod.old");

  EXPECT_EQ(find_served(spec, "web", "prod"), &spec.services[0]);
  EXPECT_EQ(find_served(spec, "web.prod", "prod"), &spec.services[0]);
  EXPECT_EQ(find_served(spec, "api.PROD", "prod"), &spec.services[1]);
  EXPECT_EQ(find_served(spec, "web.prod.old", "prod"), &spec.services[2]);
  EXPECT_EQ(find_served(spec, "web.test", "prod"), nullptr);
  EXPECT_EQ(find_served(spec, "db", "prod"), nullptr);
  EXPECT_EQ(find_served(spec, "", ""), nullptr);
  EXPECT_EQ(find_served(spec, "web.", ""), nullptr);
}

}  // namespace
}  // namespace holdfast::ingress
