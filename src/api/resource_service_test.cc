// What a change was allowed for must still be so when it is made: others write in between.
#include "api/resource_service.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <optional>

#include "api/faulty_store_fixture.h"
#include "base/check.h"
#include "store/memory_store.h"

namespace holdfast::api {
namespace {

using resource::Kind;

v1::Resource service_of(const std::string& team) {
  v1::Resource service = resource::make_resource(Kind::Service, "web");
  (*service.mutable_metadata()->mutable_labels())["team"] = team;
  v1::ServicePort& port = *service.mutable_service()->add_ports();
  port.set_port(80);
  port.set_protocol(v1::PROTOCOL_TCP);
  return service;
}

v1::WriteRequest write_of(const std::string& team) {
  v1::WriteRequest request;
  *request.mutable_resource() = service_of(team);
  return request;
}

identity::Roles owner_of_web_services() {
  v1::Role role;
  v1::Rule& rule = *role.add_rules();
  rule.add_kinds("service");
  for (const auto verb : {v1::VERB_CREATE, v1::VERB_UPDATE, v1::VERB_DELETE}) rule.add_verbs(verb);
  (*rule.mutable_service_labels())["team"] = "web";
  return {{"owner", role}};
}

class ResourceServiceTest : public testing::Test {
 protected:
  Caller owner() const {
    return {.identity = {.role = identity::Role::User, .name = "ann", .user_roles = {"owner"}},
            .permissions = std::make_shared<const identity::Permissions>(owner_of_web_services())};
  }
  template <typename T>
  T wait(asio::awaitable<T> work) {
    std::optional<T> result;
    asio::co_spawn(loop_, std::move(work), [&](const std::exception_ptr& thrown, T got) {
      HF_CHECK(thrown == nullptr, "nothing is thrown");
      result.emplace(std::move(got));
    });
    loop_.restart();
    loop_.run();
    return *std::move(result);
  }
  static std::vector<store::Operation> put_of(const std::string& team) {
    store::Operation put;
    put.key = resource::store_key(Kind::Service, "web");
    put.value = service_of(team).SerializeAsString();
    return {put};
  }
  // Another team writes the service as its own, after the caller's was looked at.
  void let_others_be_faster() {
    store_.before_commit = [this](const auto&) -> asio::awaitable<void> {
      const Result<store::Revision> written = co_await memory_.commit(put_of("db"));
      EXPECT_TRUE(written.ok()) << written.status();
    };
  }
  std::string stored_team() {
    const Result<store::Item> item = wait(memory_.get(resource::store_key(Kind::Service, "web")));
    if (!item.ok()) return "";
    return decode_item(*item)->metadata().labels().at("team");
  }

  asio::io_context loop_;
  ManualClock clock_;
  store::MemoryStore memory_{loop_.get_executor(), {}};
  FaultyStore store_{memory_};
  std::unique_ptr<AuditService> audit_ = *AuditService::open({}, clock_);
  Gate gate_{clock_, *audit_, {}};
  ResourceService service_{{store_, gate_, *audit_, clock_}, {}};
};

TEST_F(ResourceServiceTest, WhatMatchesMayBeWritten) {
  EXPECT_TRUE(wait(service_.create(owner(), write_of("web"))).ok());
  EXPECT_TRUE(wait(service_.update(owner(), write_of("web"))).ok());
  EXPECT_TRUE(wait(service_.upsert(owner(), write_of("web"))).ok());
  EXPECT_EQ(stored_team(), "web");
}

TEST_F(ResourceServiceTest, EveryPageSaysWhenItWasRead) {
  const Caller local{.identity = {.role = identity::Role::Local},
                     .permissions = std::make_shared<const identity::Permissions>()};
  for (const char* name : {"a", "b"}) {
    v1::WriteRequest request = write_of("web");
    request.mutable_resource()->mutable_metadata()->set_name(name);
    ASSERT_TRUE(wait(service_.create(local, request)).ok());
  }
  v1::ListRequest request;
  request.set_kind("service");
  request.set_page_size(1);

  const Result<v1::ListResponse> first = wait(service_.list(local, request));
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(wait(memory_.commit(put_of("web"))).ok());
  request.set_page_token(first->next_page_token());
  const Result<v1::ListResponse> second = wait(service_.list(local, request));
  ASSERT_TRUE(second.ok()) << second.status();

  EXPECT_EQ(first->page_revision(), first->revision());
  EXPECT_EQ(second->page_revision(), first->page_revision() + 1);
  EXPECT_EQ(first->up_to(), first->resources(first->resources_size() - 1).metadata().name());
  EXPECT_EQ(second->up_to(), "b") << "there is a third";
  EXPECT_EQ(second->revision(), first->revision()) << "of the whole listing";
}

TEST_F(ResourceServiceTest, AServiceThatWasNotThereIsNotTakenOverByAnUpdate) {
  let_others_be_faster();

  const Result<v1::Resource> updated = wait(service_.update(owner(), write_of("web")));

  EXPECT_EQ(updated.status().code(), absl::StatusCode::kNotFound) << updated.status();
  EXPECT_NE(stored_team(), "web");
}

TEST_F(ResourceServiceTest, AServiceThatWasNotThereIsNotTakenOverByAnUpsert) {
  let_others_be_faster();

  EXPECT_FALSE(wait(service_.upsert(owner(), write_of("web"))).ok());

  EXPECT_EQ(stored_team(), "db");
}

TEST_F(ResourceServiceTest, AServiceThatWasNotThereIsNotDeletedOnceItIsAnothers) {
  let_others_be_faster();
  v1::DeleteRequest request;
  request.set_kind("service");
  request.set_name("web");

  const Result<v1::DeleteResponse> removed = wait(service_.remove(owner(), request));

  EXPECT_EQ(removed.status().code(), absl::StatusCode::kNotFound) << removed.status();
}

TEST_F(ResourceServiceTest, AServiceThatBecameAnothersIsNotChanged) {
  ASSERT_TRUE(wait(memory_.commit(put_of("web"))).ok());
  let_others_be_faster();
  v1::DeleteRequest request;
  request.set_kind("service");
  request.set_name("web");

  EXPECT_FALSE(wait(service_.update(owner(), write_of("web"))).ok());
  EXPECT_EQ(stored_team(), "db");
  ASSERT_TRUE(wait(memory_.commit(put_of("web"))).ok());
  EXPECT_FALSE(wait(service_.remove(owner(), request)).ok());
  EXPECT_EQ(stored_team(), "db");
}

}  // namespace
}  // namespace holdfast::api
