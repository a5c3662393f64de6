#include "ingress/access.h"

#include <gtest/gtest.h>

#include <map>

#include "base/reason.h"

namespace holdfast::ingress {
namespace {

using identity::Identity;
using identity::Role;

// A proxy's copy.
struct Copy {
  std::map<std::string, v1::Resource> services;
  std::map<std::string, v1::Role> roles;
  std::map<std::string, v1::User> users;
  bool loaded = true;

  template <typename T>
  Result<T> find(const std::map<std::string, T>& all, const std::string& name) const {
    if (!loaded) return absl::UnavailableError("loading");
    const auto found = all.find(name);
    if (found == all.end()) return absl::NotFoundError("none");
    return found->second;
  }
  Lookups lookups() {
    return {.service = [this](const std::string& name) { return find(services, name); },
            .role = [this](const std::string& name) { return find(roles, name); },
            .user = [this](const std::string& name) { return find(users, name); }};
  }
};

// Services web (team=front) and db, user alice in role dev, which may connect to what is front's.
Copy copy() {
  Copy copy;
  (*copy.services["web"].mutable_metadata()->mutable_labels())["team"] = "front";
  v1::ServicePort& port = *copy.services["web"].mutable_service()->add_ports();
  port.set_name("http");
  port.set_port(80);
  port.set_protocol(v1::PROTOCOL_HTTP);
  copy.services["db"].mutable_service();
  v1::Rule& rule = *copy.roles["dev"].add_rules();
  rule.add_kinds("service");
  rule.add_verbs(v1::VERB_CONNECT);
  (*rule.mutable_service_labels())["team"] = "front";
  copy.users["alice"].add_roles("dev");
  return copy;
}

Identity user(const std::string& name, std::vector<std::string> roles) {
  return {.role = Role::User, .cluster = "prod", .name = name, .user_roles = std::move(roles)};
}

std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

TEST(Access, AUserConnectsToTheServicesOfItsRole) {
  Copy known = copy();
  const Identity alice = user("alice", {"dev"});

  const Result<v1::Service> web = check_connect(alice, "web", known.lookups());
  const Result<v1::Service> db = check_connect(alice, "db", known.lookups());

  ASSERT_TRUE(web.ok()) << web.status();
  EXPECT_EQ(web->ports_size(), 1);
  EXPECT_EQ(db.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code_of(db.status()), "HF5001");
}

TEST(Access, AServiceThatThereIsNotLooksForbiddenToWhomNotAllAreOpen) {
  Copy known = copy();

  const Result<v1::Service> some = check_connect(user("alice", {"dev"}), "none", known.lookups());
  const Result<v1::Service> all = check_connect(user("bob", {"operator"}), "none", known.lookups());

  EXPECT_EQ(code_of(some.status()), "HF5001");
  EXPECT_EQ(all.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(code_of(all.status()), "HF2201");
}

TEST(Access, WithoutACertificateNobodyConnects) {
  Copy known = copy();
  const Result<v1::Service> nobody = check_connect({}, "web", known.lookups());
  EXPECT_EQ(nobody.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(code_of(nobody.status()), "HF5002");
}

TEST(Access, AgentsProxiesAndViewersDoNotConnect) {
  Copy known = copy();
  for (const Role role : {Role::Agent, Role::Proxy, Role::Witness}) {
    const Identity node{.role = role, .cluster = "prod", .name = "n"};
    EXPECT_EQ(code_of(check_connect(node, "web", known.lookups()).status()), "HF5001");
  }
  EXPECT_EQ(code_of(check_connect(user("v", {"viewer"}), "web", known.lookups()).status()),
            "HF5001");
}

TEST(Access, ADisabledOrDeletedUserIsNobodyAnyMore) {
  Copy known = copy();
  known.users["alice"].set_disabled(true);
  EXPECT_EQ(code_of(current_caller(user("alice", {"dev"}), known.lookups()).status()), "HF5012");
  EXPECT_EQ(code_of(current_caller(user("gone", {"admin"}), known.lookups()).status()), "HF5012");
}

TEST(Access, ARoleThatWasTakenAwayIsGoneWhateverTheCertificateSays) {
  Copy known = copy();
  const Result<Identity> alice = current_caller(user("alice", {"dev", "admin"}), known.lookups());
  ASSERT_TRUE(alice.ok());
  EXPECT_EQ(alice->user_roles, std::vector<std::string>{"dev"});
}

TEST(Access, NothingIsAllowedBeforeTheCopyIsLoaded) {
  Copy known = copy();
  known.loaded = false;
  EXPECT_EQ(code_of(current_caller(user("alice", {"dev"}), known.lookups()).status()), "HF2305");
  EXPECT_EQ(code_of(check_connect(user("alice", {"dev"}), "web", known.lookups()).status()),
            "HF2305");
  EXPECT_EQ(code_of(check_connect(user("bob", {"operator"}), "web", known.lookups()).status()),
            "HF2305");
}

TEST(Access, DrainingAProxyNeedsUpdateOnProxies) {
  Copy known = copy();
  const auto may = [&](const Identity& who) {
    return grant_of(who, v1::VERB_UPDATE, resource::Kind::Proxy, known.lookups())->allowed;
  };
  EXPECT_TRUE(may(user("root", {"admin"})));
  EXPECT_FALSE(may(user("alice", {"dev"})));
  EXPECT_FALSE(may({}));
}

TEST(FindPort, ByNameByNumberOrTheFirstThatTakesConnections) {
  v1::Service service;
  const auto add = [&](const char* name, uint32_t number, v1::Protocol protocol) {
    v1::ServicePort& port = *service.add_ports();
    port.set_name(name);
    port.set_port(number);
    port.set_protocol(protocol);
  };
  EXPECT_TRUE(find_port(service, "").ok()) << "a service may have none";
  add("dns", 53, v1::PROTOCOL_UDP);
  EXPECT_EQ(code_of(find_port(service, "").status()), "HF2304");
  add("http", 80, v1::PROTOCOL_HTTP);
  add("", 443, v1::PROTOCOL_TCP);

  EXPECT_EQ(find_port(service, "")->port(), 80);
  EXPECT_EQ(find_port(service, "http")->port(), 80);
  EXPECT_EQ(find_port(service, "443")->port(), 443);
  for (const char* wrong : {"53", "dns", "8080", "443x", "-443", "http2"}) {
    EXPECT_EQ(code_of(find_port(service, wrong).status()), "HF2304") << wrong;
  }
}

}  // namespace
}  // namespace holdfast::ingress
