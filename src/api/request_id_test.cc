// A write with a request id is applied once and answered the same each time, whoever carries it out
// and whatever is lost on the way.
#include "api/request_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "api/faulty_store_fixture.h"
#include "api/feed_service.h"
#include "api/resource_service.h"
#include "base/check.h"
#include "base/reason.h"
#include "base/rng.h"
#include "store/memory_store.h"
#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using resource::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kId = "0123456789-abcdef_ABCDEF";

v1::Resource service(const std::string& name, const std::string& description = {}) {
  v1::Resource made = resource::make_resource(Kind::Service, name);
  made.mutable_metadata()->set_description(description);
  v1::ServicePort& port = *made.mutable_service()->add_ports();
  port.set_port(80);
  port.set_protocol(v1::PROTOCOL_TCP);
  return made;
}

v1::WriteRequest writing(v1::Resource resource, const std::string& id = kId) {
  v1::WriteRequest request;
  *request.mutable_resource() = std::move(resource);
  request.set_request_id(id);
  return request;
}

v1::DeleteRequest deleting(const std::string& name, const std::string& id = kId) {
  v1::DeleteRequest request;
  request.set_kind("service");
  request.set_name(name);
  request.set_request_id(id);
  return request;
}

Caller caller_of(identity::Role role, const std::string& name = {}) {
  return {.identity = {.role = role, .name = name, .user_roles = {"admin"}},
          .permissions = std::make_shared<const identity::Permissions>()};
}

// A controller's part: its own way to the store that all share.
struct Part {
  Part(store::Store& shared, const Clock& clock, const AuditOptions& options = {})
      : store(shared),
        audit(*AuditService::open(options, clock)),
        gate(clock, *audit, {}),
        resources({store, gate, *audit, clock}, {}) {}
  FaultyStore store;
  std::unique_ptr<AuditService> audit;
  Gate gate;
  ResourceService resources;
};

class RequestIdTest : public testing::Test {
 protected:
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
  store::Revision latest() { return wait(memory_.range({}))->revision; }
  // What watchers of any kind have seen: "web@2 first", "web@3 deleted".
  std::vector<std::string> events() {
    const auto watch = *wait(memory_.watch({}, 1));
    std::vector<std::string> seen;
    while (watch->reached() < latest()) {
      const auto changes = wait(watch->next());
      for (const store::Change& change : *changes) {
        const std::optional<events::Event> event = *to_event(change);
        if (!event) continue;
        const bool deleted = event->type == v1::EVENT_TYPE_DELETE;
        seen.push_back(event->name + "@" + std::to_string(event->revision) + " " +
                       (deleted ? "deleted" : decode_item(change.item)->metadata().description()));
      }
    }
    return seen;
  }
  void pass(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(wait(memory_.expire(clock_.wall_now(), 100)).ok());
  }

  asio::io_context loop_;
  ManualClock clock_;
  store::MemoryStore memory_{loop_.get_executor(), {}};
  Part one_{memory_, clock_};
  Part two_{memory_, clock_};
  const Caller local_ = caller_of(identity::Role::Local);
};

TEST_F(RequestIdTest, AWriteThatIsSentAgainIsAnsweredAsTheFirstWas) {
  using Method =
      asio::awaitable<Result<v1::Resource>> (ResourceService::*)(Caller, v1::WriteRequest);
  const std::pair<Method, std::string> calls[] = {{&ResourceService::create, "create"},
                                                  {&ResourceService::update, "update"},
                                                  {&ResourceService::upsert, "upsert"}};
  for (const auto& [method, verb] : calls) {
    const v1::WriteRequest request = writing(service("web", verb), "0123456789-" + verb);

    const auto first = wait((one_.resources.*method)(local_, request));
    const auto again = wait((two_.resources.*method)(local_, request));

    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  }
  EXPECT_THAT(events(), ElementsAre("web@2 create", "web@3 update", "web@4 upsert"));
  EXPECT_EQ(latest(), 4) << "a record takes no revision of its own";
  EXPECT_EQ(two_.resources.stats().repeated, 3U);
  EXPECT_EQ(one_.resources.stats().repeated, 0U);
}

TEST_F(RequestIdTest, ADeleteThatIsSentAgainIsAnsweredAsTheFirstWas) {
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(service("web"), ""))).ok());

  const auto first = wait(one_.resources.remove(local_, deleting("web")));
  const auto again = wait(two_.resources.remove(local_, deleting("web")));

  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->revision(), first->revision());
  EXPECT_EQ(first->revision(), 3);
  EXPECT_EQ(latest(), 3);
}

TEST_F(RequestIdTest, TheAnswerIsOfThenWhateverHappenedSince) {
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(service("web", "first")))).ok());
  ASSERT_TRUE(wait(one_.resources.update(local_, writing(service("web", "second"), ""))).ok());
  ASSERT_TRUE(wait(one_.resources.remove(local_, deleting("web", ""))).ok());

  const auto again = wait(two_.resources.create(local_, writing(service("web", "first"))));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metadata().revision(), 2);
  EXPECT_EQ(again->metadata().description(), "first");
  EXPECT_EQ(latest(), 4);
}

TEST_F(RequestIdTest, AnIdStandsForOneRequestOfOneCaller) {
  ASSERT_TRUE(wait(one_.resources.upsert(local_, writing(service("web", "first")))).ok());
  const Caller admin = caller_of(identity::Role::User, "ann");

  const Status refused[] = {
      wait(one_.resources.upsert(local_, writing(service("web", "second")))).status(),
      wait(one_.resources.update(local_, writing(service("web", "first")))).status(),
      wait(one_.resources.remove(local_, deleting("web"))).status(),
      wait(two_.resources.upsert(admin, writing(service("web", "first")))).status()};

  for (const Status& status : refused) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(split_reason(status).code, "HF6024");
  }
  EXPECT_EQ(latest(), 2);
}

TEST_F(RequestIdTest, TheOrderOfLabelsIsNoDifference) {
  v1::Resource labelled = service("web");
  v1::Resource backwards = service("web");
  for (int i = 0; i < 20; ++i) {
    (*labelled.mutable_metadata()->mutable_labels())["l" + std::to_string(i)] = "v";
    (*backwards.mutable_metadata()->mutable_labels())["l" + std::to_string(19 - i)] = "v";
  }

  ASSERT_TRUE(wait(one_.resources.create(local_, writing(labelled))).ok());

  EXPECT_TRUE(wait(two_.resources.create(local_, writing(backwards))).ok());
}

TEST_F(RequestIdTest, AKindThatIsLeftOutIsNoDifference) {
  v1::Resource bare = service("web");
  bare.clear_kind();

  ASSERT_TRUE(wait(one_.resources.create(local_, writing(service("web")))).ok());
  const auto again = wait(two_.resources.create(local_, writing(bare)));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metadata().revision(), 2);
}

// One controller freezes after it looked for the record; meanwhile the other applies the write, its
// record is forgotten, and someone else changes the resource.
TEST_F(RequestIdTest, AWriteThatTookTooLongIsNotAppliedASecondTime) {
  const v1::Resource user = resource::make_resource(Kind::User, "ann");
  v1::Resource viewer = user;
  viewer.mutable_user()->add_roles("viewer");
  v1::Resource admin = user;
  admin.mutable_user()->add_roles("admin");
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(user, ""))).ok());
  int reads = 0;
  one_.store.dawdle = [&]() -> asio::awaitable<void> {
    if (++reads != 2) co_return;  // the first is for the record, this one for the user
    EXPECT_TRUE((co_await two_.resources.update(local_, writing(viewer))).ok());
    clock_.advance(kRequestMemory + std::chrono::seconds(1));
    EXPECT_TRUE((co_await memory_.expire(clock_.wall_now(), 100)).ok());
    EXPECT_TRUE((co_await two_.resources.update(local_, writing(admin, ""))).ok());
  };

  const auto late = wait(one_.resources.update(local_, writing(viewer)));

  EXPECT_TRUE(absl::IsUnavailable(late.status())) << late.status();
  EXPECT_THAT(std::string(late.status().message()), HasSubstr("repeat it"));
  EXPECT_EQ(one_.store.commits, 1) << "the create";
  EXPECT_EQ(decode_item(*wait(memory_.get("/user/ann")))->user().roles(0), "admin");
}

TEST_F(RequestIdTest, AWriteThatTookAMinuteIsApplied) {
  v1::Resource user = resource::make_resource(Kind::User, "ann");
  one_.store.dawdle = [&]() -> asio::awaitable<void> {
    clock_.advance(kMaxCommitDelay / 2);
    co_return;
  };

  EXPECT_TRUE(wait(one_.resources.upsert(local_, writing(user))).ok());
}

TEST_F(RequestIdTest, AnIdHasAForm) {
  for (const std::string& id : {std::string("short"), std::string(15, 'a'), std::string(65, 'a'),
                                std::string("0123456789abcdef/"), std::string("0123456789 abcdef"),
                                std::string("0123456789abcdef\0", 17)}) {
    const auto written = wait(one_.resources.create(local_, writing(service("web"), id)));
    EXPECT_TRUE(absl::IsInvalidArgument(written.status())) << written.status();
    EXPECT_TRUE(
        absl::IsInvalidArgument(wait(one_.resources.remove(local_, deleting("web", id))).status()));
  }
  EXPECT_EQ(latest(), 1);
  for (const std::string& id : {std::string(16, 'a'), std::string(64, 'Z')}) {
    EXPECT_TRUE(wait(one_.resources.upsert(local_, writing(service("web"), id))).ok());
  }
}

TEST_F(RequestIdTest, AWriteThatFailedLeavesNoRecord) {
  const v1::WriteRequest update = writing(service("web"));
  EXPECT_TRUE(absl::IsNotFound(wait(one_.resources.update(local_, update)).status()));
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(service("web"), ""))).ok());

  const auto again = wait(one_.resources.update(local_, update));

  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metadata().revision(), 3) << "applied now";
}

TEST_F(RequestIdTest, AnIdIsForgottenAfterTenMinutesAndNotBefore) {
  ASSERT_TRUE(wait(one_.resources.upsert(local_, writing(service("web")))).ok());

  pass(kRequestMemory - std::chrono::seconds(1));
  EXPECT_EQ(wait(one_.resources.upsert(local_, writing(service("web"))))->metadata().revision(), 2);
  pass(std::chrono::seconds(2));
  const auto late = wait(one_.resources.upsert(local_, writing(service("web"))));

  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_EQ(late->metadata().revision(), 4) << "after the expiry of the record, at 3";
  EXPECT_TRUE(absl::IsNotFound(wait(memory_.get("/request/none")).status()));
}

TEST_F(RequestIdTest, RecordsAreNoResources) {
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(service("web")))).ok());

  const auto record = wait(memory_.get(std::string(kRequestPrefix) + kId));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(resource::parse_store_key(record->key), std::nullopt);
  EXPECT_EQ(resource::kind_named("request"), std::nullopt);
  EXPECT_EQ(events().size(), 1U);
  for (const resource::KindInfo& info : resource::all_kinds()) {
    v1::ListRequest request;
    request.set_kind(std::string(info.name));
    const auto listed = wait(one_.resources.list(local_, request));
    ASSERT_TRUE(listed.ok()) << info.name << listed.status();
    EXPECT_EQ(listed->resources_size(), info.name == "service" ? 1 : 0) << info.name;
  }
}

TEST_F(RequestIdTest, WhoMayNoLongerWriteIsNotAnswered) {
  const auto roles = [](v1::Verb verb) {
    v1::Role role;
    role.add_rules()->add_kinds("service");
    role.mutable_rules(0)->add_verbs(verb);
    return identity::Roles{{"maker", role}};
  };
  Caller ann{.identity = {.role = identity::Role::User, .name = "ann", .user_roles = {"maker"}}};
  ann.permissions = std::make_shared<const identity::Permissions>(roles(v1::VERB_CREATE));
  ASSERT_TRUE(wait(one_.resources.create(ann, writing(service("web")))).ok());

  ann.permissions = std::make_shared<const identity::Permissions>(roles(v1::VERB_GET));
  const auto again = wait(one_.resources.create(ann, writing(service("web"))));

  EXPECT_TRUE(absl::IsPermissionDenied(again.status())) << again.status();
}

TEST_F(RequestIdTest, SecretsAreInNoAnswer) {
  v1::Resource user = resource::make_resource(Kind::User, "ann");
  user.mutable_user()->set_password_hash("scrypt$secret");
  ASSERT_TRUE(wait(one_.resources.create(local_, writing(user, ""))).ok());
  v1::Resource changed = resource::make_resource(Kind::User, "ann");
  changed.mutable_user()->add_roles("viewer");

  const auto first = wait(one_.resources.update(local_, writing(changed)));
  const auto again = wait(two_.resources.update(local_, writing(changed)));

  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), first->SerializeAsString());
  EXPECT_EQ(again->user().password_hash(), "");
  const auto stored = decode_item(*wait(memory_.get("/user/ann")));
  EXPECT_EQ(stored->user().password_hash(), "scrypt$secret");
}

TEST_F(RequestIdTest, ALostAnswerIsFoundByTheRepetition) {
  one_.store.lose_answer = [] { return true; };

  const auto first = wait(one_.resources.create(local_, writing(service("web", "once"))));
  const auto again = wait(two_.resources.create(local_, writing(service("web", "once"))));

  EXPECT_TRUE(absl::IsUnavailable(first.status())) << first.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->metadata().revision(), 2);
  EXPECT_THAT(events(), ElementsAre("web@2 once"));
}

TEST_F(RequestIdTest, TheAuditHasOneLineForAWriteThatWasApplied) {
  const test::TempDir folder;
  Part audited(memory_, clock_, {.path = folder.file("audit.log")});
  ASSERT_TRUE(wait(audited.resources.create(local_, writing(service("web")))).ok());
  ASSERT_TRUE(wait(audited.resources.create(local_, writing(service("web")))).ok());
  EXPECT_EQ(audited.audit->stats().lines, 1U);

  audited.store.lose_answer = [] { return true; };
  const std::string other = "another-0123456789";
  EXPECT_FALSE(wait(audited.resources.remove(local_, deleting("web", other))).ok());
  EXPECT_TRUE(wait(audited.resources.remove(local_, deleting("web", other))).ok());

  EXPECT_EQ(audited.audit->stats().lines, 2U) << "also of one whose answer was lost";
  std::ifstream file(folder.file("audit.log"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, HasSubstr("\"code\":\"HF1021\""));
}

// Clients that each make, change and delete their own service, sending every write to both
// controllers, one after the other or at once, until one of them has a definite answer.
class Interleaving {
 public:
  Interleaving(asio::io_context& loop, Part& one, Part& two, uint64_t seed)
      : loop_(loop), parts_{&one, &two}, rng_(seed) {
    for (Part* part : parts_) {
      part->store.dawdle = [this] { return dawdle(); };
      part->store.lose_answer = [this] { return rng_.next() % 3 == 0; };
    }
  }

  asio::awaitable<void> client(std::string name) {
    for (const char* description : {"created", "updated"}) {
      const bool first = std::string_view(description) == "created";
      const auto method = first ? &ResourceService::create : &ResourceService::update;
      const auto request =
          writing(service(name, description), "0123456789-" + name + "-" + description);
      co_await until_answered([this, method, request](Part& part) -> asio::awaitable<Status> {
        const auto written = co_await (part.resources.*method)(caller_, request);
        if (written.ok()) note(request.request_id(), written->SerializeAsString());
        co_return written.status();
      });
    }
    const auto request = deleting(name, "0123456789-" + name + "-deleted");
    co_await until_answered([this, request](Part& part) -> asio::awaitable<Status> {
      const auto removed = co_await part.resources.remove(caller_, request);
      if (removed.ok()) note(request.request_id(), removed->SerializeAsString());
      co_return removed.status();
    });
  }
  bool still_runs() const { return running_ > 0; }

 private:
  using Send = std::function<asio::awaitable<Status>(Part&)>;

  asio::awaitable<void> dawdle() {
    for (uint64_t turns = rng_.next() % 4; turns > 0; --turns) {
      co_await asio::post(loop_, asio::use_awaitable);
    }
  }
  asio::awaitable<void> until_answered(Send send) {
    for (bool answered = false; !answered;) {
      // A twin that nobody waits for.
      if (rng_.next() % 2 == 0) start_twin(send);
      const Status status = co_await send(*parts_[rng_.next() % 2]);
      EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
      answered = !absl::IsUnavailable(status);
    }
  }
  // Keeps what it sends.
  static asio::awaitable<Status> send_to(Send send, Part& part) { co_return co_await send(part); }
  void start_twin(const Send& send) {
    running_ += 1;
    asio::co_spawn(loop_, send_to(send, *parts_[rng_.next() % 2]),
                   [this](const std::exception_ptr& thrown, const Status& status) {
                     HF_CHECK(thrown == nullptr, "nothing is thrown");
                     EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
                     running_ -= 1;
                   });
  }
  void note(const std::string& id, const std::string& answer) {
    const auto [at, added] = answers_.emplace(id, answer);
    EXPECT_EQ(at->second, answer) << id;
  }

  asio::io_context& loop_;
  Part* parts_[2];
  Rng rng_;
  const Caller caller_ = caller_of(identity::Role::Local);
  std::map<std::string, std::string> answers_;
  int running_ = 0;
};

TEST_F(RequestIdTest, TwinsThroughTwoControllersAreAppliedOnceWhateverIsLost) {
  constexpr int kClients = 4;
  uint64_t repeated = 0;
  for (uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const store::Revision before = latest();
    Interleaving interleaving(loop_, one_, two_, seed);
    for (int i = 0; i < kClients; ++i) {
      const std::string name = "s" + std::to_string(seed) + "-" + std::to_string(i);
      asio::co_spawn(loop_, interleaving.client(name), [](const std::exception_ptr& thrown) {
        HF_CHECK(thrown == nullptr, "nothing is thrown");
      });
    }
    loop_.restart();
    loop_.run();

    EXPECT_FALSE(interleaving.still_runs());
    EXPECT_EQ(latest() - before, kClients * 3) << "made, changed and deleted, each once";
    repeated = one_.resources.stats().repeated + two_.resources.stats().repeated;
  }
  EXPECT_GT(repeated, 200U) << "the twins met";
}

}  // namespace
}  // namespace holdfast::api
