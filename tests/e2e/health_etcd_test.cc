// What a controller says of itself when its etcd hangs or dies, and when it is back: soon, once,
// and by every way there is to ask. With the settings it has by default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "e2e/api_client.h"
#include "e2e/controller_process.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "integration/etcd_cluster.h"
#include "support/eventually.h"
#include "support/free_ports.h"
#include "support/http_client.h"
#include "support/sanitized.h"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kServing = HealthCheckResponse::SERVING;
constexpr auto kNotServing = HealthCheckResponse::NOT_SERVING;

// What we promise: so long after the store hangs, everyone who asks is told.
constexpr Duration kDetection = 6s;
constexpr Duration kRecoveryWindow = 10s;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// A Health Watch, read by a thread until it ends or the reader is destroyed.
class HealthReader {
 public:
  explicit HealthReader(const ApiClient& client)
      : stub_(grpc::health::v1::Health::NewStub(client.channel())),
        stream_(stub_->Watch(&context_, HealthCheckRequest())),
        thread_([this] { read(); }) {}
  ~HealthReader() {
    context_.TryCancel();
    thread_.join();
  }
  HealthReader(const HealthReader&) = delete;
  HealthReader& operator=(const HealthReader&) = delete;

  struct Seen {
    HealthCheckResponse::ServingStatus status;
    steady_clock::time_point at;
  };
  std::vector<Seen> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::vector<int> statuses() const {
    std::vector<int> all;
    for (const Seen& each : seen()) all.push_back(each.status);
    return all;
  }
  bool wait_for(size_t count, Duration patience) const {
    return eventually([&] { return seen().size() >= count; }, patience);
  }

 private:
  void read() {
    HealthCheckResponse response;
    while (stream_->Read(&response)) {
      const std::lock_guard lock(mutex_);
      seen_.push_back({response.status(), steady_clock::now()});
    }
    stream_->Finish();
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::health::v1::Health::Stub> stub_;
  std::unique_ptr<grpc::ClientReader<HealthCheckResponse>> stream_;
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
  std::thread thread_;
};

class HealthOnEtcd : public testing::Test {
 protected:
  HealthOnEtcd()
      : ports_(free_ports(2)),
        health_address_("127.0.0.1:" + std::to_string(ports_[0])),
        https_address_("127.0.0.1:" + std::to_string(ports_[1])),
        controller_({"--store", "etcd", "--etcd-endpoint", etcd_.endpoints().front(),
                     "--health-listen", health_address_, "--http-listen", https_address_}),
        client_(controller_.unix_server()) {}

  void SetUp() override {
    // Whatever it was while it started, it watches from when it serves.
    ASSERT_TRUE(eventually([&] { return ready().status == 200; }, 30s)) << controller_.log();
    ASSERT_TRUE(client_.upsert(service("before")).status.ok());
    ASSERT_EQ(controller_.cli({"init", "--cluster", "prod"}).exit_code, 0);
    ASSERT_TRUE(eventually([&] { return https("/v1/status").status == 401; }, 10s));
    EXPECT_FALSE(ready().says_close());
    EXPECT_FALSE(https("/v1/status").says_close());
  }

  Reply ready() { return HttpClient(health_address_).ask("GET /readyz"); }

  // Without a certificate.
  Reply https(const std::string& path) {
    HttpClient client(https_address_);
    if (!client.start_tls(nullptr)) return {};
    return client.ask("GET " + path);
  }

  // It says that it is not ready and why, keeps no connection, and still answers.
  void expect_not_ready() {
    const Reply refused = ready();
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("\"HF1101\""));
    const size_t reasons = refused.body.find("\"reasons\":[");
    ASSERT_NE(reasons, std::string::npos) << refused.body;
    EXPECT_THAT(refused.body.substr(reasons), HasSubstr("\"HF1101\""));
    EXPECT_TRUE(refused.says_close()) << refused.head;
    for (const char* path : {"/livez", "/healthz", "/metrics", "/nothing"}) {
      const Reply other = HttpClient(health_address_).ask(std::string("GET ") + path);
      EXPECT_NE(other.status, 0) << path;
      EXPECT_TRUE(other.says_close()) << path << "\n" << other.head;
    }
    HttpClient local("unix:" + controller_.data_dir() + "/http.sock");
    EXPECT_TRUE(local.ask("GET /livez").says_close());
    for (const char* path : {"/livez", "/readyz", "/v1/status"}) {
      EXPECT_TRUE(https(path).says_close()) << path;
    }
    EXPECT_EQ(check(), kNotServing);
  }
  HealthCheckResponse::ServingStatus check() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 2s);
    HealthCheckResponse response;
    const grpc::Status status = grpc::health::v1::Health::NewStub(client_.channel())
                                    ->Check(&context, HealthCheckRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.status();
  }
  void expect_store_unavailable() {
    const grpc::Status written = client_.upsert(service("meanwhile")).status;
    EXPECT_EQ(written.error_code(), grpc::StatusCode::UNAVAILABLE) << written.error_message();
    const grpc::Status read = client_.get("service", "before").status;
    EXPECT_EQ(read.error_code(), grpc::StatusCode::UNAVAILABLE) << read.error_message();
    EXPECT_EQ(check(), kNotServing);
  }

  // Breaks the store, mends it, and looks on.
  void break_and_mend(const std::function<void()>& stop, const std::function<void()>& resume) {
    const HealthReader watch(client_);
    ASSERT_TRUE(watch.wait_for(1, 5s));

    const auto broken = steady_clock::now();
    stop();
    ASSERT_TRUE(watch.wait_for(2, 3 * kDetection)) << controller_.log();
    expect_not_ready();
    const Duration all_told = steady_clock::now() - broken;
    const Duration detection = watch.seen()[1].at - broken;
    std::printf("not serving %.2f s after the stop, everything told after %.2f s\n",
                seconds(detection), seconds(all_told));
    if (!kSanitized) EXPECT_LE(seconds(all_told), seconds(kDetection));
    expect_store_unavailable();

    const auto mended = steady_clock::now();
    resume();
    ASSERT_TRUE(watch.wait_for(3, 60s)) << controller_.log();
    const Duration recovery = watch.seen()[2].at - mended;
    std::printf("serving again %.2f s after it was mended\n", seconds(recovery));
    EXPECT_GE(seconds(recovery), seconds(kRecoveryWindow));
    EXPECT_EQ(ready().status, 200);
    EXPECT_TRUE(client_.get("service", "before").status.ok());
    EXPECT_TRUE(client_.upsert(service("after")).status.ok());

    // Nothing more comes by in two rounds of heartbeats.
    let_pass(5s);
    EXPECT_THAT(watch.statuses(), ElementsAre(kServing, kNotServing, kServing))
        << controller_.log();
  }

  EtcdCluster etcd_{EtcdClusterOptions{}};
  const std::vector<uint16_t> ports_;
  const std::string health_address_;
  const std::string https_address_;
  ControllerProcess controller_;
  ApiClient client_;
};

TEST_F(HealthOnEtcd, AnEtcdThatHangsIsNoticedOnceAndForgivenLate) {
  break_and_mend([this] { etcd_.freeze(0); }, [this] { etcd_.thaw(0); });
}

TEST_F(HealthOnEtcd, AnEtcdThatDiesIsNoticedOnceAndForgivenLate) {
  break_and_mend([this] { etcd_.kill(0); }, [this] { etcd_.restart(0); });
}

}  // namespace
}  // namespace holdfast::test
