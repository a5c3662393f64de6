#include "api/presence_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <set>

#include "api/faulty_store_fixture.h"
#include "api/resource_service.h"
#include "base/reason.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/store_contract_fixture.h"
#include "support/temp_dir.h"

namespace holdfast::api {
namespace {

using namespace std::chrono_literals;
using health::NodeCounts;
using health::NodeKind;
using testing::HasSubstr;

constexpr Duration kTtl = 60s;
const std::string kPin = "sha256:" + std::string(64, 'a');

v1::AnnounceRequest agent(const std::string& name) {
  v1::AnnounceRequest request;
  request.mutable_resource()->mutable_metadata()->set_name(name);
  request.mutable_resource()->mutable_agent()->set_zone("a");
  request.add_trusted_pins(kPin);
  request.set_issuer_pin(kPin);
  return request;
}
// The same name, by the process that started then.
v1::AnnounceRequest agent(const std::string& name, int64_t started) {
  v1::AnnounceRequest request = agent(name);
  request.mutable_resource()->mutable_agent()->mutable_started()->set_seconds(started);
  return request;
}
std::string code_of(const Status& status) {
  return std::string(split_reason(status).code);
}

// Time stands still until a test lets it pass; only batches and time-outs take real milliseconds.
class PresenceTest : public testing::TestWithParam<bool> {
 protected:
  PresenceTest() {
    if (!GetParam()) {
      inner_ =
          std::make_unique<store::MemoryStore>(io_.get_executor(), store::MemoryStoreOptions{});
      return;
    }
    auto opened = store::SqliteStore::open(io_.get_executor(), {.path = dir_.file("store.db")});
    HF_CHECK(opened.ok(), opened.status().ToString());
    inner_ = *std::move(opened);
  }
  void SetUp() override { start(presence_, defaults()); }
  void TearDown() override {
    for (auto& service : services_) stop(*service);
  }

  static PresenceOptions defaults() {
    PresenceOptions options;
    options.agent_ttl = {.ttl = kTtl, .max_ttl = kTtl};
    options.batches.max_delay = 2ms;
    options.tick = 1ms;
    options.table.stall = 24h;
    options.heartbeat_write_timeout = 20s;
    options.follow.backoff = {.first = 1ms, .cap = 2ms};
    return options;
  }
  void start(PresenceService*& service, PresenceOptions options, PresenceHooks hooks = {}) {
    services_.push_back(std::make_unique<PresenceService>(io_.get_executor(), store(), clock_,
                                                          options, std::move(hooks)));
    service = services_.back().get();
    service->start();
    until([&] { return service->in_step(); });
  }
  void restart(PresenceOptions options, PresenceHooks hooks = {}) {
    stop(*presence_);
    services_.clear();
    start(presence_, options, std::move(hooks));
  }
  void stop(PresenceService& service) {
    bool stopped = false;
    asio::co_spawn(io_, service.stop(), [&](const std::exception_ptr&) { stopped = true; });
    until([&] { return stopped; });
  }

  FaultyStore& store() {
    if (!store_) store_ = std::make_unique<FaultyStore>(*inner_);
    return *store_;
  }
  void until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      io_.restart();
      io_.run_one_until(std::chrono::steady_clock::now() + 5ms);
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it never comes true";
    }
  }
  // What happens by itself in a few dozen ticks.
  void settle() {
    io_.restart();
    io_.run_for(60ms);
  }
  void pass(Duration duration) {
    clock_.advance(duration);
    settle();
  }

  Result<v1::AnnounceResponse> announce(const v1::AnnounceRequest& request) {
    return store::run(io_, presence_->announce(request, WallTime(1'800'000'000s)));
  }
  // Begun, not awaited.
  void announce_later(const v1::AnnounceRequest& request) {
    asio::co_spawn(io_, presence_->announce(request, {}),
                   [this](std::exception_ptr, Result<v1::AnnounceResponse> response) {
                     answers_.push_back(response.status());
                   });
  }
  Status goodbye(const std::string& kind, const std::string& name, int64_t started = 0) {
    v1::GoodbyeRequest request;
    request.set_kind(kind);
    request.set_name(name);
    if (started != 0) request.mutable_started()->set_seconds(started);
    return store::run(io_, presence_->goodbye(request)).status();
  }
  std::optional<v1::Resource> stored(const std::string& name) {
    const Result<store::Item> item = store::run(io_, inner_->get("/agent/" + name));
    if (!item.ok()) return std::nullopt;
    return *decode_item(*item);
  }
  bool is_offline(const std::string& name) {
    const std::optional<v1::Resource> found = stored(name);
    return found && found->agent().announcement().has_offline_since();
  }

  test::TempDir dir_;
  asio::io_context io_;
  ManualClock clock_;
  std::unique_ptr<store::Store> inner_;
  std::unique_ptr<FaultyStore> store_;
  std::vector<Status> writes_;  // outlives the services that report to it
  std::vector<std::unique_ptr<PresenceService>> services_;
  PresenceService* presence_ = nullptr;
  std::vector<Status> answers_;
};

TEST_P(PresenceTest, AnAnnouncementIsStoredWithWhatTheControllerAdds) {
  v1::AnnounceRequest request = agent("e1");
  (*request.mutable_resource()->mutable_metadata()->mutable_labels())["rack"] = "7";
  request.mutable_resource()->mutable_metadata()->set_description("by the door");
  request.mutable_resource()->mutable_metadata()->set_revision(99);
  request.mutable_resource()->mutable_agent()->mutable_announcement()->mutable_offline_since();
  request.mutable_resource()->mutable_agent()->mutable_last_heartbeat()->set_seconds(5);
  const WallTime now = clock_.wall_now();

  const Result<v1::AnnounceResponse> response = announce(request);

  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->ttl().seconds(), 60);
  EXPECT_GE(response->next_in().seconds(), 30);
  EXPECT_LT(response->next_in().seconds(), 36);
  const std::optional<v1::Resource> entry = stored("e1");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(response->revision(), entry->metadata().revision());
  EXPECT_EQ(entry->kind(), "agent");
  EXPECT_EQ(entry->metadata().labels().at("rack"), "7");
  EXPECT_EQ(entry->metadata().description(), "by the door");
  EXPECT_EQ(entry->metadata().expires().seconds(), to_timestamp(now + 24h + 60s).seconds());
  EXPECT_EQ(entry->agent().last_heartbeat().seconds(), to_timestamp(now).seconds());
  const v1::Announcement& announcement = entry->agent().announcement();
  EXPECT_EQ(announcement.ttl().seconds(), 60);
  EXPECT_FALSE(announcement.has_offline_since());
  EXPECT_THAT(announcement.trusted_pins(), testing::ElementsAre(kPin));
  EXPECT_EQ(announcement.issuer_pin(), kPin);
  EXPECT_EQ(announcement.certificate_expires().seconds(), 1'800'000'000);
}

TEST_P(PresenceTest, TheHookSeesTheRequestAndFillsTheAnswer) {
  restart(defaults(),
          {.fill_response = [](const v1::AnnounceRequest& request, v1::AnnounceResponse& response) {
            response.set_renew_certificate(request.issuer_pin() == kPin);
            response.set_ca_pem("authorities");
          }});

  const Result<v1::AnnounceResponse> response = announce(agent("e1"));

  EXPECT_TRUE(response->renew_certificate());
  EXPECT_EQ(response->ca_pem(), "authorities");
}

TEST_P(PresenceTest, ManyAnnouncementsAreFewCommits) {
  std::vector<size_t> sizes;
  store().before_commit = [&](const auto& operations) -> asio::awaitable<void> {
    sizes.push_back(operations.size());
    co_return;
  };
  for (int i = 0; i < 350; ++i) announce_later(agent("e" + std::to_string(i)));
  until([&] { return answers_.size() == 350; });

  for (const Status& status : answers_) EXPECT_TRUE(status.ok()) << status;
  EXPECT_LE(sizes.size(), 6u);
  EXPECT_LE(*std::ranges::max_element(sizes), 100u);
  until([&] { return presence_->counts(NodeKind::Agent).online == 350; });
  EXPECT_EQ(presence_->stats().written, 350u);
}

TEST_P(PresenceTest, RefusesWhatNoNodeMaySay) {
  v1::AnnounceRequest service;
  service.mutable_resource()->mutable_metadata()->set_name("web");
  service.mutable_resource()->mutable_service();
  v1::AnnounceRequest nameless = agent("");
  v1::AnnounceRequest strange_pin = agent("e1");
  strange_pin.set_issuer_pin("md5:1");
  v1::AnnounceRequest large = agent("e2");
  for (int i = 0; i < 100; ++i) {
    v1::ExposedService& exposed = *large.mutable_resource()->mutable_agent()->add_services();
    exposed.set_service("s" + std::to_string(i));
    exposed.set_reason(std::string(1'000, 'x'));
  }

  for (const auto& request : {v1::AnnounceRequest(), service, nameless, strange_pin, large}) {
    EXPECT_EQ(announce(request).status().code(), absl::StatusCode::kInvalidArgument)
        << request.ShortDebugString().substr(0, 200);
  }
  EXPECT_TRUE(announce(agent("good")).ok());
}

TEST_P(PresenceTest, ASilentNodeIsOfflineSinceItsDeadlineAndOnlineWhenItReturns) {
  const WallTime start = clock_.wall_now();
  ASSERT_TRUE(announce(agent("silent")).ok());
  ASSERT_TRUE(announce(agent("steady")).ok());
  pass(30s);
  ASSERT_TRUE(announce(agent("steady")).ok());
  pass(29'999ms);
  EXPECT_FALSE(is_offline("silent"));

  pass(301ms);
  until([&] { return presence_->counts(NodeKind::Agent).offline == 1; });

  ASSERT_TRUE(is_offline("silent"));
  const v1::Resource entry = *stored("silent");
  EXPECT_EQ(entry.agent().announcement().offline_since().seconds(),
            to_timestamp(start + 60s).seconds());
  EXPECT_EQ(entry.agent().announcement().offline_since().nanos(), to_timestamp(start).nanos());
  EXPECT_EQ(entry.agent().zone(), "a") << "all else stays as it was";
  EXPECT_EQ(entry.metadata().expires().seconds(), to_timestamp(start + 24h + 60s).seconds());
  EXPECT_FALSE(is_offline("steady"));

  ASSERT_TRUE(announce(agent("silent")).ok());
  EXPECT_FALSE(is_offline("silent"));
  until([&] { return presence_->counts(NodeKind::Agent) == NodeCounts{.online = 2}; });
}

TEST_P(PresenceTest, WhoDoesNotHoldTheTaskMarksNobodyUntilItDoes) {
  // The service ticks on until it is taken down, after this test's own variables are gone.
  const auto ours = std::make_shared<bool>(false);
  using Checks = std::optional<std::vector<store::Operation>>;
  restart(defaults(), {.mark_checks = [ours]() -> Checks {
            return *ours ? Checks(std::vector<store::Operation>()) : std::nullopt;
          }});
  ASSERT_TRUE(announce(agent("e1")).ok());

  pass(kTtl);
  EXPECT_FALSE(is_offline("e1"));

  *ours = true;
  until([&] { return is_offline("e1"); });
}

TEST_P(PresenceTest, AMarkWhoseCheckFailsIsNotWritten) {
  using Checks = std::optional<std::vector<store::Operation>>;
  restart(defaults(), {.mark_checks = []() -> Checks {
            return {{{.type = store::Operation::Type::Check,
                      .key = "/ha/tasks",
                      .precondition = store::Precondition::Revision,
                      .revision = 7}}};
          }});
  ASSERT_TRUE(announce(agent("e1")).ok());

  pass(kTtl);
  until([&] { return presence_->stats().lost_races > 0; });

  EXPECT_FALSE(is_offline("e1"));
  EXPECT_EQ(presence_->stats().marked_offline, 0u);
}

TEST_P(PresenceTest, MarksAreNoMoreAtOnceThanACommitMayBe) {
  PresenceOptions options = defaults();
  options.batches.max_bytes = 1;
  restart(options);
  for (const char* name : {"e1", "e2", "e3"}) EXPECT_TRUE(announce(agent(name)).ok());

  pass(kTtl + 1s);
  until([&] { return presence_->counts(NodeKind::Agent).offline == 3; });

  std::set<int64_t> revisions;
  for (const char* name : {"e1", "e2", "e3"}) revisions.insert(stored(name)->metadata().revision());
  EXPECT_EQ(revisions.size(), 3u);
}

TEST_P(PresenceTest, AnOfflineEntryIsRemovedWhenItsTimeIsOver) {
  ASSERT_TRUE(announce(agent("e1")).ok());
  pass(kTtl);
  until([&] { return is_offline("e1"); });
  clock_.advance(24h);
  ASSERT_TRUE(store::run(io_, inner_->expire(clock_.wall_now(), 10)).ok());

  until([&] { return presence_->counts(NodeKind::Agent) == NodeCounts{}; });
  EXPECT_FALSE(stored("e1").has_value());
}

TEST_P(PresenceTest, AGoodbyeRemovesTheEntryAtOnce) {
  ASSERT_TRUE(announce(agent("e1")).ok());

  EXPECT_TRUE(goodbye("agent", "e1").ok());
  EXPECT_TRUE(goodbye("agent", "never there").code() == absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(goodbye("agent", "never-there").ok());
  EXPECT_EQ(goodbye("service", "web").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(goodbye("agent", "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(stored("e1").has_value());
  until([&] { return presence_->counts(NodeKind::Agent) == NodeCounts{}; });
}

TEST_P(PresenceTest, TheGoodbyeOfACopyLeavesTheEntryOfWhoIsThere) {
  ASSERT_TRUE(announce(agent("e1", 100)).ok());
  pass(10s);
  ASSERT_TRUE(announce(agent("e1", 200)).ok());

  EXPECT_TRUE(goodbye("agent", "e1", 200).ok());
  EXPECT_TRUE(stored("e1").has_value()) << "the first one may be there";
  EXPECT_EQ(presence_->stats().kept_goodbyes, 1u);

  pass(10s);
  ASSERT_TRUE(announce(agent("e1", 100)).ok());
  EXPECT_TRUE(goodbye("agent", "e1", 200).ok()) << "and whoever left cannot do it later";
  EXPECT_TRUE(stored("e1").has_value());
  EXPECT_TRUE(goodbye("agent", "e1", 100).ok());
  EXPECT_FALSE(stored("e1").has_value());
}

TEST_P(PresenceTest, TwoProcessesWithOneNameAreToldInTheEntryUntilThereIsOne) {
  const auto announced_code = [this](int64_t started) {
    pass(10s);
    EXPECT_TRUE(announce(agent("e1", started)).ok());
    return stored("e1")->agent().code();
  };
  EXPECT_EQ(announced_code(100), "");
  EXPECT_EQ(announced_code(200), "") << "it may have been restarted";

  EXPECT_EQ(announced_code(100), "HF1108");
  EXPECT_THAT(stored("e1")->agent().reason(), HasSubstr("started 1970-01-01T00:03:20"));
  EXPECT_EQ(announced_code(200), "HF1108");
  EXPECT_EQ(announced_code(200), "HF1108");
  EXPECT_EQ(presence_->stats().doubled, 3u);

  pass(2 * kTtl);
  EXPECT_EQ(announced_code(200), "");
}

TEST_P(PresenceTest, AHungStoreIsAnErrorInTimeAndDoesNotPileUp) {
  PresenceOptions options = defaults();
  options.heartbeat_write_timeout = 40ms;
  std::vector<Status>& writes = writes_;
  restart(options, {.on_write = [&](const Status& status) { writes.push_back(status); }});
  store().freeze(io_.get_executor());
  for (int i = 0; i < 500; ++i) announce_later(agent("e" + std::to_string(i)));
  until([&] { return answers_.size() == 500; });

  for (const Status& status : answers_) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(code_of(status), "HF1101");
  }
  EXPECT_LE(store().hanging, 2);
  EXPECT_EQ(presence_->stats().timed_out, 500u);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(code_of(writes.back()), "HF1101");

  store().thaw();
  until([&] { return store().hanging == 0; });
  settle();
  // A busy machine may take longer than the timeout once or twice.
  until([&] { return announce(agent("e1")).ok() && writes.back().ok(); });
}

TEST_P(PresenceTest, AStoreThatFailsIsReportedAndNobodyElseIsBlamed) {
  std::vector<Status>& writes = writes_;
  restart(defaults(), {.on_write = [&](const Status& status) { writes.push_back(status); }});
  ASSERT_TRUE(announce(agent("e1")).ok());
  pass(50s);
  store().failure = absl::UnavailableError("no quorum");

  const Status status = announce(agent("e2")).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_of(status), "HF1101");
  EXPECT_THAT(std::string(status.message()), HasSubstr("no quorum"));
  EXPECT_FALSE(writes.back().ok());
  store().failure = absl::OkStatus();
  settle();
  pass(59s);
  EXPECT_FALSE(is_offline("e1")) << "it had no chance to be heard";
  pass(2s);
  until([&] { return is_offline("e1"); });
}

TEST_P(PresenceTest, RefusesMoreCallersThanMayWait) {
  PresenceOptions options = defaults();
  options.batches.max_waiting = 3;
  restart(options);
  store().freeze(io_.get_executor());
  for (int i = 0; i < 5; ++i) announce_later(agent("e" + std::to_string(i)));
  until([&] { return answers_.size() == 2; });

  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of(answers_[0]), "HF1102");
  EXPECT_EQ(presence_->stats().refused_full, 2u);
  store().thaw();
  until([&] { return answers_.size() == 5; });
  EXPECT_TRUE(answers_[4].ok()) << answers_[4];
}

TEST_P(PresenceTest, AfterARestartEverybodyHasAWholeTtl) {
  ASSERT_TRUE(announce(agent("e1")).ok());
  stop(*presence_);
  services_.clear();
  clock_.advance(10h);
  start(presence_, defaults());

  pass(59s);
  EXPECT_FALSE(is_offline("e1"));
  EXPECT_EQ(presence_->counts(NodeKind::Agent), NodeCounts{.online = 1});

  pass(2s);
  until([&] { return is_offline("e1"); });
}

TEST_P(PresenceTest, ANodeThatAnnouncesElsewhereIsNotBlamedHere) {
  ASSERT_TRUE(announce(agent("e1")).ok());
  PresenceService* other = nullptr;
  start(other, defaults());
  pass(40s);
  ASSERT_TRUE(store::run(io_, other->announce(agent("e1"), {})).ok());
  pass(40s);

  EXPECT_FALSE(is_offline("e1"));
  EXPECT_EQ(presence_->counts(NodeKind::Agent), NodeCounts{.online = 1});
  pass(21s);
  until([&] { return is_offline("e1"); });
  EXPECT_EQ(presence_->stats().marked_offline + other->stats().marked_offline, 1u)
      << "one of the two was faster";
}

TEST_P(PresenceTest, AHeartbeatThatComesWhileMarksAreWrittenWins) {
  ASSERT_TRUE(announce(agent("late")).ok());
  ASSERT_TRUE(announce(agent("gone")).ok());
  store().before_commit = [&](const auto& operations) -> asio::awaitable<void> {
    if (operations.size() != 2) co_return;
    const auto entry = stored_entry(agent("late"), {.at = clock_.wall_now(), .ttl = kTtl});
    std::vector<store::Operation> heartbeat;
    heartbeat.push_back(store::put("/agent/late", entry->SerializeAsString()));
    const auto written = co_await inner_->commit(std::move(heartbeat));
    EXPECT_TRUE(written.ok()) << written.status();
  };

  pass(kTtl);
  until([&] { return is_offline("gone"); });
  EXPECT_FALSE(is_offline("late"));
  EXPECT_GE(presence_->stats().lost_races, 1u);
}

TEST_P(PresenceTest, StoppingAnswersWhoStillWaits) {
  store().freeze(io_.get_executor());
  announce_later(agent("e1"));
  settle();
  bool stopped = false;
  asio::co_spawn(io_, presence_->stop(), [&](const std::exception_ptr&) { stopped = true; });
  until([&] { return answers_.size() == 1; });
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable);

  store().thaw();
  until([&] { return stopped; });
  services_.clear();
}

INSTANTIATE_TEST_SUITE_P(Memory, PresenceTest, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Sqlite, PresenceTest, testing::Values(true));

}  // namespace
}  // namespace holdfast::api
