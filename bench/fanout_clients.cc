#include "fanout_clients.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "etcd/etcd.grpc.pb.h"
#include "holdfast/v1/api.grpc.pb.h"
#include "servers.h"
#include "support/eventually.h"

namespace holdfast::bench {
namespace {

constexpr auto kPatience = std::chrono::seconds(120);
constexpr int kStampBytes = 20;
const std::string kPadding(180, 'p');

// Twenty digits, then padding: the same bytes for both servers.
std::string stamped() {
  std::string text = std::to_string(now_nanoseconds());
  return std::string(kStampBytes - text.size(), '0') + text + kPadding;
}

void record_stamp(DelayHistogram& delays, const std::string& text, int64_t now) {
  delays.record(now - std::stoll(text.substr(0, kStampBytes)));
}

struct Progress {
  std::atomic<int> ready = 0;  // watchers whose stream is set up
  std::atomic<int> done = 0;   // reactors gRPC has let go of
  DelayHistogram delays;
};

std::vector<std::shared_ptr<grpc::Channel>> connect(const std::string& address, int count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < count; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

class HoldfastWatcher final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  HoldfastWatcher(v1::Events::Stub& stub, Progress& progress) : progress_(progress) {
    request_.add_kinds()->set_kind("agent");
    stub.async()->Watch(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const int64_t now = now_nanoseconds();
    for (const v1::Event& event : response_.events()) {
      if (event.type() == v1::EVENT_TYPE_INIT) {
        progress_.ready += 1;
      } else {
        record_stamp(progress_.delays, event.resource().metadata().description(), now);
      }
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override { progress_.done += 1; }
  void cancel() { context_.TryCancel(); }

 private:
  Progress& progress_;
  grpc::ClientContext context_;
  v1::WatchRequest request_;
  v1::WatchResponse response_;
};

class EtcdWatcher final
    : public grpc::ClientBidiReactor<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> {
 public:
  EtcdWatcher(etcdserverpb::Watch::Stub& stub, Progress& progress) : progress_(progress) {
    request_.mutable_create_request()->set_key("/agent/");
    request_.mutable_create_request()->set_range_end("/agent0");
    stub.async()->Watch(&context_, this);
    StartWrite(&request_);
    StartRead(&response_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const int64_t now = now_nanoseconds();
    if (response_.created()) progress_.ready += 1;
    for (const auto& event : response_.events()) {
      record_stamp(progress_.delays, event.kv().value(), now);
    }
    StartRead(&response_);
  }
  void OnDone(const grpc::Status& /*status*/) override { progress_.done += 1; }
  void cancel() { context_.TryCancel(); }

 private:
  Progress& progress_;
  grpc::ClientContext context_;
  etcdserverpb::WatchRequest request_;
  etcdserverpb::WatchResponse response_;
};

template <typename Watcher, typename Service, typename Put>
FanOutResult measure(const std::string& address, const FanOutLoad& load, const Put& put) {
  Progress progress;
  std::vector<std::unique_ptr<typename Service::Stub>> stubs;
  for (const auto& channel : connect(address, load.connections)) {
    stubs.push_back(Service::NewStub(channel));
  }
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < load.watchers; ++i) {
    watchers.push_back(std::make_unique<Watcher>(*stubs[i % stubs.size()], progress));
  }
  HF_CHECK(test::eventually([&] { return progress.ready == load.watchers; }, kPatience),
           "every watcher is set up");

  const int64_t start = now_nanoseconds();
  const auto writers_channel = connect(address, 1).front();
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < load.writers; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = writer; i < load.events; i += load.writers) put(writers_channel, i);
    });
  }
  writers.clear();
  const uint64_t expected = static_cast<uint64_t>(load.events) * load.watchers;
  HF_CHECK(test::eventually([&] { return progress.delays.count() == expected; }, kPatience),
           "every watcher sees every event");
  const double seconds = static_cast<double>(now_nanoseconds() - start) / 1e9;

  for (const auto& watcher : watchers) watcher->cancel();
  HF_CHECK(test::eventually([&] { return progress.done == load.watchers; }, kPatience),
           "every stream ends");
  return {.events_per_second = static_cast<double>(expected) / seconds,
          .p50_ms = progress.delays.percentile_ms(0.5),
          .p99_ms = progress.delays.percentile_ms(0.99)};
}

}  // namespace

void DelayHistogram::record(int64_t nanoseconds) {
  const double micros = static_cast<double>(std::max<int64_t>(nanoseconds, 1000)) / 1e3;
  const auto bucket = static_cast<size_t>(std::log(micros) / std::log(1.06));
  buckets_[std::min(bucket, buckets_.size() - 1)].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

double DelayHistogram::percentile_ms(double share) const {
  const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_.load()));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i].load();
    if (seen >= wanted) return std::pow(1.06, static_cast<double>(i) + 0.5) / 1e3;
  }
  return 0;
}

int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

FanOutResult measure_holdfast(const FanOutLoad& load) {
  const auto server = Server::holdfast();
  const auto put = [](const std::shared_ptr<grpc::Channel>& channel, int i) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    request.mutable_resource()->mutable_metadata()->set_name("a" + std::to_string(i % 100));
    request.mutable_resource()->mutable_metadata()->set_description(stamped());
    request.mutable_resource()->mutable_agent();
    v1::Resource response;
    const grpc::Status status = v1::Resources::NewStub(channel)->Upsert(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
  };
  return measure<HoldfastWatcher, v1::Events>(server->address(), load, put);
}

FanOutResult measure_etcd(const FanOutLoad& load) {
  const auto server = Server::etcd();
  const auto put = [](const std::shared_ptr<grpc::Channel>& channel, int i) {
    grpc::ClientContext context;
    etcdserverpb::PutRequest request;
    request.set_key("/agent/a" + std::to_string(i % 100));
    request.set_value(stamped());
    etcdserverpb::PutResponse response;
    const grpc::Status status =
        etcdserverpb::KV::NewStub(channel)->Put(&context, request, &response);
    HF_CHECK(status.ok(), status.error_message());
  };
  return measure<EtcdWatcher, etcdserverpb::Watch>(server->address(), load, put);
}

}  // namespace holdfast::bench
