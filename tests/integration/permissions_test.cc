// docs/permissions.md against a whole controller: every caller, with a real certificate, makes
// every call, on every kind, and is refused exactly where the tables say so.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "holdfast/v1/load.grpc.pb.h"
#include "holdfast/v1/node.grpc.pb.h"
#include "identity/permissions.h"
#include "integration/cluster_callers.h"
#include "integration/every_call.h"
#include "resource/registry.h"
#include "support/eventually.h"
#include "support/paths.h"
#include "support/permission_tables.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using identity::Role;
using resource::Kind;
using testing::ElementsAre;

PermissionTable table_under(const std::string& heading) {
  return permission_table(in_tree("docs/permissions.md"), heading);
}

bool is_refusal(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED ||
         status.error_code() == grpc::StatusCode::PERMISSION_DENIED;
}

std::string shown(const grpc::Status& status) {
  return std::to_string(status.error_code()) + " " + status.error_message();
}

// Refused for want of permission, in the words for such a caller; or not refused at all.
void expect_verdict(const ClusterCaller& who, const std::string& what, bool allowed,
                    const grpc::Status& status) {
  SCOPED_TRACE(who.column + ": " + what + " gave " + shown(status));
  EXPECT_EQ(!is_refusal(status), allowed);
  if (allowed) return;
  const bool nobody = who.role == Role::Nobody;
  EXPECT_EQ(status.error_code(),
            nobody ? grpc::StatusCode::UNAUTHENTICATED : grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(status.error_message().starts_with(nobody ? "HF5002: " : "HF5001: "));
}

// The calls about resources, on one that the test keeps making anew.
class OnResources {
 public:
  OnResources(const ClusterCaller& who, Kind kind)
      : stub_(v1::Resources::NewStub(who.channel)),
        events_(v1::Events::NewStub(who.channel)),
        kind_(resource::info(kind).name) {}

  grpc::Status get(const std::string& name, bool with_secrets = false) {
    v1::GetRequest request;
    request.set_kind(kind_);
    request.set_name(name);
    request.set_with_secrets(with_secrets);
    return stub_->Get(patient().get(), request, &got);
  }
  grpc::Status list(bool with_secrets = false) {
    v1::ListRequest request;
    request.set_kind(kind_);
    request.set_with_secrets(with_secrets);
    return stub_->List(patient().get(), request, &listed);
  }
  grpc::Status watch(bool with_secrets = false) {
    v1::WatchRequest request;
    request.add_kinds()->set_kind(kind_);
    request.mutable_kinds(0)->set_with_secrets(with_secrets);
    const auto context = patient();
    const auto stream = events_->Watch(context.get(), request);
    return outcome<v1::WatchResponse>(*context, *stream);
  }
  using Write = grpc::Status (v1::Resources::Stub::*)(grpc::ClientContext*, const v1::WriteRequest&,
                                                      v1::Resource*);
  grpc::Status write(Write method, const v1::Resource& resource) {
    v1::WriteRequest request;
    *request.mutable_resource() = resource;
    return ((*stub_).*method)(patient().get(), request, &got);
  }
  grpc::Status create(const v1::Resource& what) { return write(&Stub::Create, what); }
  grpc::Status update(const v1::Resource& what) { return write(&Stub::Update, what); }
  grpc::Status upsert(const v1::Resource& what) { return write(&Stub::Upsert, what); }
  grpc::Status remove(const std::string& name) {
    v1::DeleteRequest request;
    request.set_kind(kind_);
    request.set_name(name);
    v1::DeleteResponse response;
    return stub_->Delete(patient().get(), request, &response);
  }
  std::vector<std::string> listed_names() const {
    std::vector<std::string> names;
    for (const v1::Resource& each : listed.resources()) names.push_back(each.metadata().name());
    return names;
  }

  v1::Resource got;
  v1::ListResponse listed;

 private:
  using Stub = v1::Resources::Stub;
  std::unique_ptr<Stub> stub_;
  std::unique_ptr<v1::Events::Stub> events_;
  std::string kind_;
};

// A valid resource; labelled for those who may see only what is.
v1::Resource thing(Kind kind) {
  const std::string_view only_name = resource::info(kind).singleton_name;
  v1::Resource made = resource::make_resource(kind, only_name.empty() ? "thing" : only_name);
  (*made.mutable_metadata()->mutable_labels())["team"] = "web";
  if (kind == Kind::Service) made.mutable_service()->add_ports()->set_port(80);
  if (kind == Kind::Service)
    made.mutable_service()->mutable_ports(0)->set_protocol(v1::PROTOCOL_TCP);
  if (kind == Kind::Token) made.mutable_token()->set_role(v1::NODE_ROLE_AGENT);
  if (kind == Kind::CapacityLease) {
    made.mutable_capacity_lease()->set_service("s");
    made.mutable_capacity_lease()->set_zone("z");
    made.mutable_capacity_lease()->set_holder("h");
  }
  return made;
}

// The cluster's own authority stays: what would change it changes one that cannot be instead.
v1::Resource no_authority() {
  return resource::make_resource(Kind::CertAuthority, "thing");
}

v1::Resource role_of(const std::string& name, const std::string& verbs, bool with_nodes) {
  v1::Resource made = resource::make_resource(Kind::Role, name);
  constexpr std::pair<char, v1::Verb> kLetters[] = {{'g', v1::VERB_GET},    {'l', v1::VERB_LIST},
                                                    {'w', v1::VERB_WATCH},  {'c', v1::VERB_CREATE},
                                                    {'u', v1::VERB_UPDATE}, {'d', v1::VERB_DELETE},
                                                    {'x', v1::VERB_CONNECT}};
  v1::Rule& services = *made.mutable_role()->add_rules();
  services.add_kinds("service");
  (*services.mutable_service_labels())["team"] = "web";
  for (const auto& [letter, verb] : kLetters) {
    if (verbs.contains(letter)) services.add_verbs(verb);
  }
  if (!with_nodes) return made;
  v1::Rule& nodes = *made.mutable_role()->add_rules();
  for (const char* kind : {"agent", "proxy"}) nodes.add_kinds(kind);
  for (const auto verb : {v1::VERB_GET, v1::VERB_LIST, v1::VERB_WATCH}) nodes.add_verbs(verb);
  return made;
}

class PermissionsOverGrpc : public testing::Test {
 protected:
  // With the role of the document's example, whose rows are written out here.
  void add_web_team() {
    cluster_.upsert(role_of("web-team", "glwux", true));
    cluster_.add_user("web-team", {"web-team"});
    wait_for_roles("web-team");
  }
  // The controller follows its own store.
  void wait_for_roles(const std::string& column) {
    ASSERT_TRUE(eventually(
        [&] { return OnResources(cluster_.as(column), Kind::Service).list().ok(); }, 10s));
  }
  static std::string web_team_on(Kind kind) {
    if (kind == Kind::Service) return "glwux";
    return kind == Kind::Agent || kind == Kind::Proxy ? "glw" : "-";
  }
  void check_kind(const ClusterCaller& who, Kind kind, const std::string& letters);

  ClusterCallers cluster_;
};

void PermissionsOverGrpc::check_kind(const ClusterCaller& who, Kind kind,
                                     const std::string& letters) {
  const bool is_authority = kind == Kind::CertAuthority;
  const v1::Resource wanted = is_authority ? no_authority() : thing(kind);
  const std::string& name = wanted.metadata().name();
  const std::string kind_name(resource::info(kind).name);
  if (!is_authority) cluster_.upsert(wanted);
  OnResources as(who, kind);
  const auto expect = [&](std::string_view verbs, const grpc::Status& status) {
    const bool allowed =
        std::ranges::all_of(verbs, [&](char verb) { return letters.contains(verb); });
    expect_verdict(who, std::string(verbs) + " " + kind_name, allowed, status);
    // What is allowed also works, so that nothing is taken for allowed because it is wrong.
    if (allowed && !is_authority) {
      EXPECT_TRUE(status.ok()) << who.column << " " << verbs << " " << kind_name << ": "
                               << shown(status);
    }
  };

  expect("g", as.get(name));
  expect("l", as.list());
  expect("w", as.watch());
  expect("u", as.update(wanted));
  expect("cu", as.upsert(wanted));
  expect("d", as.remove(name));
  if (!is_authority) cluster_.remove_if_there(kind_name, name);
  expect("c", as.create(wanted));
  if (!is_authority) cluster_.remove_if_there(kind_name, name);
  // Whether something is there is not told to those who may not ask.
  const grpc::Status absent = as.get("nothing-of-this-name");
  expect_verdict(who, "get of nothing " + kind_name, letters.contains('g'), absent);
}

TEST_F(PermissionsOverGrpc, EveryCellOfResourcesIsWhatTheControllerDoes) {
  add_web_team();
  const PermissionTable table = table_under("Resources");
  ASSERT_EQ(table.size(), resource::kKindCount);
  for (const Kind kind : resource::KindSet::all().kinds()) {
    const auto& row = table.at(std::string(resource::info(kind).name));
    ASSERT_EQ(row.size() + 1, cluster_.all().size());
    for (const auto& [column, cell] : row) check_kind(cluster_.as(column), kind, cell);
    check_kind(cluster_.as("web-team"), kind, web_team_on(kind));
  }
}

TEST_F(PermissionsOverGrpc, EveryCellOfCallsIsWhatTheControllerDoes) {
  add_web_team();
  const PermissionTable table = table_under("Calls");
  std::set<std::string> rows;
  EveryCall calls(cluster_);
  for (const EveryCall::Rpc& rpc : EveryCall::all()) {
    rows.insert(rpc.row);
    for (const auto& [column, who] : cluster_.all()) {
      const std::string& cell = table.at(rpc.row).at(column == "web-team" ? "user" : column);
      const grpc::Status status = (calls.*rpc.run)(who);
      expect_verdict(who, rpc.method, cell == "yes", status);
      // A witness has nothing to announce: there is no kind for it.
      const bool absent = column == "witness" && rpc.method.contains("Presence");
      // A node renews only after it announced itself, which is told with a code of its own.
      const bool early = rpc.row == "Renew" && status.error_message().starts_with("HF5016");
      // This controller is on its own, and says so to whoever may ask.
      const bool unpaired =
          rpc.row == "PairControl" && (status.error_message().starts_with("HF4122") ||
                                       status.error_message().starts_with("HF4131"));
      const bool works = cell == "yes" && !absent && !early && !unpaired;
      if (works) EXPECT_TRUE(status.ok()) << column << " " << rpc.method << ": " << shown(status);
    }
  }
  // Served by one of a pair, and by a witness.
  rows.insert("Pair");
  rows.insert("Witness");
  EXPECT_EQ(rows.size(), table.size());
  EXPECT_EQ(rows.size(), static_cast<size_t>(identity::kCallCount));
}

TEST_F(PermissionsOverGrpc, LoadIsShownToWhoeverMayListServices) {
  add_web_team();
  const PermissionTable table = table_under("Resources");
  for (const auto& [column, who] : cluster_.all()) {
    const std::string cell =
        column == "web-team" ? web_team_on(Kind::Service) : table.at("service").at(column);
    const grpc::Status status =
        ask(v1::Load::NewStub(who.channel), &v1::Load::Stub::GetLoad, v1::GetLoadRequest());
    expect_verdict(who, "GetLoad", cell.contains('l'), status);
    if (cell.contains('l')) EXPECT_TRUE(status.ok()) << column << ": " << shown(status);
  }
}

TEST_F(PermissionsOverGrpc, EveryMethodThatIsServedIsInOneOfTheseTests) {
  std::set<std::string> tested = {"holdfast.v1.Events.Watch", "holdfast.v1.Load.GetLoad"};
  for (const char* method : {"Get", "List", "Create", "Update", "Upsert", "Delete"}) {
    tested.insert(std::string("holdfast.v1.Resources.") + method);
  }
  for (const EveryCall::Rpc& rpc : EveryCall::all()) tested.insert(rpc.method);
  grpc::Status status;
  std::set<std::string> served;
  for (const std::string& name : EveryCall::served(cluster_.as("local"), status)) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i)
      served.insert(service->method(i)->full_name());
  }

  EXPECT_TRUE(status.ok()) << shown(status);
  EXPECT_EQ(served, tested);
}

TEST_F(PermissionsOverGrpc, EveryCellOfSecretsIsWhatTheControllerDoes) {
  const PermissionTable table = table_under("Secrets");
  cluster_.upsert(thing(Kind::Token));
  for (const auto& [kind_name, row] : table) {
    const Kind kind = *resource::kind_named(kind_name);
    const std::string name = kind == Kind::CertAuthority ? "cluster"
                             : kind == Kind::User        ? "a-viewer"
                                                         : "thing";
    for (const auto& [column, cell] : row) {
      const ClusterCaller& who = cluster_.as(column);
      OnResources as(who, kind);
      expect_verdict(who, "get secrets " + kind_name, cell == "yes", as.get(name, true));
      expect_verdict(who, "list secrets " + kind_name, cell == "yes", as.list(true));
      expect_verdict(who, "watch secrets " + kind_name, cell == "yes", as.watch(true));
    }
  }
}

TEST_F(PermissionsOverGrpc, WhoeverDoesNotAskForSecretsGetsNone) {
  for (const char* column : {"controller", "admin", "local", "proxy"}) {
    OnResources users(cluster_.as(column), Kind::User);
    OnResources authorities(cluster_.as(column), Kind::CertAuthority);

    ASSERT_TRUE(users.get("a-viewer").ok()) << column;
    ASSERT_TRUE(authorities.list().ok()) << column;

    EXPECT_EQ(users.got.user().password_hash(), "") << column;
    EXPECT_EQ(authorities.listed.resources(0).cert_authority().keys(0).private_key_pem(), "");
  }
  OnResources controller(cluster_.as("controller"), Kind::CertAuthority);
  ASSERT_TRUE(controller.get("cluster", true).ok());
  EXPECT_NE(controller.got.cert_authority().keys(0).private_key_pem(), "");
}

TEST_F(PermissionsOverGrpc, NobodyActsForAnother) {
  v1::AnnounceRequest announce;
  *announce.mutable_resource() = resource::make_resource(Kind::Agent, "another");
  v1::GoodbyeRequest goodbye;
  goodbye.set_kind("agent");
  goodbye.set_name("another");
  for (const char* column : {"agent", "proxy", "controller", "witness"}) {
    const ClusterCaller& who = cluster_.as(column);
    using Stub = v1::Presence::Stub;
    expect_verdict(who, "announce another", false,
                   ask(v1::Presence::NewStub(who.channel), &Stub::Announce, announce));
    expect_verdict(who, "goodbye of another", false,
                   ask(v1::Presence::NewStub(who.channel), &Stub::Goodbye, goodbye));
  }
  v1::SetPasswordRequest password;
  password.set_user("a-admin");
  password.set_old_password(kPassword);
  password.set_new_password("taken over by me");
  for (const char* column : {"user", "viewer", "operator"}) {
    const ClusterCaller& who = cluster_.as(column);
    expect_verdict(
        who, "password of another", false,
        ask(v1::Identity::NewStub(who.channel), &v1::Identity::Stub::SetPassword, password));
  }
}

// Services by label: one of the team's, one of others', one of nobody's.
class PermissionsByLabel : public PermissionsOverGrpc {
 protected:
  PermissionsByLabel() {
    cluster_.upsert(role_of("web-owner", "glwcud", false));
    cluster_.add_user("web-owner", {"web-owner"});
    wait_for_roles("web-owner");
    cluster_.upsert(service("ours", "web"));
    cluster_.upsert(service("theirs", "db"));
    cluster_.upsert(service("bare", ""));
  }
  static v1::Resource service(const std::string& name, const std::string& team) {
    v1::Resource made = thing(Kind::Service);
    made.mutable_metadata()->set_name(name);
    (*made.mutable_metadata()->mutable_labels())["team"] = team;
    if (team.empty()) made.mutable_metadata()->clear_labels();
    return made;
  }
  const ClusterCaller& owner() const { return cluster_.as("web-owner"); }
  std::string team_of(const std::string& name) {
    OnResources admin(cluster_.as("admin"), Kind::Service);
    EXPECT_TRUE(admin.get(name).ok()) << name;
    const auto& labels = admin.got.metadata().labels();
    return labels.contains("team") ? labels.at("team") : "";
  }
};

TEST_F(PermissionsByLabel, OnlyWhatMatchesIsSeen) {
  OnResources as(owner(), Kind::Service);

  EXPECT_TRUE(as.list().ok());
  EXPECT_THAT(as.listed_names(), ElementsAre("ours"));
  EXPECT_TRUE(as.get("ours").ok());
  expect_verdict(owner(), "get theirs", false, as.get("theirs"));
  expect_verdict(owner(), "get bare", false, as.get("bare"));
}

TEST_F(PermissionsByLabel, AWatchShowsOnlyWhatMatches) {
  const auto stub = v1::Events::NewStub(owner().channel);
  v1::WatchRequest request;
  request.add_kinds()->set_kind("service");
  const auto context = patient();
  const auto stream = stub->Watch(context.get(), request);
  v1::WatchResponse response;
  ASSERT_TRUE(stream->Read(&response));

  cluster_.upsert(service("theirs", "db"));
  cluster_.upsert(service("bare", ""));
  cluster_.upsert(service("ours", "web"));
  cluster_.upsert(service("ours", "db"));
  cluster_.upsert(service("theirs", "db"));
  cluster_.upsert(service("last", "web"));
  std::vector<std::string> seen;
  while ((seen.empty() || seen.back() != "last") && stream->Read(&response)) {
    for (const v1::Event& event : response.events()) {
      const v1::Resource& resource = event.resource();
      if (event.type() == v1::EVENT_TYPE_PUT) seen.push_back(resource.metadata().name());
      // Of what does not match a watcher learns the name and that it changed, no more.
      if (event.type() == v1::EVENT_TYPE_PUT) continue;
      EXPECT_TRUE(resource.metadata().labels().empty());
      EXPECT_EQ(resource.service().ports_size(), 0);
    }
  }
  context->TryCancel();
  stream->Finish();

  EXPECT_THAT(seen, ElementsAre("ours", "last"));
}

TEST_F(PermissionsByLabel, AWatchOfOtherLabelsIsRefused) {
  const auto stub = v1::Events::NewStub(owner().channel);
  v1::WatchRequest request;
  request.add_kinds()->set_kind("service");
  (*request.mutable_kinds(0)->mutable_labels())["team"] = "db";
  const auto context = patient();
  const auto stream = stub->Watch(context.get(), request);

  expect_verdict(owner(), "watch team=db", false, outcome<v1::WatchResponse>(*context, *stream));
}

TEST_F(PermissionsByLabel, AServiceIsNotTakenOverByRelabellingIt) {
  OnResources as(owner(), Kind::Service);
  OnResources admin(cluster_.as("admin"), Kind::Service);
  for (const char* name : {"theirs", "bare"}) {
    const std::string team = team_of(name);
    v1::Resource taken = service(name, "web");

    expect_verdict(owner(), "update", false, as.update(taken));
    expect_verdict(owner(), "upsert", false, as.upsert(taken));
    ASSERT_TRUE(admin.get(name).ok());
    taken.mutable_metadata()->set_revision(admin.got.metadata().revision());
    expect_verdict(owner(), "update at its revision", false, as.update(taken));
    expect_verdict(owner(), "upsert at its revision", false, as.upsert(taken));
    expect_verdict(owner(), "delete", false, as.remove(name));
    EXPECT_EQ(as.create(service(name, "web")).error_code(), grpc::StatusCode::ALREADY_EXISTS);

    EXPECT_EQ(team_of(name), team);
  }
}

TEST_F(PermissionsByLabel, AServiceIsNotGivenAwayNorMadeForOthers) {
  OnResources as(owner(), Kind::Service);

  expect_verdict(owner(), "give away", false, as.update(service("ours", "db")));
  expect_verdict(owner(), "drop the label", false, as.upsert(service("ours", "")));
  expect_verdict(owner(), "make for others", false, as.create(service("new", "db")));
  expect_verdict(owner(), "make for nobody", false, as.upsert(service("new", "")));

  EXPECT_EQ(team_of("ours"), "web");
}

TEST_F(PermissionsByLabel, WhatMatchesIsTheirsToChange) {
  OnResources as(owner(), Kind::Service);

  EXPECT_TRUE(as.update(service("ours", "web")).ok());
  EXPECT_TRUE(as.upsert(service("ours", "web")).ok());
  EXPECT_TRUE(as.create(service("new", "web")).ok());
  EXPECT_TRUE(as.remove("ours").ok());

  EXPECT_TRUE(as.list().ok());
  EXPECT_THAT(as.listed_names(), ElementsAre("new"));
}

}  // namespace
}  // namespace holdfast::test
