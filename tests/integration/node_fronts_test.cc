// A node's own HTTP front over real sockets, with answers that are made up: what is said of where
// they come from, what is refused, what its readiness depends on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "app/node_fronts.h"
#include "base/check.h"
#include "resource/registry.h"
#include "support/http_client.h"
#include "support/temp_dir.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using test::HttpClient;
using test::Reply;
using testing::HasSubstr;
using testing::Not;

v1::CachedKind row(const std::string& kind, const std::string& source,
                   const std::string& code = {}) {
  v1::CachedKind row;
  row.set_kind(kind);
  row.set_source(source);
  row.set_code(code);
  if (!code.empty()) row.set_reason("made up");
  return row;
}

class NodeFrontsTest : public testing::Test {
 protected:
  NodeFrontsTest() {
    HF_CHECK(fan_out_.init({{.kind = "service"}}, 7, 7).empty(), "nobody watches yet");
    HF_CHECK(listening_.ok(), listening_.status().ToString());
  }
  ~NodeFrontsTest() override {
    on_loop([this] { asio::co_spawn(loop_, fronts_.stop(), asio::detached); });
    guard_.reset();
    thread_.join();
  }

  void on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    asio::post(loop_, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }
  std::string socket_file() const { return dir_.file("node.sock"); }
  std::string local() const { return listening_->at(0); }
  std::string tcp() const { return listening_->at(1); }
  void set_source(std::string_view source, std::optional<Duration> stale_for = {}) {
    on_loop([&] {
      source_ = source;
      stale_for_ = stale_for;
    });
  }
  void report(std::vector<v1::CachedKind> rows, bool has_controller) {
    on_loop([&] {
      rows_ = std::move(rows);
      fronts_.report(rows_, has_controller);
    });
  }

  test::TempDir dir_;
  SystemClock clock_;
  metrics::Registry registry_{{}};
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_{loop_.get_executor()};
  events::FanOut fan_out_{{}, {{.kind = "service"}}};
  std::string_view source_ = "cache";
  std::optional<Duration> stale_for_{};
  std::vector<v1::CachedKind> rows_;
  NodeFronts fronts_{
      loop_.get_executor(),
      {.clock = clock_, .registry = registry_, .fan_out = fan_out_},
      reads(),
      {.node = "agent/edge-1", .socket_file = socket_file(), .listen = "127.0.0.1:0"}};
  Result<std::vector<std::string>> listening_ = fronts_.listen();
  std::thread thread_{[this] { loop_.run(); }};

 private:
  NodeReads reads() {
    NodeReads reads;
    reads.get =
        [this](v1::GetRequest request) -> asio::awaitable<Result<web::Sourced<v1::Resource>>> {
      if (request.kind() == "role") co_return absl::UnimplementedError("no such kind here");
      if (request.name() != "web") co_return absl::NotFoundError("it is not there");
      co_return web::Sourced<v1::Resource>{
          .value = resource::make_resource(resource::Kind::Service, "web"),
          .source = source_,
          .stale_for = stale_for_};
    };
    reads.list =
        [this](v1::ListRequest) -> asio::awaitable<Result<web::Sourced<v1::ListResponse>>> {
      web::Sourced<v1::ListResponse> read{.source = source_, .stale_for = stale_for_};
      read.value.set_revision(7);
      *read.value.add_resources() = resource::make_resource(resource::Kind::Service, "web");
      co_return read;
    };
    reads.caches = [this] { return rows_; };
    return reads;
  }
};

TEST_F(NodeFrontsTest, AnswersSayWhereTheyComeFromAndHowOldTheyAre) {
  report({row("service", "cache")}, true);
  HttpClient client(local());

  const Reply fresh = client.ask("GET /v1/services/web");
  set_source("stale", 61'500ms);
  const Reply stale = client.ask("GET /v1/services/web");
  const Reply list = client.ask("GET /v1/services");

  EXPECT_EQ(fresh.status, 200);
  EXPECT_THAT(fresh.head, HasSubstr("Holdfast-Source: cache\r\n"));
  EXPECT_THAT(fresh.head, Not(HasSubstr("Holdfast-Stale")));
  EXPECT_EQ(stale.status, 200);
  EXPECT_THAT(stale.head, HasSubstr("Holdfast-Source: stale\r\n"));
  EXPECT_THAT(stale.head, HasSubstr("Holdfast-Stale: 61\r\n"));
  EXPECT_THAT(list.head, HasSubstr("Holdfast-Stale: 61\r\n"));
  EXPECT_THAT(list.body, HasSubstr("\"revision\":7"));
  EXPECT_EQ(client.ask("GET /v1/services/nothing").status, 404);
  EXPECT_EQ(client.ask("GET /v1/roles/r").status, 501);
}

TEST_F(NodeFrontsTest, NothingCanBeWritten) {
  report({row("service", "cache")}, true);
  HttpClient client(local());

  for (const char* ask : {"DELETE /v1/services/web", "DELETE /v1/services/web?revision=3"}) {
    const Reply reply = client.ask(ask);
    EXPECT_EQ(reply.status, 409) << ask;
    EXPECT_THAT(reply.body, HasSubstr("HF1290")) << ask;
    EXPECT_THAT(reply.body, HasSubstr("ask a controller")) << ask;
  }
  const std::string body = R"({"kind":"service","metadata":{"name":"web"},"spec":{}})";
  client.send(
      "PUT /v1/services/web HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(client.read_reply().status, 409);
  for (const char* type : {"", "Content-Type: application/json\r\n"}) {
    for (const char* ask : {"PUT /v1/services/web", "POST /v1/services"}) {
      client.send(std::string(ask) + " HTTP/1.1\r\nHost: a\r\n" + type +
                  "Content-Length: 2\r\n\r\n{}");
      const Reply reply = client.read_reply();
      EXPECT_EQ(reply.status, 409) << ask << type;
      EXPECT_THAT(reply.body, HasSubstr("HF1290")) << ask << type;
    }
  }
}

TEST_F(NodeFrontsTest, TheSocketIsForItsOwnerAndTcpHasNoData) {
  struct stat file{};
  ASSERT_EQ(stat(socket_file().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);

  report({row("service", "cache")}, true);
  HttpClient client(tcp());
  EXPECT_EQ(client.ask("GET /healthz").status, 200);
  EXPECT_EQ(client.ask("GET /metrics").status, 200);
  EXPECT_EQ(client.ask("GET /v1/services").status, 404);
  EXPECT_EQ(client.ask("GET /v1/caches").status, 404);
}

TEST_F(NodeFrontsTest, CachesAreShownWithTheirNode) {
  report({row("service", "cache"), row("role", "upstream", "HF1203")}, true);
  HttpClient client(local());

  const Reply reply = client.ask("GET /v1/caches");

  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr("\"node\":\"agent/edge-1\""));
  EXPECT_THAT(reply.body, HasSubstr("\"kind\":\"service\",\"source\":\"cache\""));
  EXPECT_THAT(reply.body, HasSubstr("\"code\":\"HF1203\""));
  EXPECT_EQ(client.ask("GET /v1/caches?x=1").status, 400);
}

TEST_F(NodeFrontsTest, IsReadyWhileEveryKindIsAnsweredFromSomewhere) {
  const auto ready = [&] { return HttpClient(tcp()).ask("GET /readyz"); };
  EXPECT_EQ(ready().status, 503) << "nothing is known yet";

  report({row("service", "upstream", "HF1201"), row("role", "cache")}, false);
  const Reply not_ready = ready();
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_THAT(not_ready.body, HasSubstr(R"("reasons":["HF1201"])"));
  EXPECT_EQ(HttpClient(tcp()).ask("GET /readyz/cache-role").status, 200);

  report({row("service", "upstream", "HF1201"), row("role", "cache")}, true);
  EXPECT_EQ(ready().status, 200) << "a controller answers";
  report({row("service", "stale", "HF1202"), row("role", "stale", "HF1202")}, false);
  EXPECT_EQ(ready().status, 200) << "the last good generation answers";
  EXPECT_THAT(ready().body, HasSubstr("\"code\":\"HF1202\",\"reason\":\"made up\""));
  v1::CachedKind old = row("service", "upstream", "HF1204");
  old.set_revision(7);
  report({old, row("role", "cache")}, false);
  EXPECT_EQ(ready().status, 200) << "it answers when nobody else does";
  report({row("service", "cache"), row("role", "cache")}, true);
  EXPECT_THAT(ready().body, Not(HasSubstr("HF1202")));
}

TEST_F(NodeFrontsTest, WatchesGoThroughTheFanOut) {
  HttpClient client(local());
  client.send("GET /v1/watch?kind=service&after=7 HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_until("\n\n"), HasSubstr("text/event-stream"));

  on_loop([&] {
    std::vector<events::Event> events;
    v1::Resource web = resource::make_resource(resource::Kind::Service, "web");
    web.mutable_metadata()->set_revision(8);
    events.push_back(events::make_put(web, nullptr, 8));
    fronts_.wake(fan_out_.append(std::move(events), clock_.now()));
  });

  EXPECT_THAT(client.read_until("id: 8"), HasSubstr("event: put"));
  HttpClient ahead(local());
  EXPECT_EQ(ahead.ask("GET /v1/watch?kind=service&after=900").status, 410);
}

}  // namespace
}  // namespace holdfast::app
